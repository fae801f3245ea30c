package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/project"
)

// privateProject is a project that this process made itself, such as that of a test. It has a
// terminal of its own, and no trust in it is asked for.
type privateProject struct {
	app  *app
	dir  string
	term *term.Terminal
	host project.Host
}

// newPrivateProject makes what runs lines in a folder. Env are the variables of its user.
func (a *app) newPrivateProject(
	dir string,
	out, said io.Writer,
	env func(string) string,
	set term.Settings,
) (*privateProject, error) {
	t := term.New(term.Config{
		In:      strings.NewReader(""),
		Out:     out,
		Err:     said,
		Env:     env,
		Environ: os.Environ,
		Clock:   clock{},
		Signals: a.signals,
	})

	if err := t.Configure(set); err != nil {
		return nil, err
	}

	h := a.host()
	h.Frontend = t
	h.Session = project.NewSessionID(time.Now())
	h.InsideRun = func() bool { return env("TERCET_RUN") != "" || a.supervised() }
	h.Env = env
	h.Strict = false
	h.LockTimeout = 0
	h.Trust = ""
	h.Agreed = map[string]bool{}
	h.OwnProject = dir
	return &privateProject{app: a, dir: dir, term: t, host: h}, nil
}

// runLine runs one line and shows how it ended.
func (w *privateProject) runLine(
	ctx context.Context, line string, o project.Options,
) (formats.Return, int) {
	p, err := project.Open(ctx, w.dir, true, w.host)
	if err != nil {
		return w.reportError(err)
	}

	w.term.Use(p)
	ret, err := w.start(ctx, p, project.Line{Raw: line}, o)
	var code int
	if err != nil {
		ret, code = w.reportError(err)
	} else {
		showReturn(w.term, p, ret, o.DryRun)
		code = w.app.exitCode(ret)
		ret = maskedReturn(w.term, ret)
	}

	w.term.Use(nil)
	if err := p.Close(ctx); err != nil && code == 0 {
		return w.reportError(err)
	}
	return ret, code
}

// reportError shows why a line began nothing.
func (w *privateProject) reportError(err error) (formats.Return, int) {
	err = withCode(err)
	ret := formats.Failed(err)
	shaped := maskedReturn(w.term, ret)
	w.term.Failure(err)
	return shaped, w.app.exitCode(ret)
}

// start runs a line with the options, and with what stands of them behind its command.
func (w *privateProject) start(
	ctx context.Context, p *project.Project, line project.Line, o project.Options,
) (formats.Return, error) {
	s, err := p.Session(o)
	if err != nil {
		return formats.Return{}, err
	}

	route, err := s.Route(line)
	if err != nil {
		return formats.Return{}, err
	}

	if asksForHelp(route) {
		text, err := s.HelpText(route)
		return formats.Return{
			Status:  formats.StatusCompleted,
			Summary: "/" + route.Name,
			Text:    text,
		}, err
	}

	if err := w.host.MayCommand(); err != nil {
		return formats.Return{}, err
	}
	if behind, err := s.EngineFlags(route); len(behind) > 0 {
		if err != nil {
			return formats.Return{}, err
		}
		o.TellsBroken = true // the first session told of them
		s, err = p.Session(o.WithFlags(behind))
		if err != nil {
			return formats.Return{}, err
		}
	}

	ret, err := s.StartRouted(ctx, line, route)
	if waits, ok := errors.AsType[*project.ResumableError](err); ok {
		return waits.Return(), nil
	}
	return ret, err
}

// asksForHelp tells whether a line asks what its command does. That is the engine's answer, not the
// command's.
func asksForHelp(route project.Route) bool {
	words := route.Words
	if words == nil {
		words = strings.Fields(route.Raw)
	}
	return len(words) == 1 && slices.Contains([]string{"?", "--help"}, words[0])
}
