package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/editor"
	"tercet/internal/history"
	"tercet/internal/journal"
	"tercet/internal/query"
	"tercet/router"
	"tercet/subagents/builtin"
)

// repl reads commands line by line.
type repl struct{ app *app }

// lineReader reads a line that begins with a text.
type lineReader interface {
	Read(ctx context.Context, begun string) (string, error)
}

// plainLines reads lines where a terminal cannot be edited on.
type plainLines struct{ app *app }

// Read implements lineReader.
func (p plainLines) Read(ctx context.Context, _ string) (string, error) {
	fmt.Fprint(p.app.io.err, "tercet> ")
	line, err := p.app.lines.Next(ctx)
	if err != nil {
		fmt.Fprintln(p.app.io.err)
	}
	if line != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

// prompt reads and runs lines of a terminal until the user leaves.
func (a repl) prompt() error {
	a.app.flags.prompting = true
	kept := history.Open(a.app.stateHome())
	all := &offers{app: a.app, kept: kept}
	in := a.reader(all)
	a.greet()
	a.app.term.stage.keys = true
	begun := ""
	for {
		ctx := a.app.signals.context(context.Background())
		if a.app.signals.terminated() { // before there was a context to end
			return formats.Fail(formats.CodeCancelled, "", "terminated")
		}
		all.quietly(ctx)
		line, err := in.Read(ctx, begun)
		begun = ""
		if err = errors.Join(err, a.app.forget()); err != nil {
			if errors.Is(err, editor.ErrQuit) {
				a.app.signals.arrive(syscall.SIGTERM)
			}
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case a.app.signals.terminated():
				return context.Cause(ctx)
			case ctx.Err() == nil:
				return broken(formats.CodeIO, "standard input", err)
			}
			fmt.Fprintln(a.app.io.err, "press Ctrl-D to quit")
			continue
		}
		if err := kept.Add(line, clock{}.Now()); err != nil {
			a.app.noteOnce("history", "warning: the history is not kept: "+err.Error())
		}
		line = strings.TrimSpace(line)
		if slices.Contains(strings.Fields("exit quit /exit /quit"), line) {
			return nil
		}
		err = a.entry(ctx, line)
		use, ok := errors.AsType[*argspec.UsageError](err)
		if ok && len(use.Open) > 0 && !strings.ContainsAny(line, "&;") {
			a.app.term.say(use.Error())
			begun = line + " "
		} else {
			a.app.exit(err)
		}
		a.app.signals.calm()
	}
}

// reader gives what reads the lines. A terminal that knows no movements is read plainly.
func (a repl) reader(all *offers) lineReader {
	terminal := a.app.env("TERM")
	if a.app.keyboard == nil || !a.app.term.errTTY || terminal == "" || terminal == "dumb" {
		return plainLines(a)
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, resized()...)
	go func() {
		for s := range woken {
			if !crashed(s, func() { a.app.keyboard.Restore(a.app.io.err) }) {
				a.app.keyboard.Wake()
			}
		}
	}()
	return editor.New(editor.Config{
		Keyboard: a.app.keyboard,
		Out:      a.app.io.err,
		Size:     func() (int, int) { return size(a.app.io.err) },
		Prompt:   "tercet> ",
		Colour:   a.app.term.sheet(a.app.term.errTTY).Colour,
		UTF8:     a.app.term.utf8,
		Keys:     strings.Split(keys, "\n"),
		Lines:    all.kept.Lines,
		Offer:    all.at,
		Now:      time.Now,
		Suspend:  suspended,
	})
}

// keys explains the keys of the prompt.
const keys = `/       commands; Tab takes the first, Up and Down choose
@       files           !  a command of the shell
Ctrl-R  search in what was entered; Up and Down walk through it
Ctrl-J or Enter runs the line; Alt-Enter, or \ at its end, begins another row
Ctrl-A Ctrl-E begin and end; Alt-B Alt-F words; Ctrl-W Ctrl-U Ctrl-K cut
Ctrl-C  empties the line, ends what runs; Ctrl-D quits; Ctrl-Z stops; Ctrl-L clears`

