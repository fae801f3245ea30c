package team_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/project"
	"tercet/state"
	"tercet/team"
)

// TestALineWithSeveralTasks: each task gets a run, and one that depends on another begins after the
// run of that one has ended. A wrong line makes no run.
func TestALineWithSeveralTasks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, err := p.home.Manager.Apply(t.Context(), state.Tx{
		Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{
			{Title: "Depends on the first", Dependencies: []int{1}},
			{Title: "Stands alone"},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := p.keeper(t, 0)
	for line, want := range map[string]formats.Code{
		"/nope 1": formats.CodeUsage,
		"/make":   formats.CodeUsage,
		"/make x": formats.CodeUsage,
		"/make 9": formats.CodeNotFound,
	} {
		jobs, err := k.BeginEach(t.Context(), line, team.BeginOptions{})
		if formats.CodeOf(err) != want {
			t.Errorf("BeginEach(%q) = %v, %v, want %s", line, jobs, err, want)
		}
	}
	empty := team.BeginOptions{Needs: []string{""}}
	_, err = k.BeginEach(t.Context(), "/make 1", empty)
	if formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("BeginEach with an empty label: %v, want a wrong use", err)
	}
	if list := k.All(); len(list) > 0 {
		t.Fatalf("wrong lines made runs: %v", list)
	}

	jobs, err := k.BeginEach(t.Context(), "/make 1-3", team.BeginOptions{
		Needs: []string{"gpu"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, j := range jobs {
		lines = append(lines, j.Line)
	}
	if want := []string{"/make 1", "/make 2", "/make 3"}; !slices.Equal(lines, want) {
		t.Fatalf("lines %q, want %q", lines, want)
	}
	waitsFor := func(run, want string) {
		t.Helper()
		if got, err := k.WaitsFor(run); got != want || err != nil {
			t.Errorf("WaitsFor(%s) = %q, %v, want %q", run, got, err, want)
		}
	}
	waitsFor(jobs[0].Run, "")
	waitsFor(jobs[1].Run, jobs[0].Run)
	waitsFor(jobs[2].Run, "")

	lacks := func(run, want string, labels ...string) {
		t.Helper()
		files, err := p.home.DecidingFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fit, err := k.Fit(t.Context(), run, team.Candidate{
			Version: "test",
			Labels:  labels,
			Files:   files.Sums,
		})
		if err != nil || fit.Why != want {
			t.Errorf("Fit with %q = %+v, %v, want %q", labels, fit, err, want)
		}
	}
	lacks(jobs[2].Run, "", "gpu", "linux")
	lacks(jobs[2].Run, "it lacks the labels gpu", "linux")

	write(t, filepath.Join(p.home.Dir, ".tercet/commands/train.md"), strings.Replace(
		strings.Replace(command, "command: make", "command: train", 1),
		"worktree:", "needs: [gpu, big-disk]\nworktree:", 1,
	))
	trained, err := k.BeginEach(t.Context(), "/train 3", team.BeginOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lacks(trained[0].Run, "it lacks the labels big-disk", "gpu")

	wire := &team.Client{Call: func(ctx context.Context, call []byte) ([]byte, error) {
		return team.Handle(ctx, k, call), nil
	}}
	one := p.clone(t, "one", wire)
	ret, err := one.TakeRun(t.Context(), jobs[0].Run, "t1", project.Options{})
	if err != nil || ret.Status != formats.StatusCompleted {
		t.Fatalf("the first run: %+v, %v", ret, err)
	}
	waitsFor(jobs[1].Run, "")
}
