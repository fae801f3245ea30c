package compile

import (
	"time"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
)

// The highest limits that a file may set. No working command needs more; a higher number is a slip.
const (
	maxSteps  = 10 * formats.DefaultSteps
	maxTokens = 1_000_000_000
	maxCost   = 100_000 // US dollars
)

// limitNames are the limits that a file may set.
var limitNames = []string{
	"rollbacks", "retries", "visits", "steps", "parallel", "spawns", "duration", "tokens", "cost",
	"auto_resume",
}

// checkLimits reads the frontmatter's limits. Counters of second tries may only be lowered, steps
// and time may be raised.
func checkLimits(c *compiler) {
	l := &c.prog.Limits
	tokens := 0
	counters := map[string]struct {
		into *int
		most int
	}{
		"rollbacks": {&l.Rollbacks, formats.DefaultRollbacks},
		"retries":   {&l.Retries, formats.DefaultRetries},
		"visits":    {&l.Visits, formats.DefaultVisits},
		"steps":     {&l.Steps, maxSteps},
		"parallel":  {&l.Parallel, formats.MaxParallel},
		"spawns":    {&l.Spawns, maxSteps},
		"tokens":    {&tokens, maxTokens},
	}
	durations := map[string]*time.Duration{"duration": &l.Duration, "auto_resume": &l.AutoResume}

	for _, f := range c.file.Front.Limits {
		v := f.Value
		name := f.Key.Text
		counter, counts := counters[name]
		switch {
		case counts:
			n, ok := v.Lit.(int)
			if ok && n >= 1 && n <= counter.most {
				*counter.into = n
			} else {
				c.report(v.Pos, CodeLimitValue, "",
					"expected %s from 1 to %d, got %s", name, counter.most, v)
			}
		case durations[name] != nil:
			var err error
			*durations[name], err = argspec.ParseDuration(literalText(v))
			if err != nil || *durations[name] <= 0 {
				c.report(v.Pos, CodeLimitValue, "write it like 30m or 2h",
					"expected a duration, got %s", v)
			}
		case name == "cost":
			c.checkCost(v)
		case name == "depth":
			c.report(f.Key.Pos, CodeUnknownKey, "remove it",
				"the depth is %d and no limit to set", formats.MaxDepth)
		default:
			c.reportUnknown(f.Key, CodeUnknownKey, limitNames, "the limits are %s",
				"unknown limit '%s'")
		}
	}

	l.Tokens = int64(tokens)
}

func (c *compiler) checkCost(v *syntax.Value) {
	usd := formats.As[float64](v.Lit)
	if n, whole := v.Lit.(int); whole {
		usd = float64(n)
	}
	c.prog.Limits.Cost = usd
	if !(usd > 0 && usd <= maxCost) { // so that .nan is refused too
		help := "write it like 2.50, in US dollars"
		c.report(v.Pos, CodeLimitValue, help, "expected a cost above 0 and up to %d, got %s",
			maxCost, v)
	}
}
