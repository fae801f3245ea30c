package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shop is a library over a few files, with fakes for all it may ask.
type shop struct {
	commands.Library

	files    map[string]string
	tasks    map[int]formats.TaskStatus
	archived []int
	paths    []string
	runs     []string // run ids, in the order in which runs were configured
	inputs   []map[string]any
	warned   []formats.Diagnostic
	worker   func(r formats.Request) formats.Return
	most     int // tasks of a line side by side; 0: 1
	was      map[int]*formats.Return
	mu       sync.Mutex
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{
		files: map[string]string{},
		tasks: map[int]formats.TaskStatus{
			5: formats.NotStarted,
			6: formats.NotStarted,
			7: formats.NotStarted,
		},
		archived: []int{3},
		paths:    []string{"docs/a.md"},
	}
	s.worker = func(formats.Request) formats.Return {
		return formats.Return{Status: formats.StatusCompleted, Summary: "done"}
	}
	s.Library = commands.Library{
		Open: func(source, file string) ([]byte, error) {
			text, ok := s.files[source+"/"+file]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
		Env:    shippedSet(t),
		Tasks:  s,
		Docs:   s,
		Config: s.config,
		Person: commands.Person{Warn: func(list []formats.Diagnostic) {
			s.warned = append(s.warned, list...)
		}},
		Several: s,
	}
	return s
}

func (s *shop) HasTask(_ context.Context, n int) (bool, error) {
	return s.tasks[n] != "", nil
}

func (s *shop) ArchivedTask(_ context.Context, n int) (bool, error) {
	return slices.Contains(s.archived, n), nil
}

func (s *shop) Exists(_ context.Context, name string) (bool, error) {
	if path.IsAbs(name) {
		return false, &formats.Failure{Code: formats.CodeDenied, Message: "outside"}
	}
	return slices.Contains(s.paths, name), nil
}

func (s *shop) config(_ context.Context, inv formats.Invocation) (interp.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, inv.Run)
	return interp.Config{
		Agents:   s,
		State:    s,
		Docs:     s,
		Problems: s,
		Approve:  s,
		Lint:     s.Lint,
		Journal:  s,
		Clock:    s,
		Trace:    trace.Discard{},
		Show:     func(formats.Table) {},
		IDs: interp.IDs{
			Run:     inv.Run,
			Session: inv.Session,
			Command: inv.Line,
			Path:    inv.Path,
		},
		DryRun: inv.DryRun,
	}, nil
}

func (s *shop) Delegate(_ context.Context, r formats.Request) (formats.Return, error) {
	s.mu.Lock()
	s.inputs = append(s.inputs, r.Input)
	s.mu.Unlock()
	return s.worker(r), nil
}

func (s *shop) Lint(string, []byte, bool) []formats.Diagnostic {
	return nil
}

func (s *shop) Snapshot(context.Context) (any, uint64, error) {
	list := []any{}
	for n, status := range s.tasks {
		list = append(list, map[string]any{
			"number":    n,
			"title":     "T",
			"status":    status.String(),
			"artifacts": []any{},
		})
	}
	return map[string]any{"tasks": list}, 1, nil
}

func (s *shop) Open(context.Context, string) ([]byte, error) {
	return nil, fs.ErrNotExist
}

func (*shop) Sum(context.Context, string) (string, error) {
	return "", fs.ErrNotExist
}

func (s *shop) Glob(context.Context, []string) ([]string, error) {
	return nil, nil
}

func (s *shop) Record(context.Context, formats.Problem) error {
	return nil
}

func (s *shop) Append(context.Context, formats.Entry, bool) (bool, error) {
	return false, nil
}

func (s *shop) Live(bool) error {
	return nil
}

func (s *shop) Recall(formats.Entry) (json.RawMessage, bool) {
	return nil, false
}

func (s *shop) Resumable() bool {
	return false
}

func (s *shop) Now() time.Time {
	return time.Time{}
}

func (s *shop) Sleep(context.Context, time.Duration) error {
	return nil
}

func (*shop) Remember(string, string, formats.Decision) {}

