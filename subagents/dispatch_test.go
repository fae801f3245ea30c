package subagents_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/trace"
	"tercet/subagents"
)

type clockFunc func() time.Time

func (f clockFunc) Now() time.Time {
	return f()
}

// world is a project with a dispatcher over it and all that it recorded.
type world struct {
	*subagents.Dispatcher
	t   *testing.T
	dir string

	mu     sync.Mutex
	events []trace.Event
}

func newWorld(t *testing.T, dir string) *world {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	w := &world{t: t, dir: dir}
	at := time.Date(2026, 1, 5, 23, 0, 0, 0, time.UTC)
	w.Dispatcher = &subagents.Dispatcher{
		Set:  subagents.NewSet(),
		Root: root,
		Dir:  dir,
		Clock: clockFunc(func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			at = at.Add(time.Second)
			return at
		}),
		Trace: trace.Func(func(e trace.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		}),
	}
	return w
}

func (w *world) add(info formats.AgentInfo, f subagents.Func) {
	w.t.Helper()
	if err := w.Set.Add(subagents.Definition{Info: info, File: info.Name + ".md"}, f); err != nil {
		w.t.Fatal(err)
	}
}

// files lists the files under a folder of the project, with slashes.
func (w *world) files(under string) []string {
	w.t.Helper()
	var out []string
	err := filepath.WalkDir(
		filepath.Join(w.dir, under),
		func(p string, d os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(w.dir, p)
				out = append(out, filepath.ToSlash(rel))
			}
			return err
		},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func task() *formats.Task {
	return &formats.Task{
		Number:   7,
		Title:    "Fix it",
		Slug:     "fix_it",
		Language: "go",
		Status:   formats.NotStarted,
	}
}

func request(agent, step string) formats.Request {
	return formats.Request{
		Agent:   agent,
		Task:    task(),
		Session: "sess_1767610000_k3x9qa",
		Run:     "r1",
		Command: "/plan 7",
		Step:    step,
		Attempt: 1,
		Visit:   1,
		Depth:   formats.CommandDepth(),
		Path:    []string{"router", "/plan"},
	}
}

func planner() formats.AgentInfo {
	return formats.AgentInfo{
		Name:  "planner",
		Role:  formats.RolePlanner,
		Tools: []string{"read"},
		Statuses: []formats.Outcome{
			formats.OutcomeCompleted, formats.OutcomePartial, formats.OutcomeBlocked,
			formats.OutcomeFailed,
		},
		Artifacts: []formats.ArtifactSpec{{Type: formats.ArtifactPlan}},
	}
}

func utility(name string) formats.AgentInfo {
	return formats.AgentInfo{
		Name:        name,
		Role:        formats.RoleUtility,
		NoArtifacts: true,
	}
}

func completed(artifacts ...formats.Artifact) formats.Return {
	return formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   "done",
		Artifacts: artifacts,
	}
}

