package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/router"
	"tercet/subagents/builtin"
)

// repl reads commands line by line.
type repl struct{ *app }

// prompt is the plain reader of lines on a terminal.
func (a repl) prompt() error {
	fmt.Fprintf(a.io.err, "tercet %s: commands start with '/', '?' lists them, Ctrl-D quits\n", version)
	for {
		ctx := a.signals.context(context.Background())
		if a.signals.terminated() { // before there was a context to end
			return formats.Fail(formats.CodeCancelled, "", "terminated")
		}
		fmt.Fprint(a.io.err, "tercet> ")
		line, err := a.readLine(ctx)
		if ctx.Err() != nil {
			if a.signals.terminated() {
				return context.Cause(ctx)
			}
			fmt.Fprintln(a.io.err, "\npress Ctrl-D to quit")
			continue
		}
		if err != nil && line == "" {
			fmt.Fprintln(a.io.err)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return broken(formats.CodeIO, "standard input", err)
		}
		if err := a.entry(ctx, strings.TrimSpace(line)); err != nil {
			a.exit(err)
		}
		a.signals.calm()
	}
}

// entry runs one line of the prompt; plain text is never taken for a command.
func (a repl) entry(ctx context.Context, line string) error {
	switch {
	case line == "":
		return nil
	case line == "?":
		return errors.Join(a.menu(ctx), a.forget())
	case !strings.HasPrefix(line, "/"):
		return formats.Fail(formats.CodeUsage, sprintf("did you mean /task %q?", line), "commands start with '/'")
	}
	return errors.Join(a.slash(ctx, router.Line{Raw: line}), a.forget())
}

// menu lists the commands, also where a file has taken the name of /help.
func (a repl) menu(ctx context.Context) error {
	w, err := a.world(ctx)
	if err != nil {
		return err
	}
	line := router.Line{Raw: "/help"}
	if r, err := w.table.Route(line); err == nil && r.Source == librarySource {
		return a.slash(ctx, line)
	}
	ret, err := builtin.Reference{Catalog: w.catalog}.Run(ctx, formats.Request{})
	if err != nil {
		return err
	}
	a.answerText(ret.Summary, ret.Text)
	return nil
}

// forget lets the next line see the files as they are then: a command may have written a command.
func (a repl) forget() error {
	if a.built == nil {
		return nil
	}
	w := a.built
	a.built = nil
	return w.close()
}

// piped runs a line each; without any it prints the short help.
func (a repl) piped(cmd *cobra.Command) error {
	ran := false
	var first error
	for {
		line, err := a.readLine(cmd.Context())
		if err != nil && cmd.Context().Err() != nil {
			return err
		}
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			ran = true
			if failed := a.entry(cmd.Context(), text); failed != nil {
				code := a.exit(failed)
				if first == nil {
					first = shown{code}
				}
				if !a.flags.keepGoing || cmd.Context().Err() != nil {
					return first
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return broken(formats.CodeIO, "standard input", err)
		}
	}
	if !ran {
		fmt.Fprintln(a.io.err, cmd.UsageString())
		return formats.Fail(formats.CodeUsage, "run 'tercet demo' for a worked example", "expected a slash command or a verb")
	}
	return first
}
