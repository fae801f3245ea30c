package past_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/subagents/past"
	"tercet/subagents/worktree"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// project is a folder with runs.
type project struct {
	t    *testing.T
	dir  string
	root *os.Root
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir()}
	var err error
	p.root, err = os.OpenRoot(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.root.Close() })
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	name = filepath.Join(p.dir, ".tercet", name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run makes a run that was heard of last so long before noon; an empty status is one that did not
// end.
func (p *project) run(id, status string, ago time.Duration) {
	p.t.Helper()
	p.write("runs/"+id+"/x", strings.Repeat("x", 1000))
	w := journal.New(
		func() (*os.Root, error) {
			return os.OpenRoot(filepath.Join(p.dir, ".tercet/runs", id))
		},
		journal.Options{Clock: func() time.Time { return noon.Add(-ago) }},
	)
	list := []formats.Entry{{
		Type: formats.EntryRunStarted,
		Data: formats.Started{
			Format: formats.JournalFormat,
			Line:   "/" + id,
			Args:   map[string]any{},
		},
	}}
	if status != "" {
		list = append(list, formats.Entry{
			Type: formats.EntryRunFinished,
			Data: map[string]any{"status": status},
		})
	} else {
		p.write("runs/"+id+"/lock", "")
	}

	for _, e := range list {
		if err := w.Append(p.t.Context(), e); err != nil {
			p.t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) exists(name string) bool {
	_, err := p.root.Stat(".tercet/" + name)
	return err == nil
}

func free(string) (io.Closer, error) {
	return io.NopCloser(nil), nil
}

const day = 24 * time.Hour

// TestGCTakesOldestRunsFirst: runs go by their age and by the size of all, and never one that
// something holds.
func TestGCTakesOldestRunsFirst(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for id, ago := range map[string]time.Duration{
		"rold":    40 * day,
		"rolder":  50 * day,
		"raside":  60 * day,
		"rbundle": 70 * day,
		"rnamed":  80 * day,
		"rnew":    day,
		"rheld":   90 * day,
	} {
		p.run(id, "completed", ago)
	}

	p.run("ropen", "", 100*day)
	p.write("runs/raside/aside/.env", "x")
	p.write("runs/rbundle/a.bundle", "x") // made now
	p.write(
		"state.json",
		`{"tasks": [{"artifacts": [{"path": ".tercet/runs/rnamed/plan/out/x.md"}]}]}`,
	)
	p.write("runs/gone-r1/x", "half removed")
	at := past.Project{Root: p.root}
	c, err := at.FindOld(t.Context(), past.Limits{
		Age:  30 * day,
		Size: 1 << 40,
		Now:  noon,
	})
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []past.OldRun) (out string) {
		for _, r := range list {
			out += " " + r.Run
		}
		return out
	}
	if got := names(c.Runs); got != " rheld rolder rold" {
		t.Errorf("runs = %s, want rheld rolder rold", got)
	}
	if got := names(c.Held); got != " ropen rnamed rbundle raside" {
		t.Errorf("held = %s, want ropen rnamed rbundle raside", got)
	}
	busy := formats.Fail(formats.CodeLocked, "", "busy")
	if err := c.Do(t.Context(), func(run string) (io.Closer, error) {
		if run == "rheld" {
			return nil, busy
		}
		if run == "rolder" {
			return nil, errors.Join(p.root.RemoveAll(".tercet/runs/rolder"), fs.ErrNotExist)
		}
		return free(run)
	}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"runs/rold":              false,
		"runs/rolder":            false,
		"runs/gone-r1":           false,
		"runs/rheld":             true,
		"runs/raside/aside/.env": true,
		"runs/rbundle/a.bundle":  true,
		"runs/rnamed":            true,
		"runs/ropen":             true,
		"runs/rnew":              true,
		"runs/gone-rold":         false,
	} {
		if p.exists(name) != want {
			t.Errorf("%s exists: %t, want %t", name, !want, want)
		}
	}

	c, err = at.FindOld(t.Context(), past.Limits{
		Age:  1000 * day,
		Size: 1,
		Now:  noon,
	})
	if err != nil || names(c.Runs) != " rheld rnew" {
		t.Errorf("runs beyond the size = %s, %v, want rheld rnew", names(c.Runs), err)
	}
}

// TestGCLetsGo: a run that cannot be removed is not held afterwards.
func TestGCLetsGo(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("rold", "completed", 40*day)
	p.write("runs/rold/"+journal.TeamName, "{}") // its snapshots are to be noted

	starter, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil },
		Env:   proc.LookupVars(os.LookupEnv, "PATH", "HOME"),
		Now:   time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	trees, err := worktree.New(worktree.Manager{
		Git: func(dir string) *git.Repo {
			return &git.Repo{Starter: starter, Dir: dir}
		},
		Root: p.dir,
		Base: filepath.Join(p.dir, ".tercet", "worktrees"),
		TrackCommits: func() func(string) bool {
			return func(string) bool { return false }
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := trees.Git(p.dir).Init(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}

	at := past.Project{Root: p.root, Trees: trees}
	c, err := at.FindOld(t.Context(), past.Limits{
		Age:  30 * day,
		Size: 1 << 40,
		Now:  noon,
	})
	if err != nil || len(c.Runs) != 1 {
		t.Fatalf("FindOld = %+v, %v, want one run", c, err)
	}

	p.write("runs/snapshots.json", "broken")
	held := 0
	err = c.Do(t.Context(), func(string) (io.Closer, error) {
		held++
		return closer(func() { held-- }), nil
	})
	if err == nil || !p.exists("runs/rold") {
		t.Errorf("Do = %v, want a failure that leaves the run", err)
	}
	if held != 0 {
		t.Error("the run is still held")
	}
}

// closer calls a function when it is closed.
type closer func()

// Close implements io.Closer.
func (c closer) Close() error {
	c()
	return nil
}

// TestDaily: at most once a day, and not while all runs are young.
func TestDaily(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	at := past.Project{Root: p.root}
	now := time.Now()
	if at.ClaimDaily(now) {
		t.Error("ClaimDaily without runs = true")
	}
	p.run("r1", "completed", day)
	if at.ClaimDaily(now) || p.exists("runs/gc.stamp") {
		t.Error("ClaimDaily with a young run = true, or it left a stamp")
	}
	later := now.Add(2 * day)
	if !at.ClaimDaily(later) || at.ClaimDaily(later.Add(time.Hour)) ||
		!at.ClaimDaily(later.Add(25*time.Hour)) {
		t.Error("ClaimDaily is not once a day")
	}
}

// states stands for the tasks.
type states struct{ undone []string }

func (s *states) Undo(
	_ context.Context,
	run, _ string,
	dry bool,
) (lines, plans []string, err error) {
	if len(s.undone) > 0 {
		return nil, nil, nil
	}
	if !dry {
		s.undone = append(s.undone, run)
	}
	return []string{"task 1: completed -> planned"}, []string{".tercet/specs/p.md"}, nil
}

// TestUndoDocuments: documents go to the folder of the run, one that was edited refuses, and what
// was interrupted is done to its end by the same again.
func TestUndoDocuments(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("r1", "completed", day)
	p.write("specs/a.md", "a")
	p.write("specs/p.md", "plan with marks")
	const sum = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // of "a"
	p.write(
		"runs/r1/documents.json",
		`[{"step": "s", "type": "report", "n": 0, "path": ".tercet/specs/a.md", "sha256": "`+sum+
			`"},
		{"step": "s", "type": "plan", "n": 0, "path": ".tercet/specs/p.md", "sha256": "`+sum+`"},
		{"step": "s", "type": "plan", "n": 1, "path": ".tercet/specs/gone.md"}, {"step": "s", "type": "plan", "n": 2, "path": "../../x"}]`,
	)
	records, err := journal.Load(p.root, "r1")
	if err != nil {
		t.Fatal(err)
	}
	at := past.Project{Root: p.root, State: &states{}}
	plan := func() *past.Undoing {
		t.Helper()
		u, err := at.Plan(t.Context(), journal.Run{ID: "r1", Line: "/x"}, records)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	got := strings.Join(plan().Lines(), "\n")
	if got !=
		"task 1: completed -> planned\n"+
			"move .tercet/specs/a.md to .tercet/runs/r1/undone/specs/a.md\n"+
			"move .tercet/specs/p.md to .tercet/runs/r1/undone/specs/p.md" {
		t.Errorf("Lines = %s", got)
	}
	p.write("specs/a.md", "edited")
	if _, err := at.Plan(
		t.Context(),
		journal.Run{ID: "r1"},
		records,
	); formats.CodeOf(err) != formats.CodePrecondition ||
		!strings.Contains(err.Error(), "specs/a.md was changed since") {
		t.Errorf("Plan with an edited document = %v, want it refused", err)
	}
	p.write("specs/a.md", "a")
	u := plan()
	u.Documents = u.Documents[:1] // killed behind the first document
	if _, err := u.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.write("specs/p.md", "a") // as the state put it back
	if u = plan(); len(u.State) > 0 || len(u.Documents) != 1 {
		t.Errorf("what is left = %q, want one document", u.Lines())
	}
	if _, err := u.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	u = plan()
	if !u.IsEmpty() || p.exists("specs/a.md") || p.exists("specs/p.md") ||
		!p.exists("runs/r1/undone/specs/p.md") {
		t.Errorf("what is left = %q, want nothing", u.Lines())
	}
	p.run("r2", "", day)
	records, err = journal.Load(p.root, "r2")
	if err != nil {
		t.Fatal(err)
	}
	_, err = at.Plan(t.Context(), journal.Run{ID: "r2"}, records)
	if err == nil || formats.HelpOf(err) != "give it up first: tercet cancel r2" {
		t.Errorf("Plan of a run that has not ended = %v", err)
	}
}
