package formats

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/nearest"
)

// The modes of approval: whether a flow asks after each phase.
const (
	Interactive = "interactive"
	Autonomous  = "autonomous"
)

// approvable are the tiers whose mode a project may set; all other tiers always ask.
var (
	approvable = []string{"Minimal", "Light", "Standard", "Patch", "Minor"}
	asking     = []string{"Full", "Major"}
)

// slugForm matches the name of a deliverables folder; authorForm matches a name with its address.
var (
	slugForm   = lazy.Regexp(`^[a-z0-9][a-z0-9-]*$`)
	authorForm = lazy.Regexp(`^[^<>\pC]*[^<>\pC\s] <[^<>@\s\pC]+@[^<>@\s\pC]+>$`)
)

// checkRules reads the rules of a project: which tiers ask, and two restricted keys.
func (r *handoffReader) checkRules() {
	r.checkEmpty()
	r.dropMalformed("Slug", "slug", "a name of a-z, 0-9 and '-'", slugForm().MatchString)
	r.dropMalformed(
		"Co-Authored-By",
		"co_authored_by",
		"'none' or 'Name <address>'",
		func(text string) bool {
			return strings.EqualFold(text, "none") || authorForm().MatchString(text)
		},
	)
	modes := map[string]any{}
	r.out.Values["approval"] = modes
	p := r.chapter(secApproval)
	if p == nil {
		return
	}

	all := append(slices.Clone(approvable), asking...)
	for _, e := range p.entries {
		at := slices.IndexFunc(all, func(tier string) bool {
			return fieldKey(tier) == e.key
		})
		if at < 0 {
			r.add(codeValue, e.at, nearest.Help(e.key, all), "expected a tier, one of %s; got '%s'",
				strings.Join(all, ", "), Clip(e.key, maxQuotedValue))
			continue
		}
		k := keyRule{
			name:  all[at],
			kind:  aWord,
			words: []string{Interactive, Autonomous},
		}
		v, want, help := k.parse(e)
		_, twice := modes[k.name]
		switch {
		case want != "":
			r.add(codeValue, e.valued, help, "expected %s for %s; got '%s'", want, k.name,
				Clip(e.value, maxQuotedValue))
		case twice:
			r.add(codeTwice, e.at, "keep one", "key '%s' stands twice", k.name)
		case v == Autonomous && slices.Contains(asking, k.name):
			r.add(codeAsksAlways, e.valued, "take the line out",
				"%s asks after every phase, whatever the rules say", k.name)
		default:
			modes[k.name] = v
		}
	}
}

// dropMalformed drops a value that does not have the form of its key.
func (r *handoffReader) dropMalformed(name, field, want string, ok func(string) bool) {
	text, said := r.out.Values[field].(string)
	if !said || ok(text) {
		return
	}
	r.out.Values[field] = nil
	for _, p := range r.parts {
		for _, e := range p.entries {
			if e.key == fieldKey(name) {
				r.add(codeValue, e.valued, "",
					"expected %s for %s; got '%s'", want, name, Clip(text, maxQuotedValue))
				return
			}
		}
	}
}

// checkEmpty reports a document without content.
func (r *handoffReader) checkEmpty() {
	if !slices.ContainsFunc(r.parts, func(p chapter) bool { return p.hasText }) {
		r.add(codeEmptySection, r.title, "", "the document says nothing")
	}
}

// boxForm matches an item with a check box or another mark; taskNumber matches the number in a
// task's name.
var (
	boxForm    = lazy.Regexp(`^[ \t]*[-*+][ \t]+(\[[^\]\[]?\])(?:[ \t]+(\S.*)|[ \t]*)$`)
	taskNumber = lazy.Regexp(`TASK-\d+`)
)

// readTasks reads the tasks in a TASK.md of another tool: those of the section Task list, else of
// the document.
func (r *handoffReader) readTasks() {
	var lines []line
	for _, p := range r.parts {
		if fieldKey(p.name) == "task_list" || p.name == "タスク一覧" {
			lines = p.lines
			break
		}
		lines = append(lines, p.lines...)
	}

	seen := map[string]int{}
	for _, l := range lines {
		form := boxForm().FindStringSubmatchIndex(l.text)
		if form == nil {
			continue
		}
		at := Pos{Line: l.n, Col: form[2] + 1}
		number := taskNumber().FindString(l.text[form[3]:])
		first, twice := seen[number]
		mark := l.text[form[2]:form[3]]
		switch {
		case !slices.Contains([]string{"[ ]", "[x]", "[X]"}, mark):
			r.add(codeValue, at, "", "expected [ ] or [x]; got '%s'", mark)
		case form[4] < 0:
			r.add(codeEmptyField, at, "write '- [ ] TASK-001: name'", "a task has no name")
		case number != "" && twice:
			help := fmt.Sprintf("give it another number; the first is on line %d", first)
			r.add(codeTwice, at, help, "%s stands twice", number)
		default:
			seen[number] = l.n
		}
	}

	tasks := tasksOf(lines, true)
	if len(tasks) == 0 {
		r.add(
			codeEmptySection,
			r.title,
			"write '- [ ] TASK-001: name | Target file: path'",
			"expected tasks, got none",
		)
	}
	r.out.Values["tasks"] = tasks
}

// ReadRules reads the rules of a project: output_language, product_type, slug, remote_type,
// co_authored_by and approval, a map of tiers. A missing or malformed key is nil. open gives
// fs.ErrNotExist for a missing file.
func ReadRules(open func(name string) ([]byte, error)) (values map[string]any, err error) {
	for _, name := range []string{"docs/project-rules.md", ".claude/rules/project-rules.md"} {
		src, err := open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d, _ := ParseDocument(ProfileRules, name, src) //nolint:errcheck // an invalid value is null
		return d.Values, nil
	}
	return nil, nil
}
