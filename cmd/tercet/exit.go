package main

import (
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
)

// fields is a JSON object of an answer.
type fields = map[string]any

// document prints an answer as JSON if that was asked for, and tells whether it did.
func (a *app) document(schema string, doc fields) bool {
	if a.flags.json {
		doc["schema"] = schema
		a.term.json(doc)
	}
	return a.flags.json
}

// exit prints what an error has to say and gives the number of the one table.
func (a *app) exit(err error) int {
	if err == nil {
		return 0
	}
	if s, ok := errors.AsType[shown](err); ok {
		return s.code
	}
	if !errors.As(err, new(formats.Coded)) { // the parser of flags gives its errors no code
		err = usage("%s", err.Error())
	}
	ret := formats.Failed(err)
	a.give(ret)
	a.term.failure(err)
	return a.code(ret)
}

// give prints a return as JSON if that was asked for.
func (a *app) give(ret formats.Return) {
	ret.Schema, ret.Artifacts, ret.Errors = "tercet.return/1", nonNil(ret.Artifacts), nonNil(ret.Errors)
	switch {
	case a.flags.events:
		a.term.encode(ret, "")
	case a.flags.json:
		a.term.json(ret)
	}
}

// code is the number for a return; a cancelled run tells SIGTERM from SIGINT.
func (a *app) code(ret formats.Return) int {
	n := formats.ExitCode(ret)
	if n == formats.ExitFor(formats.CodeCancelled) && a.signals.terminated() {
		return 143
	}
	return n
}

// shown marks an error that was already printed; only its code still counts. Exit looks for it.
type shown struct{ code int }

func (s shown) Error() string { return "already shown" }

// shownAs ends with the number of a code; what is wrong was printed.
func shownAs(code formats.Code) error { return shown{formats.ExitFor(code)} }

// usage makes a USAGE failure.
func usage(format string, args ...any) error {
	return formats.Fail(formats.CodeUsage, "run 'tercet --help'", format, args...)
}

// broken says of a file or a thing why it cannot be had, and what helps.
func broken(code formats.Code, what string, err error, help ...string) error {
	return &formats.Failure{Code: code, Message: what, Err: err, Help: rest(help)}
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// rest joins words as one line.
func rest(args []string) string { return strings.Join(args, " ") }

// count is a number with its noun: 1 file, 2 files.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return sprintf("%d %ss", n, noun)
}

// nonNil makes JSON show a list without elements as one.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
