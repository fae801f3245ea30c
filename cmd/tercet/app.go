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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/internal/proc"
	"tercet/internal/query"
	"tercet/project"
)

// app is the process: its streams, flags and what it found out about itself.
type app struct {
	in      io.Reader
	env     func(string) string
	term    *term.Terminal
	flags   engineFlags
	signals *signals
	// supervised reports whether this process has a supervisor among its ancestors. It looks once.
	supervised func() bool

	id      string           // of the session
	project *project.Project // of this process, nil until it is needed
	session *project.Session // in that project, nil until it is needed

	accepted map[string]bool // manifests that the user agreed to, by hash
	// trustedAs is the folder of the worker of a team whose record of trust counts here
	trustedAs string
	// tellsBroken: a verb tells of broken subagent files itself.
	tellsBroken bool
}

// engineFlags stand before the slash word and concern the engine.
type engineFlags struct {
	dir         string
	json        bool
	jq          string
	events      bool
	runner      string
	model       string
	dryRun      bool
	noInput     bool
	strict      bool
	yes         bool
	trust       string
	stubs       string
	record      string
	replay      string
	quiet       bool
	verbose     int
	color       string
	lockTimeout time.Duration
	keepGoing   bool
	fresh       bool // --new
	ifNeeded    bool
	await       bool // a question waits for an answer from elsewhere
	parallel    string
	prompting   bool // lines are typed at the prompt

	acceptChanges bool
	max           project.Ceiling

	read func(flags []string) error // sets further flags
	// what they were before those of one line; nil: no line had any
	before *engineFlags
}

func newApp(s stdio, env func(string) string) *app {
	a := &app{
		in:         s.in,
		env:        env,
		signals:    &signals{},
		accepted:   map[string]bool{},
		supervised: sync.OnceValue(func() bool { return proc.IsSupervised(childWord) }),
	}
	a.term = term.New(term.Config{
		In:      s.in,
		Out:     s.out,
		Err:     s.err,
		Env:     a.env,
		Environ: os.Environ,
		Clock:   clock{},
		Signals: a.signals,
	})
	a.signals.end = func(code int) {
		a.term.Restore()
		os.Exit(code)
	}
	return a
}

// run executes one command line and gives the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	line, ok, err := parseTeamLine(args)
	if ok && err == nil {
		err = a.mayCommand()
	}
	if ok && err == nil {
		err = execTeamProgram(workerProgram, append([]string{"on-team", "--"}, line...))
	}
	if ok {
		a.flags.json = slices.Contains(args, "--json") // of a line that was not handed over
		return a.reportError(err)
	}
	err = a.commandLine(args).ExecuteContext(ctx)
	return a.reportError(cmp.Or(err, a.closeProject()))
}

// commandLine is the tree of verbs, ready to execute these words.
func (a *app) commandLine(args []string) *cobra.Command {
	root := a.root(args...)
	root.SetArgs(query.Words(args))
	root.SetOut(a.term.Out)
	root.SetErr(a.term.Err)
	return root
}

// configure settles what the flags say about the terminal.
func (a *app) configure() (err error) {
	if a.flags.lockTimeout < 0 {
		return usage("expected a positive --lock-timeout, got %s", a.flags.lockTimeout)
	}
	if m := a.flags.model; m != "" && !formats.IsModel(m) {
		return usage("expected the name of a model for --model, got %q", m)
	}
	if err := project.CheckParallel(a.flags.parallel); err != nil {
		return err
	}

	filter, err := filterOf(a.flags)
	if err != nil {
		return err
	}

	set := term.Settings{
		Quiet:   a.flags.quiet,
		Held:    a.term.Set.Held,
		Events:  a.flags.events,
		Verbose: a.flags.verbose,
		Colour:  a.flags.color,
		NoInput: a.flags.noInput,
	}

	if filter != nil {
		set.Filter = jqFilter{filter}
		a.flags.json = true
	}
	set.Silent = a.flags.json || a.flags.events
	return a.term.Configure(set)
}

// readOutput reads the flags that say how to print from words that nothing else reads, because what
// they belong to is unknown or wrong: who asked for JSON gets the refusal as JSON.
func (a *app) readOutput(lists ...[]string) {
	words := slices.Concat(lists...)
	for i, word := range words {
		name, value, hasValue := strings.Cut(word, "=")
		switch {
		case word == "--":
			return
		case name == "--json" && value != "false":
			a.flags.json = true
		case name == "--events" && value != "false":
			a.flags.events = true
		case name == "--jq" && hasValue:
			a.flags.jq = value
		case name == "--jq" && i+1 < len(words):
			a.flags.jq = words[i+1]
		}
	}
}

