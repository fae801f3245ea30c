// Package proc starts one child process at a time and never leaves one behind.
//
// It promises that a child runs only after Starter.Allow said yes, sees exactly the environment it was given, is
// drained whatever it prints, is held to its limits of time and output, and is gone with everything it started when Run
// returns. A child leads its own session and therefore its own process group and has no terminal, so it can neither
// read the user's keys nor change the state of the terminal. Stopping is SIGINT, a pause, SIGTERM, a pause, SIGKILL,
// each to the whole group.
//
// On Linux a Starter with a Supervisor puts a process of this program between itself and the child. It is a child
// subreaper, so it finds and kills also what left group and session and cleared its environment, and it does so too
// when the calling process is killed without warning. Without one, as for git, the calling process is the subreaper
// itself: orphans of the child's session, or with the private temporary folder of the call in their environment, are
// killed and reaped. Sweep ends what is left when caller and supervisor were killed at once; a descendant that left the
// session and cleared its environment is then not found. Off Linux the group is killed and nothing else. On Windows
// nothing is started.
//
// A Foreground is the other way round: a program that a person calls at the terminal, such as an editor, gets the
// terminal as a shell would give it, and this process takes it back when the program ends or is stopped.
//
// It can feed a child once, or converse with it by Command.Talk while it runs, in one goroutine that has ended when Run
// returns.
//
// It builds no shell string, reads no variable of the process's own environment, retries nothing and does not judge
// exit codes. It is the only package that may import os/exec.
//
// Starter is safe for concurrent use as long as its fields are not changed; every Run waits for the goroutines it
// started.
package proc

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// Purpose says why a child is started, so that Starter.Allow can decide by it.
type Purpose string

// The purposes there are.
const (
	PurposeGit    Purpose = "git"
	PurposeCheck  Purpose = "check"
	PurposeScript Purpose = "script"
	PurposeAgent  Purpose = "agent"
	PurposeProbe  Purpose = "probe"
	PurposeNotice Purpose = "notice"
	PurposeQuery  Purpose = "query" // a query that may run away, in a child of the program itself
)

// String returns the purpose as it is written in messages.
func (p Purpose) String() string { return string(p) }

// ParsePurpose returns the purpose named s.
func ParsePurpose(s string) (Purpose, error) {
	switch p := Purpose(s); p {
	case PurposeGit, PurposeCheck, PurposeScript, PurposeAgent, PurposeProbe, PurposeNotice, PurposeQuery:
		return p, nil
	default:
		return "", fmt.Errorf("expected a purpose (git, check, script, agent, probe), got %q", s)
	}
}

// TimeoutKind says which limit of time ended a child.
type TimeoutKind string

// The limits of time.
const (
	TimeoutNone  TimeoutKind = ""
	TimeoutTotal TimeoutKind = "total"
	TimeoutIdle  TimeoutKind = "idle"
)

// String returns the kind as it is written in messages.
func (k TimeoutKind) String() string { return string(k) }

// Defaults for the zero value of a limit.
const (
	DefaultTotal            = 30 * time.Minute
	DefaultCap              = 1 << 20
	DefaultLimit      int64 = 64 << 20
	DefaultInterrupt        = 5 * time.Second
	DefaultTerminate        = 5 * time.Second
	DefaultDrain            = 250 * time.Millisecond
	defaultPathOnUnix       = "/usr/local/bin:/usr/bin:/bin"
)

// Timeout bounds the time of one child.
type Timeout struct {
	Total time.Duration // wall clock; 0 means DefaultTotal
	Idle  time.Duration // without a byte of output; 0 means no such limit
}

// Grace holds the pauses of stopping a child. Zero fields mean the defaults.
type Grace struct {
	Interrupt time.Duration // between SIGINT and SIGTERM
	Terminate time.Duration // between SIGTERM and SIGKILL
	Drain     time.Duration // how long a descendant may hold the output after the child has ended
}

// Command is one child to run. It is never handed to a shell.
type Command struct {
	Argv    []string // program and arguments; a program without a slash is looked up on PATH
	Dir     string   // working folder, absolute; empty means that of the calling process
	Env     []string // KEY=VALUE, added to Starter.Env, the later one wins
	Stdin   []byte   // fed to the child; nil means an empty input
	Timeout Timeout
	// StdoutCap and StderrCap bound what is kept in memory, from the start of each stream; 0 means DefaultCap.
	StdoutCap, StderrCap int
	// OutFile and ErrFile, if not empty, receive each stream from its first byte up to Limit. They belong in the
	// folder of a run, are made with mode 0600, and an existing regular file is overwritten.
	OutFile, ErrFile string
	// Limit bounds both streams together in bytes; the child that prints more is killed. 0 means DefaultLimit.
	Limit int64
	// Private gives the child a fresh TMPDIR of mode 0700 that is removed when it has ended.
	Private bool
	// Watch, if not nil, is given standard output as it comes, in order and from one goroutine that has ended when Run
	// returns; it must not keep the slice and must not block. When it returns false the child is stopped.
	Watch func(p []byte) bool
	// Talk, if not nil, converses with the child instead of Stdin. Its error is that of Run, beside a valid Result, unless
	// the child was stopped. When it returns the child has Grace.Interrupt to end by itself; and it is the first that is
	// asked to end when the child is to be stopped, flood apart: it has the same time before a signal is sent.
	Talk Talk
	// Within, if not nil, gives the words that are started in place of Argv, such as those of a program that keeps it
	// within bounds. temp is the private TMPDIR, empty without one.
	Within func(temp string) []string
	// After, if not empty, is a program with its arguments that is run when the child and all that it started are gone,
	// however they ended, for at most 20 s and without output: what the child had somebody else start is ended by it. The
	// supervisor runs it, so that it runs also when the calling process was killed.
	After   []string
	Purpose Purpose // required
}

