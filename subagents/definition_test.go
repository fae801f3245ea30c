package subagents_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/subagents"
)

// expectations reads the comments `# ERROR "a|b"` of the frontmatter: one regular expression a
// diagnostic of the line.
func expectations(src []byte) map[int][]string {
	want := map[int][]string{}
	marker := regexp.MustCompile(` # ERROR "(.*)"`)
	for i, line := range strings.Split(string(src), "\n") {
		if m := marker.FindStringSubmatch(line); m != nil {
			want[i+1] = strings.Split(m[1], "|")
		}
	}
	return want
}

func TestParseDefinitionErrors(t *testing.T) {
	t.Parallel()
	// A comment in a heading would be a part of its text.
	headings := map[string]map[int][]string{
		"unknown-keys.md":   {17: {`E605: unknown section "Polcy"`}},
		"contradictions.md": {16: {"E606: section policy stands twice"}},
		"steps.md":          {8: {"E605: expected a section 'Workflow Execution' beside this one"}},
	}
	files, err := filepath.Glob("testdata/bad/*.md")
	if err != nil || len(files) < 6 {
		t.Fatalf("glob: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := expectations(src)
			for line, list := range headings[filepath.Base(file)] {
				want[line] = append(want[line], list...)
			}

			if filepath.Base(file) == "unknown-keys.md" {
				want[2] = append(want[2], "E601: missing key description")
			}
			_, err = subagents.ParseDefinition(file, src)
			diags, ok := errors.AsType[*formats.Diagnostics](err)
			if !ok {
				t.Fatalf("ParseDefinition(%s) = %v, want diagnostics", file, err)
			}
			for _, d := range diags.List {
				text := d.Code + ": " + d.Message
				i := slices.IndexFunc(want[d.Pos.Line], func(re string) bool {
					return regexp.MustCompile(re).MatchString(text)
				})
				if i < 0 {
					t.Errorf("unexpected %s", d.Error())
					continue
				}
				want[d.Pos.Line] = slices.Delete(want[d.Pos.Line], i, i+1)
				if d.Pos.Col < 1 || d.File != file {
					t.Errorf("no place in %+v", d)
				}
			}

			for line, list := range want {
				for _, re := range list {
					t.Errorf("%s:%d: nothing matches %q", file, line, re)
				}
			}
		})
	}
}

func TestParseDefinition(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/good/security-auditor.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := subagents.ParseDefinition("subagents/security-auditor.md", src)
	if err != nil {
		t.Fatal(err)
	}
	want := subagents.Definition{
		Info: formats.AgentInfo{
			Name:        "security-auditor",
			Description: "Audits a change for vulnerabilities; reports, never edits code",
			Role:        formats.RoleReviewer,
			Runner:      []string{"claude", "codex", "offline"},
			Statuses: []formats.Outcome{
				formats.OutcomeApproved,
				formats.OutcomeRejected,
				formats.OutcomeFailed,
			},
			Artifacts: []formats.ArtifactSpec{{
				Type: formats.ArtifactReview,
				Name: "SECURITY_AUDIT.md",
			}},
			Fields: map[string]formats.Field{
				"CRITICAL_COUNT": {Type: formats.TypeInteger},
				"WARNING_COUNT":  {Type: formats.TypeInteger},
				"CRITICAL_ITEMS": {Type: formats.TypeList},
			},
			Inputs: map[string]formats.Input{
				"changes":   {Type: formats.TypeArray},
				"artifacts": {Type: formats.TypeArray},
			},
			Tools:       []string{"read", "search", "shell"},
			Timeout:     formats.Timeout{Total: time.Hour},
			StatusQuery: `if .fields.CRITICAL_COUNT > 0 then "rejected" else "approved" end`,
			IssuesQuery: `.fields.CRITICAL_ITEMS | map({level: "error", description: .})`,
			StatusPos:   formats.Pos{Line: 24, Col: 11},
			IssuesPos:   formats.Pos{Line: 25, Col: 12},
			AgentResult: true,
			File:        "subagents/security-auditor.md",
		},
		Facets: formats.Facets{
			Instruction: "Audit the changed files against the OWASP Top 10, the dependencies' " +
				"known vulnerabilities, and the security requirements of the\n" +
				"specification. Report; do not modify code.",
			Output: "Write SECURITY_AUDIT.md, then return CRITICAL_COUNT, WARNING_COUNT and one " +
				"line per critical finding in CRITICAL_ITEMS.",
		},
		Refs: subagents.FacetRefs{
			Persona:   "auditor",
			Knowledge: []string{"owasp-top-10"},
			Policy:    []string{"read-only", "secrets"},
			Pos:       formats.Pos{Line: 10, Col: 3},
		},
		Model: map[string]string{"claude": "opus", "codex": "gpt-5-codex"},
		File:  "subagents/security-auditor.md",
		Src:   src,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseDefinition(security-auditor.md) (-want +got):\n%s", diff)
	}
}