// jqFilter is the filter of --jq.
type jqFilter struct{ code *query.Code }

// Lines implements term.Filter.
func (f jqFilter) Lines(ctx context.Context, doc []byte) ([]byte, error) {
	out, err := f.code.Lines(ctx, doc)
	if err != nil {
		return nil, broken(formats.CodeUsage, "--jq", err, query.Advice(err))
	}
	return out, nil
}

// filterOf is what --jq makes of the document that --json prints, nil without it.
func filterOf(f engineFlags) (*query.Code, error) {
	switch {
	case f.jq == "":
		return nil, nil
	case f.events:
		return nil, formats.Fail(formats.CodeUsage,
			"leave --events out, or read its lines with: tercet query FILTER /dev/stdin",
			"--jq is for one JSON document, not for --events")
	}

	code, err := query.Compile(f.jq, query.Options{})
	if err == nil {
		return code, nil
	}

	d := formats.Found(string(formats.CodeUsage), formats.Pos{}, "", "%s", err)
	d.File = "--jq"
	if one, ok := errors.AsType[*query.Error](err); ok {
		d.Message = one.Msg
		d.Pos.Line, d.Pos.Col = one.Pos()
	}
	d.Help = query.Advice(err)
	return nil, &formats.Diagnostics{
		List:    []formats.Diagnostic{d},
		Sources: map[string][]byte{d.File: []byte(f.jq)},
		Of:      formats.CodeUsage,
	}
}

// sessionID is made once a process.
func (a *app) sessionID() string {
	if a.id == "" {
		a.id = project.NewSessionID(time.Now())
	}
	return a.id
}

// projectDir gives the project root, and tells whether it has a workspace. -C DIR (from there
// upwards) goes before TERCET_ROOT, and that before the nearest ancestor with a workspace. The
// search ends at the git root, the home folder or the top. Without a workspace the root is the
// current folder.
func (a *app) projectDir() (dir string, has bool, err error) {
	if dir = a.env("TERCET_ROOT"); dir != "" && a.flags.dir == "" {
		if !isDir(filepath.Join(dir, formats.Workspace)) {
			return "", false, formats.Fail(formats.CodeNoWorkspace,
				"TERCET_ROOT names it; run 'tercet init' there, or unset the variable",
				"no workspace in %s", dir)
		}
		dir, err = filepath.Abs(dir)
		return dir, true, err
	}

	start, err := a.startDir()
	if err != nil {
		return "", false, err
	}
	dir, has = a.workspaceAbove(start)
	return dir, has, nil
}

// workspaceAbove is the nearest folder with a workspace, from a folder upwards, or that folder
// itself.
func (a *app) workspaceAbove(start string) (dir string, has bool) {
	for dir = start; ; dir = filepath.Dir(dir) {
		switch {
		case isDir(filepath.Join(dir, formats.Workspace)):
			return dir, true
		case dir == filepath.Dir(dir), dir == a.env("HOME"), exists(filepath.Join(dir, ".git")):
			return start, false
		}
	}
}

