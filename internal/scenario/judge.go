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
	e := &c.test.Expect
	var m mismatches
	m.compareReturn(e, o)
	m.compareRun(e, summarizeRun(o.Records))
	m.compareShown(e, o.Shown)
	m.compareFiles(e, o.Files)

	for _, a := range c.answers {
		m.list = append(m.list, fmt.Sprintf(
			"answers: the gate %s was not opened, so %q was not used", a.Gate, a.Choose))
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(c.missing))) {
		m.list = append(m.list, fmt.Sprintf("returns: %s was called and has none", name))
	}
	return m.list
}

// mismatches collects the unmet expectations of a test, a line each.
type mismatches struct{ list []string }

func (m *mismatches) add(what string, want, got any) {
	m.list = append(m.list, fmt.Sprintf("%s: expected %v, got %v", what, want, got))
}

func (m *mismatches) compareReturn(e *Expect, o Outcome) {
	if o.Exit != e.Exit {
		got := fmt.Sprintf("%d, %s: %s", o.Exit, o.Return.Outcome(), o.Return.Summary)
		m.add("exit", e.Exit, got)
	}
	if got := o.Return.Outcome(); e.Outcome != "" && string(got) != e.Outcome {
		m.add("outcome", e.Outcome, got)
	}
	if e.Summary != "" && o.Return.Summary != e.Summary {
		m.add("summary", fmt.Sprintf("%q", e.Summary), fmt.Sprintf("%q", o.Return.Summary))
	}
}

func (m *mismatches) compareRun(e *Expect, run runSummary) {
	if e.Rollbacks != nil && *e.Rollbacks != run.rollbacks {
		m.add("rollbacks", *e.Rollbacks, run.rollbacks)
	}
	if e.Sequence != nil && !slices.Equal(e.Sequence, run.sequence) {
		m.add("sequence", listText(e.Sequence), listText(run.sequence))
	}
	if e.Gates != nil && !slices.Equal(e.Gates, run.gates) {
		m.add("gates", listText(e.Gates), listText(run.gates))
	}
	for _, agent := range slices.Sorted(maps.Keys(e.Given)) {
		m.compareInputs(agent, e.Given[agent], run.given[agent])
	}
}

// compareInputs compares the inputs of the calls of one subagent. Inputs that are not expected may
// be anything.
func (m *mismatches) compareInputs(agent string, want, got []map[string]any) {
	for i, inputs := range want {
		what := fmt.Sprintf("given to %s, call %d", agent, i+1)
		if i >= len(got) {
			m.add(what, "a call", "none")
			continue
		}

		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			wanted := jsonText(inputs[name])
			found := jsonText(got[i][name])
			if wanted != found {
				m.add(what+", "+name, wanted, found)
			}
		}
	}
}

func (m *mismatches) compareShown(e *Expect, shown string) {
	for _, text := range e.Shown {
		if !strings.Contains(shown, text) {
			m.add("shown", fmt.Sprintf("%q in it", text), fmt.Sprintf("%q", shown))
		}
	}
}

func (m *mismatches) compareFiles(e *Expect, files fs.FS) {
	const maxShown = 200
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		data, err := fs.ReadFile(files, name)
		if errors.Is(err, fs.ErrNotExist) {
			m.add(name, "a file", "none")
			continue
		}
		if err != nil {
			m.list = append(m.list, name+": "+err.Error())
			continue
		}

		for _, part := range e.Files[name] {
			if !strings.Contains(string(data), part) {
				got := fmt.Sprintf("%q", formats.Clip(string(data), maxShown))
				m.add(name, fmt.Sprintf("%q in it", part), got)
			}
		}
	}
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

func summarizeRun(records []journal.Record) (s runSummary) {
	s.given = map[string][]map[string]any{}
	for _, r := range records {
		switch r.Type { //nolint:exhaustive // the others are not compared
		case formats.EntryRollback:
			s.rollbacks++
		case formats.EntryGateOpened:
			s.gates = append(s.gates, idOf(r.Step))
		case formats.EntryDelegationStarted:
			var data struct {
				Agent string
				Input map[string]any
			}
			if json.Unmarshal(r.Raw(), &data) != nil {
				continue
			}
			s.given[data.Agent] = append(s.given[data.Agent], data.Input)
			if !Reserved(data.Agent) && data.Agent != "document-writer" {
				s.sequence = append(s.sequence, data.Agent)
			}
		}
	}
	return s
}

// idOf is the id of the step at the end of a path, without its visit and its place in a loop.
func idOf(path string) string {
	id := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.IndexAny(id, "#["); i >= 0 {
		id = id[:i]
	}
	return id
}
