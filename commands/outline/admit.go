package outline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
)

// Ceiling is the most that the user lets a run use, as given in flags; an empty text sets no bound.
type Ceiling struct{ Agents, Depth, Time, Cost string }

// Admit refuses a command that may use more than the ceiling, before anything is written. The error
// is a *formats.Failure.
func (c Ceiling) Admit(command string, w Worst) error {
	cost := math.Inf(1)
	may := "may cost any amount (" + strings.Join(w.Unpriced, ", ") + " without limits.cost)"
	if w.Cost != nil {
		cost = *w.Cost
		may = fmt.Sprintf("may cost $%.2f", *w.Cost)
	}
	for _, one := range []struct {
		flag, given string
		read        func(string) (float64, error)
		most        float64
		may, help   string
	}{
		{
			"max-agents",
			c.Agents,
			atLeastOne,
			float64(w.Agents),
			fmt.Sprintf("may call workers %d times", w.Agents),
			"set limits.spawns in the command file",
		},
		{
			"max-depth",
			c.Depth,
			atLeastOne,
			float64(w.Depth),
			fmt.Sprintf("may delegate to depth %d", w.Depth),
			"call subagents without steps of their own",
		},
		{
			"max-time", c.Time, seconds, w.Seconds, "may take " + Span(w.Time),
			"set limits.duration in the command file",
		},
		{"max-cost", c.Cost, dollars, cost, may, "set limits.cost in the command file"},
	} {
		if one.given == "" {
			continue
		}
		limit, err := one.read(one.given)
		if err != nil {
			return formats.Fail(formats.CodeUsage, "run 'tercet --help'", "--%s: %v", one.flag, err)
		}
		if one.most > limit {
			return formats.Fail(formats.CodeLimit,
				one.help+"; 'tercet explain /"+command+"' shows the bounds",
				"/%s %s, --%s is %s", command, one.may, one.flag, one.given)
		}
	}

	return nil
}

func atLeastOne(text string) (float64, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &formats.ValueError{What: "a number from 1", Got: text}
	}
	return float64(n), nil
}

func seconds(text string) (float64, error) {
	d, err := argspec.ParseDuration(text)
	return d.Seconds(), err
}

func dollars(text string) (float64, error) {
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil || !(usd >= 0 && usd <= 1e9) {
		return 0, &formats.ValueError{What: "an amount such as 2.50", Got: text}
	}
	return usd, nil
}

// Money formats what a run may cost. Programs of the project are no alarm: tercet pays for none.
func (w Worst) Money() string {
	switch {
	case w.Cost == nil && w.Programs:
		return "no money but what the project's own programs spend"
	case w.Cost == nil:
		return "no bound on money: " + strings.Join(w.Unpriced, ", ") +
			" without limits.cost, and the command has none"
	case *w.Cost == 0:
		return "no money"
	}
	return fmt.Sprintf("$%.2f", *w.Cost)
}
