package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
)

// Sum is the usage of workers as their agent CLIs reported it.
type Sum struct {
	By     string  `json:"by"`   // task, agent, day or all
	Name   string  `json:"name"` // the task's number, or the day in UTC; empty for all
	Calls  int     `json:"calls"`
	Tokens int64   `json:"tokens"`
	Cost   float64 `json:"cost_usd"`
}

// Sums sums the usage of a project's runs since a time (zero: all): by task, by agent, by day, and
// in total. It skips calls without a report, and reports and skips journals of other users.
func Sums(d *Controller, since time.Time) ([]Sum, error) {
	list, err := journal.Runs(d.Root, false)
	if err != nil {
		return nil, err
	}

	sums := map[[2]string]*Sum{}
	for _, run := range list {
		if run.Last.Before(since) {
			continue
		}
		records, err := d.Records(run.ID)
		if err != nil {
			d.Note("warning: %s", err)
			continue
		}
		for _, r := range records {
			var ret struct{ Metadata formats.Metadata }
			counts := r.Type == formats.EntryDelegationResult ||
				r.Type == formats.EntryDelegationCut
			if !counts || r.Time.Before(since) || json.Unmarshal(r.Raw(), &ret) != nil {
				continue
			}
			m := ret.Metadata
			// the workers of a workflow have reported its usage
			if m.Spawns > 0 || m.Tokens.Total() == 0 && m.Cost == 0 {
				continue
			}

			by := [][2]string{
				{"agent", m.Agent},
				{"day", r.Time.UTC().Format(time.DateOnly)},
				{"all"},
			}
			if run.Task > 0 {
				by = append(by, [2]string{"task", strconv.Itoa(run.Task)})
			}
			for _, key := range by {
				if sums[key] == nil {
					sums[key] = &Sum{By: key[0], Name: key[1]}
				}
				s := sums[key]
				s.Calls = s.Calls + 1
				s.Tokens = s.Tokens + m.Tokens.Total()
				s.Cost = s.Cost + m.Cost
			}
		}
	}

	order := []string{"task", "agent", "day", "all"}
	var out []Sum
	for _, s := range slices.SortedFunc(maps.Values(sums), func(a, b *Sum) int {
		one, _ := strconv.Atoi(a.Name) //nolint:errcheck // not a number: zero
		two, _ := strconv.Atoi(b.Name) //nolint:errcheck // as above
		return cmp.Or(
			slices.Index(order, a.By)-slices.Index(order, b.By),
			one-two,
			cmp.Compare(a.Name, b.Name),
		)
	}) {
		out = append(out, *s)
	}

	return out, nil
}

// Ceiling checks today's tokens and cost of this user's runs against the daily limits. At the limit
// it returns a *formats.LaterError for the next day, in UTC. Zero is no limit.
func Ceiling(d *Controller, day formats.Limits) error {
	if day.Tokens == 0 && day.Cost == 0 {
		return nil
	}
	const long = 24 * time.Hour
	today := d.Clock.Now().UTC().Truncate(long)

	sums, err := Sums(d, today)
	if err != nil || len(sums) == 0 {
		return err
	}

	took := sums[len(sums)-1] // the last one is the total
	var why string
	switch {
	case day.Tokens > 0 && took.Tokens >= day.Tokens:
		why = fmt.Sprintf("took %d tokens, and `daily` in config.yaml allows %d",
			took.Tokens, day.Tokens)
	case day.Cost > 0 && took.Cost >= day.Cost:
		why = fmt.Sprintf("took $%.2f, and `daily` in config.yaml allows $%.2f",
			took.Cost, day.Cost)
	default:
		return nil
	}

	return &formats.LaterError{
		Why:   "the runs of today " + why + "; it waits",
		Until: today.Add(long),
	}
}