// greet says in one line where the user is and what waits.
func (a repl) greet() {
	ctx := context.Background()
	w, err := a.app.openSession(ctx)
	if err != nil {
		a.app.term.note("%s", err)
		return
	}

	words := []string{
		"tercet " + version,
		filepath.Base(w.Project.Dir),
		"runner " + cmp.Or(a.app.flags.runner, w.Project.Config.Runner),
	}
	if !w.Project.HasWorkspace {
		a.app.term.tell(strings.Join([]string{words[0], "no workspace here: 'init' makes one"}, ", "))
		return
	}

	tasks, err := w.Project.Reader.Tasks(ctx)
	if err != nil {
		a.app.term.tell(strings.Join(words, ", ") + ": " + err.Error())
		return
	}

	open := slices.DeleteFunc(tasks, func(t formats.Task) bool {
		return t.Status.Terminal()
	})
	words = append(words, formats.Count(len(open), "open task"))
	list, err := journal.Runs(w.Project.Root, true)
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
	a.app.term.tell(strings.Join(words, ", "))
	if err != nil {
		a.app.term.note("warning: %s", err)
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
	case line == "clear" && a.app.term.outTTY:
		fmt.Fprint(a.app.io.err, "\x1b[H\x1b[2J")
		return nil
	case line[0] == '!':
		return errors.Join(a.shell(ctx, strings.TrimSpace(line[1:])), a.app.forget())
	}

	if words, err := argspec.Split(line); err == nil && isVerb(words[0].Text) {
		return a.verb(ctx, words)
	}
	w, err := a.app.openSession(ctx)
	if err != nil {
		return err
	}
	if line[0] != '/' {
		help := sprintf("did you mean /task %q?", line)
		if _, err := w.Project.Table.Route(router.Line{Raw: "/" + line}); err == nil {
			help = "did you mean /" + line + "?"
		}
		return errors.Join(
			formats.Fail(formats.CodeUsage, help, "commands start with '/'"),
			a.app.forget(),
		)
	}

	parts, err := w.Project.Table.Chain(line)
	for i, part := range parts {
		if i > 0 && err != nil {
			err = shown{a.app.exit(err)}
			// a pipe stops, as with lines of their own
			if part.Sign == "&&" || !a.app.term.inTTY && !a.app.flags.keepGoing {
				continue
			}
		}
		err = errors.Join(a.app.slash(ctx, router.Line{Raw: part.Line}), a.app.forget())
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
func (a repl) verb(ctx context.Context, line []argspec.Word) error {
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = w.Text
	}
	before := a.app.flags
	root := a.app.root(words...) // which sets all flags to what they are without any
	a.app.flags = before
	defer func() { a.app.flags = before }()
	root.SetArgs(query.Words(words))
	root.SetOut(a.app.io.out)
	root.SetErr(a.app.io.err)
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
	a.app.term.note("exit code %d", code)
	return err
}

// menu lists the commands, also where a file has taken the name of /help.
func (a repl) menu(ctx context.Context) error {
	w, err := a.app.openSession(ctx)
	if err != nil {
		return err
	}
	ret, err := builtin.Reference{Catalog: w.Catalog}.Run(ctx, formats.Request{})
	if err != nil {
		return err
	}
	a.app.answerText(ret.Summary, ret.Text)
	return nil
}

// piped runs a line each; without any it prints the short help.
func (a repl) piped(cmd *cobra.Command) error {
	ran := false
	ctx := cmd.Context()
	var first error
	for {
		line, err := a.app.lines.Next(ctx)
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
			fmt.Fprintf(a.app.io.err, "Usage: %s\n\n%s\n\n", cmd.UseLine(), cmd.Long)
			return formats.Fail(formats.CodeUsage, "run 'tercet demo' for a worked example",
				"expected a slash command or a verb")
		}
	}
}
