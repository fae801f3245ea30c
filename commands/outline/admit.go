package outline

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
)

// Ceiling is the most that a person lets a run use, as the flags of the command line have it; an empty text sets no
// bound.
type Ceiling struct{ Agents, Depth, Time, Cost string }

// Admit refuses a command that may use more. Nothing has been written then. The error is a *formats.Failure.
func (c Ceiling) Admit(command string, w Worst) error {
	cost, may := math.Inf(1), "may cost any amount ("+strings.Join(w.Unpriced, ", ")+" without limits.cost)"
	if w.Cost != nil {
		cost, may = *w.Cost, fmt.Sprintf("may cost $%.2f", *w.Cost)
	}
	for _, one := range []struct {
		flag, given, may string
		over             func(text string) (bool, error)
		help             string
	}{
		{
			"max-agents", c.Agents, fmt.Sprintf("may call workers %d times", w.Agents), above(w.Agents, atLeastOne),
			"set limits.spawns in the command file",
		},
		{
			"max-depth", c.Depth, fmt.Sprintf("may delegate to depth %d", w.Depth), above(w.Depth, atLeastOne),
			"call subagents without steps of their own",
		},
		{
			"max-time", c.Time, "may take " + w.Time.String(), above(w.Time, argspec.ParseDuration),
			"set limits.duration in the command file",
		},
		{"max-cost", c.Cost, may, above(cost, dollars), "set limits.cost in the command file"},
	} {
		if one.given == "" {
			continue
		}
		over, err := one.over(one.given)
		if err != nil {
			return formats.Fail(formats.CodeUsage, "run 'tercet --help'", "--%s: %v", one.flag, err)
		}
		if over {
			return formats.Fail(formats.CodeLimit, one.help+"; 'tercet explain /"+command+"' shows the bounds",
				"/%s %s, --%s is %s", command, one.may, one.flag, one.given)
		}
	}
	return nil
}

func above[T cmp.Ordered](most T, parse func(string) (T, error)) func(string) (bool, error) {
	return func(text string) (bool, error) {
		limit, err := parse(text)
		return most > limit, err
	}
}

func atLeastOne(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &formats.ValueError{What: "a number from 1", Got: text}
	}
	return n, nil
}

func dollars(text string) (float64, error) {
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil || !(usd >= 0 && usd <= 1e9) {
		return 0, &formats.ValueError{What: "an amount such as 2.50", Got: text}
	}
	return usd, nil
}

// Money says what a run may cost.
func (w Worst) Money() string {
	switch {
	case w.Cost == nil:
		return "no bound: " + strings.Join(w.Unpriced, ", ") + " without limits.cost, and the command has none"
	case *w.Cost == 0:
		return "none: no runner here is paid for"
	}
	return fmt.Sprintf("at most $%.2f", *w.Cost)
}
