package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/shell"
	"tercet/subagents/sandbox"
)

// Place is where a command that the user types would run.
type Place = shell.Place

// CommandRisks are the risks of a command, and how much it needs a sandbox for them.
type CommandRisks struct {
	Command string `json:"command"`
	shell.Report
}

// ClassifyCommand names the risks of a command without running it or reading a file. One word is a
// text for a shell; several words are a program and its arguments.
func ClassifyCommand(words []string, place Place) (CommandRisks, error) {
	text := words[0]
	if len(words) > 1 {
		quoted, err := shell.Quote(words)
		if err != nil {
			return CommandRisks{}, err
		}
		text = quoted
	}
	report, err := shell.Classify(text, place)
	return CommandRisks{Command: text, Report: report}, err
}

// Table lists the risks with their places in the command.
func (r CommandRisks) Table() formats.Table {
	tab := formats.Table{Columns: []string{"tier", "category", "place", "what"}}
	row := func(level shell.Level, category string, at formats.Pos, what string) {
		place := fmt.Sprintf("%d:%d", at.Line, at.Col)
		tab.Rows = append(tab.Rows, []string{level.String(), category, place, what})
	}
	for _, f := range r.Findings {
		what := f.Command + ": " + f.Reason
		if f.Target != "" {
			what += " (" + strings.ReplaceAll(f.Target, "\n", " ") + ")"
		}
		row(f.Level, f.Category.String(), f.Pos, what)
	}
	for _, u := range r.Unknown {
		row(shell.Recommended, "unknown", u.Pos, u.Reason)
	}
	return tab
}

// Destroyed says what the command destroys that nobody can bring back, a line each.
func (r CommandRisks) Destroyed() []string {
	var out []string
	for _, f := range r.Findings {
		destroys := f.Category == shell.DestructiveFS || f.Category == shell.ProdDB
		if destroys && f.Level > shell.Optional {
			out = append(out, f.Command+": "+f.Reason+formats.Prefixed(": ", f.Target))
		}
	}
	return out
}

// SandboxState says which isolation works on this machine.
type SandboxState struct {
	Order  []sandbox.Tier  `json:"order"` // that of the configuration
	Best   sandbox.Tier    `json:"best"`  // in which programs are started
	Probes []sandbox.Probe `json:"probes"`
}

// ProbeSandbox tries every kind of isolation.
func (p *Project) ProbeSandbox(ctx context.Context) (SandboxState, error) {
	keeper := p.newKeeper() // that of the project leaves out engines that no image is for
	keeper.All = true
	probes, err := keeper.Probes(ctx)
	if err != nil {
		return SandboxState{}, err
	}
	out := SandboxState{Order: keeper.Order, Best: sandbox.Blocked, Probes: probes}
	if best, err := keeper.Best(ctx, sandbox.Blocked, nil); err == nil {
		out.Best = best.Tier
	}
	return out, nil
}

// RunSandboxed runs a program of the user in the strongest tier that works here and is enough for
// its risks, and prints what it prints. Started is told the tier before the program starts. Exit is
// the program's exit code; the error tells why it has none.
func (p *Project) RunSandboxed(
	ctx context.Context,
	place Place,
	argv []string,
	net bool,
	started func(tier string) (out, errs io.Writer),
) (exit int, err error) {
	command := proc.Command{
		Argv:    argv,
		Dir:     place.Dir,
		Private: true,
		Purpose: proc.PurposeScript,
	}
	boxed, tier, err := p.Keeper.Run(ctx, place, command, net)
	if errors.As(err, new(*proc.NotFoundError)) {
		return 0, formats.Broken(formats.CodeToolUnavailable, "sandbox run", err,
			"install it, or give its path")
	}
	if err != nil {
		return 0, err
	}

	out, errs := started(tier)
	res, err := p.Starter.Run(ctx, boxed)
	out.Write(res.Stdout)  //nolint:errcheck // whoever reads it is gone
	errs.Write(res.Stderr) //nolint:errcheck // whoever reads it is gone
	switch {
	case err != nil:
		return 0, err
	case res.TimedOut != proc.TimeoutNone:
		return 0, formats.Fail(formats.CodeTimeout, "run it in smaller parts",
			"%s did not end within %s", argv[0], proc.DefaultTotal)
	case res.Flooded:
		return 0, formats.Fail(formats.CodeLimit, "send its output to a file",
			"%s printed more than %d MiB and was stopped", argv[0], proc.DefaultLimit>>20)
	case res.Signal != "":
		return 0, formats.Fail(formats.CodeUnknown, "run it without a sandbox to compare",
			"%s was ended by %s", argv[0], res.Signal)
	}
	return res.Exit, nil
}

// Supervise is the work of the process that starts a child within bounds and watches it. The
// request comes from in; the code is that with which the process exits.
func Supervise(in io.Reader, out io.Writer) int {
	return proc.Supervise(in, out, sandbox.Ruleset)
}
