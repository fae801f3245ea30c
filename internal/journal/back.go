package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
)

// currentRecords returns the records that count: going back to a step drops everything from its
// beginning on.
func currentRecords(records []Record) []Record {
	if !slices.ContainsFunc(records, func(r Record) bool {
		return r.Type == formats.EntryWentBack
	}) {
		return records
	}

	var out []Record
	for _, r := range records {
		if r.Type == formats.EntryWentBack {
			if at := startIndex(out, r.Step); at >= 0 { // else an earlier went_back dropped it
				out = slices.Clip(out[:at])
			}
		}
		out = append(out, r)
	}
	return out
}

// startIndex is the index at which a visit of a step began, or -1.
func startIndex(records []Record, step string) int {
	return slices.IndexFunc(records, func(r Record) bool {
		return r.Type == formats.EntryStepScheduled && r.Step == step
	})
}

// Stages splits a run's journal where the user went back: one stage for each time, and the current
// one.
func Stages(records []Record) [][]Record {
	var out [][]Record
	for i, r := range records {
		if r.Type == formats.EntryWentBack {
			out = append(out, records[:i])
		}
	}
	return append(out, records)
}

// WentBack is the data of the entry went_back: who dropped the results of which steps.
type WentBack struct {
	formats.Counted

	By      string   `json:"by"`
	Dropped []string `json:"dropped"`
}

// BackTarget finds the step to go back to, by its path with visits, its place (then the last
// visit), or a unique id. Dropped are the steps whose results then no longer count, in the order in
// which they began.
//
// A finished run can be gone back to as well. In any run, the effects of the earlier steps must
// still be there.
func BackTarget(records []Record, word string) (to string, dropped []Step, err error) {
	finished := Finished(records)
	records = currentRecords(records)
	to, err = findStep(records, word)
	switch {
	case err != nil:
		return "", nil, err
	case enclosingCall(to) != "":
		return "", nil, formats.Fail(formats.CodeUsage,
			fmt.Sprintf("go back to the step that calls it: --from '%s'", callingStep(to)),
			"step '%s' is one of a subagent", to)
	case finished &&
		slices.ContainsFunc(records, func(r Record) bool {
			return r.Type == formats.EntryStopped
		}):
		return "", nil, formats.Fail(formats.CodePrecondition, "type its line to run it again",
			"the run was stopped and has ended")
	case slices.ContainsFunc(records, func(r Record) bool {
		return r.Type == formats.EntryStopped
	}):
		return "", nil, formats.Fail(
			formats.CodePrecondition,
			"resume it without --from, and type its line again",
			"the run was stopped, and only its end is left",
		)
	}

	begin := startIndex(records, to)
	if host := compensatedStep(records[:begin], records[begin:]); host != "" {
		return "", nil, formats.Fail(formats.CodeInvalidState, "go back to it: --from '"+host+"'",
			"step '%s' would be kept, and its effect was taken back", host)
	}

	for _, s := range Steps(records[begin:]) {
		if s.Outcome != "" {
			dropped = append(dropped, s)
		}
	}

	return to, dropped, nil
}

// StateAt returns when a step began, and the serial of the run's last state change before it; 0 if
// there was none.
func StateAt(records []Record, word string) (serial uint64, at time.Time, err error) {
	records = currentRecords(records)
	step, err := findStep(records, word)
	if err != nil {
		return 0, at, err
	}

	end := startIndex(records, step)
	for _, r := range records[:end] {
		var data struct{ Serial uint64 }
		if r.Type == formats.EntryStateCommitted && json.Unmarshal(r.Raw(), &data) == nil {
			serial = data.Serial
		}
	}
	return serial, records[end].Time, nil
}

// findStep resolves a word to a step path with its visit.
func findStep(records []Record, word string) (string, error) {
	var matches, places, offers []string // in the form that the user types
	for _, r := range slices.Backward(records) {
		if r.Type != formats.EntryStepScheduled {
			continue
		}
		place := visitSuffix().ReplaceAllString(r.Step, "")
		if r.Step == word || place == word {
			matches = []string{r.Step}
			break
		}
		if slices.Contains(places, place) {
			continue
		}
		places = append(places, place)
		if enclosingCall(r.Step) == "" {
			offers = append(offers, place)
		}
		if place[strings.LastIndexByte(place, '/')+1:] == word {
			matches = append(matches, r.Step)
		}
	}

	slices.Reverse(offers)
	switch {
	case len(matches) == 0:
		help := cmp.Or(nearest.Help(word, offers), "expected one of "+strings.Join(offers, ", "))
		return "", formats.Fail(formats.CodeUsage, help, "no step of the run is named %q", word)
	case len(matches) > 1:
		slices.Reverse(matches)
		return "", formats.Fail(formats.CodeUsage, "name one of them: "+strings.Join(matches, ", "),
			"expected one step, got %q, which fits %d", word, len(matches))
	}

	return matches[0], nil
}

// callingStep is the step of a command that called the subagent to which a step belongs: "work#1"
// for "work#1.1/code#1".
func callingStep(step string) string {
	call := enclosingCall(step)
	for outer := call; outer != ""; outer = enclosingCall(strings.TrimSuffix(call, "/")) {
		call = outer
	}
	return call[:strings.LastIndexByte(call, '.')]
}

// visitSuffix matches the visit and attempt in a step path.
var visitSuffix = lazy.Regexp(`#[0-9]+(\.[0-9]+)?`)

// Worktree is the worktree of a run and the last commit on its branch that the journal knows.
// Uncommitted is the first worker step since that commit, if any. Closing means that tercet began
// to close it and may have removed it.
//
// Dir is relative to the project root; in older journals it is absolute.
type Worktree struct {
	Dir, Branch, Head, Uncommitted string
	Closing                        bool
}

// OpenWorktree returns the worktree that a run has open, not those of its children; zero if there
// is none.
func OpenWorktree(records []Record) (t Worktree) {
	for _, r := range currentRecords(records) {
		var d struct {
			Agent    string
			Input    struct{ Action, Child string }
			Fields   struct{ Branch, Commit, Head string }
			Metadata formats.Metadata
		}
		if json.Unmarshal(r.Raw(), &d) != nil {
			continue
		}
		m := d.Metadata
		switch {
		case r.Type == formats.EntryDelegationStarted && d.Agent == formats.AgentGitWorkflow:
			t.Closing = d.Input.Action == "close" && d.Input.Child == ""
		case r.Type != formats.EntryDelegationResult:
		case strings.HasPrefix(r.Step, "worktree/") && m.Worktree != "" &&
			!strings.HasPrefix(r.Step, "worktree/close#"):
		case m.Worktree == formats.WorktreeClosed:
			t = Worktree{}
		case m.Worktree != "":
			t = Worktree{
				Dir:    m.Worktree,
				Branch: d.Fields.Branch,
				Head:   d.Fields.Head,
			}
		case m.Agent == formats.AgentGitWorkflow && d.Fields.Commit != "":
			t.Head = d.Fields.Commit
			t.Uncommitted = ""
		case m.Runner != "builtin" && m.Runner != "workflow" && t.Dir != "" && t.Uncommitted == "":
			t.Uncommitted = r.Step
		}
	}

	return t
}
