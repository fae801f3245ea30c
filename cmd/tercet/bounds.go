package main

import (
	"fmt"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/formats"
)

// maxFlags are the bounds above which a command does not start, as they were written.
type maxFlags struct{ agents, depth, time, cost string }

func (m *maxFlags) add(text func(*string, string, string, string)) {
	text(&m.agents, "max-agents", "", "do not start what may call more than this `number` of workers")
	text(&m.depth, "max-depth", "", "do not start what may delegate deeper than this `number`")
	text(&m.time, "max-time", "", "do not start what may take longer than this `duration`")
	text(&m.cost, "max-cost", "", "do not start what may cost more than this many US `dollars`")
}

// bound is the most that a run of a program can use.
func (w *world) bound(p *compile.Program) outline.Bound { return outline.BoundOf(p, w.facts) }

// facts tells what one call of a subagent may cost.
func (w *world) facts(name string) outline.Facts {
	def, agent, ok := w.set.Lookup(name, "")
	if !ok {
		return outline.Facts{}
	}
	f := outline.Facts{Free: def.Info.Builtin, Cost: def.Limits.Cost}
	if flow, ok := agent.(interface {
		Program() (*compile.Program, error)
	}); ok {
		if prog, err := flow.Program(); err == nil {
			f.Program = prog
		}
		return f
	}
	f.Free = f.Free || len(def.Argv) == 0 && w.offline(def.Info)
	return f
}

// offline tells whether nothing but the runner without a model does the work of a subagent.
func (w *world) offline(info formats.AgentInfo) bool {
	wanted := info.Runner
	if len(wanted) == 0 {
		wanted = []string{w.cfg.Runner}
	}
	if name := w.app.flags.runner; name != "" {
		wanted = []string{name}
	}
	return len(wanted) == 1 && (wanted[0] == "offline" || wanted[0] == "")
}

// admit refuses a program that may use more than the flags allow. Nothing has been written then.
func (w *world) admit(p *compile.Program) error {
	m := w.app.flags.max
	if m == (maxFlags{}) {
		return nil
	}
	worst := w.bound(p).Worst
	for _, check := range []func(maxFlags, outline.Worst) (refusal, error){overAgents, overDepth, overTime, overCost} {
		r, err := check(m, worst)
		switch {
		case err != nil:
			return usage("--%s: %v", r.flag, err)
		case r.is:
			return &formats.Failure{
				Code: formats.CodeLimit, Message: fmt.Sprintf("/%s %s, --%s is %s", p.Name, r.may, r.flag, r.given),
				Help: r.help + "; 'tercet explain /" + p.Name + "' shows the bounds",
			}
		}
	}
	return nil
}

// refusal is what stands against a start.
type refusal struct {
	flag, given, may, help string
	is                     bool
}

func overAgents(m maxFlags, worst outline.Worst) (refusal, error) {
	r := refusal{flag: "max-agents", given: m.agents, may: fmt.Sprintf("may call workers %d times", worst.Agents), help: "set limits.spawns in the command file"}
	if m.agents == "" {
		return r, nil
	}
	n, err := atLeastOne(m.agents)
	r.is = worst.Agents > n
	return r, err
}

func overDepth(m maxFlags, worst outline.Worst) (refusal, error) {
	r := refusal{flag: "max-depth", given: m.depth, may: fmt.Sprintf("may delegate to depth %d", worst.Depth), help: "call subagents without steps of their own"}
	if m.depth == "" {
		return r, nil
	}
	n, err := atLeastOne(m.depth)
	r.is = worst.Depth > n
	return r, err
}

func overTime(m maxFlags, worst outline.Worst) (refusal, error) {
	r := refusal{flag: "max-time", given: m.time, may: "may take " + worst.Time.String(), help: "set limits.duration in the command file"}
	if m.time == "" {
		return r, nil
	}
	d, err := argspec.ParseDuration(m.time)
	r.is = worst.Time > d
	return r, err
}

func overCost(m maxFlags, worst outline.Worst) (refusal, error) {
	r := refusal{flag: "max-cost", given: m.cost, help: "set limits.cost in the command file"}
	if m.cost == "" {
		return r, nil
	}
	usd, err := dollars(m.cost)
	if worst.Cost == nil {
		r.may, r.is = "may cost any amount ("+strings.Join(worst.Unpriced, ", ")+" without limits.cost)", true
		return r, err
	}
	r.may, r.is = fmt.Sprintf("may cost $%.2f", *worst.Cost), *worst.Cost > usd
	return r, err
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

// moneyLine says what a run may cost.
func moneyLine(worst outline.Worst) string {
	switch {
	case worst.Cost == nil:
		return "no bound: " + strings.Join(worst.Unpriced, ", ") + " without limits.cost, and the command has none"
	case *worst.Cost == 0:
		return "none: no runner here is paid for"
	default:
		return fmt.Sprintf("at most $%.2f", *worst.Cost)
	}
}

// budget lists the limits that have no default.
func budget(l formats.Limits) string {
	var b strings.Builder
	if l.Spawns > 0 {
		fmt.Fprintf(&b, ", %d calls of workers", l.Spawns)
	}
	if l.Tokens > 0 {
		fmt.Fprintf(&b, ", %d tokens", l.Tokens)
	}
	if l.Cost > 0 {
		fmt.Fprintf(&b, ", $%.2f", l.Cost)
	}
	return b.String()
}
