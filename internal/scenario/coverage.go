package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/journal"
)

// Coverage is what the tests of one command reached: its steps, and the named outcomes of its rules
// and gates.
type Coverage struct {
	Command    string   `json:"command"`
	Steps      int      `json:"steps"`
	Rules      int      `json:"rules"`
	NotStarted []string `json:"not_started"`
	NotTaken   []string `json:"not_taken"`

	steps, rules []string
	seen         map[string]bool
}

// NewCoverage lists the steps of a command, and the outcomes that its rules and gates name.
func NewCoverage(prog *compile.Program) *Coverage {
	c := &Coverage{
		Command:    "/" + prog.Name,
		NotStarted: []string{},
		NotTaken:   []string{},
		seen:       map[string]bool{},
	}

	var within string
	choices := func(g *syntax.Gate) {
		for _, ch := range g.Choices {
			c.rules = append(c.rules, within+" "+ch.Label.Text)
		}
	}

	syntax.Walk(prog.File, func(node any) bool {
		switch node := node.(type) {
		case *syntax.Step:
			if within = node.ID.Text; within != "" {
				c.steps = append(c.steps, within)
			}
			for _, rule := range node.On {
				c.rules = append(c.rules, within+" "+rule.Status.Text)
			}
		case *syntax.Gate:
			choices(node)
		}
		return true
	})

	c.steps = dropRepeats(c.steps)
	c.rules = dropRepeats(c.rules)
	c.Steps = len(c.steps)
	c.Rules = len(c.rules)
	return c
}

func dropRepeats(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}

// Add adds what a run reached.
func (c *Coverage) Add(records []journal.Record) {
	for _, r := range records {
		var data struct{ Status, Class, Choice string }
		if raw := r.Raw(); raw != nil && json.Unmarshal(raw, &data) != nil {
			continue
		}
		id := idOf(r.Step)
		// between steps, behind the one that it follows
		if _, inserted, ok := strings.Cut(id, "."); ok {
			id = inserted
		}
		switch r.Type { //nolint:exhaustive // the others say nothing of steps and rules
		case formats.EntryStepScheduled:
			c.seen[id] = true
		case formats.EntryStepFinished:
			c.seen[id+" "+data.Status] = true
		case formats.EntryDelegationResult:
			c.seen[id+" "+data.Class] = true
		case formats.EntryGateDecided:
			c.seen[id+" "+data.Choice] = true
		}
	}

	unseen := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return c.seen[s] })
	}
	c.NotStarted = nonNil(unseen(c.steps))
	c.NotTaken = nonNil(unseen(c.rules))
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// String is the coverage in one line.
func (c *Coverage) String() string {
	text := fmt.Sprintf("coverage: %s started %d of %s",
		c.Command, c.Steps-len(c.NotStarted), formats.Count(c.Steps, "step"))
	if c.Rules > 0 {
		text += fmt.Sprintf(" and took %d of %s",
			c.Rules-len(c.NotTaken), formats.Count(c.Rules, "rule"))
	}
	if len(c.NotStarted) > 0 {
		text += "; not started: " + strings.Join(c.NotStarted, ", ")
	}
	if len(c.NotTaken) > 0 {
		text += "; not taken: " + strings.Join(c.NotTaken, ", ")
	}
	return text
}
