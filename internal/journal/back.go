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

// course gives the records that count: who goes back to a step drops everything from its beginning
// on.
func course(records []Record) []Record {
	if !slices.ContainsFunc(records, func(r Record) bool {
		return r.Type == formats.EntryWentBack
	}) {
		return records
	}
	var out []Record
	for _, r := range records {
		if r.Type == formats.EntryWentBack {
			if at := begins(out, r.Step); at >= 0 { // else it is dropped already
				out = slices.Clip(out[:at])
			}
		}
		out = append(out, r)
	}
	return out
}

// begins is the place where a step with a visit began; -1: it did not.
func begins(records []Record, step string) int {
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

// Back finds the step to go back to by its path with visits, its place (the last visit), or a
// unique id. Dropped are the steps whose results then no longer count, in the order in which they
// began.
//
// A run that has ended can be gone back to as well. In any run, the effect of what is kept must
// still be there.
func Back(records []Record, word string) (to string, dropped []Step, err error) {
	over := Over(records)
	records = course(records)
	to, err = find(records, word)
	switch {
	case err != nil:
		return "", nil, err
	case delegation(to) != "":
		return "", nil, formats.Fail(formats.CodeUsage,
			fmt.Sprintf("go back to the step that calls it: --from '%s'", calls(to)),
			"step '%s' is one of a subagent", to)
	case over &&
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

	begin := begins(records, to)
	if host := takenBack(records[:begin], records[begin:]); host != "" {
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

// StateAt is the state when a step began: the time, and the serial of the run's last change before;
// 0: none.
func StateAt(records []Record, word string) (serial uint64, at time.Time, err error) {
	records = course(records)
	step, err := find(records, word)
	if err != nil {
		return 0, at, err
	}
	end := begins(records, step)
	for _, r := range records[:end] {
		var data struct{ Serial uint64 }
		if r.Type == formats.EntryStateCommitted && json.Unmarshal(r.Raw(), &data) == nil {
			serial = data.Serial
		}
	}
	return serial, records[end].Time, nil
}

// find gives the step that a word means, with its visit.
func find(records []Record, word string) (string, error) {
	var fits, places, offers []string // as they would be typed
	for _, r := range slices.Backward(records) {
		if r.Type != formats.EntryStepScheduled {
			continue
		}
		place := visit().ReplaceAllString(r.Step, "")
		if r.Step == word || place == word {
			fits = []string{r.Step}
			break
		}
		if slices.Contains(places, place) {
			continue
		}
		places = append(places, place)
		if delegation(r.Step) == "" {
			offers = append(offers, place)
		}
		if place[strings.LastIndexByte(place, '/')+1:] == word {
			fits = append(fits, r.Step)
		}
	}

	slices.Reverse(offers)
	switch {
	case len(fits) == 0:
		help := cmp.Or(nearest.Help(word, offers), "expected one of "+strings.Join(offers, ", "))
		return "", formats.Fail(formats.CodeUsage, help, "no step of the run is named %q", word)
	case len(fits) > 1:
		slices.Reverse(fits)
		return "", formats.Fail(formats.CodeUsage, "name one of them: "+strings.Join(fits, ", "),
			"expected one step, got %q, which fits %d", word, len(fits))
	}

	return fits[0], nil
}

// calls is the step of a command that called the subagent whose step this is: "work#1" of
// "work#1.1/code#1".
func calls(step string) string {
	call := delegation(step)
	for outer := call; outer != ""; outer = delegation(strings.TrimSuffix(call, "/")) {
		call = outer
	}
	return call[:strings.LastIndexByte(call, '.')]
}

// visit is what a step path has beside the place.
var visit = lazy.Regexp(`#[0-9]+(\.[0-9]+)?`)

// Tree is the worktree of a run, with the last commit on its branch that the journal knows. Loose
// is the first step of a worker since then; empty: none. Closing tells that tercet began to close
// it, and may have removed it.
type Tree struct {
	Dir, Branch, Head, Loose string
	Closing                  bool
}

// TreeOf finds the worktree that a run has open, not those of its children; zero if there is none.
func TreeOf(records []Record) (t Tree) {
	for _, r := range course(records) {
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
			t = Tree{}
		case m.Worktree != "":
			t = Tree{
				Dir:    m.Worktree,
				Branch: d.Fields.Branch,
				Head:   d.Fields.Head,
			}
		case m.Agent == formats.AgentGitWorkflow && d.Fields.Commit != "":
			t.Head = d.Fields.Commit
			t.Loose = ""
		case m.Runner != "builtin" && m.Runner != "workflow" && t.Dir != "" && t.Loose == "":
			t.Loose = r.Step
		}
	}

	return t
}
