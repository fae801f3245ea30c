package agentcli

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents"
)

// Link is one runner of a chain.
type Link struct {
	Name  string
	Agent subagents.Agent
}

// Chain is the Agent of a subagent file with several runners, in order of preference. If a runner
// is not installed or not logged in, it tries the next one; after failed work it does not.
type Chain struct {
	Links []Link
	Now   func() time.Time // times the attempts
}

// Run does what RunMetered does.
func (c *Chain) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := c.RunMetered(ctx, r)
	return ret, err
}

// RunMetered tries one runner after the other. If there was more than one attempt, it records them.
func (c *Chain) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	if len(c.Links) == 0 || c.Now == nil {
		return formats.Return{}, subagents.Measured{}, formats.Unset(
			"runners and a clock of a chain",
		)
	}

	var attempts []formats.RunnerAttempt
	for i := 0; ; i++ {
		link := c.Links[i]
		begin := c.Now()
		ret, used, err := link.run(ctx, r)
		a := formats.RunnerAttempt{
			Runner:   used.Runner,
			Model:    cmp.Or(used.Model, used.Asked),
			Duration: c.Now().Sub(begin).Seconds(),
		}
		why, out := unavailable(ret, err)
		if out {
			a.Code = why.Code
			a.Message = why.Message
		}
		attempts = append(attempts, a)
		if out && i < len(c.Links)-1 && ctx.Err() == nil {
			continue
		}
		if len(attempts) > 1 {
			used.Attempts = attempts
		}
		return ret, used, err
	}
}

// run calls the agent of a link, also one that does not measure.
func (l Link) run(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	if agent, ok := l.Agent.(subagents.Metered); ok {
		ret, used, err := agent.RunMetered(ctx, r)
		used.Runner = cmp.Or(used.Runner, l.Name)
		return ret, used, err
	}
	ret, err := l.Agent.Run(ctx, r)
	return ret, subagents.Measured{Runner: l.Name}, err
}

// Modelless wraps a runner without models, in a run that requests a model.
type Modelless struct {
	Link
	Warn func() // called before the work: the runner has no models
}

// Run does what RunMetered does.
func (m Modelless) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := m.RunMetered(ctx, r)
	return ret, err
}

// RunMetered calls Told and runs the runner.
func (m Modelless) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	m.Warn()
	return m.run(ctx, r)
}

// unavailable tells whether a runner could not even begin.
func unavailable(ret formats.Return, err error) (formats.ReturnError, bool) {
	if err != nil {
		failed := formats.Failed(err)
		return failed.Errors[0], failed.Class == formats.ClassUnavailable
	}
	if ret.Status != formats.StatusFailed || len(ret.Errors) == 0 {
		return formats.ReturnError{}, false
	}
	return ret.Errors[0], formats.ClassOf(ret.Errors[0]) == formats.ClassUnavailable
}

// Auto finds the first installed agent CLI that runs, once per process.
type Auto struct {
	Starter *proc.Starter

	mu    sync.Mutex // held while programs are asked, so that they are asked once
	found *Found     // guarded by mu
}

// First gives that CLI, in the order of Drivers.
func (a *Auto) First(ctx context.Context) (Found, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found != nil {
		return *a.found, nil
	}

	for _, d := range Drivers() {
		f, err := Probe(ctx, a.Starter, d)
		if ctx.Err() != nil {
			return Found{}, context.Cause(ctx)
		}
		if err == nil {
			a.found = &f
			return f, nil
		}
	}
	return Found{}, formats.Fail(formats.CodeToolUnavailable,
		"install one of them, or use --runner offline",
		"runner auto: expected one of %s on PATH, got none", strings.Join(Names(), ", "))
}

// Chosen is the Agent of `runner: auto`.
type Chosen struct {
	Auto *Auto
	// For makes the agent of a runner by name.
	For func(name string) subagents.Agent
}

// Run does what RunMetered does.
func (c *Chosen) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := c.RunMetered(ctx, r)
	return ret, err
}

// RunMetered runs on the CLI that was found.
func (c *Chosen) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	if c.Auto == nil || c.For == nil {
		return formats.Return{}, subagents.Measured{}, formats.Unset("what finds and makes runners")
	}
	found, err := c.Auto.First(ctx)
	if err != nil {
		return formats.Failed(err), subagents.Measured{Runner: "auto"}, nil
	}
	return Link{Name: found.Name, Agent: c.For(found.Name)}.run(ctx, r)
}

// Unknown is the Agent of a runner that tercet does not know.
func Unknown(name string) subagents.Agent {
	return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Failed(formats.Fail(formats.CodeToolUnavailable,
			"change `runner` in the subagent's file, or use --runner offline",
			"expected a runner (%s, exec, acp, offline, auto), got %q", strings.Join(Names(), ", "),
			name)), nil
	})
}