func (s *shop) Approve(_ context.Context, g formats.Gate) (formats.Decision, error) {
	return formats.Decision{}, &formats.GateOpenError{Gate: g}
}

// call runs a line of a command in the file project/NAME.md.
func (s *shop) call(t *testing.T, name, raw string) (formats.Return, error) {
	t.Helper()
	return s.RunCommand(t.Context(), formats.Invocation{
		Name:    name,
		Source:  "project",
		File:    name + ".md",
		Raw:     raw,
		Session: "sess_1_abcdef",
		Run:     "r1",
		Depth:   formats.CommandDepth(),
		Path:    []string{"router", "/" + name},
		Line:    "/" + name + " " + raw,
	})
}

const head = "---\ncommand: do\ndescription: Do it\narguments:\n%s---\n\n## Workflow Execution\n" +
	"\n### Step 1: Do\n\n```yaml step\n%s\n```\n"

func file(args, step string) string {
	return fmt.Sprintf(head, args, step)
}

const (
	aTask  = "  - {name: n, type: task, required: true}\n"
	aPath  = "  - {name: p, type: path}\n"
	worker = "delegate: researcher\nwith: {task: $task}"
)

// failed is the code and the text of an error.
func failed(err error) string {
	if err == nil {
		return ""
	}
	return formats.CodeOf(err).String() + " " + err.Error()
}

// TestRunCommand: what refuses a line before anything happens, and what does not.
func TestRunCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, raw string
		want      string // the error, empty for none
		help      string
	}{
		"a task": {file(aTask, worker), "7", "", ""},
		"no such task": {
			file(aTask, worker),
			"8",
			"NOT_FOUND task 8 does not exist",
			"tercet task list",
		},
		"an archived task": {
			file(aTask, worker),
			"3",
			"NOT_FOUND task 3 is archived",
			"tercet task unarchive 3",
		},
		"one of a range": {
			file(aTask, worker),
			"6-8",
			"NOT_FOUND task 8 does not exist",
			"tercet task list",
		},
		"tasks": {
			file("  - {name: list, type: tasks, required: true}\n", "return: done"),
			"5, 8",
			"NOT_FOUND task 8 does not exist",
			"tercet task list",
		},
		"an integer that binds": {
			file("  - {name: task_number, type: integer, required: true}\n", worker),
			"9",
			"NOT_FOUND task 9 does not exist",
			"tercet task list",
		},
		"a path":  {file(aPath, "return: done"), "docs/a.md", "", ""},
		"no path": {file(aPath, "return: done"), "", "", ""},
		"no such file": {
			file(aPath, "return: done"),
			"docs/b.md",
			`USAGE /do: expected an existing file of the project for [p], got "docs/b.md"`,
			"/do --help",
		},
		"a path elsewhere": {file(aPath, "return: done"), "/etc/passwd", "USAGE *", ""},
		"paths": {
			file("  - {name: p, type: path, flag: true, repeat: true}\n", "return: done"),
			"--p docs/a.md --p docs/c.md",
			`USAGE /do: expected an existing file of the project for --p, got "docs/c.md"`,
			"/do --help",
		},
		"a path with a pattern": {
			file("  - {name: p, type: path, pattern: '.*'}\n", "return: done"),
			"new/file.md",
			"",
			"",
		},
		"no word for it": {file(aTask, worker), "seven", "USAGE /do: expected *", ""},
		"missing":        {file(aTask, worker), "", "USAGE /do: missing <n>", ""},
		"a file with errors": {
			file(aTask, "delegat: x"),
			"7",
			"INVALID_COMMAND project/do.md:13:1: E108: *",
			"",
		},
		"what only shows when it is compiled": {
			file(aTask, "delegate: reseacher"),
			"7",
			"INVALID_COMMAND project/do.md:13:11: E164: unknown subagent 'reseacher'",
			"did you mean 'researcher'?",
		},
		"too large": {
			file(aTask, worker) + strings.Repeat("x", commands.MaxFile),
			"7",
			"INVALID_COMMAND project/do.md:1:1: E002: *",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.files["project/do.md"] = c.text
			ret, err := s.call(t, "do", c.raw)
			got := failed(err)
			// the rest is for other packages to say
			if head, open := strings.CutSuffix(c.want, "*"); open {
				c.want = head
				got = got[:min(len(got), len(head))]
			}
			if got != c.want || !strings.Contains(formats.HelpOf(err), c.help) {
				t.Errorf("RunCommand = %q (help %q), want %q", got, formats.HelpOf(err), c.want)
			}
			if err != nil && len(s.runs) > 0 {
				t.Errorf("runs = %v, want none", s.runs)
			}
			if err == nil && (ret.Status != formats.StatusCompleted || len(s.runs) != 1) {
				t.Errorf("RunCommand = %+v, runs %v", ret, s.runs)
			}
		})
	}
}