func writes(t *testing.T, name, text string) subagents.Func {
	t.Helper()
	return func(_ context.Context, r formats.Request) (formats.Return, error) {
		if err := os.WriteFile(filepath.Join(r.Out, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		return completed(formats.Artifact{Type: formats.ArtifactPlan, Path: name}), nil
	}
}

func TestDelegateStamps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var seen formats.Request
	w.add(planner(), func(ctx context.Context, r formats.Request) (formats.Return, error) {
		seen = r
		ret, err := writes(t, "my plan.md", "# Plan\n")(ctx, r)
		ret.Metadata = formats.Metadata{
			Session:  "sess_1_forged",
			Run:      "r9",
			Duration: 4711,
			Agent:    "root",
			Runner:   "offline",
			Depth:    1,
			Path:     []string{"router"},
			Worktree: "/elsewhere",
		}
		ret.Class = formats.ClassTransient
		return ret, err
	})
	got, err := w.Delegate(t.Context(), request("planner", "plan"))
	if err != nil {
		t.Fatal(err)
	}
	want := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: "done",
		Artifacts: []formats.Artifact{{
			Type: formats.ArtifactPlan,
			Path: ".tercet/specs/007_fix_it/plans/implementation-001.md",
		}},
		Errors: []formats.ReturnError{},
		Metadata: formats.Metadata{
			Session:  "sess_1767610000_k3x9qa",
			Run:      "r1",
			Duration: 2,
			Agent:    "planner",
			Runner:   "offline",
			Depth:    2,
			Path:     []string{"router", "/plan", "planner"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Delegate (-want +got):\n%s", diff)
	}
	if seen.Depth.Int() != 2 || !slices.Equal(seen.Path, want.Metadata.Path) || seen.Dir != w.dir ||
		seen.Timeout.Total != formats.DefaultStepTimeout ||
		seen.Out != filepath.Join(w.dir, ".tercet/runs/r1/plan-1/out") {
		t.Errorf("request of the agent = %+v", seen)
	}
	if got := w.read(want.Artifacts[0].Path); got != "# Plan\n" {
		t.Errorf("document = %q", got)
	}
	if got := w.files(
		".tercet/runs",
	); !slices.Equal(got, []string{".tercet/runs/r1/documents.json"}) {
		t.Errorf("files of the run = %v, want only documents.json", got)
	}
	if len(w.events) != 2 || w.events[0].Kind != trace.Agent || w.events[0].Step != "plan" ||
		w.events[0].ToDepth != 2 {
		t.Fatalf("events = %v, want that the agent was started and one more", w.events)
	}
	e := w.events[1]
	if e.Kind != trace.Delegate || e.FromDepth != 1 || e.ToDepth != 2 || e.Outcome != "completed" ||
		e.Name != "planner" ||
		e.Duration <= 0 || !slices.Equal(e.Path, want.Metadata.Path) {
		t.Errorf("event = %+v", e)
	}
}

func TestDelegateRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	never := func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Return{}, errors.New("the agent was called")
	}
	w.add(utility("planner"), never)
	w.add(utility("planner@go"), never)
	deep, err := formats.CommandDepth().Next()
	if err != nil {
		t.Fatal(err)
	}
	deepest, err := deep.Next()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		edit func(*formats.Request)
		want formats.Code
		text string
	}{
		{
			"fourth level",
			func(r *formats.Request) { r.Depth = deepest },
			formats.CodeMaxDepth,
			"expected delegation depth at most 3, got 4",
		},
		{
			"from the router",
			func(r *formats.Request) { r.Depth = formats.Depth{} },
			formats.CodeBug,
			"a delegation starts at a command, not at the router",
		},
		{
			"cycle",
			func(r *formats.Request) {
				r.Path = []string{"router", "/plan", "planner"}
			},
			formats.CodeCycle,
			`router > /plan > planner would delegate to "planner", which is already on that path`,
		},
		{
			"cycle by a language",
			func(r *formats.Request) {
				r.Path = []string{"router", "/plan", "planner@rust"}
			},
			formats.CodeCycle,
			`router > /plan > planner@rust would delegate to "planner", which is already on that path`,
		},
		{
			"unknown",
			func(r *formats.Request) { r.Agent = "planer" },
			formats.CodeNotFound,
			`unknown subagent "planer"`,
		},
		{"run id", func(r *formats.Request) {
			r.Run = "../x"
		}, formats.CodeInvalidState, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := request("planner", "plan")
			tt.edit(&r)
			if tt.name == "run id" {
				w := newWorld(t, t.TempDir())
				w.add(planner(), never)
				_, err := w.Delegate(t.Context(), r)
				if got := formats.CodeOf(err); got != tt.want {
					t.Errorf("Delegate = %v, want %s", err, tt.want)
				}
				return
			}
			_, err := w.Delegate(t.Context(), r)
			if formats.CodeOf(err) != tt.want || err.Error() != tt.text {
				t.Errorf("Delegate = %v (%s), want %s (%s)",
					err, formats.CodeOf(err), tt.text, tt.want)
			}
			if tt.want == formats.CodeNotFound && formats.HelpOf(err) != "did you mean 'planner'?" {
				t.Errorf("help = %q", formats.HelpOf(err))
			}
		})
	}
}