// String returns the words of the command, for messages only: it is not quoted for any shell.
func (c Command) String() string { return strings.Join(c.Argv, " ") }

// Result is how a child ended. A non-zero exit is not an error.
type Result struct {
	Exit           int    // exit code; -1 if a signal ended the child
	Signal         string // name of that signal, such as SIGKILL, or empty
	Stdout, Stderr []byte // up to the caps
	Truncated      bool   // one of the streams was longer than its cap
	Duration       time.Duration
	TimedOut       TimeoutKind // which limit of time was reached, or empty
	Killed         bool        // this package stopped the child: limit, flood, Watch, or a cancelled context
	Flooded        bool        // the child printed more than Command.Limit
	Stopped        bool        // Command.Watch ended it, or it stayed when Command.Talk was over
}

// Success reports whether the child ended by itself, with exit code 0 and within its limits.
func (r Result) Success() bool { return r.Exit == 0 && !r.Killed && !r.Flooded }

// Starter starts children. Make one with NewStarter and do not change it afterwards.
type Starter struct {
	// Allow decides whether c may start; its error is the reason. It is asked before anything is looked up.
	Allow func(ctx context.Context, c Command) error
	// Env is the base environment of every child, as KEY=VALUE: an allow-list, never the whole environment.
	Env []string
	// Now measures Result.Duration.
	Now func() time.Time
	// Temp is the folder in which private temporary folders are made; empty means the system's.
	Temp  string
	Grace Grace
	// Supervisor is a program of this house with its words: it must call Supervise. It starts one child after another.
	// Empty: no child has one. Children of git and of a query, which start nothing, and all children off Linux have none.
	Supervisor []string
	// Record, if not nil, is told of a child with a supervisor before its program runs, so that Sweep can end what is left
	// of it when this process was killed. forget is called when the child is gone.
	Record func(Started) (forget func(), err error)

	idle chan *helper // supervisors without a child
}

// Close ends the supervisors that wait for a child. They end by themselves when this process does.
func (s *Starter) Close() error {
	for {
		select {
		case h := <-s.idle:
			h.end()
		default:
			return nil
		}
	}
}

// rest keeps a supervisor for the next child, unless there are enough.
func (s *Starter) rest(h *helper) bool {
	select {
	case s.idle <- h:
		return true
	default:
		return false
	}
}

// mostIdle bounds the supervisors that are kept.
const mostIdle = 8

// supervised tells whether a child gets a supervisor.
func (s *Starter) supervised(c Command) bool {
	return supervisable && len(s.Supervisor) > 0 && c.Purpose != PurposeGit && c.Purpose != PurposeQuery
}

// NewStarter returns a Starter like s with its defaults filled in. A nil Allow or Now is an error.
func NewStarter(s Starter) (*Starter, error) {
	if s.Allow == nil {
		return nil, ErrNoAllow
	}
	if s.Now == nil {
		return nil, ErrNoNow
	}
	if err := checkEnv(s.Env); err != nil {
		return nil, err
	}
	s.Env = mergeEnv(s.Env)
	s.Grace.fill()
	s.idle = make(chan *helper, mostIdle)
	return &s, nil
}

func (g *Grace) fill() {
	g.Interrupt = cmp.Or(max(g.Interrupt, 0), DefaultInterrupt)
	g.Terminate = cmp.Or(max(g.Terminate, 0), DefaultTerminate)
	g.Drain = cmp.Or(max(g.Drain, 0), DefaultDrain)
}

func (c *Command) fill() {
	c.Timeout.Total = cmp.Or(max(c.Timeout.Total, 0), DefaultTotal)
	c.StdoutCap = cmp.Or(max(c.StdoutCap, 0), DefaultCap)
	c.StderrCap = cmp.Or(max(c.StderrCap, 0), DefaultCap)
	c.Limit = cmp.Or(max(c.Limit, 0), DefaultLimit)
}

// Proc identifies a process beyond the life of its number: a number is reused, a number with a start time is not.
type Proc struct {
	PID    int
	Start  string // when it started, in a unit of the system; empty where that cannot be known
	BootID string // which boot of the machine; empty where that cannot be known
	Host   string
}
