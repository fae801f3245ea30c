package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/internal/nearest"
	"tercet/internal/proc"
	"tercet/internal/query"
	"tercet/project"
)

// repl reads commands line by line.
type repl struct{ app *app }

// prompt reads and runs lines of a terminal until the user leaves.
func (a repl) prompt() error {
	a.app.flags.prompting = true
	ctx := context.Background()

	offered := &offers{app: a.app}
	defer offered.close()
	p := &term.Prompt{
		Terminal: a.app.term,
		Folder:   a.app.stateHome(),
		Ready:    offered.refresh,
		Run: func(ctx context.Context, line string) (begun string, err error) {
			offered.close()
			return a.runTyped(ctx, line)
		},
		Offer: func(line string, at int) project.Offers {
			return offered.completer.At(ctx, line, at)
		},
		Runs: offered.isRunnable,
	}

	offered.completer.Recent = p.Recent
	a.greet()
	if err := a.app.closeProject(); err != nil {
		return err
	}
	return errors.Join(p.Loop(ctx), a.app.closeProject())
}

// runTyped runs a line that was typed. Of one that lacks an argument it gives the text to go on
// with.
func (a repl) runTyped(ctx context.Context, line string) (begun string, err error) {
	err = errors.Join(a.runLine(ctx, line), a.app.closeProject())
	use, ok := errors.AsType[*project.UsageError](err)
	if ok && len(use.Open) > 0 && !strings.ContainsAny(line, "&;") {
		a.app.term.Say(use.Error())
		begun = line + " "
	} else {
		a.app.reportError(err)
	}
	return begun, nil
}

// greet says in one line where the user is and what waits.
func (a repl) greet() {
	ctx := context.Background()
	w, err := a.app.openSession(ctx)
	if err != nil {
		a.app.term.Note("%s", err)
		return
	}

	words := []string{
		"tercet " + version,
		filepath.Base(w.Project.Dir),
		"runner " + cmp.Or(a.app.flags.runner, w.Project.Config.Runner),
	}
	if !w.Project.HasWorkspace {
		a.app.term.Tell(
			strings.Join([]string{words[0], "no workspace here: 'init' makes one"}, ", "),
		)
		return
	}

	tasks, err := w.Project.Tasks(ctx, project.TaskFilter{})
	if err != nil {
		a.app.term.Tell(strings.Join(words, ", ") + ": " + err.Error())
		return
	}

	open := slices.DeleteFunc(tasks, func(t formats.Task) bool {
		return t.Status.Terminal()
	})
	words = append(words, formats.Count(len(open), "open task"))
	list, err := w.Project.Runs(project.Filter{Unfinished: true})
	waits := 0
	gates := 0
	for _, r := range list {
		switch {
		case r.Status != formats.OutcomeSuspended.String():
		case r.Gate != "":
			gates++
		default:
			waits++
		}
	}

	if waits > 0 {
		words = append(words, formats.Count(waits, "suspended run")+" ('runs')")
	}
	if gates > 0 {
		words = append(words, formats.Count(gates, "open gate")+" ('gates')")
	}
	a.app.term.Tell(strings.Join(words, ", "))
	if err != nil {
		a.app.term.Note("warning: %s", err)
	}
}

// runLine runs one line of the prompt; plain text is never taken for a command.
func (a repl) runLine(ctx context.Context, line string) error {
	if before := a.app.flags.before; before != nil { // the flags of the line before
		a.app.flags = *before
		if err := a.app.configure(); err != nil {
			return err
		}
	}

	switch {
	case line == "" || line[0] == '#':
		return nil
	case line == "?", line == "help", line == "/help" && a.isShippedHelp(ctx):
		return errors.Join(a.menu(ctx), a.app.closeProject())
	case line == "clear" && a.app.term.OutTTY:
		fmt.Fprint(a.app.term.Err, "\x1b[H\x1b[2J")
		return nil
	case line[0] == '!':
		return errors.Join(a.runShell(ctx, strings.TrimSpace(line[1:])), a.app.closeProject())
	}

	w, err := a.app.openSession(ctx)
	var p *project.Project
	if err == nil {
		p = w.Project
	}
	typed := readTyped(p, line)
	switch {
	case redirects(typed.verb):
		return errors.Join(a.app.closeProject(), formats.Fail(formats.CodeUsage,
			"put !tercet before the line, and the shell runs it",
			"expected a verb and its arguments, got a pipe or a redirection"))
	case typed.verb != nil: // it opens the project for itself, or needs none
		return errors.Join(a.app.closeProject(), a.runVerb(ctx, typed.verb))
	case err != nil:
		return err
	case typed.slash == "":
		return errors.Join(a.unknownLine(p, line), a.app.closeProject())
	}
	line = typed.slash

	parts, err := w.Project.Chain(line)
	for i, part := range parts {
		if i > 0 && err != nil {
			err = shownError{a.app.reportError(err)}
			// a pipe stops, as with lines of their own
			if part.Sign == "&&" || !a.app.term.InTTY && !a.app.flags.keepGoing {
				continue
			}
		}
		err = a.app.runSlash(ctx, project.Line{Raw: part.Line})
		err = errors.Join(suggestVerb(err), a.app.closeProject())
	}

	return err
}