// TestUsagePoints: an argument that is refused is marked in the line.
func TestUsagePoints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.files["project/do.md"] = file(aPath, "return: done")
	_, err := s.call(t, "do", "docs/b.md")
	usage, ok := errors.AsType[*argspec.UsageError](err)
	if !ok || usage.Shown() != "/do docs/b.md" || usage.Caret() != "    ^^^^^^^^^" ||
		usage.Usage() != "usage: /do [p]" {
		t.Errorf("RunCommand = %#v", err)
	}
}

// TestReadOnce: a file is read once for a run, for a help text and for a program, whoever's it is.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.files["project/do.md"] = file(aPath, "return: done")
	s.files[".claude/commands/ask.md"] = "---\ndescription: asks\n---\n\nSay what $1 is.\n"
	s.Foreign = map[string]dialect.Place{".claude/commands": {
		Dialect: dialect.Claude,
		Dir:     ".claude/commands",
	}}
	reads := 0
	open := s.Library.Open
	s.Library.Open = func(source, file string) ([]byte, error) {
		reads++
		return open(source, file)
	}
	for _, e := range []commands.Entry{
		{Name: "do", File: "do.md", Source: "project"},
		{Name: "ask", File: "ask.md", Source: ".claude/commands"},
	} {
		catalog := commands.Catalog{Library: &s.Library, Entries: []commands.Entry{e}}
		for what, act := range map[string]func() error{
			"RunCommand": func() error {
				_, err := s.RunCommand(t.Context(), formats.Invocation{
					Name:   e.Name,
					File:   e.File,
					Source: e.Source,
					Run:    "r1",
					Depth:  formats.CommandDepth(),
				})
				return err
			},
			"Load": func() error {
				_, _, err := s.Load(e.Source, e.File)
				return err
			},
			"TextOf": func() error {
				_, err := catalog.TextOf(e)
				return err
			},
			"List": func() error {
				catalog.List()
				return nil
			},
		} {
			reads = 0
			if err := act(); err != nil || reads != 1 {
				t.Errorf("%s of /%s read the file %d times, want once: %v",
					what, e.Name, reads, err)
			}
		}
	}
}

// TestFileErrors: a file that cannot be read is an IO failure, unless the reader knows better.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.call(t, "gone", "")
	if failed(err) != "IO command file project/gone.md: file does not exist" ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("RunCommand = %v", err)
	}
	s.Library.Open = func(string, string) ([]byte, error) {
		return nil, &formats.Failure{
			Code:    formats.CodeInvalidCommand,
			Message: "expected at most 262144 bytes, got more",
			Help:    "split it",
		}
	}
	_, err = s.call(t, "big", "")
	if failed(err) !=
		"INVALID_COMMAND command file project/big.md: expected at most 262144 bytes, got more" ||
		formats.HelpOf(err) != "split it" {
		t.Errorf("RunCommand = %q, help %q", failed(err), formats.HelpOf(err))
	}
}

