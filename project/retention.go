package project

import (
	"context"
	"math"

	"tercet/formats"
	"tercet/subagents/agentcli"
	"tercet/subagents/past"
)

// Retention says which runs the configuration keeps.
func (p *Project) Retention() past.Limits {
	r := p.Config.Retention
	if r.Off {
		return past.Limits{
			Age:  math.MaxInt64,
			Size: math.MaxInt64,
			Now:  p.Host.Clock.Now(),
		}
	}
	return past.Limits{
		Age:  r.Age,
		Size: r.Size,
		Now:  p.Host.Clock.Now(),
	}
}

// tidy removes old runs behind a command, at most once a day.
func (s *Session) tidy(ctx context.Context) {
	p := s.Project.past()
	if s.Project.Reader == nil || s.readOnly || s.Options.DryRun {
		return
	}
	if s.Project.Config.Retention.Off || !p.ClaimDaily(s.Project.Host.Clock.Now()) {
		return
	}

	found, err := p.FindOld(ctx, s.Project.Retention())
	if err == nil {
		err = s.Project.clean(ctx, found)
	}
	if err != nil {
		s.Project.note("warning: old runs: %s", err)
	}
}

// past is the project for one who does something with runs that are over.
func (p *Project) past() past.Project {
	return past.Project{
		Root:    p.Root,
		State:   p.Manager,
		Trees:   p.Trees,
		Session: p.Host.Session,
		Forget: func(ctx context.Context, at formats.AgentSession) error {
			return agentcli.Forget(ctx, p.Starter, at)
		},
	}
}
