package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/journal"
)

// Reserved reports whether a subagent is a part of the engine: it is never scripted and counts in
// no sequence.
func Reserved(name string) bool {
	return slices.Contains([]string{
		formats.AgentStatusSync, formats.AgentGitWorkflow, formats.AgentGatekeeper, "task-creator",
		"meta-builder", "error-diagnostics", "reference",
	}, name)
}

// Outcome is the result of a line.
type Outcome struct {
	Exit    int
	Return  formats.Return
	Records []journal.Record // journal of its run; nil: no run began
	Files   fs.FS            // project files afterwards
	Shown   string           // output to the user during the run
}

// Judge lists the unmet expectations; none: the test passed.
func (c *Workers) Judge(o Outcome) []string {
	var out []string
	differ := func(what string, want, got any) {
		out = append(out, fmt.Sprintf("%s: expected %v, got %v", what, want, got))
	}
	e := &c.test.Expect
	if o.Exit != e.Exit {
		differ(
			"exit", e.Exit,
			fmt.Sprintf("%d, %s: %s", o.Exit, o.Return.Outcome(), o.Return.Summary),
		)
	}
	if got := o.Return.Outcome(); e.Outcome != "" && string(got) != e.Outcome {
		differ("outcome", e.Outcome, got)
	}
	if e.Summary != "" && o.Return.Summary != e.Summary {
		differ("summary", fmt.Sprintf("%q", e.Summary), fmt.Sprintf("%q", o.Return.Summary))
	}
	did := summarizeRun(o.Records)
	if e.Rollbacks != nil && *e.Rollbacks != did.rollbacks {
		differ("rollbacks", *e.Rollbacks, did.rollbacks)
	}
	if e.Sequence != nil && !slices.Equal(e.Sequence, did.sequence) {
		differ("sequence", listText(e.Sequence), listText(did.sequence))
	}
	if e.Gates != nil && !slices.Equal(e.Gates, did.gates) {
		differ("gates", listText(e.Gates), listText(did.gates))
	}
	for _, agent := range slices.Sorted(maps.Keys(e.Given)) {
		for i, want := range e.Given[agent] {
			what := fmt.Sprintf("given to %s, call %d", agent, i+1)
			if i >= len(did.given[agent]) {
				differ(what, "a call", "none")
				continue
			}
			got := did.given[agent][i]
			for _, name := range slices.Sorted(maps.Keys(want)) {
				wanted := jsonText(want[name])
				found := jsonText(got[name])
				if wanted != found {
					differ(what+", "+name, wanted, found)
				}
			}
		}
	}

	for _, text := range e.Shown {
		if !strings.Contains(o.Shown, text) {
			differ("shown", fmt.Sprintf("%q in it", text), fmt.Sprintf("%q", o.Shown))
		}
	}

	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		data, err := fs.ReadFile(o.Files, name)
		if errors.Is(err, fs.ErrNotExist) {
			differ(name, "a file", "none")
			continue
		} else if err != nil {
			out = append(out, name+": "+err.Error())
			continue
		}
		for _, part := range e.Files[name] {
			if !strings.Contains(string(data), part) {
				differ(
					name,
					fmt.Sprintf("%q in it", part),
					fmt.Sprintf("%q", formats.Clip(string(data), 200)),
				)
			}
		}
	}

	for _, a := range c.answers {
		out = append(
			out,
			fmt.Sprintf("answers: the gate %s was not opened, so %q was not used",
				a.Gate, a.Choose),
		)
	}

	for _, name := range slices.Compact(slices.Sorted(slices.Values(c.missing))) {
		out = append(out, fmt.Sprintf("returns: %s was called and has none", name))
	}
	return out
}

// jsonText is a value as JSON with sorted keys, so that equal values read the same.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(text)
}

func listText(names []string) string {
	return "[" + strings.Join(names, ", ") + "]"
}

// runSummary is what a journal tells of a run.
type runSummary struct {
	rollbacks       int
	sequence, gates []string
	given           map[string][]map[string]any // inputs of each call, by subagent
}

func summarizeRun(records []journal.Record) (t runSummary) {
	t.given = map[string][]map[string]any{}
	for _, r := range records {
		switch r.Type { //nolint:exhaustive // the others are not compared
		case formats.EntryRollback:
			t.rollbacks++
		case formats.EntryGateOpened:
			t.gates = append(t.gates, idOf(r.Step))
		case formats.EntryDelegationStarted:
			var data struct {
				Agent string
				Input map[string]any
			}
			if json.Unmarshal(r.Raw(), &data) != nil {
				continue
			}
			t.given[data.Agent] = append(t.given[data.Agent], data.Input)
			if !Reserved(data.Agent) && data.Agent != "document-writer" {
				t.sequence = append(t.sequence, data.Agent)
			}
		}
	}
	return t
}

// idOf is the id of the step at the end of a path, without its visit and its place in a loop.
func idOf(path string) string {
	id := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.IndexAny(id, "#["); i >= 0 {
		id = id[:i]
	}
	return id
}
