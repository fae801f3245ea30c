package team

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/journal"
)

// gates are the questions in the journal of a run, by their ids. One that has its answer, or that
// was asked anew under another id, is over.
type gates map[string]openGate

type openGate struct {
	gate formats.Gate
	over bool
}

// observe takes an entry of the journal into account.
func (g gates) observe(entry journal.Record) {
	switch entry.Type { //nolint:exhaustive // the others are about no gate
	case formats.EntryGateOpened:
		var gate formats.Gate
		if json.Unmarshal(entry.Raw(), &gate) == nil {
			g[gate.ID] = openGate{gate: gate}
		}
	case formats.EntryGateDecided, formats.EntryGateRefused:
		one := g[entry.Key]
		one.over = true
		g[entry.Key] = one
	}
}

// checkAnswers refuses what an attempt may not say about the gates of its run: a worker has the key
// that seals the journal, and users answer at the home. It returns the gates behind these entries.
func (k *Keeper) checkAnswers(run string, r *teamRun, records []journal.Record) (gates, error) {
	now := maps.Clone(r.gates)
	for _, entry := range records {
		var err error
		switch entry.Type { //nolint:exhaustive // the others are about no gate
		case formats.EntryGateOpened:
			err = now.checkOpened(run, entry)
		case formats.EntryGateDecided, formats.EntryGateVoted:
			err = k.checkAnswer(run, r, now, entry)
		}
		if err != nil {
			return nil, err
		}
		now.observe(entry)
	}
	return now, nil
}

// checkOpened refuses a question under the id of another one, whose answer would count for it.
func (g gates) checkOpened(run string, entry journal.Record) error {
	var gate formats.Gate
	if err := json.Unmarshal(entry.Raw(), &gate); err != nil {
		return formats.Broken(formats.CodeDenied, "the question of a gate", err)
	}
	if _, known := g[gate.ID]; known || gate.ID == "" {
		return formats.Fail(formats.CodeDenied, "",
			"the worker opened a gate of run %s with the id of another one", run)
	}
	return nil
}

// checkAnswer refuses an answer that nobody gave to this gate, and a second one.
func (k *Keeper) checkAnswer(run string, r *teamRun, all gates, entry journal.Record) error {
	var d formats.Decision
	if err := json.Unmarshal(entry.Raw(), &d); err != nil {
		return formats.Broken(formats.CodeDenied, "the answer to a gate", err)
	}

	asked, known := all[entry.Key]
	if !known || asked.over {
		return formats.Fail(formats.CodeDenied,
			"an answer counts once, for the gate that it was given to",
			"the worker sent an answer to a gate of run %s that is not open", run)
	}

	gate := asked.gate
	gate.Run = run
	if !d.Person {
		return k.checkRule(run, r, gate, d)
	}

	users := []string{d.By}
	if entry.Type == formats.EntryGateDecided && gate.Quorum > 1 {
		users = strings.Split(d.By, ", ") // all who made the choice
	}

	given, err := k.project.Control.Answers(gate)
	if err != nil {
		return err
	}
	for _, user := range users {
		if !slices.ContainsFunc(given, func(one formats.Decision) bool {
			return one.By == user && one.Answer == d.Answer
		}) {
			return formats.Fail(formats.CodeDenied, "users answer by: tercet --on team approve RUN",
				"the worker sent an answer of %s to a gate of run %s that nobody gave", user, run)
		}
	}

	choice, _ := gate.Choice(d.Answer)
	slices.Sort(users)
	if n := len(slices.Compact(users)); entry.Type == formats.EntryGateDecided && !choice.Ends &&
		n < gate.Quorum {
		return formats.Fail(formats.CodeDenied, "users answer by: tercet --on team approve RUN",
			"a gate of run %s needs %d users, and the worker named %d", run, gate.Quorum, n)
	}
	return nil
}

// checkRule refuses an answer in the name of a rule that does not hold.
func (k *Keeper) checkRule(run string, r *teamRun, g formats.Gate, d formats.Decision) error {
	switch {
	case d.By == formats.ByYes && !r.record.Yes:
		return formats.Fail(formats.CodeDenied, "begin it by: tercet --on team --yes LINE",
			"the worker approved a gate of run %s by --yes, which the line does not have", run)
	case d.By == formats.ByTimeout &&
		(g.Timeout == nil || d.Answer != g.Timeout.Choose ||
			k.project.Host.Clock.Now().Before(g.Until())):
		return formats.Fail(formats.CodeDenied, "",
			"the worker answered a gate of run %s by its timeout before its time was over", run)
	}
	return nil
}