// typedLine is what a line of the prompt asks for: the words of a verb, or a slash command; neither
// for any other text.
type typedLine struct {
	verb  []string
	slash string
}

// readTyped reads a line as it may be copied from what tercet prints: with or without 'tercet'
// before it, and a verb with or without a slash unless a command has its name. p is nil where no
// project could be opened.
func readTyped(p *project.Project, line string) typedLine {
	rest, called := strings.CutPrefix(line, "tercet ")
	if called {
		line = strings.TrimSpace(rest)
	}

	words, err := project.Words(line)
	if err != nil || len(words) == 0 {
		words = strings.Fields(line)
	}
	if len(words) == 0 {
		return typedLine{}
	}

	first := words[0]
	name, slash := strings.CutPrefix(first, "/")
	switch {
	case slash && (!isVerb(name) || p == nil || p.HasCommand(line)):
		return typedLine{slash: line}
	case isVerb(name):
		words[0] = name
		return typedLine{verb: words}
	case called: // with flags before its verb or its command
		return typedLine{verb: words}
	}
	return typedLine{}
}

// redirects reports whether a verb has a pipe or a redirection of a shell behind it. A query and a
// task are text.
func redirects(words []string) bool {
	return len(words) > 0 && words[0] != "query" && words[0] != "task" &&
		slices.ContainsFunc(words, func(word string) bool {
			return word == "|" || word == ">" || word == ">>"
		})
}

// unknownLine says what a line may have meant that is neither a command nor a verb.
func (a repl) unknownLine(p *project.Project, line string) error {
	first, _, _ := strings.Cut(line, " ")
	var names []string
	for _, v := range verbs() {
		if isVerb(v.name()) {
			names = append(names, v.name())
		}
	}

	task := sprintf("/task %q", line)
	help := sprintf("did you mean %s?", task)
	near := nearest.Names(first, names)
	message := "commands start with '/'"
	switch {
	case first == "tercet":
		help = "this is tercet: type a command, such as /help, or a verb, such as status"
	case p.HasCommand("/" + line):
		help = "did you mean /" + line + "?"
	case len(near) > 0:
		message = sprintf("unknown verb %q", first)
		help = sprintf("did you mean %s?", near[0]+strings.TrimPrefix(line, first))
	case a.isProgram(first):
		help = sprintf("a program of the shell is typed as !%s; a new task as %s", line, task)
	}
	return formats.Fail(formats.CodeUsage, help, "%s", message)
}

// isProgram reports whether a word names a program of the user's.
func (a repl) isProgram(word string) bool {
	_, err := (&proc.Starter{Env: os.Environ()}).LookPath(word)
	return err == nil
}

// isVerb tells whether a word is a verb of the program.
func isVerb(word string) bool {
	return word == "help" ||
		slices.ContainsFunc(verbs(), func(v verb) bool {
			return v.name() == word && word[0] != '_'
		})
}

// runVerb runs a line that begins with a verb of the program, with the flags that the program was
// called with.
func (a repl) runVerb(ctx context.Context, words []string) error {
	before := a.app.flags
	root := a.app.root(words...) // which sets all flags to what they are without any
	a.app.flags = before
	defer func() { a.app.flags = before }()

	root.SetArgs(query.Words(words))
	root.SetOut(a.app.term.Out)
	root.SetErr(a.app.term.Err)
	return errors.Join(root.ExecuteContext(ctx), a.app.closeProject())
}

