package journal

import (
	"encoding/json"
	"slices"
	"strings"

	"tercet/formats"
)

// Ended reports whether the run can only continue from one of its steps.
func (r Run) Ended() bool {
	return r.Status != Open && r.Status != formats.OutcomeSuspended.String()
}

// BeforeEnd returns the records without the run's last end. A replay of them restores its counters.
func BeforeEnd(records []Record) []Record {
	for i, r := range slices.Backward(records) {
		if r.Type == formats.EntryRunFinished && r.Step == "" {
			return records[:i]
		}
	}
	return records
}

// StepsBefore are the finished steps before the one to go back to; their results and effects stay.
func StepsBefore(records []Record, to string) []Step {
	records = currentRecords(records)
	return slices.DeleteFunc(Steps(records[:startIndex(records, to)]), func(s Step) bool {
		return s.Outcome == ""
	})
}

// IsCleanup reports whether a step belongs to Error Handling or compensates another one.
func IsCleanup(step string) bool {
	place := visitSuffix().ReplaceAllString(step, "")
	return strings.HasPrefix(place, errorHandling) || strings.HasSuffix(place, compensation)
}

const (
	errorHandling = "error_handling/"
	compensation  = ".compensate" // after the id of the compensated step
)

// compensatedStep returns a kept step whose effect was compensated later, or empty.
func compensatedStep(kept, dropped []Record) string {
	began := func(r Record, place string) bool {
		return r.Type == formats.EntryStepScheduled &&
			visitSuffix().ReplaceAllString(r.Step, "") == place
	}
	for _, r := range dropped {
		if r.Type != formats.EntryStepScheduled {
			continue
		}
		host, ok := strings.CutSuffix(visitSuffix().ReplaceAllString(r.Step, ""), compensation)
		if ok && slices.ContainsFunc(kept, func(k Record) bool { return began(k, host) }) {
			return host
		}
	}
	return ""
}

// Reopening is what a reopened run must restore because its end removed it.
type Reopening struct {
	Documents []string // of the steps before the target
	Wip       string   // branch with uncommitted work; empty: none
}

// ReopeningOf returns what a reopened run must restore before it does anything; nil for any other
// run.
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
		out.Documents = artifactPaths(currentRecords(records))
	}
	return out
}

// ToReopen is ReopeningOf for a run that ended, as if it were reopened at a step.
func ToReopen(records []Record, to string) *Reopening {
	all := append(slices.Clip(records), Record{Entry: formats.Entry{Type: formats.EntryReopened}})
	out := ReopeningOf(all)
	kept := currentRecords(records)
	out.Documents = artifactPaths(kept[:startIndex(kept, to)])
	return out
}

// artifactPaths lists the files that the returns in the records name.
func artifactPaths(records []Record) (paths []string) {
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

// FinalStatus is the status in which a run left a task; before is the status it had before the run.
func FinalStatus(records []Record, task int, before formats.TaskStatus) formats.TaskStatus {
	now := before
	prior := before
	asked := map[string]formats.TaskStatus{} // requested status by step; empty: back
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

// ReopenStep returns the step from which a failed run can continue without repeating what was paid
// for or answered; empty if there is none. If a step had used up its rounds, this is where the last
// round began, because the step alone would judge the same work again.
func ReopenStep(records []Record) string {
	if !Finished(records) || Succeeded(records) {
		return ""
	}
	list := currentRecords(records)

	at := lastStep(list)
	if at < 0 {
		return ""
	}

	if endCode(records) == formats.CodeLimit {
		at = lastRound(list, at)
	}
	to := visitSuffix().ReplaceAllString(outermostParallel(list, list[at].Step), "")

	step, _, err := BackTarget(records, to)
	if err != nil || !slices.ContainsFunc(list[:startIndex(list, step)], isPaidResult) {
		return ""
	}
	return to
}

// RefusedQuestion returns the question of the last step of a run if an answer to it ended the run
// as rejected and the step did no other work; empty if not. To go on from that step is to be asked
// again.
func RefusedQuestion(records []Record) string {
	if !Finished(records) || endCode(records) != formats.CodeRejected {
		return ""
	}
	list := currentRecords(records)
	at := lastStep(list)
	if at < 0 {
		return ""
	}

	worked := slices.ContainsFunc(list[at:], func(r Record) bool {
		return r.Type == formats.EntryDelegationStarted && r.Step == list[at].Step
	})
	_, done := Gates(list[at:])
	if worked || len(done) == 0 {
		return ""
	}
	return done[len(done)-1].Gate.Question
}

// lastStep is the index at which the last step began that is neither cleanup nor one of a subagent;
// -1 if there is none.
func lastStep(records []Record) int {
	for i, r := range slices.Backward(records) {
		own := !IsCleanup(r.Step) && enclosingCall(r.Step) == ""
		if r.Type == formats.EntryStepScheduled && own {
			return i
		}
	}
	return -1
}

// endCode is the code with which the run ended; empty if there is none.
func endCode(records []Record) formats.Code {
	var end struct{ Code formats.Code }
	for _, r := range slices.Backward(records) {
		if r.Type != formats.EntryRunFinished || r.Step != "" {
			continue
		}
		if json.Unmarshal(r.Raw(), &end) != nil {
			return ""
		}
		break
	}
	return end.Code
}

// lastRound gives the index at which the step began that the one at an index sent the run back to
// last; the same index if it never did.
func lastRound(records []Record, at int) int {
	place := visitSuffix().ReplaceAllString(records[at].Step, "")
	for i, r := range slices.Backward(records[:at]) {
		back := r.Type == formats.EntryRedo || r.Type == formats.EntryRollback ||
			r.Type == formats.EntryGoto
		if !back || visitSuffix().ReplaceAllString(r.Step, "") != place {
			continue
		}
		for j, began := range records[i:at] {
			if began.Type == formats.EntryStepScheduled && !IsCleanup(began.Step) &&
				enclosingCall(began.Step) == "" {
				return i + j
			}
		}
	}
	return at
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

// isPaidResult reports whether a record is a passing result of a worker or an answer of a person.
func isPaidResult(r Record) bool {
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

// outermostParallel returns a step or, if it ran in parallel with others, the step around them.
func outermostParallel(records []Record, step string) string {
	for at := range len(step) {
		if step[at] != pathMark {
			continue
		}
		outer := step[:at]
		loop := strings.LastIndexByte(outer, elementMark)
		if loop < 0 || strings.LastIndexByte(outer, pathMark) > loop ||
			!strings.HasSuffix(outer, "]") {
			return outer // a branch of a parallel step
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
