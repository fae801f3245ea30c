package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tercet/commands/outline"
	"tercet/formats"
)

// app is the process: its streams, flags and what it found out about itself.
type app struct {
	io      stdio
	env     func(string) string
	in      *bufio.Reader
	lines   lines // the one reader of in
	term    *terminal
	flags   engineFlags
	signals *signals
	session string
	built   *world // the world of this process, nil until it is needed

	accepted map[string]bool // manifests that the person agreed to, by hash
	demoDir  string          // the folder that the demo made, which it trusts
	told     map[string]bool // notes that are told once
}

// engineFlags stand before the slash word and concern the engine.
type engineFlags struct {
	dir         string
	json        bool
	events      bool
	runner      string
	dryRun      bool
	noInput     bool
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
	max         outline.Ceiling
}

func newApp(s stdio, env func(string) string) *app {
	a := &app{io: s, env: env, in: bufio.NewReader(s.in), signals: &signals{end: os.Exit},
		accepted: map[string]bool{}, told: map[string]bool{}}
	a.term = newTerminal(s, env)
	return a
}

// run executes one command line and gives the exit code.
func (a *app) run(args []string) int {
	root := a.root(args...)
	root.SetArgs(jqWords(args))
	root.SetOut(a.io.out)
	root.SetErr(a.io.err)
	err := root.ExecuteContext(a.signals.context(context.Background()))
	if a.built != nil {
		if cerr := a.built.close(); cerr != nil && err == nil {
			err = cerr
		}
	}
	return a.exit(err)
}

// configure settles what the flags say about the terminal.
func (a *app) configure() error {
	if err := a.term.configure(a.flags); err != nil {
		return err
	}
	if a.flags.lockTimeout < 0 {
		return usage("expected a positive --lock-timeout, got %s", a.flags.lockTimeout)
	}
	return nil
}

// interactive tells whether a person can be asked.
func (a *app) interactive() bool {
	return a.term.inTTY && a.term.errTTY && !a.flags.noInput && a.env("CI") != "true" && a.env("TERCET_NO_INPUT") == ""
}

// sessionID is made once a process.
func (a *app) sessionID() string {
	if a.session == "" {
		a.session = formats.NewSessionID(time.Now(), randomBytes())
	}
	return a.session
}

func randomBytes() [6]byte {
	var b [6]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return b
}

func newRunID() string { return formats.NewRunID(time.Now(), randomBytes()) }

// project gives the project root, and tells whether it has a workspace: -C DIR (from there upwards), else TERCET_ROOT,
// else the nearest ancestor with a workspace, up to the git root, the home folder or the top. Without a workspace it is
// the folder where the person stands.
func (a *app) project() (dir string, has bool, err error) {
	if dir = a.env("TERCET_ROOT"); dir != "" && a.flags.dir == "" {
		if !isDir(filepath.Join(dir, formats.Workspace)) {
			return "", false, formats.Fail(formats.CodeNoWorkspace,
				"TERCET_ROOT names it; run 'tercet init' there, or unset the variable", "no workspace in %s", dir)
		}
		dir, err = filepath.Abs(dir)
		return dir, true, err
	}
	start, err := a.startDir()
	if err != nil {
		return "", false, err
	}
	for dir = start; ; dir = filepath.Dir(dir) {
		switch {
		case isDir(filepath.Join(dir, formats.Workspace)):
			return dir, true, nil
		case dir == filepath.Dir(dir), dir == a.env("HOME"), exists(filepath.Join(dir, ".git")):
			return start, false, nil
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

// insideRun tells whether the process was started by a subagent.
func (a *app) insideRun() bool { return a.env("TERCET_RUN") != "" }

// mayCommand refuses slash commands and writes inside a subagent.
func (a *app) mayCommand() error {
	if a.insideRun() {
		return formats.Fail(formats.CodeDenied, "reads such as 'tercet query' work; return what you want done instead",
			"a subagent may not start commands")
	}
	return nil
}

// input reads a file, or standard input for a hyphen.
func (a *app) input(name string) ([]byte, error) {
	data, err := readInput(a.io.in, name)
	if err != nil {
		return nil, broken(formats.CodeUsage, name, err)
	}
	return data, nil
}

// clock is the process's clock.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

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

// userName is the name of who runs the program, as the audit log and the lock have it. Where no variable tells it, it
// is read from the file of accounts and never asked of the system, which may open a connection to whoever keeps its
// accounts.
func userName() string {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if name != "" {
		return name
	}
	accounts, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	return accountName(string(accounts), os.Getuid())
}

// accountName finds the name of a user in a file of accounts; one that it does not have is told by number.
func accountName(accounts string, uid int) string {
	number := strconv.Itoa(uid)
	for line := range strings.Lines(accounts) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == number {
			return f[0]
		}
	}
	return number
}
