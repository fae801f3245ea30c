package journal

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"tercet/formats"
)

// Step is the summary of one step of a run.
type Step struct {
	Path    string   `json:"step_path"`
	Outcome string   `json:"outcome,omitempty"` // empty while unfinished
	Seconds float64  `json:"seconds"`
	Tokens  int64    `json:"tokens,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Files   []string `json:"artifacts,omitempty"`

	Began time.Time `json:"-"`
	Agent string    `json:"-"` // the subagent that works, or that worked last; empty: none
	Model string    `json:"-"` // that its runner reported
	Cost  float64   `json:"-"` // US dollars
	Calls int       `json:"-"` // of subagents
	Seq   int       `json:"-"` // of the last record that changed this summary
}

// Steps returns the steps in the order in which they began.
func Steps(records []Record) []Step {
	var s steps
	for _, r := range currentRecords(records) {
		s.add(r)
	}
	return s.list
}

// steps summarizes the steps of a journal, record by record.
type steps struct {
	list []Step
	at   map[string]int // index in list, by path
}

// clone copies the summaries. What is added to one copy does not reach the other.
func (s *steps) clone() steps {
	c := steps{list: slices.Clone(s.list), at: maps.Clone(s.at)}
	for i := range c.list {
		c.list[i].Files = slices.Clip(c.list[i].Files)
	}
	return c
}

// find returns the summary of a step; nil if it has none yet.
func (s *steps) find(path string) *Step {
	if i, ok := s.at[path]; ok {
		return &s.list[i]
	}
	return nil
}

// findOrAdd returns the summary of a step, and begins one if there is none.
func (s *steps) findOrAdd(path string) *Step {
	if s.at == nil {
		s.at = map[string]int{}
	}
	if _, ok := s.at[path]; !ok {
		s.at[path] = len(s.list)
		s.list = append(s.list, Step{Path: path})
	}
	return s.find(path)
}

// add takes in the next record. Data of another shape is skipped.
func (s *steps) add(r Record) {
	var data struct {
		Status, Summary, Agent string
		Artifacts              []formats.Artifact
		Metadata               formats.Metadata
	}
	switch r.Type { //nolint:exhaustive // other entries are not about steps
	case formats.EntryStepScheduled:
		step := s.findOrAdd(r.Step) // its data is not about the summary
		step.Began = r.Time
		step.Seq = r.Seq
		return
	case formats.EntryStepFinished, formats.EntryDelegationStarted, formats.EntryDelegationResult:
	default:
		return
	}
	if raw := r.Raw(); raw != nil && json.Unmarshal(raw, &data) != nil {
		return
	}

	switch r.Type { //nolint:exhaustive // see above
	case formats.EntryStepFinished:
		step := s.findOrAdd(r.Step)
		step.Outcome = data.Status
		step.Summary = data.Summary
		step.Seq = r.Seq
		if !step.Began.IsZero() {
			step.Seconds = r.Time.Sub(step.Began).Seconds()
		}
	case formats.EntryDelegationStarted:
		if step := s.find(r.Step); step != nil {
			step.Agent = data.Agent
			step.Seq = r.Seq
		}
	case formats.EntryDelegationResult:
		step := s.find(r.Step)
		if step == nil || step.Began.IsZero() {
			return // a delegation of tercet itself
		}
		step.Tokens += data.Metadata.Tokens.Total()
		step.Cost += data.Metadata.Cost
		step.Calls++
		step.Seq = r.Seq
		if data.Metadata.Model != "" {
			step.Model = data.Metadata.Model
		}
		for _, a := range data.Artifacts {
			step.Files = append(step.Files, a.Path)
		}
	}
}