func TestParseDefinitionVariants(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/good/planner@go.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := subagents.ParseDefinition("planner@go.md", src)
	if err != nil {
		t.Fatal(err)
	}
	want := subagents.Definition{
		Info: formats.AgentInfo{
			Name:        "planner@go",
			Description: "Plans work on Go code",
			Role:        formats.RolePlanner,
			Runner:      []string{"exec"},
			Tools:       []string{"read", "search"},
			Timeout:     formats.Timeout{Total: 90 * time.Minute, Idle: 5 * time.Minute},
			File:        "planner@go.md",
		},
		Argv:    []string{"./bin/plan", "--json"},
		ArgvPos: formats.Pos{Line: 6, Col: 7},
		Model:   map[string]string{"": "opus"},
		Limits: subagents.Limits{
			Tokens: 200000,
			Cost:   2.5,
			Turns:  40,
		},
		File: "planner@go.md",
		Src:  src,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseDefinition(planner@go.md) (-want +got):\n%s", diff)
	}
}

func TestParseDefinitionBody(t *testing.T) {
	t.Parallel()
	src := "---\nname: a\ndescription: d\nrunner: claud\n---\nFirst.\n\n## persona\n\nWho.\n\n" +
		"```text\n## Policy\n```\n\n## Instruction\n\n### Part\n\nThen.\n\n## Policy\n\nRules.\n"
	got, err := subagents.ParseDefinition("a.md", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := formats.Facets{
		Persona:     "Who.\n\n```text\n## Policy\n```",
		Instruction: "First.\n\n### Part\n\nThen.",
		Policy:      []string{"Rules."},
	}
	if diff := cmp.Diff(want, got.Facets); diff != "" {
		t.Errorf("facets (-want +got):\n%s", diff)
	}
	if len(got.Warnings) != 1 || got.Warnings[0].Code != "W604" ||
		got.Warnings[0].Help != "did you mean 'claude'?" {
		t.Errorf("warnings = %v, want W604 for claud", got.Warnings)
	}
}

func TestParseDefinitionWithoutFrontmatter(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "Review the change.\n", "---\n---\n", "---\nname: a\n"} {
		_, err := subagents.ParseDefinition("a.md", []byte(src))
		if got := formats.CodeOf(err); got != formats.CodeInvalidCommand {
			t.Errorf("ParseDefinition(%q) = %v, want an INVALID_COMMAND error", src, err)
		}
	}
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]formats.Role{}
	var builtin []string
	for _, d := range definitions(t, set) {
		if d.Info.Builtin {
			builtin = append(builtin, d.Info.Name)
			continue
		}
		roles[d.Info.Name] = d.Info.Role
		if d.Info.Workflow {
			continue
		}
		f := d.Facets
		if f.Persona == "" || f.Instruction == "" || f.Output == "" || len(f.Policy) == 0 {
			t.Errorf("%s lacks a facet", d.Info.Name)
		}
		if _, ok := d.Info.Inputs["args"]; !ok {
			t.Errorf("%s does not take args, which a plain step passes", d.Info.Name)
		}
		if _, ok := d.Info.Inputs["task"]; !ok {
			t.Errorf("%s does not take task, which a plain step passes", d.Info.Name)
		}
		may := slices.DeleteFunc(slices.Clone(
			d.Info.Artifacts,
		), func(a formats.ArtifactSpec) bool { return !a.Optional })
		if want := d.Info.Role == formats.RoleImplementer; (len(may) == 2) != want {
			t.Errorf("%s: optional artifacts %v", d.Info.Name, may)
		}
		if len(d.Warnings) > 0 || d.Info.Statuses == nil ||
			(d.Info.Artifacts == nil) != d.Info.NoArtifacts {
			t.Errorf("%s: warnings %v, statuses %v, artifacts %v",
				d.Info.Name, d.Warnings, d.Info.Statuses, d.Info.Artifacts)
		}
	}

	wantRoles := map[string]formats.Role{
		"researcher":       formats.RoleResearcher,
		"planner":          formats.RolePlanner,
		"implementer":      formats.RoleImplementer,
		"task-executor":    formats.RoleImplementer,
		"reviewer":         formats.RoleReviewer,
		"security-auditor": formats.RoleReviewer,
		"tester":           formats.RoleReviewer,
		"task-reviser":     formats.RoleWriter,
		"architect":        formats.RoleUtility,
		"test-designer":    formats.RoleUtility,
		"general":          formats.RoleWriter,
		"reader":           formats.RoleWriter,
		"command-writer":   formats.RoleWriter,
	}
	if diff := cmp.Diff(wantRoles, roles); diff != "" {
		t.Errorf("workers (-want +got):\n%s", diff)
	}
	wantBuiltin := []string{
		"error-diagnostics", "gatekeeper", "git-workflow-manager", "meta-builder", "reference",
		"status-sync-manager", "task-creator",
	}
	if diff := cmp.Diff(wantBuiltin, builtin); diff != "" {
		t.Errorf("built-in (-want +got):\n%s", diff)
	}
}

