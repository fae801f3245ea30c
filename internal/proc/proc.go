// Package proc starts one child process at a time and never leaves one behind.
//
// It promises that a child runs only if Starter.Allow allows it, with exactly the given
// environment, within its limits of time and output. Its output is always drained. When Run
// returns, the child and everything it started are gone. A child leads its own session and process
// group and has no terminal, so it can neither read the user's keys nor change the terminal.
// Stopping is SIGINT, a pause, SIGTERM, a pause, SIGKILL, each to the whole group.
//
// On Linux a Starter with a Supervisor puts a process of this program between itself and the child.
// It is a child subreaper, so it also kills descendants that left group and session and cleared
// their environment. A SIGKILL of the calling process does not prevent that. Without one, as for
// git, the calling process is the subreaper. It kills and reaps orphans of the child's session, and
// orphans with the call's private temporary folder in their environment. If caller and supervisor
// were killed at once, Sweep does the same at the next start. It cannot find a descendant that left
// the session and cleared its environment. Off Linux the group is killed and nothing else. On
// Windows nothing is started.
//
// A Foreground is the opposite: an interactive program, such as an editor, gets the terminal as
// from a shell. This process takes the terminal back when the program ends or stops.
//
// It can feed a child its input at once, or converse with it through Command.Talk, in one goroutine
// that ends before Run returns.
//
// It builds no shell string, reads no variable of the process's own environment, retries nothing
// and does not judge exit codes. It is the only package that may import os/exec.
//
// Starter is safe for concurrent use as long as its fields are not changed; every Run waits for the
// goroutines it started.
package proc

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Purpose says why a child starts; Starter.Allow decides by it.
type Purpose string

// The purposes.
const (
	PurposeGit    Purpose = "git"
	PurposeCheck  Purpose = "check"
	PurposeScript Purpose = "script"
	PurposeAgent  Purpose = "agent"
	PurposeProbe  Purpose = "probe"
	PurposeNotice Purpose = "notice"
	// PurposeQuery is a query that may need too much time or memory, in a child of tercet.
	PurposeQuery Purpose = "query"
)

// String is the purpose in messages.
func (p Purpose) String() string {
	return string(p)
}

// ParsePurpose parses the name of a purpose.
func ParsePurpose(s string) (Purpose, error) {
	switch p := Purpose(s); p {
	case PurposeGit, PurposeCheck, PurposeScript, PurposeAgent, PurposeProbe, PurposeNotice,
		PurposeQuery:
		return p, nil
	default:
		return "", fmt.Errorf("expected a purpose (git, check, script, agent, probe), got %q", s)
	}
}

// TimeoutKind says which time limit ended a child.
type TimeoutKind string

// The time limits.
const (
	TimeoutNone  TimeoutKind = ""
	TimeoutTotal TimeoutKind = "total"
	TimeoutIdle  TimeoutKind = "idle"
)

// String is the kind in messages.
func (k TimeoutKind) String() string {
	return string(k)
}

// The defaults of zero limits.
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
	Terminate time.Duration
	Drain     time.Duration // how long a descendant may hold the output after the child's end
	// Abort, once closed, ends the pauses of children that are being stopped; nil: never
	Abort <-chan struct{}
}

// Command is one child to run. It is never handed to a shell.
type Command struct {
	Argv    []string // program and arguments; without a slash the program is looked up on PATH
	Dir     string   // working folder, absolute; empty: that of this process
	Env     []string // KEY=VALUE, added to Starter.Env; a later one wins
	Stdin   []byte   // input of the child; nil: empty
	Timeout Timeout
	// StdoutCap and StderrCap bound what is kept of each stream in memory, from its start; 0 means
	// DefaultCap.
	StdoutCap, StderrCap int
	// OutFile and ErrFile, if not empty, receive each stream from its first byte up to Limit. They
	// belong in the folder of a run; they get mode 0600 and overwrite existing regular files.
	OutFile, ErrFile string
	// Limit bounds both streams together, in bytes; a child that prints more is killed. 0 means
	// DefaultLimit.
	Limit int64
	// Private gives the child a fresh TMPDIR of mode 0700, which is removed after its end.
	Private bool
	// Watch, if not nil, gets standard output as it arrives, in order, from one goroutine that ends
	// before Run returns. It must not keep the slice or block. If it returns false the child is
	// stopped.
	Watch func(p []byte) bool
	// Talk, if not nil, converses with the child instead of Stdin. Its error is returned by Run
	// with a valid Result, unless the child was stopped. When it returns, the child has
	// Grace.Interrupt to exit by itself. To stop a child, Talk's context ends first, with the same
	// time before a signal; a flood is killed at once.
	Talk Talk
	// Wrap, if not nil, returns what to start in place of Argv, such as a sandbox around it. temp
	// is the private TMPDIR, or empty.
	Wrap func(temp string) Launch
	// After, if not empty, is a program with arguments that runs when the child and its descendants
	// have ended. It has 20 s and no output. It ends what another process started for the child,
	// such as a container. The supervisor runs it, so it runs even if the calling process was
	// killed.
	After   []string
	Purpose Purpose // required
}

