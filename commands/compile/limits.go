package compile

import (
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// How far a file may raise what a run may use. Nothing that works needs more; a figure above it is a slip.
const (
	mostSteps  = 10 * formats.DefaultSteps
	mostTokens = 1_000_000_000
	mostCost   = 100_000 // US dollars
)

// limits reads the frontmatter's limits. Counters of second tries may only be lowered, steps and time may be raised.
func (c *compiler) limits() {
	l := &c.prog.Limits
	fields := map[string]func(v *syntax.Value){
		"rollbacks": c.counter("rollbacks", &l.Rollbacks, formats.DefaultRollbacks),
		"retries":   c.counter("retries", &l.Retries, formats.DefaultRetries),
		"visits":    c.counter("visits", &l.Visits, formats.DefaultVisits),
		"steps":     c.counter("steps", &l.Steps, mostSteps),
		"parallel":  c.counter("parallel", &l.Parallel, formats.MaxParallel),
		"spawns":    c.counter("spawns", &l.Spawns, mostSteps),
		"duration":  c.duration,
		"tokens":    c.tokens,
		"cost":      c.cost,
	}
	names := []string{"rollbacks", "retries", "visits", "steps", "parallel", "spawns", "duration", "tokens", "cost"}
	for _, f := range c.file.Front.Limits {
		read, ok := fields[f.Key.Text]
		switch {
		case ok:
			read(f.Value)
		case f.Key.Text == "depth":
			c.report(f.Key.Pos, CodeUnknownKey, "remove it", "the depth is %d and no limit to set", formats.MaxDepth)
		default:
			help := nearest.Help(f.Key.Text, names)
			if help == "" {
				help = "the limits are " + strings.Join(names, ", ")
			}
			c.report(f.Key.Pos, CodeUnknownKey, help, "unknown limit '%s'", f.Key.Text)
		}
	}
}

// counter reads a whole number.
func (c *compiler) counter(name string, into *int, most int) func(v *syntax.Value) {
	return func(v *syntax.Value) {
		n, ok := v.Lit.(int)
		if !ok || n < 1 || n > most {
			c.report(v.Pos, CodeLimitValue, "", "expected %s from 1 to %d, got %s", name, most, shown(v))
			return
		}
		*into = n
	}
}

func (c *compiler) tokens(v *syntax.Value) {
	var n int
	if c.counter("tokens", &n, mostTokens)(v); n > 0 {
		c.prog.Limits.Tokens = int64(n)
	}
}

func (c *compiler) cost(v *syntax.Value) {
	var usd float64
	switch n := v.Lit.(type) {
	case int:
		usd = float64(n)
	case float64:
		usd = n
	}
	if !(usd > 0 && usd <= mostCost) { // so that .nan is refused too
		c.report(v.Pos, CodeLimitValue, "write it like 2.50, in US dollars", "expected a cost above 0 and up to %d, got %s", mostCost, shown(v))
		return
	}
	c.prog.Limits.Cost = usd
}

func (c *compiler) duration(v *syntax.Value) {
	text, ok := v.Lit.(string)
	d, err := argspec.ParseDuration(text)
	if !ok || err != nil || d <= 0 {
		c.report(v.Pos, CodeLimitValue, "write it like 30m or 2h", "expected a duration, got %s", shown(v))
		return
	}
	c.prog.Limits.Duration = d
}