// nobody does the work of a subagent that a test only looks up.
func nobody(subagents.Definition) subagents.Agent {
	return subagents.Func(nil)
}

// definitions are those of a set in the order of their names.
func definitions(t *testing.T, set *subagents.Set) []subagents.Definition {
	t.Helper()
	var out []subagents.Definition
	for _, name := range set.Names() {
		def, _, ok := set.Lookup(name, "")
		if !ok || def.Info.Name != name {
			t.Errorf("Lookup(%s) = %q, %v", name, def.Info.Name, ok)
		}
		out = append(out, def)
	}
	return out
}

func TestLoad(t *testing.T) {
	t.Parallel()
	file := func(front, body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\n" + front + "---\n" + body)}
	}
	library := subagents.Source{
		Name:    "library",
		Builtin: true,
		FS: fstest.MapFS{
			"planner.md": file("name: planner\ndescription: shipped\n", ""),
			"clerk.md":   file("name: clerk\ndescription: shipped\nrunner: builtin\n", ""),
		},
	}
	facets := fstest.MapFS{
		"persona/senior.md": {Data: []byte("You are old.\n")},
		"policy/quiet.md":   {Data: []byte("Say little.")},
		"policy/safe.md":    {Data: []byte("Break nothing.")},
	}
	tests := []struct {
		name    string
		project fstest.MapFS
		want    string // names with their descriptions, or the first diagnostic
	}{
		{"nothing of the project's own", fstest.MapFS{}, "clerk: shipped, planner: shipped"},
		{
			"overrides",
			fstest.MapFS{"planner.md": file("name: planner\ndescription: ours\n", "")},
			"clerk: shipped, planner: ours, tercet:planner: shipped",
		},
		{
			"a broken override hides",
			fstest.MapFS{"planner.md": file("name: planner\n", "")},
			"project/planner.md:2:1: E601: missing key description",
		},
		{
			"no built-in of its own",
			fstest.MapFS{"x.md": file("name: x\ndescription: d\nrunner: builtin\n", "")},
			"project/x.md:1:1: E607: runner builtin is for the subagents that come with tercet",
		},
		{
			"built-in not replaced",
			fstest.MapFS{"clerk.md": file("name: clerk\ndescription: d\n", "")},
			"clerk: shipped, planner: shipped, project:clerk: d",
		},
		{
			"nor for a language",
			fstest.MapFS{"clerk@go.md": file("name: clerk@go\ndescription: d\n", "")},
			"clerk: shipped, planner: shipped, project:clerk@go: d",
		},
		{
			"missing facet",
			fstest.MapFS{"x.md": file("name: x\ndescription: d\nfacets: {persona: junior}\n", "")},
			`project/x.md:4:9: E601: facet persona/junior.md of subagent "x" has no text`,
		},
		{
			"facets",
			fstest.MapFS{"x.md": file(
				"name: x\ndescription: d\nfacets: {persona: senior, policy: [quiet, safe]}\n",
				"## Policy\n\nOwn.\n",
			)},
			"clerk: shipped, planner: shipped, x: d [You are old. | Say little. | Break nothing. " +
				"| Own.]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			project := subagents.Source{Name: "project", FS: tt.project, Facets: facets}
			set, err := subagents.Load(nobody, project, library)
			var got []string
			for _, d := range definitions(t, set) {
				one := d.Info.Name + ": " + d.Info.Description
				if d.Facets.Persona != "" {
					one += fmt.Sprintf(" [%s | %s]",
						d.Facets.Persona, strings.Join(d.Facets.Policy, " | "))
				}
				got = append(got, one)
			}
			text := strings.Join(got, ", ")
			if err != nil {
				text, _, _ = strings.Cut(err.Error(), "\n")
			}
			if text != tt.want {
				t.Errorf("Load = %s, want %s", text, tt.want)
			}
		})
	}
}

