package meta_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
	"tercet/subagents"
	"tercet/templates/meta"
)

// set is the shipped subagents.
func set(tb testing.TB) *subagents.Set {
	tb.Helper()
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	out, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// bench is a Builder over a fresh workspace, with a lint and a dry run that find nothing.
type bench struct {
	meta.Builder
	dir    string
	linted []meta.File
	ran    string
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	b := &bench{dir: tb.TempDir()}
	if err := os.MkdirAll(filepath.Join(b.dir, ".tercet", "commands"), 0o755); err != nil {
		tb.Fatal(err)
	}
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { root.Close() })
	b.Root = root
	b.Agents = set(tb)
	b.Catalog = &commands.Catalog{}
	b.Lint = func(files []meta.File) []formats.Diagnostic {
		b.linted = files
		return nil
	}
	b.DryRun = func(_ context.Context, _ []meta.File, name string) (formats.Return, error) {
		b.ran = name
		return formats.Return{
			Status: formats.StatusCompleted,
			Text:   "log_reader: delegate log-reader",
		}, nil
	}
	return b
}

// files lists what stands under the workspace.
func (b *bench) files(tb testing.TB) []string {
	tb.Helper()
	var out []string
	err := fs.WalkDir(b.Root.FS(), ".tercet", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func (b *bench) put(tb testing.TB, name, text string) {
	tb.Helper()
	full := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func request(name, shape, agents, purpose string) formats.Request {
	return formats.Request{
		Agent: "meta-builder",
		Input: map[string]any{
			"action": "draft", "name": name, "shape": shape, "agents": agents, "purpose": purpose,
		},
	}
}

// writing is the request to write what a draft gave.
func writing(draft formats.Return) formats.Request {
	return formats.Request{
		Agent: "meta-builder",
		Input: map[string]any{"action": "write", "files": draft.Fields["files"]},
	}
}

// run does one action; what a draft gives is written as well, and its return is that of the draft
// if that goes well.
func (b *bench) run(tb testing.TB, r formats.Request) formats.Return {
	tb.Helper()
	ret, err := b.Run(tb.Context(), r)
	if err != nil {
		tb.Fatalf("Run(%v): %v", r.Input, err)
	}
	if r.Input["action"] == "draft" && ret.Status == formats.StatusCompleted {
		if wrote := b.run(tb, writing(ret)); wrote.Status != formats.StatusCompleted {
			return wrote
		}
	}
	return ret
}

func TestWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ret := b.run(
		t,
		request("triage", "sequential", "log-reader, planner,log-reader", "Sort a new report"),
	)
	want := []string{".tercet/commands/triage.md", ".tercet/subagents/log-reader.md"}
	if diff := cmp.Diff(want, b.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if ret.Outcome() != formats.OutcomeCompleted || len(ret.Artifacts) != 0 {
		t.Errorf("Run = %s with artifacts %v, want completed without", ret.Outcome(), ret.Artifacts)
	}
	var names []string
	for _, f := range ret.Fields["files"].([]any) {
		names = append(names, f.(map[string]any)["name"].(string))
	}

	diff := cmp.Diff([]string{want[1], want[0]}, names)
	if diff != "" || ret.Fields["name"] != "triage" || ret.Fields["fill"] != false {
		t.Errorf("fields = %v (-want +got):\n%s", ret.Fields, diff)
	}
	info, _ := set(t).Agent("meta-builder")
	if bad := returns.Validate(ret, info); bad != nil {
		t.Errorf("Validate = %q, want no violation of the contract", bad)
	}
	for _, part := range []string{
		"/triage <task_number>",
		"role researcher",
		"offline researcher",
		"shape sequential",
		"  log_reader: delegate log-reader",
		want[0],
	} {
		if !strings.Contains(ret.Text, part) {
			t.Errorf("text has no %q:\n%s", part, ret.Text)
		}
	}

	if b.ran != "triage" || len(b.linted) != 2 {
		t.Errorf("dry run of %q over %d linted files, want triage over 2", b.ran, len(b.linted))
	}
	for _, f := range b.linted {
		data, err := b.Root.ReadFile(f.Name)
		if err != nil || string(data) != string(f.Data) {
			t.Errorf("%s differs from what was linted (%v)", f.Name, err)
		}
	}

	def, err := subagents.ParseDefinition(want[1], b.linted[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	shipped, _ := set(t).Agent("researcher")
	diff = cmp.Diff(shipped.Inputs, def.Info.Inputs)
	if diff != "" || def.Info.Role != formats.RoleResearcher || len(def.Facets.Policy) == 0 ||
		def.Facets.Output == "" {
		t.Errorf("new subagent has not the contract of the shipped researcher: %+v", def)
	}
	again := b.run(t, request("again", "single", "researcher", "Sort"))
	if got := len(again.Fields["files"].([]any)); got != 1 {
		t.Errorf("files for subagents that are there = %d, want the command alone", got)
	}
}

// drafted are files as a draft hands them on.
func drafted(names ...string) []any {
	var out []any
	for _, name := range names {
		out = append(out, map[string]any{"name": name, "text": "text"})
	}
	return out
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		in     map[string]any
		code   formats.Code
		errors []string
	}{
		{
			"nothing",
			map[string]any{"action": "draft"},
			formats.CodeValidationFailed,
			[]string{
				"expected the name of the new command as name, got nothing; expected the shape",
			},
		},
		{
			"types",
			map[string]any{
				"action":  "draft",
				"name":    1,
				"shape":   "single",
				"agents":  "a",
				"purpose": "p",
			},
			formats.CodeValidationFailed,
			[]string{"got int"},
		},
		{
			"names",
			request("Bad", "single", "a,,B", "p").Input,
			formats.CodeValidationFailed,
			[]string{`got "Bad"; expected a name of a subagent`},
		},
		{
			"arguments",
			request("x", "single", "a=../run,b=run", "p").Input,
			formats.CodeValidationFailed,
			[]string{`expected a program inside the project as in a=tools/run, got "../run"`},
		},
		{
			"side by side",
			request("x", "single", "a+b", "p").Input,
			formats.CodeValidationFailed,
			[]string{"expected --shape parallel for subagents joined by '+', got single"},
		},
		{
			"a program for one that is there",
			request("x", "single", "planner=tools/plan", "p").Input,
			formats.CodeValidationFailed,
			[]string{"subagent planner is there"},
		},
		{
			"action",
			map[string]any{"action": "erase", "files": drafted(".tercet/commands/x.md")},
			formats.CodeValidationFailed,
			[]string{"expected action draft, fill or write, got erase"},
		},
		{
			"write outside",
			map[string]any{"action": "write", "files": drafted("x.md")},
			formats.CodeValidationFailed,
			[]string{`got "x.md"`},
		},
		{
			"write elsewhere",
			map[string]any{"action": "write", "files": drafted(".tercet/commands/../x.md")},
			formats.CodeValidationFailed,
			[]string{"expected one command"},
		},
		{
			"write two",
			map[string]any{
				"action": "write",
				"files":  drafted(".tercet/commands/x.md", ".tercet/commands/y.md"),
			},
			formats.CodeValidationFailed,
			[]string{`got ".tercet/commands/y.md"`},
		},
		{
			"write no command",
			map[string]any{"action": "write", "files": drafted(".tercet/subagents/x.md")},
			formats.CodeValidationFailed,
			[]string{"got no command"},
		},
		{
			"path",
			request("../x", "single", "a", "p").Input,
			formats.CodeValidationFailed,
			[]string{`got "../x"`},
		},
		{
			"shape",
			request("x", "singel", "a", "p").Input,
			formats.CodeValidationFailed,
			[]string{"did you mean 'single'?"},
		},
		{
			"count",
			request("x", "single", "researcher,planner", "p").Input,
			formats.CodeValidationFailed,
			[]string{"expected 1 subagent"},
		},
		{
			"input",
			request("x", "single", "git-workflow-manager", "p").Input,
			formats.CodeValidationFailed,
			[]string{"needs the input 'action'"},
		},
		{
			"command is there",
			request("old", "single", "researcher", "p").Input,
			formats.CodePrecondition,
			[]string{".tercet/commands/old.md exists"},
		},
		{
			"link is there",
			request("link", "single", "researcher", "p").Input,
			formats.CodePrecondition,
			[]string{".tercet/commands/link.md exists"},
		},
		{
			"both are there",
			request("old", "sequential", "broken,researcher", "p").Input,
			formats.CodePrecondition,
			[]string{".tercet/subagents/broken.md exists", ".tercet/commands/old.md exists"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put(t, ".tercet/commands/old.md", "old")
			b.put(t, ".tercet/subagents/broken.md", "broken")
			err := os.Symlink("nowhere", filepath.Join(b.dir, ".tercet/commands/link.md"))
			if err != nil {
				t.Fatal(err)
			}
			before := b.files(t)
			ret := b.run(t, formats.Request{Agent: "meta-builder", Input: tt.in})
			if ret.Status != formats.StatusFailed || len(ret.Errors) != len(tt.errors) {
				t.Fatalf("Run = %s with %+v, want failed with %d errors",
					ret.Status, ret.Errors, len(tt.errors))
			}
			for i, e := range ret.Errors {
				if e.Code != tt.code || !strings.Contains(e.Message, tt.errors[i]) ||
					e.Recommendation == "" {
					t.Errorf("error = %+v, want %s with %q and advice", e, tt.code, tt.errors[i])
				}
			}
			if diff := cmp.Diff(before, b.files(t)); diff != "" || b.ran != "" {
				t.Errorf("files changed, or %q ran dry (-before +after):\n%s", b.ran, diff)
			}
		})
	}
}

func TestDefectsOfTemplates(t *testing.T) {
	t.Parallel()
	finding := func(s formats.Severity, msg string) formats.Diagnostic {
		return formats.Diagnostic{
			Code:     "E1",
			Severity: s,
			File:     "f.md",
			Pos:      formats.Pos{Line: 3, Col: 1},
			Message:  msg,
			Help:     "mend it",
		}
	}
	b := newBench(t)
	lint := b.Lint
	b.Lint = func([]meta.File) []formats.Diagnostic {
		return []formats.Diagnostic{
			finding(formats.SeverityError, "one"),
			finding(formats.SeverityWarning, "two"),
			finding(formats.SeverityError, "three"),
		}
	}
	ret := b.run(t, request("x", "single", "new-reader", "p"))
	want := []formats.ReturnError{
		{
			Type:           formats.ErrorValidation,
			Code:           formats.CodeBug,
			Message:        "f.md:3:1: one (E1)",
			Recommendation: "mend it",
		},
		{
			Type:           formats.ErrorValidation,
			Code:           formats.CodeBug,
			Message:        "f.md:3:1: three (E1)",
			Recommendation: "mend it",
		},
	}
	if diff := cmp.Diff(want, ret.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if got := formats.ExitCode(ret); got != 70 {
		t.Errorf("exit = %d, want 70", got)
	}

	b.Lint = lint
	b.DryRun = func(context.Context, []meta.File, string) (formats.Return, error) {
		return formats.Failed(&formats.Failure{Code: formats.CodeNotFound, Message: "no plan"}), nil
	}
	ret = b.run(t, request("x", "single", "new-reader", "p"))
	if len(ret.Errors) != 2 || ret.Errors[0].Code != formats.CodeBug ||
		ret.Errors[1].Code != formats.CodeNotFound {
		t.Errorf("errors = %+v, want BUG and what the dry run said", ret.Errors)
	}
	boom := errors.New("boom")
	b.DryRun = func(context.Context, []meta.File, string) (formats.Return, error) {
		return formats.Return{}, boom
	}
	_, err := b.Run(t.Context(), request("x", "single", "new-reader", "p"))
	if !errors.Is(err, boom) {
		t.Errorf("Run = %v, want the engine's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.DryRun = func(context.Context, []meta.File, string) (formats.Return, error) {
		cancel()
		return formats.Return{Status: formats.StatusCompleted}, nil
	}
	_, err = b.Run(ctx, request("x", "single", "new-reader", "p"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want the cancellation", err)
	}
	if got := b.files(t); got != nil {
		t.Errorf("files = %q, want none", got)
	}
}

// drafted is a draft of the shape single.
func (b *bench) drafted(tb testing.TB, name, agent string) formats.Return {
	tb.Helper()
	dry := b.DryRun
	defer func() { b.DryRun = dry }()
	b.DryRun = func(context.Context, []meta.File, string) (formats.Return, error) {
		return formats.Return{Status: formats.StatusCompleted}, nil
	}
	ret, err := b.Run(tb.Context(), request(name, "single", agent, "p"))
	if err != nil || ret.Status != formats.StatusCompleted {
		tb.Fatalf("draft of %s: %+v, %v", name, ret.Errors, err)
	}
	return ret
}

// TestAllOrNone: what comes up while the command is checked takes the new subagents back.
func TestAllOrNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.DryRun = func(context.Context, []meta.File, string) (formats.Return, error) {
		b.put(t, ".tercet/commands/x.md", "mine")
		return formats.Return{Status: formats.StatusCompleted}, nil
	}
	ret := b.run(t, request("x", "sequential", "new-reader,other-reader", "p"))
	if ret.Status != formats.StatusFailed || ret.Errors[0].Code != formats.CodePrecondition {
		t.Errorf("Run = %s %+v, want failed with PRECONDITION", ret.Status, ret.Errors)
	}
	if diff := cmp.Diff([]string{".tercet/commands/x.md"}, b.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if data, err := b.Root.ReadFile(".tercet/commands/x.md"); err != nil || string(data) != "mine" {
		t.Errorf("x.md = %q, %v, want it as it was", data, err)
	}

	b = newBench(t)
	b.DryRun = func(context.Context, []meta.File, string) (formats.Return, error) {
		// The folder of commands is a file now: nothing can be created in it.
		if err := os.Remove(filepath.Join(b.dir, ".tercet/commands")); err != nil {
			t.Error(err)
		}
		b.put(t, ".tercet/commands", "")
		return formats.Return{Status: formats.StatusCompleted}, nil
	}
	_, err := b.Run(t.Context(), writing(b.drafted(t, "x", "new-reader")))
	if formats.CodeOf(err) != formats.CodeIO {
		t.Errorf("Run = %v, want an error of the engine with code IO", err)
	}
	if diff := cmp.Diff([]string{".tercet/commands"}, b.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Catalog = &commands.Catalog{Entries: []commands.Entry{{
		Name:   "plan",
		File:   "plan.md",
		Source: "library",
	}}}
	ret := b.run(t, request("plan", "sequential", "reseacher,architect,architect", "p"))
	want := []string{
		"subagent reseacher is new; was researcher meant?",
		"the offline runner cannot do the work of a utility: reseacher needs an agent CLI",
		"the offline runner cannot do the work of a utility: architect needs an agent CLI",
		"as long as .tercet/commands/plan.md is there, /plan hides the command in " +
			"library/plan.md; 'tercet which plan' says how that one is called",
	}
	if diff := cmp.Diff(want, ret.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	ret = b.run(t, request("x", "conditional", "planner,task-reviser", "p"))
	if ret.Warnings != nil {
		t.Errorf("warnings = %q, want none", ret.Warnings)
	}
}

func TestNoProject(t *testing.T) {
	t.Parallel()
	b := newBench(t).Builder
	b.Root = nil
	_, err := b.Run(t.Context(), request("x", "single", "researcher", "p"))
	if formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Run without a project root = %v, want BUG", err)
	}
	none := newBench(t)
	if err := os.RemoveAll(filepath.Join(none.dir, ".tercet")); err != nil {
		t.Fatal(err)
	}
	ret := none.run(t, request("x", "single", "researcher", "p"))
	if ret.Status != formats.StatusFailed || ret.Errors[0].Code != formats.CodeNoWorkspace {
		t.Errorf("Run without a workspace = %+v, want NO_WORKSPACE", ret)
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	files := []meta.File{
		{
			Name: ".tercet/subagents/good.md",
			Data: []byte("---\nname: good\ndescription: is good\n---\n\nDo it.\n"),
		},
		{Name: ".tercet/subagents/bad.md", Data: []byte("---\nname: other\nrole: cook\n---\n")},
		{Name: ".tercet/commands/x.md", Data: []byte("not looked at")},
	}
	agents, found := meta.With(set(t), files)
	if info, ok := agents.Agent("good"); !ok || info.Name != "good" {
		t.Errorf("Agent(good) = %+v, %t, want it", info, ok)
	}
	if _, ok := agents.Agent("researcher"); !ok {
		t.Error("Agent(researcher) is unknown, want the subagents there are")
	}
	names := agents.Names()
	if !slices.Contains(names, "good") || !slices.IsSorted(names) ||
		len(names) != len(set(t).Names())+1 {
		t.Errorf("Names() = %q, want one more, sorted", names)
	}
	if len(found) < 2 || found[0].File != ".tercet/subagents/bad.md" {
		t.Errorf("findings = %v, want those of bad.md", found)
	}
	if got := meta.Commands(files); len(got) != 1 || path.Base(got[0].Name) != "x.md" {
		t.Errorf("Commands = %v, want x.md", got)
	}
}

// TestSample: the documents of the sample pass their profiles.
func TestSample(t *testing.T) {
	t.Parallel()
	for _, planned := range []bool{false, true} {
		s := meta.Sample{Planned: planned}
		doc, _, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		task := doc.(map[string]any)["tasks"].([]any)[0].(map[string]any)
		list := task["artifacts"].([]any)
		if planned != (len(list) == 2) {
			t.Errorf("sample (planned %t) has artifacts %v", planned, list)
		}
		for _, one := range list {
			a := one.(map[string]any)
			src, err := s.Open(t.Context(), a["path"].(string))
			if err != nil {
				t.Fatal(err)
			}
			_, bad := documents.Parse(a["type"].(string), a["path"].(string), src)
			if bad.HasErrors() {
				t.Errorf("%s: %v", a["path"], bad)
			}
		}
		if ok, err := s.HasTask(t.Context(), meta.SampleTask); !ok || err != nil {
			t.Errorf("HasTask(%d) = %t, %v, want it", meta.SampleTask, ok, err)
		}
		if ok, err := s.Exists(t.Context(), "x.md"); ok || err != nil {
			t.Errorf("Exists(x.md) = %t, %v, want false", ok, err)
		}
		if _, err := s.Open(t.Context(), "x.md"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(x.md) = %v, want %v", err, fs.ErrNotExist)
		}
	}
}
