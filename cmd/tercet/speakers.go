package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tercet/formats"
	"tercet/internal/config"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// speaking gives the Agent of a runner that is an agent of the Agent Client Protocol: that of the subagent's file, else that
// of the configuration.
func (w *world) speaking(def subagents.Definition, name string) subagents.Agent {
	s, known, err := w.speaker(name)
	if name == agentcli.RunnerACP && len(def.Argv) > 0 {
		s, known, err = agentcli.SpeakerOf(def.Argv), true, nil
	}
	if err != nil {
		return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) { return formats.Failed(err), nil })
	}
	if !known && name != agentcli.RunnerACP {
		return agentcli.Unknown(name)
	}
	return &agentcli.ACP{
		Definition: def, Runner: name, Speaker: s, Starter: w.starter, Root: w.dir, Nonce: newNonce, IsolatedHome: w.cfg.IsolatedHome, Mask: w.mask.Line, Confine: w.confineAgent,
	}
}

// speaker gives the agent that the configuration has for a runner.
func (w *world) speaker(runner string) (agentcli.Speaker, bool, error) {
	s, ok := w.cfg.ACP[runner]
	switch {
	case !ok:
		return agentcli.Speaker{}, false, nil
	case len(s.Argv) > 0:
		return agentcli.SpeakerOf(s.Argv), true, nil
	}
	known, err := agentcli.SpeakerByName(s.Name)
	if err != nil {
		err = &formats.Failure{Code: formats.CodeConfig, Message: w.cfg.Origin("acp." + runner).String(), Err: err, Help: formats.HelpOf(err)}
	}
	return known, true, err
}

// speakersFound tells of the agents of the Agent Client Protocol that the configuration names. Each is started and asked who it
// is, where that is allowed.
func (w *world) speakersFound(ctx context.Context, may bool) []finding {
	names := slices.Sorted(maps.Keys(w.cfg.ACP))
	out := make([]finding, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { out[i] = w.speakerFound(ctx, name, may) })
	}
	wg.Wait()
	return out
}

func (w *world) speakerFound(ctx context.Context, runner string, may bool) finding {
	f := finding{Name: runner, Grade: gradeWarn}
	s, _, err := w.speaker(runner)
	if err != nil {
		f.Grade, f.Text, f.Fix = gradeFail, err.Error(), formats.HelpOf(err)
		return f
	}
	detail := agentDetail{Tested: s.Driver.Tested}
	at, err := w.starter.Look(s.Program(w.dir))
	if err != nil {
		f.Text, f.Fix, f.Detail = s.Driver.Name+" is not installed", "install it, or change `acp` in config.yaml", detail
		if s.Driver.Package != "" {
			f.Fix = "npm install -g " + s.Driver.Package + "@" + s.Driver.Tested
		}
		return f
	}
	detail.Path = at
	if !may {
		f.Grade, f.Text, f.Detail = gradeSkip, at+", "+notAsked, detail
		return f
	}
	found, err := agentcli.ProbeACP(ctx, w.starter, s, w.dir)
	detail.Version, f.Detail = found.Version, detail
	if err != nil {
		f.Text, f.Fix = err.Error(), formats.HelpOf(err)
		return f
	}
	f.Grade = gradeOK
	f.Text = fmt.Sprintf("%s speaks the Agent Client Protocol (%s)", cmp.Or(found.Version, "unknown version"), at)
	if s.Driver.Tested != "" && found.Version != s.Driver.Tested {
		f.Grade = gradeWarn
		f.Text += ", not the version that tercet is tested with: " + s.Driver.Tested
	}
	if detail.LoggedIn = s.Driver.LoggedIn(w.childVariable); detail.LoggedIn != "" {
		f.Text += ", logged in by " + detail.LoggedIn
		f.Detail = detail
	}
	return f
}

// speakerPrograms are the files of a project that the configuration names as agents.
func speakerPrograms(dir string, cfg config.Config) []listedFile {
	var out []listedFile
	for _, s := range cfg.ACP {
		for _, word := range s.Argv {
			if inside, ok := inProject(dir, word); ok {
				out = append(out, listedFile{path: inside, kind: kindSpeaker})
			}
		}
	}
	return out
}
