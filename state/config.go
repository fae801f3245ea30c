package state

import (
	"os"
	"path"
	"strings"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state/history"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Config is the input of Manager, Reader and Errors. Reading needs only Root.
type Config struct {
	Root *os.Root // the project root
	Dir  string   // absolute path of Root, for the lock
	// Clock supplies the times to write and decides when leases end.
	Clock Clock
	// Alive reports whether a lease's process, or the journal of a suspended run, exists; true if
	// that cannot be checked.
	Alive func(formats.Lease) bool
	// Self returns this process's lease for a session and a run; the manager sets Taken and
	// Timeout.
	Self func(session, run string) formats.Lease
	// LockTimeout is how long a write waits for the lock; zero: DefaultLockTimeout.
	LockTimeout time.Duration
	// Notice gets one line for the terminal while a write waits for a lock; may be nil.
	Notice func(string)
	// Key returns the key that seals the audit log of a lineage; without a key its lines are not
	// sealed.
	Key func(lineage string) []byte
	// NewID makes unique ids for transactions, lineages and errors.
	NewID func() string
	// AuditLimit is the size in bytes at which the audit log moves into a segment; zero:
	// DefaultAuditLimit.
	AuditLimit int64
	// Holders lists the processes that hold a lock file, as far as the system tells; may be nil.
	Holders func(path string) []LockHolder
	// Profiles are the project's own profiles of documents; nil: the shipped ones.
	Profiles *documents.ProjectProfiles
	// User and CommandLine identify the lock's holder in state.lock.info.
	User, CommandLine string
}

// LockHolder is a process that holds a lock file.
type LockHolder struct {
	PID     int
	Command string
	// Evict ends the worker that the process belongs to; nil if it belongs to none. A worker must
	// not hold a lock of tercet.
	Evict func() error
}

// DefaultLockTimeout is the default time that a write waits for the lock.
const DefaultLockTimeout = 60 * time.Second

// noticeAfter is how long a write waits for a lock before it says so.
const noticeAfter = 5 * time.Second

// evictEvery is how often a process that waits for a lock looks for workers that hold it.
const evictEvery = 500 * time.Millisecond

// The files of this package, relative to the project root.
const (
	todoFile   = formats.Workspace + "/TODO.md"
	errorsFile = formats.Workspace + "/errors.json"
	lockFile   = formats.Workspace + "/state.lock"
	infoFile   = formats.Workspace + "/state.lock.info"
	todoLock   = formats.Workspace + "/todo.lock"
	errorsLock = formats.Workspace + "/errors.lock"
)

// keepBackups is the number of backups that are kept.
const keepBackups = 10

// shortName is a file's name for messages, relative to the workspace.
func shortName(name string) string {
	if rel, ok := strings.CutPrefix(name, formats.Workspace+"/"); ok {
		return rel
	}
	return path.Clean(name)
}

func (c Config) check(writes bool) error {
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Root", c.Root == nil},
		{"Clock", c.Clock == nil},
		{"Dir", writes && c.Dir == ""},
		{"NewID", writes && c.NewID == nil},
		{"Self", writes && c.Self == nil},
		{"Alive", c.Alive == nil},
	} {
		if field.missing {
			return formats.Fail(formats.CodeBug, "", "state.Config without %s", field.name)
		}
	}
	return nil
}

// seal returns the seal of a lineage, or nil if there is no key.
func (c Config) seal(lineage string) *history.Seal {
	if c.Key == nil {
		return nil
	}
	return history.NewSeal(c.Key(lineage))
}

func (c Config) lockTimeout() time.Duration {
	if c.LockTimeout <= 0 {
		return DefaultLockTimeout
	}
	return c.LockTimeout
}

func (c Config) now() time.Time {
	return c.Clock.Now().UTC().Truncate(time.Second)
}

func timestamp(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}
