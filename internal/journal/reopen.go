package journal

import (
	"encoding/json"
	"slices"
	"strings"

	"tercet/formats"
)

// Ended reports whether the run can only go on from one of its steps.
func (r Run) Ended() bool {
	return r.Status != Open && r.Status != formats.OutcomeSuspended.String()
}

// BeforeEnd gives the records without the run's last end, from which its counters can be read by a
// replay.
func BeforeEnd(records []Record) []Record {
	for i, r := range slices.Backward(records) {
		if r.Type == formats.EntryRunFinished && r.Step == "" {
			return records[:i]
		}
	}
	return records
}

// Kept are the finished steps before the one to go back to, whose results and effects stay.
func Kept(records []Record, to string) []Step {
	records = course(records)
	return slices.DeleteFunc(Steps(records[:begins(records, to)]), func(s Step) bool {
		return s.Outcome == ""
	})
}

// AtEnd reports whether a step is one of Error Handling, or takes another one back. Its result is
// nobody's work.
func AtEnd(step string) bool {
	place := visit().ReplaceAllString(step, "")
	return strings.HasPrefix(place, errorHandling) || strings.HasSuffix(place, compensation)
}

const (
	errorHandling = "error_handling/"
	compensation  = ".compensate" // behind the id of the step that is taken back
)

// takenBack gives a kept step whose effect was taken back later; empty: there is none.
func takenBack(kept, dropped []Record) string {
	began := func(r Record, place string) bool {
		return r.Type == formats.EntryStepScheduled && visit().ReplaceAllString(r.Step, "") == place
	}
	for _, r := range dropped {
		if r.Type != formats.EntryStepScheduled {
			continue
		}
		host, ok := strings.CutSuffix(visit().ReplaceAllString(r.Step, ""), compensation)
		if ok && slices.ContainsFunc(kept, func(k Record) bool { return began(k, host) }) {
			return host
		}
	}
	return ""
}

// Reopening is what the end of a run took away and a reopened run needs again.
type Reopening struct {
	Documents []string // of the steps that are kept
	Wip       string   // branch with the work that no commit had; empty: there was none
}

// ReopeningOf tells what is to be put back before a run that was reopened does anything; nil for
// any other run.
func ReopeningOf(records []Record) *Reopening {
	var wip string
	var out *Reopening
	for _, r := range records {
		var data struct{ Fields struct{ Wip string } }
		switch {
		case r.Type == formats.EntryReopened:
			out = &Reopening{Wip: wip}
			wip = ""
		case r.Type == formats.EntryDelegationStarted:
			out = nil
		case r.Type == formats.EntryDelegationResult &&
			strings.HasPrefix(r.Step, "worktree/close#") &&
			json.Unmarshal(r.Raw(), &data) == nil:
			wip = data.Fields.Wip
		}
	}
	if out != nil {
		out.Documents = artifacts(course(records))
	}
	return out
}

// ToReopen is ReopeningOf for a run that ended, as if it were reopened at a step.
func ToReopen(records []Record, to string) *Reopening {
	all := append(slices.Clip(records), Record{Entry: formats.Entry{Type: formats.EntryReopened}})
	out := ReopeningOf(all)
	kept := course(records)
	out.Documents = artifacts(kept[:begins(kept, to)])
	return out
}

// artifacts are the files that the returns in the records name.
func artifacts(records []Record) (paths []string) {
	for _, r := range records {
		var data struct{ Artifacts []formats.Artifact }
		if r.Type != formats.EntryDelegationResult || json.Unmarshal(r.Raw(), &data) != nil {
			continue
		}
		for _, a := range data.Artifacts {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// LeftAs is the status in which a run left a task that had another one before; it stays the same if
// the run did not change it.
func LeftAs(records []Record, task int, before formats.TaskStatus) formats.TaskStatus {
	now := before
	prior := before
	asked := map[string]formats.TaskStatus{} // by step; empty: back
	for _, r := range records {
		var data struct {
			Agent  string
			Status formats.ReturnStatus
			Input  struct {
				Operation string
				Status    formats.TaskStatus
				Back      bool
				Task      int   `json:"task_number"`
				Tasks     []int `json:"task_numbers"`
			}
		}
		switch {
		case r.Type == formats.EntryReopened && !now.InProgress():
			prior = now
		case r.Type != formats.EntryDelegationStarted && r.Type != formats.EntryDelegationResult:
		case json.Unmarshal(r.Raw(), &data) != nil:
		case r.Type == formats.EntryDelegationStarted:
			in := data.Input
			delete(asked, r.Step)
			if data.Agent == formats.AgentStatusSync && in.Operation == "update_status" &&
				(in.Task == task || slices.Contains(in.Tasks, task)) {
				asked[r.Step] = in.Status
			}
		default:
			to, ok := asked[r.Step]
			delete(asked, r.Step)
			switch {
			case !ok || data.Status != formats.StatusCompleted:
			case to == "":
				now = prior
			default:
				if to.InProgress() && !now.InProgress() {
					prior = now
				}
				now = to
			}
		}
	}

	return now
}

// Reopens gives the place at which a run that failed can go on without doing again what was paid
// for or answered; empty if there is none.
func Reopens(records []Record) string {
	if !Over(records) || Succeeded(records) {
		return ""
	}
	list := course(records)
	at := -1
	for i, r := range slices.Backward(list) {
		if r.Type == formats.EntryStepScheduled && !AtEnd(r.Step) && delegation(r.Step) == "" {
			at = i
			break
		}
	}
	if at < 0 {
		return ""
	}
	to := visit().ReplaceAllString(outermost(list, list[at].Step), "")
	step, _, err := Back(records, to)
	if err != nil || !slices.ContainsFunc(list[:begins(list, step)], worth) {
		return ""
	}
	return to
}

// Succeeded reports whether a run ended with an outcome that passes.
func Succeeded(records []Record) bool {
	var end struct{ Status formats.Outcome }
	for _, r := range slices.Backward(records) {
		if r.Type == formats.EntryRunFinished && r.Step == "" {
			return json.Unmarshal(r.Raw(), &end) == nil && end.Status.Passes()
		}
	}
	return false
}

// worth tells a result of a worker that passed, and an answer of the user.
func worth(r Record) bool {
	var data struct {
		formats.Return

		Person bool
	}
	if json.Unmarshal(r.Raw(), &data) != nil {
		return false
	}
	switch r.Type { //nolint:exhaustive // the others cost nothing
	case formats.EntryGateDecided:
		return data.Person
	case formats.EntryDelegationResult:
		runner := data.Metadata.Runner
		return data.Outcome().Passes() && runner != "builtin" && runner != ""
	}
	return false
}

// outermost is a step or, where that ran side by side with others, the step around them.
func outermost(records []Record, step string) string {
	for at := range len(step) {
		if step[at] != pathMark {
			continue
		}
		outer := step[:at]
		loop := strings.LastIndexByte(outer, elementMark)
		if loop < 0 || strings.LastIndexByte(outer, pathMark) > loop ||
			!strings.HasSuffix(outer, "]") {
			return outer // a child of parallel
		}
		began := false
		for _, r := range records {
			within := strings.HasPrefix(r.Step, outer+"/")
			if began && !within && strings.HasPrefix(r.Step, outer[:loop+1]) {
				return outer[:loop]
			}
			began = began || within
		}
	}
	return step
}

const (
	pathMark    = '/' // between the steps of a path
	elementMark = '[' // before the element of a loop
)
