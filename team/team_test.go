package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/journal"
	"tercet/internal/testkit"
	"tercet/project"
	"tercet/state"
	"tercet/team"
)

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// gathering is a frontend without a user that keeps the notes.
type gathering struct {
	project.Unattended

	mu    sync.Mutex
	notes []string
}

func (g *gathering) Note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", append([]string{
		"-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main",
	}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// command works in a worktree: each step adds a line, then the work is published.
const command = `---
command: make
description: Make something
arguments: [{name: task_number, type: task, required: true}]
during: {status: implementing, failed: partial}
worktree: {per: run}
---

## Workflow Execution

### Step 1: One

` + "```yaml step\nid: one\ndelegate: maker\n```" + `

### Step 2: Two

` + "```yaml step\nid: two\ndelegate: maker\n```" + `

### Step 3: Publish

` + "```yaml step\npublish: {to: main, as: merge}\n```" + `

### Step 4: Done

` + "```yaml step\nstatus: partial\n```" + `
`

// maker is a subagent that adds a line to a file.
const maker = `---
name: maker
description: Adds a line
role: utility
runner: exec
argv: [sh, maker.sh]
returns: {statuses: [completed, failed], artifacts: none}
---

Works.
`

// place is a folder with the home, its remote and clones.
type place struct {
	dir  string
	home *project.Project
}

func host(tb testing.TB, dir, home string, f project.Frontend) project.Host {
	tb.Helper()
	return project.Host{
		Frontend:    f,
		Clock:       clock{},
		Version:     "test",
		User:        "somebody",
		Session:     project.NewSessionID(time.Now()),
		CommandLine: "a test",
		Env: func(name string) string {
			return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
		},
		LookupEnv:    os.LookupEnv,
		Environ:      os.Environ,
		AbortContext: tb.Context,
		Agreed:       map[string]bool{},
		OwnProject:   dir,
	}
}

func write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// newPlace makes a home with a task, and its remote.
func newPlace(tb testing.TB) *place {
	tb.Helper()
	p := &place{dir: tb.TempDir()}
	home := filepath.Join(p.dir, "home")
	git(tb, p.dir, "init", "-q", "--bare", "remote.git")
	git(tb, p.dir, "init", "-q", "home")
	h := host(tb, home, filepath.Join(p.dir, "HOME-home"), project.Unattended{})
	_, err := h.Init(
		tb.Context(), home, project.Settings{}, state.InitOptions{NextNumber: 1}, false,
	)
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, filepath.Join(home, ".tercet/commands/make.md"), command)
	write(tb, filepath.Join(home, ".tercet/subagents/maker.md"), maker)
	write(tb, filepath.Join(home, "maker.sh"), "echo line >> made.txt\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	git(tb, home, "add", "-A")
	git(tb, home, "commit", "-q", "-m", "first")
	git(tb, home, "config", "user.name", "n")
	git(tb, home, "config", "user.email", "e@example.org")
	git(tb, home, "remote", "add", "origin", filepath.Join(p.dir, "remote.git"))
	git(tb, home, "push", "-q", "origin", "main")
	p.home = openProject(tb, home, h)
	_, err = p.home.Manager.Apply(tb.Context(), state.Tx{
		Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "A task"}}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func openProject(tb testing.TB, dir string, h project.Host) *project.Project {
	tb.Helper()
	p, err := project.Open(tb.Context(), dir, true, h)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// change changes files of the home's project and commits them.
func (p *place) change(tb testing.TB, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		write(tb, filepath.Join(p.home.Dir, name), text)
	}
	git(tb, p.home.Dir, "add", "-A")
	git(tb, p.home.Dir, "commit", "-q", "-m", "more")
	git(tb, p.home.Dir, "push", "-q", "origin", "main")
}

// clone makes a clone with its own user's folder, and opens it for a home.
func (p *place) clone(tb testing.TB, name string, home project.Home) *project.Project {
	tb.Helper()
	h := p.hostOf(tb, name, home)
	return openProject(tb, h.OwnProject, h)
}

// hostOf is what a process in a clone gives to the project there, for a home.
func (p *place) hostOf(tb testing.TB, name string, home project.Home) project.Host {
	tb.Helper()
	dir := filepath.Join(p.dir, name)
	if _, err := os.Stat(dir); err != nil {
		git(tb, p.dir, "clone", "-q", "remote.git", name)
		git(tb, dir, "config", "user.name", "n")
		git(tb, dir, "config", "user.email", "e@example.org")
	}
	h := host(tb, dir, filepath.Join(p.dir, "HOME-"+name), &gathering{})
	h.Home = home
	return h
}

func newKeeper(p *place) (*team.Keeper, error) { return team.NewKeeper(p.home, team.Options{}) }

func (p *place) keeper(tb testing.TB, spawns int) *team.Keeper {
	tb.Helper()
	k, err := team.NewKeeper(p.home, team.Options{Limits: config.TeamLimits{Spawns: spawns}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := k.Close(); err != nil {
			tb.Error(err)
		}
	})
	return k
}

// cut is a home that a worker reaches for a number of journal lines only, as if its machine died
// then.
type cut struct {
	project.Home

	mu   sync.Mutex
	left int
}

var errCut = errors.New("the machine is dead")

func (c *cut) take() error {
	if c.left == 0 {
		return formats.Broken(formats.CodeNotDurable, "the home", errCut)
	}
	return nil
}

func (c *cut) Append(ctx context.Context, l formats.SharedLines) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.take(); err != nil {
		return err
	}
	c.left--
	return c.Home.Append(ctx, l)
}

