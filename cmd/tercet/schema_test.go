package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/config"
	"tercet/internal/md"
	"tercet/internal/strict"
	"tercet/project"
	"tercet/subagents"
)

// editorSchema is a schema as an editor uses it.
func editorSchema(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()

	doc, err := project.Schema(name)
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}

	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}

	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}

	return resolved
}

// plainOf is what YAML says, as JSON has it.
func plainOf(t *testing.T, text string) any {
	t.Helper()

	n, problems := md.ParseYAML([]byte(text), md.Pos{})
	if len(problems) > 0 {
		t.Fatalf("%v in\n%s", problems, text)
	}

	data, err := json.Marshal(n.Any())
	if err != nil {
		t.Fatal(err)
	}

	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}

	return out
}

// page is a page of the reference that is made of tables.
type page struct {
	name, fence string
	intro       string
	tables      []strict.Table
	// wrong says what tercet finds wrong in an example.
	wrong func(text string) error
}

func subagentOf(fragment string) string {
	head := "---\n"
	for _, line := range []string{"name: example", "description: An example"} {
		if key, _, _ := strings.Cut(line, ":"); !strings.HasPrefix(fragment, key+":") {
			head += line + "\n"
		}
	}
	return head + fragment + "---\n\nRead the change.\n"
}

var referencePages = []page{
	{
		"config",
		"yaml",
		"The keys of `.tercet/config.yaml`, and of `tercet/config.yaml` below " +
			"`$XDG_CONFIG_HOME`. After this page you can set every one of them.\n\n```text\n" +
			"tercet config list --origin\ntercet schema config > .tercet/config.schema.json\n" +
			"```\n\nThe first line tells each value and where it comes from. The second is for " +
			"editors: put `# yaml-language-server: $schema=config.schema.json` on the first line " +
			"of config.yaml, or run `tercet init --editor vscode`.",
		config.Tables(),
		func(text string) error {
			_, found := config.Load(config.Layer{
				Name: "user",
				File: "config.yaml",
				Data: []byte(text),
			})
			if len(found) > 0 {
				return found[0]
			}
			return nil
		},
	},
	{
		"subagent",
		"yaml",
		"The frontmatter of a subagent file, `.tercet/subagents/NAME.md`. After this page you " +
			"can write its contract.\n\n```text\ntercet lint .tercet/subagents/auditor.md\n" +
			"tercet prompt auditor --task 1\n```\n\n" +
			"The first line checks the file, the second shows what an agent is told. The text " +
			"below the frontmatter is its instruction; `## Persona`, `## Knowledge`, `## Output` " +
			"and `## Policy` are further parts of the prompt.",
		subagents.Tables(),
		func(text string) error {
			def, err := subagents.ParseDefinition("example.md", []byte(subagentOf(text)))
			if err == nil && len(def.Warnings) > 0 {
				err = def.Warnings[0]
			}
			return err
		},
	},
	{
		"return",
		"json",
		"What a subagent returns: one JSON object. After this page your own program can answer " +
			"as one.\n\n```text\ntercet result parse answer.json --agent auditor --strict\n```\n" +
			"\nIt tells every member that is wrong, or that tercet would have to repair. Without " +
			"`--strict` other words in use are read as these.",
		returns.Tables(),
		func(text string) error {
			r, err := returns.Parse([]byte(text), returns.ParseOptions{
				Strict:   true,
				Nonce:    "k3v9",
				Agent:    "example",
				Contract: &formats.AgentInfo{NoArtifacts: true},
			})
			if err == nil && len(r.Warnings) > strings.Count(text, `"warnings"`) {
				err = fmt.Errorf("repaired: %v", r.Warnings)
			}
			return err
		},
	},
}

// examples are those of a page, by key.
func (p page) examples(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "reference", p.name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range txtar.Parse(data).Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// at is the name of an example.
func (p page) at(table strict.Table, key strict.Key) string {
	if table.Name == p.name {
		return key[0]
	}
	return table.Name + "." + key[0]
}

func (p page) text(t *testing.T) string {
	t.Helper()

	var b strings.Builder
	fmt.Fprintf(&b, "# %s%s\n\n%s\n", strings.ToUpper(p.name[:1]), p.name[1:], p.intro)

	is := strings.NewReplacer(
		"form:", "a map: ", "|", " or ", "'", "`", "[", "list of ", "]", "", "{", "map to ", "}",
		"",
	)

	all := p.examples(t)

	for _, table := range p.tables {
		fmt.Fprintf(&b, "\n## %s\n", table.Name)
		if len(table.Needs) > 0 {
			fmt.Fprintf(&b, "\nNeeded: `%s`.\n", strings.Join(table.Needs, "`, `"))
		}

		b.WriteString("\n| key | is | does |\n|---|---|---|\n")
		for _, k := range table.Keys {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k[0], is.Replace(k[1]), k[2])
		}

		for _, k := range table.Keys {
			fmt.Fprintf(&b, "\n`%s`:\n\n```%s\n%s```\n", k[0], p.fence, all[p.at(table, k)])
		}
	}
	return b.String()
}

