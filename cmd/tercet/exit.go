package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
)

// exit prints what an error has to say and gives the number of the one table.
func (a *app) exit(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := isShown(err); ok {
		return code
	}
	if formats.CodeOf(err) == formats.CodeUnknown && isCobra(err) {
		err = &formats.Failure{Code: formats.CodeUsage, Message: err.Error(), Help: "run 'tercet --help'"}
	}
	ret := formats.Failed(err)
	switch {
	case a.flags.events:
		a.term.jsonLine(a.edge(ret))
	case a.flags.json:
		a.term.json(a.edge(ret))
	}
	a.term.failure(err)
	return a.code(ret)
}

// code is the number for a return; a cancelled run tells SIGTERM from SIGINT.
func (a *app) code(ret formats.Return) int {
	n := formats.ExitCode(ret)
	if n == formats.ExitFor(formats.CodeCancelled) && a.signals.terminated() {
		return 143
	}
	return n
}

func (s *signals) terminated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

// edge completes a return for the outside.
func (a *app) edge(ret formats.Return) formats.Return {
	ret.Schema = "tercet.return/1"
	if ret.Artifacts == nil {
		ret.Artifacts = []formats.Artifact{}
	}
	if ret.Errors == nil {
		ret.Errors = []formats.ReturnError{}
	}
	return ret
}

// isCobra tells errors of the flag parser, which have no code of their own.
func isCobra(err error) bool {
	var coded formats.Coded
	return !errors.As(err, &coded)
}

// words refuses a verb with too few or too many words behind it, and shows its usage; a negative most means any number.
func words(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		if n >= least && (most < 0 || n <= most) {
			return nil
		}
		fail := &formats.Failure{Code: formats.CodeUsage, Help: "usage: " + cmd.UseLine()}
		if n > least {
			fail.Message = fmt.Sprintf("unexpected argument %q", args[max(most, 0)])
			return fail
		}
		fail.Message = fmt.Sprintf("expected %s behind %q, got %d", count(least, "argument"), cmd.CommandPath(), n)
		if most != least {
			fail.Message = strings.Replace(fail.Message, "expected ", "expected at least ", 1)
		}
		return fail
	}
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
