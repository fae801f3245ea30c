package team_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/project"
	"tercet/team"
)

// failing is a command whose second step fails until the file mended is there: it leaves a line in
// the worktree that no commit has.
func (p *place) failing(tb testing.TB) {
	tb.Helper()
	p.change(tb, map[string]string{
		".tercet/commands/fail.md": strings.NewReplacer(
			"command: make", "command: fail", ", failed: partial", "",
			"id: two\ndelegate: maker", "id: two\ndelegate: failer",
		).Replace(command),
		".tercet/subagents/failer.md": strings.NewReplacer(
			"name: maker", "name: failer", "maker.sh", "failer.sh",
		).Replace(maker),
		"failer.sh": "echo more >> made.txt\nif [ -e '" + p.dir + "/mended' ]; then\n" +
			`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'` +
			"\nelse\n" +
			`echo '{"status":"failed","summary":"no","artifacts":[],` +
			`"errors":[{"type":"execution","code":"UNKNOWN_ERROR","message":"no"}]}'` + "\nfi\n",
	})
}

// fail lets a run fail in a clone.
func (p *place) fail(t *testing.T, k *team.Keeper, clone, taker string) string {
	t.Helper()
	job, err := k.Begin("/fail 1", false)
	if err != nil {
		t.Fatal(err)
	}
	ret, err := p.clone(t, clone, overWire(k)).TakeRun(t.Context(), job.Run, taker,
		project.Options{})
	if err != nil || ret.Status != formats.StatusFailed {
		t.Fatalf("the run ended with %+v, %v, want failed", ret, err)
	}
	return job.Run
}

// overWire is a keeper as a worker reaches it.
func overWire(k *team.Keeper) project.Home {
	return &team.Client{Call: func(ctx context.Context, call []byte) ([]byte, error) {
		return team.Handle(ctx, k, call), nil
	}}
}

func (p *place) journalOf(t *testing.T, run string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.home.Dir, journal.Folder, run, journal.Name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestGoBack: a run that failed in one clone goes on from a step in another one, in the worktree as
// it was, with what no commit has. Nothing of the earlier attempt counts.
func TestGoBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.failing(t)
	k := p.keeper(t, 0)
	run := p.fail(t, k, "one", "t1")
	last := lines(t, p.home.Control.Key(run), formats.Entry{Type: formats.EntrySuspended})[0]

	var notes []string
	back := team.BackTo{
		From: "two",
		By:   "anna",
		Tell: func(line string) { notes = append(notes, line) },
	}
	if err := k.GoBack(t.Context(), run, back); err != nil {
		t.Fatalf("GoBack: %v", err)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "keeps one#1 (completed)") ||
		!strings.Contains(text, "drops two#1 (failed)") {
		t.Errorf("GoBack told %q", text)
	}
	if !strings.Contains(p.journalOf(t, run), `"by":"anna"`) {
		t.Error("the journal does not say who let the run go on")
	}
	if over, err := k.Finished(run); over || err != nil {
		t.Errorf("Finished = %v, %v, want it open", over, err)
	}
	err := k.Append(t.Context(), formats.SharedLines{Run: run, Taker: "t1", Lines: last})
	code(t, "a line of the attempt that failed", err, formats.CodeNotDurable)
	write(t, filepath.Join(p.dir, "mended"), "")
	ret, err := p.clone(t, "two", overWire(k)).TakeRun(t.Context(), run, "t2", project.Options{})
	if err != nil || ret.Status != formats.StatusCompleted {
		t.Fatalf("the second clone: %+v, %v", ret, err)
	}
	want := result{Made: "line\nmore\nmore\n", Task: formats.Partial}
	if got := p.result(t); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	finishedOnce(t, p.home, run)
	p.verifyAfresh(t, run)
	err = k.GoBack(t.Context(), run, back)
	code(t, "a run that ended well", err, formats.CodePrecondition)
}

// TestGoBackAfterARestart: what the home has written leads the run on after it was started again.
func TestGoBackAfterARestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.failing(t)
	k := p.keeper(t, 0)
	run := p.fail(t, k, "one", "t1")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = p.keeper(t, 0)
	if err := k.GoBack(t.Context(), run, team.BackTo{From: "two", By: "anna"}); err != nil {
		t.Fatalf("GoBack: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = p.keeper(t, 0)
	if jobs := k.Unfinished(); len(jobs) != 1 || jobs[0].Run != run {
		t.Errorf("Unfinished = %+v, want the run", jobs)
	}
	write(t, filepath.Join(p.dir, "mended"), "")
	ret, err := p.clone(t, "two", overWire(k)).TakeRun(t.Context(), run, "t2", project.Options{})
	if err != nil || ret.Status != formats.StatusCompleted {
		t.Fatalf("the next attempt: %+v, %v", ret, err)
	}
	if got, want := p.result(t).Made, "line\nmore\nmore\n"; got != want {
		t.Errorf("published %q, want %q", got, want)
	}
	p.verifyAfresh(t, run)
}

// TestGoBackRefused: each refusal says why, and changes nothing.
func TestGoBackRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.failing(t)
	k := p.keeper(t, 0)
	run := p.fail(t, k, "one", "t1")
	folder := filepath.Join(p.home.Dir, journal.Folder, run)
	before := p.journalOf(t, run)
	record := read(t, filepath.Join(folder, journal.TeamName))
	refuse := func(what, run, from string, want formats.Code) {
		t.Helper()
		err := k.GoBack(t.Context(), run, team.BackTo{From: from, By: "anna"})
		code(t, what, err, want)
	}
	refuse("an unknown run", "nobody", "two", formats.CodeNotFound)
	refuse("an unknown step", run, "three", formats.CodeUsage)
	refuse("results to drop", run, "one", formats.CodeSuspended)
	queued, err := k.Begin("/fail 1", false)
	if err != nil {
		t.Fatal(err)
	}
	refuse("a run that has not begun", queued.Run, "one", formats.CodeNotFound)

	git(t, p.home.Dir, "branch", "task/1-a_task", "HEAD")
	git(t, p.home.Dir, "checkout", "-q", "task/1-a_task")
	git(t, p.home.Dir, "commit", "-q", "--allow-empty", "-m", "other work")
	git(t, p.home.Dir, "checkout", "-q", "main")
	refuse("a branch that has moved on", run, "two", formats.CodeInvalidState)
	git(t, p.home.Dir, "branch", "-D", "task/1-a_task")

	s, err := p.home.Session(project.Options{Yes: true})
	if err == nil {
		_, err = s.Undo(t.Context(), run, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.home.Control.Release(run); err != nil {
		t.Fatal(err)
	}
	refuse("a run that was undone", run, "two", formats.CodePrecondition)

	if p.journalOf(t, run) != before || read(t, filepath.Join(folder, journal.TeamName)) != record {
		t.Error("a refused GoBack changed the journal or the record of the run")
	}
	if _, err := os.Lstat(filepath.Join(folder, journal.LockName)); err == nil {
		t.Error("a refused GoBack left the lock of a run that has ended")
	}
	if over, err := k.Finished(run); !over || err != nil {
		t.Errorf("Finished = %v, %v, want it ended", over, err)
	}
}

// verifyAfresh verifies a run with the command files of the home as they are now.
func (p *place) verifyAfresh(t *testing.T, run string) {
	t.Helper()
	verify(t, openProject(t, p.home.Dir, p.home.Host), run)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