// openedFS records which files are opened.
type openedFS struct {
	fs.FS
	names *[]string
}

func (f openedFS) Open(name string) (fs.File, error) {
	if name != "." {
		*f.names = append(*f.names, name)
	}
	return f.FS.Open(name)
}

// TestShippedFileIsReadAtItsFirstUse: a run needs few of the shipped subagents.
func TestShippedFileIsReadAtItsFirstUse(t *testing.T) {
	t.Parallel()
	var opened, made []string
	library := subagents.LibrarySource()
	library.FS = openedFS{library.FS, &opened}
	project := subagents.Source{Name: "project", FS: fstest.MapFS{
		"tester.md": {Data: []byte("---\nname: tester\ndescription: ours\n---\n")},
		"mine.md":   {Data: []byte("---\nname: mine\ndescription: ours\n---\n")},
	}}
	set, err := subagents.Load(func(def subagents.Definition) subagents.Agent {
		made = append(made, def.Info.Name)
		return subagents.Func(nil)
	}, project, library)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tester.md"} // a file that has its name has to know whether it is built in
	if d := cmp.Diff(want, opened); d != "" {
		t.Errorf("opened by Load (-want +got):\n%s", d)
	}

	for range 2 {
		if info, ok := set.Agent("planner"); !ok || info.Role != formats.RolePlanner {
			t.Errorf("Agent(planner) = %+v, %v", info, ok)
		}
	}
	if d := cmp.Diff(append(want, "planner.md"), opened); d != "" {
		t.Errorf("opened after two looks at the contract of planner (-want +got):\n%s", d)
	}
	if made != nil {
		t.Errorf("agents made for contracts alone: %q", made)
	}

	for range 2 {
		set.Lookup("planner", "")
		set.Lookup("mine", "")
	}
	if d := cmp.Diff([]string{"planner", "mine"}, made); d != "" {
		t.Errorf("agents made (-want +got):\n%s", d)
	}
}

func FuzzParseDefinition(f *testing.F) {
	for _, dir := range []string{"testdata/bad", "testdata/good", "library"} {
		err := fs.WalkDir(os.DirFS("."), dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			src, err := os.ReadFile(p)
			f.Add(src)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		def, err := subagents.ParseDefinition("some-name.md", src)
		if err == nil {
			if def.Info.Name != "some-name" || def.Info.Description == "" {
				t.Errorf("ParseDefinition(%q) accepted name %q, description %q",
					src, def.Info.Name, def.Info.Description)
			}
			return
		}
		diags, ok := errors.AsType[*formats.Diagnostics](err)
		if !ok || !diags.HasErrors() {
			t.Fatalf("ParseDefinition(%q) = %v, want diagnostics with an error", src, err)
		}
		for _, d := range diags.List {
			if d.Pos.Line < 1 || d.Pos.Col < 1 || d.Code == "" || d.Message == "" {
				t.Errorf("ParseDefinition(%q): diagnostic without place or text: %+v", src, d)
			}
		}
	})
}