// TestReferenceExamples: each key of a reference page has an example that holds the key, in which
// tercet finds nothing wrong, and that the schema for editors takes; with the key misspelt both
// refuse it. No example is left over.
func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	for _, p := range referencePages {
		schema := editorSchema(t, p.name)
		all := p.examples(t)
		for _, table := range p.tables {
			for _, k := range table.Keys {
				at := p.at(table, k)
				text := all[at]
				delete(all, at)

				bare := fmt.Sprintf("%s:", k[0])
				if p.fence == "json" {
					bare = fmt.Sprintf("%q:", k[0])
				}
				if !strings.Contains(text, bare) {
					t.Errorf("%s: the example of %s does not hold the key: %q", p.name, at, text)
					continue
				}

				wrong := strings.Replace(text, k[0], k[0]+"x", 1)
				check := func(text string) error {
					if p.name == "subagent" {
						text, _, _ = strings.Cut(
							strings.TrimPrefix(subagentOf(text), "---\n"),
							"---\n",
						)
					}
					return schema.Validate(plainOf(t, text))
				}

				if err := errors.Join(p.wrong(text), check(text)); err != nil {
					t.Errorf("%s: the example of %s: %v", p.name, at, err)
				}
				if p.wrong(wrong) == nil || check(wrong) == nil {
					t.Errorf("%s: %q is taken, want an unknown key", p.name, wrong)
				}
			}
		}
		for at := range all {
			t.Errorf("%s: the example %s belongs to no key", p.name, at)
		}
	}
}

// TestSchemasTakeWhatTercetTakes: what tercet finds nothing wrong in, the schemas for editors take
// too: the subagents of the library, the returns of the conformance kit, and each config.yaml and
// subagent of the scripts.
func TestSchemasTakeWhatTercetTakes(t *testing.T) {
	t.Parallel()

	held := map[string]int{}
	hold := func(name, file, text string, wrong error) {
		if wrong != nil {
			return
		}
		held[name]++
		if err := editorSchema(t, name).Validate(plainOf(t, text)); err != nil {
			t.Errorf("%s: tercet takes it, the schema %s does not: %v\n%s", file, name, err, text)
		}
	}

	subagent := func(file string, data []byte) {
		def, err := subagents.ParseDefinition(filepath.Base(file), data)
		ignored := slices.ContainsFunc(def.Warnings, func(d formats.Diagnostic) bool {
			return d.Code == "W606" // a key that is left out
		})
		if ignored {
			return
		}
		if front, _, ok := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n"); ok {
			hold("subagent", file, front+"\n", err)
		}
	}

	library, err := filepath.Glob("../../subagents/library/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../formats/returns/testdata/returns/valid/*.json")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range slices.Concat(library, files, scripts) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(file) {
		case ".md":
			subagent(file, data)
		case ".json":
			_, err := returns.Parse(data, returns.ParseOptions{Strict: true})
			if !strings.Contains(string(data), `"metadata"`) &&
				!strings.Contains(string(data), `"class"`) {
				hold("return", file, string(data), err)
			}
		default:
			for _, f := range txtar.Parse(data).Files {
				if strings.HasSuffix(f.Name, "config.yaml") {
					_, found := config.Load(config.Layer{Name: "user", Data: f.Data})
					if len(found) == 0 && len(f.Data) > 0 {
						hold("config", file, string(f.Data), nil)
					}
				} else if strings.Contains(f.Name, "subagents/") &&
					strings.HasSuffix(f.Name, ".md") {
					subagent(f.Name, f.Data)
				}
			}
		}
	}

	if held["config"] < 10 || held["subagent"] < 50 || held["return"] < 5 {
		t.Errorf("held %v, want more files", held)
	}
}
