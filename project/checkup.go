package project

import (
	"context"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/checkup"
	"tercet/internal/journal"
	"tercet/subagents"
)

// Finding is what a checkup says of one thing: how good it is, and what to do about it.
type Finding = checkup.Finding

// The grades of a finding.
const (
	Fine    = checkup.Fine
	Failure = checkup.Failure
)

// Tool is a folder or file of another tool whose commands or agents run here.
type Tool = checkup.Tool

// Checkup says what is there, what is missing and what to do about it. It starts the installed
// agent CLIs to ask for their versions, as far as the user trusts the project, and changes nothing.
func (s *Session) Checkup(ctx context.Context) ([]Finding, error) {
	p := s.Project
	programs := checkup.Programs{
		Starter: p.Starter,
		Gate:    p.Trust,
		Keeper:  p.Keeper,
		Config:  &p.Config,
		Runner:  s.Options.Runner,
		Dir:     p.Dir,
		Speaker: p.Speaker,
		Getenv:  p.Host.Env,

		NoWorkspace: !p.HasWorkspace,
		Model: func(runner string) (model, from string) {
			return s.Models.For(subagents.Definition{}, runner, nil)
		},
	}
	list := programs.Check(ctx)

	if p.HasWorkspace {
		ofWorkspace, err := s.checkWorkspace(ctx, programs.MayStart)
		if err != nil {
			return nil, err
		}
		list = append(list, ofWorkspace...)
	} else {
		list = append(list, Finding{
			Name:  "workspace",
			Grade: checkup.Warning,
			Text:  "none here or above",
			Fix:   "run tercet init",
		})
	}

	settings := secretSettings(p.Config.Env)
	value := func(name string) string {
		text, _ := p.Host.LookupEnv(name)
		return text
	}
	list = append(list, checkup.Secrets(settings, journal.MinSecret, value)...)
	unfollowed := func(name string) []string {
		def, _, _ := s.Set.Lookup(name, "")
		return def.Unfollowed
	}
	return append(list, checkup.UnfollowedSettings(s.Set.Names(), unfollowed)...), nil
}

// checkWorkspace looks at the workspace and at what other tools, packs and agents bring into it.
func (s *Session) checkWorkspace(
	ctx context.Context,
	may bool,
) ([]Finding, error) {
	p := s.Project
	w := checkup.Workspace{
		Root:     p.Root,
		Dir:      p.Dir,
		Verify:   p.Reader.Verify,
		Lockable: p.Manager.Lockable,
		Tasks: func(ctx context.Context) ([]formats.Task, error) {
			doc, err := p.Reader.Doc(ctx)
			return doc.Tasks, err
		},
		Alive:    p.StateConfig(0, nil).Alive,
		Limits:   p.Retention(),
		Table:    p.Table,
		Agents:   p.agentTools(s.Set),
		Library:  s.Library,
		MayStart: may,
		InRun:    p.Host.insideRun(),
	}

	shipped, err := shippedPacks()
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		w.Check(ctx),
		p.checkForeignStates(ctx),
		checkup.Packs(atomicfile.FS(p.Root), shipped),
		checkup.Agents(replacementNotes(s.Set), s.AgentNotes, subagents.OfNames),
	), nil
}

// checkForeignStates is about the files of tasks that other systems keep in the project.
func (p *Project) checkForeignStates(ctx context.Context) (out []Finding) {
	for _, f := range p.ForeignStates(ctx) {
		one := Finding{Name: "states", Grade: checkup.Warning, Text: f.String(), Detail: f}
		if f.Is != ForeignImported {
			one.Text, one.Fix, _ = strings.Cut(one.Text, "; ")
			out = append(out, one)
			continue
		}

		one.Grade = checkup.Fine
		one.Text = f.File + " was imported, and did not change since"
		if line := p.reexportCommand(ctx, f.File); line != "" {
			one.Text += "; what changed here since is not in it"
			one.Fix = "if something still reads it, write it anew: " + line
		}
		out = append(out, one)
	}
	return out
}
