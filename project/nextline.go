package project

import (
	"fmt"

	"tercet/formats"
)

// NextLine is the line that takes an open task further: the next of the shipped commands, that
// which follows or resumes the run that works on it, or that which takes a task up again. It is
// empty where nothing can be typed: a task with parts, and one that somebody has claimed.
func (p *Project) NextLine(t formats.Task) string {
	command := func(name string) string {
		return fmt.Sprintf("/%s %d", name, t.Number)
	}
	planned := t.Newest(formats.ArtifactPlan) != nil
	back := fmt.Sprintf("tercet task set %d --back", t.Number)

	if l := t.Lease; l != nil && t.Status.InProgress() {
		switch {
		case l.Run == "":
			return ""
		case p.AtWork(l.Run):
			return FollowLine(l.Run)
		}
		return "tercet resume " + l.Run
	}

	switch t.Status {
	case formats.NotStarted:
		return command("research")
	case formats.Researched:
		return command("plan")
	case formats.Planned, formats.Revised:
		if !planned { // no command starts from here without the plan
			return fmt.Sprintf("tercet task set %d blocked --reason 'no plan'", t.Number)
		}
		return command("implement")
	case formats.Partial:
		if !planned {
			return command("plan")
		}
		return command("implement")
	case formats.Blocked:
		if !planned || t.Prior == "" {
			return command("plan")
		}
		return back
	case formats.Researching, formats.Planning, formats.Revising, formats.Implementing,
		formats.OnHold:
		return back
	case formats.Expanded, formats.Completed, formats.Abandoned:
	}
	return ""
}

// FollowLine is the line that shows what a run of another process does, until it ends.
func FollowLine(run string) string {
	return "tercet show --log -f " + run
}
