package meta

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/subagents"
)

// fill inserts the texts of a model into the files of a draft. On any error, all errors are
// reported and the files stay unchanged.
func (b *Builder) fill(d *draft, texts any) formats.Return {
	t := formats.As[map[string]any](texts)
	instructions := formats.As[map[string]any](t["instructions"])
	filled := &draft{}
	bad := []any{}
	used := 0
	for _, f := range d.files {
		name := strings.TrimSuffix(path.Base(f.Name), ".md")
		what := "purpose"
		text := t["purpose"]
		behind := "\nWhat it is for, as it was said to /meta: "
		until := "\n"
		if f.isSubagent() {
			what = "instruction of " + name
			text = instructions[name]
			behind = "\n## Instruction\n"
			until = "\n## Output\n"
			if text != nil {
				used++
			}
		}

		body, wrong := proseLines(text)
		if wrong != "" {
			bad = append(bad, what+": "+wrong)
			body = ""
		}

		if before, rest, ok := bytes.Cut(f.Data, []byte(behind)); ok && body != "" {
			old, after, _ := bytes.Cut(rest, []byte(until))
			if !f.isSubagent() {
				body = string(old) + "\n\n" + body
			} else {
				body = "\n" + body + "\n"
			}
			f.Data = slices.Concat(before, []byte(behind), []byte(body), []byte(until), after)
		}
		filled.files = append(filled.files, f)
	}

	if used < len(instructions) {
		bad = append(
			bad,
			fmt.Sprintf("expected instructions for new subagents alone, got %d more",
				len(instructions)-used),
		)
	}
	if len(bad) == 0 {
		for _, f := range b.Lint(slices.Clone(filled.files)) {
			bad = append(bad, f.Error()+" "+f.Help)
		}
		for i, f := range filled.files {
			if f.isSubagent() && !hasSameContract(f, d.files[i]) {
				bad = append(bad, f.Name+": the text changes the contract of the subagent")
			}
		}
	}
	if len(bad) > 0 {
		filled = d
	}

	tasks := formats.As[[]any](t["tasks"])
	for _, title := range tasks {
		filled.addFollowUp(fmt.Sprint(title), "Left by /meta when it made /"+d.Name+".")
	}

	ret := filled.filesReturn()
	ret.Fields["bad"] = bad
	ret.Summary = "the texts of /" + d.Name + " are filled in"
	if len(bad) > 0 {
		ret.Summary = formats.Count(len(bad), "finding") + " in the texts of /" + d.Name
	}
	return ret
}

// structuralLine matches lines that Markdown would not read as text.
var structuralLine = lazy.Regexp("^ {0,3}(#|```|~~~|---|===|<)")

// proseLines returns a text as lines of prose; wrong says why it is not.
func proseLines(text any) (body, wrong string) {
	s, ok := text.(string)
	if s = strings.TrimSpace(s); !ok || s == "" {
		return "", "expected a text, got nothing"
	}
	for i, line := range strings.Split(s, "\n") {
		if structuralLine().MatchString(line) {
			return "", fmt.Sprintf(
				"line %d: expected text without headings, rules, fences and tags, got %q",
				i+1, formats.Clip(line, 60),
			)
		}
	}
	return s, ""
}

// hasSameContract reports whether two versions of a subagent have the same contract.
func hasSameContract(a, b File) bool {
	one, err := subagents.ParseDefinition(a.Name, a.Data)
	two, other := subagents.ParseDefinition(b.Name, b.Data)
	return err == nil && other == nil && reflect.DeepEqual(one.Info, two.Info)
}