// startDir is the folder from which the workspace is looked for and in which init makes one.
func (a *app) startDir() (string, error) {
	if a.flags.dir == "" {
		return os.Getwd()
	}
	if !isDir(a.flags.dir) {
		return "", usage("expected a folder for -C, got %q", a.flags.dir)
	}
	return filepath.Abs(a.flags.dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// insideRun reports whether a subagent started this process. A worker can clear its environment,
// but it keeps its ancestors.
func (a *app) insideRun() bool {
	return a.env("TERCET_RUN") != "" || a.supervised()
}

// mayCommand refuses slash commands and writes inside a subagent, and where the user's keys cannot
// be relied on.
func (a *app) mayCommand() error {
	h := a.host()
	return h.MayCommand()
}

// stateHome is the program's folder for what outlives a project; empty where there is no place for
// it.
func (a *app) stateHome() string {
	h := project.Host{Env: a.env}
	return h.StateHome()
}

// input reads a file, or standard input for a hyphen.
func (a *app) input(name string) ([]byte, error) {
	data, err := readInput(a.in, name)
	if err != nil {
		return nil, broken(formats.CodeUsage, name, err)
	}
	return data, nil
}

// clock is the process's clock.
type clock struct{}

func (clock) Now() time.Time {
	return time.Now()
}

// Sleep waits, or ends with the context.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// userName says who runs tercet, by number where no variable tells the name. It never asks the
// system, which may open a connection to a server of accounts.
func userName() string {
	return cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"), "uid "+strconv.Itoa(os.Getuid()))
}

// fields is a JSON object of an answer.
type fields = map[string]any

// answerJSON prints an answer as JSON if --json was given, and reports whether it did.
func (a *app) answerJSON(schema string, doc fields) bool {
	if a.flags.json {
		doc["schema"] = schema
		a.term.JSON(doc)
	}
	return a.flags.json
}

// reportError prints an error, unless that was done already, and gives its exit code.
func (a *app) reportError(err error) int {
	if err == nil {
		return a.term.FilterExit
	}
	if s, ok := errors.AsType[shownError](err); ok {
		return s.code
	}
	err = withCode(err)
	if (a.flags.json || a.flags.events || a.flags.jq != "") && !a.term.Set.Silent {
		// the error came before the flags were settled, or is one of them
		_ = a.configure() //nolint:errcheck // what is wrong with a flag is said already
		a.flags.json = a.flags.json || a.flags.jq != ""
	}

	ret := formats.Failed(err)
	a.printReturn(ret)
	a.term.Failure(err)
	return a.exitCode(ret)
}

// withCode gives an error a code if it has none.
func withCode(err error) error {
	switch {
	case errors.As(err, new(formats.Coded)):
		return err
	case errors.As(err, new(syscall.Errno)):
		// such as a folder that is gone, in which the process stands
		return formats.Fail(formats.CodeIO, "", "%s", err)
	default: // the parser of flags gives its errors no code
		return usage("%s", err.Error())
	}
}

// maskedReturn gives a return as it is printed: with the name of its format and without secrets.
func maskedReturn(t *term.Terminal, ret formats.Return) formats.Return {
	ret.Schema = "tercet.return/1"
	ret.Artifacts = nonNil(ret.Artifacts)
	ret.Errors = slices.Clone(nonNil(ret.Errors))
	ret.Summary = t.Masked(ret.Summary)
	for i := range ret.Errors {
		ret.Errors[i].Message = t.Masked(ret.Errors[i].Message)
	}
	return ret
}

// printReturn prints a return as JSON if that was asked for.
func (a *app) printReturn(ret formats.Return) {
	ret = maskedReturn(a.term, ret)
	switch {
	case a.flags.events:
		a.term.Encode(ret, "")
	case a.flags.json:
		a.term.JSON(ret)
	}
}

// exitCode gives the exit code for a return; a cancelled run tells SIGTERM from SIGINT.
func (a *app) exitCode(ret formats.Return) int {
	n := formats.ExitCode(ret)
	if n == formats.ExitFor(formats.CodeCancelled) && a.signals.Terminated() {
		n = 143
	}
	return n
}

// shownError stands for an error that was already printed; only its exit code still counts. See
// reportError.
type shownError struct{ code int }

func (s shownError) Error() string {
	return "already shown"
}

// exitWith gives the error of a verb that has printed what is wrong, and ends with a code.
func exitWith(code formats.Code) error {
	return shownError{formats.ExitFor(code)}
}

// exitIf is exitWith for a code that may be empty: then there is no error.
func exitIf(code formats.Code) error {
	if code == "" {
		return nil
	}
	return exitWith(code)
}

// asDiagnostics gives the findings that an error consists of.
func asDiagnostics(err error) (*formats.Diagnostics, bool) {
	return errors.AsType[*formats.Diagnostics](err)
}

// usage makes a USAGE failure.
func usage(format string, args ...any) error {
	return formats.Fail(formats.CodeUsage, project.AnyHelp, format, args...)
}

// broken says of a file or a thing why it cannot be had, and what helps.
func broken(code formats.Code, what string, err error, help ...string) error {
	return formats.Broken(code, what, err, help...)
}

func sprintf(format string, args ...any) string {
	return fmt.Sprintf(format, args...)
}

// joinWords joins words as one line.
func joinWords(args []string) string {
	return strings.Join(args, " ")
}

// nonNil makes JSON show a list without elements as one.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
