package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/project"
	"tercet/team"
)

// teamWord makes this process work on a run of a team, for the worker that started it.
const teamWord = "__team"

// The programs of a team, which the module engine/nats builds.
const (
	hubProgram    = "tercet-hub"
	workerProgram = "tercet-worker"
)

// onTeam is the word of --on that names the home of the user's team.
const onTeam = "team"

// teamVerbs start the programs of a team.
func teamVerbs() []verb {
	return []verb{
		{
			use:   "hub [--listen ADDRESS]",
			short: "be the home of a team: queue runs, own the state",
			needs: userOnly,
			make:  programVerb(hubProgram),
		},
		{
			use:   "worker --join WORD",
			short: "work on the runs of a team, in this clone",
			needs: userOnly,
			make:  programVerb(workerProgram),
		},
	}
}

// programVerb is a verb that another program does, with all its flags.
func programVerb(name string) func(cmd *cobra.Command, a *app) run {
	return func(cmd *cobra.Command, _ *app) run {
		cmd.DisableFlagParsing = true
		return func(c call) error { return execTeamProgram(name, c.args) }
	}
}

// execTeamProgram replaces this process by a program of the team.
func execTeamProgram(name string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return broken(formats.CodeIO, "this program", err)
	}
	err = proc.Exec(name, args, append(os.Environ(), "TERCET_PROGRAM="+self))
	if _, missing := errors.AsType[*proc.NotFoundError](err); missing {
		return formats.Fail(formats.CodeToolUnavailable,
			"build it from the source of tercet, beside tercet itself: cd engine/nats && "+
				"go build -o "+dirOf(self)+" ./tercet-hub ./tercet-worker",
			"%s is not beside tercet and not in PATH", name)
	}
	return broken(formats.CodeIO, name, err)
}

func dirOf(file string) string {
	at := strings.LastIndexByte(file, os.PathSeparator)
	return cmp.Or(file[:max(at, 0)], ".")
}

// parseTeamLine gives the words of a line for the home of a team, behind --on team. ok is false for
// other lines. Only the first word is looked at: what follows belongs to the home.
func parseTeamLine(args []string) (rest []string, ok bool, err error) {
	if len(args) == 0 {
		return nil, false, nil
	}
	word, inline := strings.CutPrefix(args[0], "--on=")
	rest = args[1:]
	switch {
	case inline:
	case args[0] != "--on":
		return nil, false, nil
	case len(rest) == 0:
		return nil, true, usage("expected team for --on, got nothing")
	default:
		word = rest[0]
		rest = rest[1:]
	}

	switch {
	case word != onTeam:
		return nil, true, usage("expected team for --on, got %q", word)
	case len(rest) == 0:
		return nil, true, usage("expected a line or a verb behind --on team, got nothing")
	}
	return rest, true, nil
}

// team is the team that the user belongs to; nil: none, or the program that talks to it is missing.
func (a *app) team() project.Team {
	host := a.host()
	own, err := host.UserTeam()
	if err != nil {
		return nil // the project tells it
	}
	if !exists(own.Key) && a.env("TERCET_TEAM") == "" {
		return nil
	}

	program, err := proc.FindHelper(workerProgram)
	if err != nil {
		a.term.Note("warning: the page shows no team: %s is not beside tercet and not in PATH",
			workerProgram)
		return nil
	}
	return team.Remote{Helper: proc.Helper{
		Argv: []string{program, "on-team", "--"},
		Env:  os.Environ(),
	}}
}

// runForTeam works on a run of a team. The file 3 is the connection to its worker.
func runForTeam(args []string) int {
	const connection = 3
	a := newApp(stdio{
		in:  strings.NewReader(""),
		out: os.Stdout,
		err: os.Stderr,
	}, os.Getenv)

	a.flags.json = true
	a.flags.noInput = true
	a.flags.color = "never"
	a.flags.parallel = "1"
	if err := a.configure(); err != nil {
		return a.reportError(err)
	}
	if len(args) == 3 && args[0] == prepareWord {
		return prepareClone(a, args[1], args[2])
	}

	stream := os.NewFile(connection, "worker")
	if len(args) != 3 || stream == nil {
		return a.reportError(usage("tercet worker starts this process"))
	}

	a.trustedAs = args[2]
	if info, err := stream.Stat(); err != nil || info.Mode().Type()&os.ModeSocket == 0 {
		return a.reportError(usage("tercet worker starts this process"))
	}

	proc.CloseOnExec(connection)
	ctx := a.signals.listen()

	ret, err := a.takeRun(ctx, team.NewStreamClient(stream), args[0], args[1])
	if err != nil {
		return a.reportError(errors.Join(err, a.closeProject()))
	}
	if err := a.closeProject(); err != nil {
		return a.reportError(err)
	}
	a.printReturn(ret)
	return a.exitCode(ret)
}

// prepareWord makes this process prepare a clone for runs of a team.
const prepareWord = "prepare"

// prepareClone brings the clone here to a commit of the home and prints its state. What the user
// agreed to in another folder, of the same project, is agreed to here.
func prepareClone(a *app, base, trustedAs string) int {
	ctx := a.signals.listen()
	a.trustedAs = trustedAs
	dir, has, err := a.projectDir()
	if err == nil && !has {
		err = project.NoWorkspace()
	}

	h := a.host()
	if err == nil {
		err = h.MayCommand()
	}
	if err != nil {
		return a.reportError(err)
	}

	s, err := h.PrepareClone(ctx, dir, base)
	if err != nil {
		return a.reportError(err)
	}
	a.term.JSON(s)
	return 0
}

// takeRun takes a run from a home and works on it in the project here.
func (a *app) takeRun(
	ctx context.Context, home project.Home, run, taker string,
) (formats.Return, error) {
	dir, has, err := a.projectDir()
	if err != nil {
		return formats.Return{}, err
	}

	h := a.host()
	h.Home = home
	p, err := project.Open(ctx, dir, has, h)
	if err != nil {
		return formats.Return{}, err
	}
	a.project = p
	a.term.Use(p)
	return p.TakeRun(ctx, run, taker, a.options())
}