// TestWithoutWorkspace: what needs tasks or files is refused, everything else runs.
func TestWithoutWorkspace(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		aTask:                           "NO_WORKSPACE /do needs a workspace",
		aPath:                           "NO_WORKSPACE /do needs a workspace",
		"  - {name: s, type: string}\n": "",
	} {
		s := newShop(t)
		s.Tasks = nil
		s.Docs = nil
		s.files["project/do.md"] = file(args, "return: done")
		if _, err := s.call(t, "do", "7"); failed(err) != want {
			t.Errorf("RunCommand with %s = %q, want %q", args, failed(err), want)
		}
	}
}

// Split gives each task a run, and lets two of them run side by side where the shop says so.
func (s *shop) Split(
	_ context.Context,
	inv formats.Invocation,
	parts []commands.Part,
) (int, error) {
	for i := range parts {
		p := &parts[i]
		p.Inv.Run = fmt.Sprintf("r%d", i+1)
		p.Inv.Line = "/" + inv.Name + " " + p.Inv.Raw
		p.Was = s.was[p.Task]
	}
	return max(1, s.most), nil
}

// Ended implements commands.Several.
func (s *shop) Ended(string) {}

// TestSeveral: a run a task, in order, each with a line and an id of its own. What one comes to
// stops no other, and the gravest counts.
func TestSeveral(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.files["project/do.md"] = file(aTask, worker)
	s.worker = func(r formats.Request) formats.Return {
		return formats.Return{
			Status:   formats.StatusCompleted,
			Warnings: []string{fmt.Sprintf("careful with %s", r.Command)},
			Artifacts: []formats.Artifact{{
				Type: formats.ArtifactReport,
				Path: fmt.Sprintf("%d.md", r.Task.Number),
			}},
		}
	}
	ret, err := s.call(t, "do", "7, 5-6")
	if err != nil || ret.Summary != "/do done for 3 tasks" || formats.ExitCode(ret) != 0 {
		t.Errorf("RunCommand = %+v, %v", ret, err)
	}
	var files []string
	for _, a := range ret.Artifacts {
		files = append(files, a.Path)
	}

	want := []any{
		[]string{"r1", "r2", "r3"},
		[]string{"7.md", "5.md", "6.md"},
		[]string{
			"task 7: careful with /do 7",
			"task 5: careful with /do 5",
			"task 6: careful with /do 6",
		},
	}
	if diff := cmp.Diff(want, []any{s.runs, files, ret.Warnings}); diff != "" {
		t.Errorf("runs, artifacts and warnings (-want +got):\n%s", diff)
	}

	half := formats.Return{Status: formats.StatusPartial, Summary: "half"}
	for name, tt := range map[string]struct {
		six  formats.Return
		was  *formats.Return
		code int
		text string
	}{
		"partial": {
			half, nil, 3,
			"task 5: /do done\ntask 6: partial: half\ntask 7: /do done\n/do done for 2 of 3 tasks",
		},
		"failed before": {
			half, &formats.Return{Status: formats.StatusCompleted, Summary: "done by run r0"}, 0,
			"task 5: /do done\ntask 6: done by run r0\ntask 7: /do done\n/do done for 3 tasks",
		},
		"failed": {
			formats.Failed(formats.Fail(formats.CodeTimeout, "", "too slow")), nil, 124,
			"task 5: /do done\ntask 6: failed: too slow\ntask 7: /do done\n" +
				"/do done for 2 of 3 tasks",
		},
	} {
		s := newShop(t)
		s.files["project/do.md"] = file(aTask, worker)
		s.was = map[int]*formats.Return{6: tt.was}
		s.worker = func(r formats.Request) formats.Return {
			if r.Task.Number == 6 {
				return tt.six
			}
			return formats.Return{Status: formats.StatusCompleted}
		}
		ret, err := s.call(t, "do", "5-7")
		if err != nil || ret.Text != tt.text || formats.ExitCode(ret) != tt.code ||
			len(ret.Tasks) != 3 || ret.Tasks[1].Task != 6 {
			t.Errorf("%s: RunCommand = %+v, %v, exit %d", name, ret, err, formats.ExitCode(ret))
		}
	}
}

