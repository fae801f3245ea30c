package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/term"
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
			return a.typed(ctx, line)
		},
		Offer: func(line string, at int) project.Offers {
			return offered.completer.At(ctx, line, at)
		},
	}
	offered.completer.Recent = p.Recent
	a.greet()
	if err := a.app.forget(); err != nil {
		return err
	}
	return errors.Join(p.Loop(ctx), a.app.forget())
}

// typed runs a line that was typed. One that lacks an argument is typed on.
func (a repl) typed(ctx context.Context, line string) (begun string, err error) {
	err = errors.Join(a.entry(ctx, line), a.app.forget())
	use, ok := errors.AsType[*project.UsageError](err)
	if ok && len(use.Open) > 0 && !strings.ContainsAny(line, "&;") {
		a.app.term.Say(use.Error())
		begun = line + " "
	} else {
		a.app.exit(err)
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
		a.app.term.Tell(strings.Join([]string{words[0], "no workspace here: 'init' makes one"}, ", "))
		return
	}

	tasks, err := w.Project.Tasks(ctx)
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

// entry runs one line of the prompt; plain text is never taken for a command.
func (a repl) entry(ctx context.Context, line string) error {
	if before := a.app.flags.before; before != nil { // the flags of the line before
		a.app.flags = *before
		if err := a.app.configure(); err != nil {
			return err
		}
	}
	switch {
	case line == "" || line[0] == '#':
		return nil
	case line == "?", line == "help":
		return errors.Join(a.menu(ctx), a.app.forget())
	case line == "clear" && a.app.term.OutTTY:
		fmt.Fprint(a.app.term.Err, "\x1b[H\x1b[2J")
		return nil
	case line[0] == '!':
		return errors.Join(a.shell(ctx, strings.TrimSpace(line[1:])), a.app.forget())
	}

	if words, err := project.Words(line); err == nil && isVerb(words[0]) {
		return a.verb(ctx, words)
	}
	w, err := a.app.openSession(ctx)
	if err != nil {
		return err
	}
	if line[0] != '/' {
		help := sprintf("did you mean /task %q?", line)
		if w.Project.HasCommand("/" + line) {
			help = "did you mean /" + line + "?"
		}
		return errors.Join(
			formats.Fail(formats.CodeUsage, help, "commands start with '/'"),
			a.app.forget(),
		)
	}

	parts, err := w.Project.Chain(line)
	for i, part := range parts {
		if i > 0 && err != nil {
			err = shown{a.app.exit(err)}
			// a pipe stops, as with lines of their own
			if part.Sign == "&&" || !a.app.term.InTTY && !a.app.flags.keepGoing {
				continue
			}
		}
		err = errors.Join(a.app.slash(ctx, project.Line{Raw: part.Line}), a.app.forget())
	}

	return err
}

// isVerb tells whether a word is a verb of the program.
func isVerb(word string) bool {
	return word == "help" ||
		slices.ContainsFunc(verbs(), func(v verb) bool {
			return v.name() == word
		})
}

// verb runs a line that begins with a verb of the program, with the flags that the program was
// called with.
func (a repl) verb(ctx context.Context, words []string) error {
	before := a.app.flags
	root := a.app.root(words...) // which sets all flags to what they are without any
	a.app.flags = before
	defer func() { a.app.flags = before }()
	root.SetArgs(query.Words(words))
	root.SetOut(a.app.term.Out)
	root.SetErr(a.app.term.Err)
	return errors.Join(root.ExecuteContext(ctx), a.app.forget())
}

// shell runs a command of the shell within bounds, as 'tercet sandbox run' does, and says how it
// ended. No agent sees it.
func (a repl) shell(ctx context.Context, command string) error {
	if err := a.app.mayCommand(); err != nil {
		return err
	}
	if command == "" {
		return formats.Fail(formats.CodeUsage, "write it after the mark, such as !git status",
			"expected a command of the shell")
	}
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
	}.boxed(true)
	code := 0
	if s, ok := errors.AsType[shown](err); ok {
		code = s.code
	} else if err != nil {
		return err
	}
	a.app.term.Note("exit code %d", code)
	return err
}

// menu lists the commands, also where a file has taken the name of /help.
func (a repl) menu(ctx context.Context) error {
	w, err := a.app.openSession(ctx)
	if err != nil {
		return err
	}
	title, text, err := w.Menu(ctx)
	if err == nil {
		a.app.answerText(title, text)
	}
	return err
}

// piped runs a line each; without any it prints the short help.
func (a repl) piped(cmd *cobra.Command) error {
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
			if failed := a.entry(ctx, text); failed != nil {
				first = cmp.Or(first, error(shown{a.app.exit(failed)}))
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