func (c *cut) Do(ctx context.Context, r formats.HomeRequest) (formats.HomeReply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.take(); err != nil {
		return formats.HomeReply{}, err
	}
	return c.Home.Do(ctx, r)
}

// result is what a run left at the home.
type result struct {
	Made  string
	Task  formats.TaskStatus
	Lease bool
}

func (p *place) result(tb testing.TB) result {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(p.home.Dir, "made.txt"))
	if err != nil {
		tb.Errorf("nothing was published: %v", err)
	}
	task, err := p.home.Reader.Task(tb.Context(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	return result{Made: string(data), Task: task.Status, Lease: task.Lease != nil}
}

// finishedOnce checks that each result of a worker is in the journal once.
func finishedOnce(tb testing.TB, p *project.Project, run string) {
	tb.Helper()
	records, err := journal.Load(p.Root, run)
	if err != nil {
		tb.Fatal(err)
	}
	var seen []string
	for _, r := range records {
		if r.Type != formats.EntryDelegationResult {
			continue
		}
		if slices.Contains(seen, r.Step+r.Key) {
			tb.Errorf("the result of %s stands in the journal twice", r.Step)
		}
		seen = append(seen, r.Step+r.Key)
	}
}

// TestCutAtEveryLine: a run whose machine dies at any line goes on in another clone. Each finished
// step is done once, and home, tree and state are as if nothing had happened.
func TestCutAtEveryLine(t *testing.T) {
	t.Parallel()
	want := result{Made: "line\nline\n", Task: formats.Partial}
	whole := newPlace(t)
	appends := runCut(t, whole, -1)
	if got := whole.result(t); got != want {
		t.Fatalf("undisturbed: %+v, want %+v", got, want)
	}
	step := max(1, appends/3)
	if testkit.Deep() {
		step = 1
	}
	for at := 1; at < appends; at += step {
		t.Run(fmt.Sprint("after ", at), func(t *testing.T) {
			p := newPlace(t)
			runCut(t, p, at)
			if got := p.result(t); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// runCut begins a run in one clone, whose machine dies after a number of calls, and ends it in
// another one. A negative number is no death. It returns the calls that the run made.
func runCut(tb testing.TB, p *place, at int) int {
	tb.Helper()
	k := p.keeper(tb, 0)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		tb.Fatal(err)
	}
	wire := &team.Client{Call: func(ctx context.Context, call []byte) ([]byte, error) {
		return team.Handle(ctx, k, call), nil
	}}
	first := &cut{Home: wire, left: at}
	one := p.clone(tb, "one", first)
	ret, err := one.TakeRun(tb.Context(), job.Run, "t1", project.Options{})
	calls := at
	if at < 0 {
		calls = -1 - first.left
	} else if ret.Status == formats.StatusCompleted && err == nil {
		tb.Fatalf("cut after %d lines the run ended well: %+v", at, ret)
	} else {
		two := p.clone(tb, "two", wire)
		ret, err = two.TakeRun(tb.Context(), job.Run, "t2", project.Options{})
	}
	if err != nil || ret.Status != formats.StatusCompleted {
		data, _ := json.Marshal(ret)
		tb.Fatalf("cut after %d: %s, %v", at, data, err)
	}
	finishedOnce(tb, p.home, job.Run)
	verify(tb, p.home, job.Run)
	return calls
}

// verify checks at the home that a replay decides as the journal says.
func verify(tb testing.TB, p *project.Project, run string) {
	tb.Helper()
	s, err := p.Session(project.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := s.Verify(tb.Context(), run); err != nil {
		tb.Errorf("verify: %v", err)
	}
}

// TestMessageToARunElsewhere: what is told at the home reaches one worker, in whichever clone it
// starts.
func TestMessageToARunElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	wire := &team.Client{Call: func(ctx context.Context, call []byte) ([]byte, error) {
		return team.Handle(ctx, k, call), nil
	}}
	const before = 4 // lines, of which the last ones begin the first step
	one := p.clone(t, "one", &cut{Home: wire, left: before})
	if ret, err := one.TakeRun(t.Context(), job.Run, "t1", project.Options{}); err == nil &&
		ret.Status == formats.StatusCompleted {
		t.Fatalf("the run ended although its machine is dead: %+v", ret)
	}

	_, told, err := p.home.Tell(job.Run, "keep it short", "")
	if err != nil {
		t.Fatal(err)
	}
	two := p.clone(t, "two", wire)
	ret, err := two.TakeRun(t.Context(), job.Run, "t2", project.Options{})
	if err != nil || ret.Status != formats.StatusCompleted {
		t.Fatalf("the second clone: %+v, %v", ret, err)
	}
	list, err := p.home.Messages(job.Run)
	if err != nil || len(list) != 1 || list[0].ID != told.ID || list[0].Step == "" {
		t.Errorf("messages: %+v, %v, want %s with its step", list, err, told.ID)
	}
	verify(t, p.home, job.Run)
}