// runShell runs a command of the shell, as a shell line does: it is the user's own, on the user's
// terminal. Lines that come from a pipe run within bounds. No agent sees it.
func (a repl) runShell(ctx context.Context, command string) error {
	if err := a.app.mayCommand(); err != nil {
		return err
	}
	if command == "" {
		return formats.Fail(formats.CodeUsage, "write it after the mark, such as !git status",
			"expected a command of the shell")
	}

	place, err := a.app.place()
	if err != nil {
		return err
	}
	if !a.app.term.InTTY || !a.app.term.ErrTTY {
		return a.runBoxed(ctx, command)
	}
	if ok, err := a.confirmRisks(ctx, command, place); !ok {
		return err
	}

	lent := a.app.term.Lend()
	res, err := proc.Foreground{
		Argv:    []string{"sh", "-c", command},
		Dir:     place.Dir,
		Env:     os.Environ(),
		In:      lent.In,
		Out:     lent.Out,
		Stopped: lent.Stop,
	}.Run(ctx)
	lent.Back(res.Signal != "")
	switch {
	case err != nil:
		return broken(formats.CodeToolUnavailable, "the shell", err, "put sh on the PATH")
	case res.Signal == "SIGINT":
		return shownError{formats.ExitFor(formats.CodeCancelled)}
	case res.Signal != "":
		a.app.term.Note("ended by %s", res.Signal)
		return shownError{1}
	case res.Exit != 0:
		a.app.term.Note("exit code %d", res.Exit)
		return shownError{res.Exit}
	}
	return nil
}

// confirmRisks asks before a command that destroys what nobody can bring back.
func (a repl) confirmRisks(ctx context.Context, command string, place project.Place) (bool, error) {
	risks, err := project.ClassifyCommand([]string{command}, place)
	if err != nil {
		return true, nil //nolint:nilerr // what cannot be read the shell says better
	}

	destroyed := risks.Destroyed()
	for _, what := range destroyed {
		a.app.term.Say("warning: " + what)
	}
	if len(destroyed) == 0 {
		return true, nil
	}
	return a.app.term.Yes(ctx, "Run it?")
}

// runBoxed runs a command of the shell within bounds, as 'tercet sandbox run' does, and says how it
// ended.
func (a repl) runBoxed(ctx context.Context, command string) error {
	w, err := a.app.openSession(ctx)
	if err != nil {
		return err
	}
	err = call{
		app:  a.app,
		p:    w.Project,
		s:    w,
		ctx:  ctx,
		args: []string{"sh", "-c", command},
	}.runBoxed(true)

	code := 0
	if s, ok := errors.AsType[shownError](err); ok {
		code = s.code
	} else if err != nil {
		return err
	}
	a.app.term.Note("exit code %d", code)
	return err
}

// isShippedHelp tells whether /help is the shipped command: no file has taken its name.
func (a repl) isShippedHelp(ctx context.Context) bool {
	s, err := a.app.openSession(ctx)
	if err != nil {
		return false
	}
	r, err := s.Route(project.Line{Raw: "/help"})
	return err == nil && r.Source == project.LibrarySource
}

// menu lists the commands and the verbs, also where a file has taken the name of /help.
func (a repl) menu(ctx context.Context) error {
	w, err := a.app.openSession(ctx)
	if err != nil {
		return err
	}
	title, text, err := w.Menu(ctx)
	if err == nil {
		text += "\n\nverbs of tercet, with or without a slash; 'help --all' lists the others\n" +
			groupedVerbs()
		a.app.answerText(title, text)
	}
	return err
}

// runPiped runs the lines of a pipe; without any it prints the short help.
func (a repl) runPiped(cmd *cobra.Command) error {
	ran := false
	ctx := cmd.Context()
	var first error

	for {
		line, err := a.app.term.NextLine(ctx)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			ran = true
			if failed := a.runLine(ctx, text); failed != nil {
				first = cmp.Or(first, error(shownError{a.app.reportError(failed)}))
				if !a.app.flags.keepGoing || ctx.Err() != nil {
					return first
				}
			}
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return broken(formats.CodeIO, "standard input", err)
		case ran:
			return first
		default:
			fmt.Fprintf(a.app.term.Err, "Usage: %s\n\n%s\n\n", cmd.UseLine(), cmd.Long)
			return formats.Fail(formats.CodeUsage, "run 'tercet demo' for a worked example",
				"expected a slash command or a verb")
		}
	}
}
