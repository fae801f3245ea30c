package project_test

import (
	"testing"

	"tercet/formats"
	"tercet/project"
)

// TestTasks: tasks are created, changed, claimed and read with their runs and history; inside a
// subagent nothing is written.
func TestTasks(t *testing.T) {
	t.Parallel()
	p := open(t, project.Unattended{})
	ctx := t.Context()

	res, err := p.CreateTasks(
		ctx, project.Transaction{}, project.NewTask{Title: "One"}, project.NewTask{Title: "Two"},
	)
	if err != nil || len(res.Numbers) != 2 {
		t.Fatalf("CreateTasks = %+v, %v", res, err)
	}

	try := project.Transaction{Try: true}
	change := project.StatusChange{Tasks: []int{1}, To: formats.Abandoned, Reason: "no"}
	if res, err := p.SetStatus(ctx, try, change); err != nil || !res.Changed {
		t.Errorf("SetStatus as a try = %+v, %v", res, err)
	}
	if list, err := p.Tasks(ctx, project.TaskFilter{Status: formats.Abandoned}); len(list) > 0 {
		t.Errorf("a try left %v, %v", list, err)
	}

	if _, err := p.SetStatus(ctx, project.Transaction{}, change); err != nil {
		t.Error(err)
	}
	list, err := p.Tasks(ctx, project.TaskFilter{Status: formats.Abandoned})
	if err != nil || len(list) != 1 || list[0].Number != 1 {
		t.Errorf("abandoned tasks = %v, %v, want task 1", list, err)
	}

	list, err = p.Tasks(ctx, project.TaskFilter{Ready: true})
	if err != nil || len(list) != 1 || list[0].Number != 2 {
		t.Errorf("tasks that are ready = %v, %v, want task 2", list, err)
	}

	start(t, p, "/plan 2", project.Options{Yes: true})
	d, err := p.Task(ctx, 2)
	if err != nil || d.Task.Title != "Two" || len(d.Task.Artifacts) == 0 ||
		len(d.Runs) != 1 || len(d.History) < 3 {
		t.Errorf("Task = %+v, %v, want its plan, its run and its history", d, err)
	}
	claim, err := p.ClaimTask(ctx, project.Transaction{}, 0, "", 0)
	if err != nil || claim.Task != 2 || claim.Session != p.Host.Session {
		t.Errorf("ClaimTask = %+v, %v, want task 2", claim, err)
	}
	if _, err := p.Task(ctx, 7); formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("a task that is not there = %v", err)
	}

	h := p.Host
	h.InsideRun = func() bool { return true }
	inside, err := project.Open(ctx, p.Dir, true, h)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close(ctx)
	_, err = inside.CreateTasks(ctx, project.Transaction{}, project.NewTask{Title: "Three"})
	if formats.CodeOf(err) != formats.CodeDenied {
		t.Errorf("CreateTasks inside a subagent = %v, want DENIED", err)
	}
}