// TestSeveralPublish: however long each takes, they publish in the order of the line; one that ends
// without waits for nobody, and no more run side by side than may.
func TestSeveralPublish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		s.most = 2
		s.files["project/do.md"] = file(
			aTask,
			worker+
				"\n```\n\n### Step 2: Publish\n\n```yaml step\ndelegate: git-workflow-manager\n"+
				"with: {action: publish}",
		)
		var mu sync.Mutex
		var published []int
		now := 0
		most := 0
		s.worker = func(r formats.Request) formats.Return {
			mu.Lock()
			if r.Agent == "git-workflow-manager" {
				published = append(published, r.Task.Number)
				mu.Unlock()
				return formats.Return{Status: formats.StatusCompleted}
			}
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(map[int]time.Duration{
				5: time.Hour,
				6: time.Minute,
				7: time.Second,
			}[r.Task.Number])
			mu.Lock()
			defer mu.Unlock()
			now--
			if r.Task.Number == 6 {
				return formats.Return{Status: formats.StatusPartial, Summary: "half"}
			}
			return formats.Return{Status: formats.StatusCompleted}
		}
		ret, err := s.call(t, "do", "5-7")
		if err != nil || formats.ExitCode(ret) != 3 {
			t.Errorf("RunCommand = %+v, %v", ret, err)
		}
		if diff := cmp.Diff([]any{[]int{5, 7}, 2}, []any{published, most}); diff != "" {
			t.Errorf("published, and at once (-want +got):\n%s", diff)
		}
	})
}

// TestWarnings: findings that do not refuse a file are shown, and the command runs.
func TestWarnings(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.files["project/do.md"] = file(
		"  - {name: quick, type: boolean, flag: true}\n",
		"return: ${{ $args.quick // 1 }}",
	)
	if ret, err := s.call(t, "do", ""); err != nil || ret.Summary != "1" {
		t.Errorf("RunCommand = %v, %v", ret, err)
	}
	if len(s.warned) != 1 || s.warned[0].Code != "W310" {
		t.Errorf("warned = %v, want W310", s.warned)
	}
}

// TestCatalog holds the menu and the help of the shipped commands.
func TestCatalog(t *testing.T) {
	t.Parallel()
	embedded, err := commands.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	s.Library.Open = func(_, file string) ([]byte, error) {
		if text, ok := s.files[file]; ok {
			return []byte(text), nil
		}
		return fs.ReadFile(embedded, file)
	}
	s.files["broken.md"] = "---\ncommand: broken\n---\n"
	s.files["secret.md"] = strings.Replace(
		strings.Replace(file(aTask, "return: done"), "command: do", "command: secret", 1),
		"arguments:",
		"hidden: true\narguments:",
		1,
	)
	names, err := fs.Glob(embedded, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	c := commands.Catalog{
		Library: &s.Library,
		Find: func(name string) (commands.Entry, error) {
			return commands.Entry{
				Name:   name,
				File:   name + ".md",
				Source: "library",
			}, nil
		},
	}
	for _, file := range append(names, "secret.md", "broken.md") {
		c.Entries = append(c.Entries, commands.Entry{
			Name:   strings.TrimSuffix(file, ".md"),
			File:   file,
			Source: "library",
		})
	}

	var b strings.Builder
	for _, info := range c.List() {
		fmt.Fprintf(&b, "%-40s %s\n", info.Usage, info.Description)
	}
	for _, file := range names {
		name := "/" + strings.TrimSuffix(file, ".md")
		text, err := c.Text(name)
		if err != nil {
			t.Errorf("Text(%s) = %v", name, err)
		}
		fmt.Fprintf(&b, "\n== %s\n\n%s", name, text)
	}

	const golden = "testdata/catalog.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("catalog (-want +got), -update writes it anew:\n%s", diff)
	}
	if _, err := c.Text("/secret"); err != nil {
		t.Errorf("Text of a hidden command = %v, want its text", err)
	}
	if _, err := c.Text("broken"); formats.CodeOf(err) != formats.CodeInvalidCommand {
		t.Errorf("Text of a broken command = %v, want its errors", err)
	}
}