// Launch is a program that starts in place of Command.Argv.
type Launch struct {
	Path string // absolute; empty: Argv[0] is looked up
	Argv []string
	// Rules, if not empty, is the input of the supervisor's Restrict. Without a supervisor such a
	// program does not start.
	Rules []byte
	// Status says that Argv is bubblewrap with --json-status-fd 3. The supervisor then knows
	// whether the program inside ever ran. If not, the launch is asked for again, because what
	// bubblewrap was told to cover may have been removed meanwhile.
	Status bool
}

// Restrict makes a landlock ruleset from Launch.Rules, which the child enforces on itself before it
// executes the program. It returns nil if this kernel could refuse nothing.
type Restrict func(rules []byte) (ruleset *os.File, err error)

// String is the command line for messages, without quoting.
func (c Command) String() string {
	return strings.Join(c.Argv, " ")
}

// Result says how a child ended. A non-zero exit is not an error.
type Result struct {
	Exit           int    // exit code; -1 if a signal ended the child
	Signal         string // name of that signal, such as SIGKILL, or empty
	Stdout, Stderr []byte // up to the caps
	Truncated      bool   // a stream exceeded its cap
	Duration       time.Duration
	TimedOut       TimeoutKind // the limit that was reached, or empty
	// Killed means that this package stopped the child: time limit, flood, Watch, or canceled
	// context.
	Killed  bool
	Flooded bool // the child printed more than Command.Limit
	Stopped bool // Command.Watch ended it, or it was still running after Command.Talk
}

// Success reports whether the child ended by itself, with exit code 0, within its limits.
func (r Result) Success() bool {
	return r.Exit == 0 && !r.Killed && !r.Flooded
}

// Starter starts children. Make one with NewStarter and do not change it afterwards.
type Starter struct {
	// Allow decides whether c may start; its error is the reason. It runs before any lookup.
	Allow func(ctx context.Context, c Command) error
	// Env is the base environment of every child, as KEY=VALUE: an allow-list, never the full
	// environment.
	Env []string
	// Now measures Result.Duration.
	Now func() time.Time
	// Temp is the parent of private temporary folders; empty: the system's.
	Temp  string
	Grace Grace
	// Supervisor is the command line of a process that calls Supervise. It starts one child after
	// another. Empty: no supervisor. Children of git and of queries, which start nothing, and all
	// children off Linux have none.
	Supervisor []string
	// Record, if not nil, records a child with a supervisor before it runs, so that Sweep can end
	// its descendants if this process is killed. forget runs when the child is gone.
	Record func(Started) (forget func(), err error)

	idle chan *supervisorClient // supervisors without a child
}

// Close ends idle supervisors. They also end with this process.
func (s *Starter) Close() error {
	for {
		select {
		case h := <-s.idle:
			h.kill()
		default:
			return nil
		}
	}
}

// releaseSupervisor keeps a supervisor for the next child, unless there are enough.
func (s *Starter) releaseSupervisor(h *supervisorClient) bool {
	select {
	case s.idle <- h:
		return true
	default:
		return false
	}
}

// maxIdle bounds the idle supervisors.
const maxIdle = 8

// needsSupervisor reports whether a child gets a supervisor.
func (s *Starter) needsSupervisor(c Command) bool {
	return canSupervise && len(s.Supervisor) > 0 && c.Purpose != PurposeGit &&
		c.Purpose != PurposeQuery
}

// NewStarter returns a Starter like s with defaults filled in. A nil Allow or Now is an error.
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
	s.idle = make(chan *supervisorClient, maxIdle)
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

// Proc identifies a process beyond the reuse of its number, by its start time.
type Proc struct {
	PID    int
	Start  string // start time in a unit of the system; empty if unknown
	BootID string // identifies the boot of the machine; empty if unknown
	Host   string
}