func TestDelegateNested(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var inner formats.Request
	var tooDeep error
	w.add(utility("leaf"), func(ctx context.Context, r formats.Request) (formats.Return, error) {
		inner = r
		r.Agent = "beyond"
		_, tooDeep = w.Delegate(ctx, r)
		return completed(), nil
	})
	w.add(utility("beyond"), func(context.Context, formats.Request) (formats.Return, error) {
		t.Error("depth 4 was reached")
		return completed(), nil
	})
	w.add(utility("flow"), func(ctx context.Context, r formats.Request) (formats.Return, error) {
		r.Agent = "leaf"
		r.Input = nil
		return w.Delegate(ctx, r)
	})
	got, err := w.Delegate(t.Context(), request("flow", "do"))
	if err != nil || got.Metadata.Depth != 2 || got.Metadata.Agent != "flow" {
		t.Errorf("Delegate = %+v, %v, want depth 2 of flow", got, err)
	}
	if inner.Depth.Int() != 3 ||
		!slices.Equal(inner.Path, []string{"router", "/plan", "flow", "leaf"}) {
		t.Errorf("inner depth %d, path %v", inner.Depth.Int(), inner.Path)
	}
	if formats.CodeOf(tooDeep) != formats.CodeMaxDepth {
		t.Errorf("fourth level = %v, want MAX_DEPTH_EXCEEDED", tooDeep)
	}
}

func TestDelegateLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	for _, name := range []string{"worker", "worker@go"} {
		w.add(utility(name), func(context.Context, formats.Request) (formats.Return, error) {
			ret := completed()
			ret.Summary = name
			return ret, nil
		})
	}
	for language, want := range map[string]string{
		"go":   "worker@go",
		"rust": "worker",
		"":     "worker",
	} {
		r := request("worker", "do")
		r.Task.Language = language
		got, err := w.Delegate(t.Context(), r)
		if err != nil || got.Summary != want || got.Metadata.Agent != want ||
			got.Metadata.Path[2] != "worker" {
			t.Errorf("Delegate in %q = %+v, %v, want %s", language, got, err, want)
		}
	}
}

func TestDelegateInput(t *testing.T) {
	t.Parallel()
	info := utility("clerk")
	info.Inputs = map[string]formats.Input{
		"operation": {Type: formats.TypeString, Required: true},
		"numbers":   {Type: formats.TypeArray},
		"phase":     {Type: formats.TypeInteger},
		"words":     {Type: formats.TypeList},
		"task":      {Type: formats.TypeObject},
	}
	tests := []struct {
		input map[string]any
		want  string
	}{
		{map[string]any{
			"operation": "x",
			"numbers":   []any{1},
			"phase":     2.0,
			"words":     []any{"a"},
			"task":      map[string]any{},
		}, ""},
		{map[string]any{"operation": "x", "phase": nil}, ""},
		{nil, "expected string as operation, got nothing"},
		{map[string]any{"operation": nil}, "expected string as operation, got nothing"},
		{map[string]any{"operation": 3}, "expected string as operation, got number"},
		{map[string]any{
			"operation": "x",
			"phase":     1.5,
			"words":     []any{1},
		}, "expected integer as phase, got number; expected list as words, got array with number in it; " +
			"a list holds texts in quotes"},
		{
			map[string]any{"operation": "x", "number": 1},
			`unknown input "number", did you mean 'numbers'?`,
		},
	}
	w := newWorld(t, t.TempDir())
	w.add(info, func(context.Context, formats.Request) (formats.Return, error) {
		return completed(), nil
	})
	for _, tt := range tests {
		r := request("clerk", "do")
		r.Input = tt.input
		got, err := w.Delegate(t.Context(), r)
		switch {
		case err != nil:
			t.Errorf("Delegate(%v) = %v", tt.input, err)
		case tt.want == "":
			if got.Status != formats.StatusCompleted {
				t.Errorf("Delegate(%v) = %+v, want completed", tt.input, got)
			}
		case len(got.Errors) != 1 || got.Errors[0].Code != formats.CodeValidationFailed ||
			got.Errors[0].Message != "input of clerk: "+tt.want:
			t.Errorf("Delegate(%v) = %+v, want %s", tt.input, got.Errors, tt.want)
		}
	}
}

func TestDelegateErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err   error
		class formats.Class // of the failed return; empty: a Go error
	}{
		{
			&formats.Failure{Code: formats.CodeToolUnavailable, Message: "no claude"},
			formats.ClassUnavailable,
		},
		{&formats.Failure{Code: formats.CodeTransient, Message: "429"}, formats.ClassTransient},
		{&formats.Failure{Code: formats.CodeDenied, Message: "no"}, formats.ClassPermission},
		{&formats.Failure{Code: formats.CodeIO, Message: "disk"}, ""},
		{formats.Fail(formats.CodeMaxDepth, "", "too deep"), ""},
		{errors.New("anything"), ""},
	}
	for _, tt := range tests {
		w := newWorld(t, t.TempDir())
		w.add(utility("worker"), func(context.Context, formats.Request) (formats.Return, error) {
			return formats.Return{}, tt.err
		})
		got, err := w.Delegate(t.Context(), request("worker", "do"))
		if tt.class == "" {
			if !errors.Is(err, tt.err) {
				t.Errorf("Delegate with %v = %v, want it as a Go error", tt.err, err)
			}
			if e := w.events[len(w.events)-1]; e.Outcome != "failed" || e.Message == "" {
				t.Errorf("event = %+v", e)
			}
			continue
		}
		if err != nil || got.Status != formats.StatusFailed || got.Class != tt.class ||
			got.Metadata.Depth != 2 {
			t.Errorf("Delegate with %v = %+v, %v, want class %s", tt.err, got, err, tt.class)
		}
	}
}

func TestDelegateStopped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fails func(ctx context.Context) (formats.Return, error)
		stop  bool // the caller cancels
		want  formats.Code
	}{
		{
			"time is over, error",
			func(ctx context.Context) (formats.Return, error) {
				return formats.Return{}, ctx.Err()
			},
			false,
			formats.CodeTimeout,
		},
		{"time is over, failed", func(context.Context) (formats.Return, error) {
			return formats.Failed(&formats.Failure{
				Code:    formats.CodeBuildError,
				Message: "signal: killed",
			}), nil
		}, false, formats.CodeTimeout},
		{"time is over, garbage", func(context.Context) (formats.Return, error) {
			return formats.Return{}, &subagents.ReturnError{
				Agent:    "worker",
				Problems: []string{"no return"},
			}
		}, false, formats.CodeTimeout},
		{
			"cancelled",
			func(ctx context.Context) (formats.Return, error) {
				return formats.Return{}, ctx.Err()
			},
			true,
			formats.CodeCancelled,
		},
		{
			"done all the same",
			func(context.Context) (formats.Return, error) {
				return completed(), nil
			},
			false,
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, t.TempDir())
				calls := 0
				w.add(
					utility("worker"),
					func(ctx context.Context, _ formats.Request) (formats.Return, error) {
						calls++
						<-ctx.Done()
						return tt.fails(ctx)
					},
				)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.stop {
					time.AfterFunc(time.Minute, cancel)
				}
				r := request("worker", "do")
				r.Timeout.Total = time.Hour
				got, err := w.Delegate(ctx, r)
				if err != nil || calls != 1 {
					t.Fatalf("Delegate = %v after %d calls", err, calls)
				}
				if tt.want == "" {
					if got.Status != formats.StatusCompleted {
						t.Errorf("Delegate = %+v, want completed", got)
					}
					return
				}
				if len(got.Errors) == 0 || got.Errors[0].Code != tt.want ||
					got.Class != formats.ClassOf(got.Errors[0]) {
					t.Errorf("Delegate = %+v, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestDelegateKeepsWhatBuiltinsSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	info := utility("git-workflow-manager")
	info.Builtin = true
	w.add(info, func(_ context.Context, r formats.Request) (formats.Return, error) {
		if r.Out != "" {
			t.Errorf("Out = %q, want none for a contract without artifacts", r.Out)
		}
		ret := completed()
		ret.Metadata.Worktree = "/w/tree"
		return ret, nil
	})
	got, err := w.Delegate(t.Context(), request("git-workflow-manager", "open"))
	if err != nil || got.Metadata.Worktree != "/w/tree" || got.Metadata.Runner != "builtin" ||
		len(got.Warnings) > 0 {
		t.Errorf("Delegate = %+v, %v", got, err)
	}
	if files := w.files(".tercet"); len(files) > 0 {
		t.Errorf("files = %v, want none", files)
	}
}

func TestDelegateDerives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	info := utility("auditor")
	info.Role = formats.RoleReviewer
	info.StatusQuery = "x"
	ret := completed()
	ret.Fields = map[string]any{"count": 1}
	w.add(info, func(context.Context, formats.Request) (formats.Return, error) {
		return ret, nil
	})
	w.Derive = func(
		_ context.Context,
		info formats.AgentInfo,
		r formats.Return,
	) (formats.Return, error) {
		if info.StatusQuery != "x" || r.Fields["count"] != 1 {
			return r, errors.New("status: expected a number, got nothing")
		}
		r.Verdict = formats.VerdictRejected
		return r, nil
	}
	got, err := w.Delegate(t.Context(), request("auditor", "audit"))
	if err != nil || got.Outcome() != formats.OutcomeRejected {
		t.Errorf("Delegate = %+v, %v, want rejected", got, err)
	}
	ret.Fields = nil
	got, err = w.Delegate(t.Context(), request("auditor", "audit"))
	if err != nil || got.Class != formats.ClassInvalidReturn ||
		!strings.Contains(got.Errors[0].Message, "status: expected a number, got nothing") {
		t.Errorf("Delegate = %+v, %v, want invalid_return", got, err)
	}
}

func TestDelegateWithoutParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	for name, edit := range map[string]func(*subagents.Dispatcher){
		"expected a set of subagents, got nothing": func(d *subagents.Dispatcher) {
			d.Set = nil
		},
		"expected the project root, got nothing": func(d *subagents.Dispatcher) {
			d.Root = nil
		},
		"expected a clock, got nothing": func(d *subagents.Dispatcher) {
			d.Clock = nil
		},
	} {
		d := &subagents.Dispatcher{
			Set:   w.Set,
			Root:  w.Root,
			Dir:   w.dir,
			Clock: w.Clock,
		}
		edit(d)
		_, err := d.Delegate(t.Context(), request("planner", "plan"))
		if err == nil || err.Error() != name || formats.CodeOf(err) != formats.CodeBug {
			t.Errorf("Delegate = %v, want %s", err, name)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	s := subagents.NewSet()
	def := subagents.Definition{Info: utility("b"), File: "x/b.md"}
	agent := subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
		return completed(), nil
	})
	if err := s.Add(def, nil); formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Add without an agent = %v, want BUG", err)
	}
	if err := s.Add(def, agent); err != nil {
		t.Fatal(err)
	}
	err := s.Add(def, agent)
	if formats.CodeOf(err) != formats.CodeConfig ||
		!strings.Contains(err.Error(), "is defined in") {
		t.Errorf("Add of a second b = %v, want CONFIG with both files", err)
	}
	def.Info.Name = "a"
	if err := s.Add(def, agent); err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Names() = %v, want [a b]", got)
	}
	if info, ok := s.Agent("a"); !ok || info.Name != "a" {
		t.Errorf("Agent(a) = %v, %v", info, ok)
	}
	if _, ok := s.Agent("c"); ok {
		t.Error("Agent(c) = true, want false")
	}
}

func TestDelegateOptionalArtifacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	for name, optional := range map[string][]formats.ArtifactType{
		"none-due": {formats.ArtifactImplementation, formats.ArtifactSummary},
		"one-due":  {formats.ArtifactSummary},
		"all-due":  nil,
	} {
		def := subagents.Definition{Info: formats.AgentInfo{Name: name}}
		for _, kind := range []formats.ArtifactType{
			formats.ArtifactImplementation,
			formats.ArtifactSummary,
		} {
			def.Info.Artifacts = append(def.Info.Artifacts, formats.ArtifactSpec{
				Type:     kind,
				Optional: slices.Contains(optional, kind),
			})
		}
		if err := w.Set.Add(
			def,
			subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
				return completed(), nil
			}),
		); err != nil {
			t.Fatal(err)
		}
		got, err := w.Delegate(t.Context(), request(name, name))
		want := len(optional) == 2
		if err != nil || (got.Status == formats.StatusCompleted) != want {
			t.Errorf("Delegate(%s) = %+v, %v, want completed %v", name, got, err, want)
		}
	}

	if info, _ := w.Set.Agent("none-due"); len(info.Artifacts) != 2 || info.NoArtifacts {
		t.Errorf("Agent(none-due) = %+v, want both artifacts", info)
	}
}
