package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// locker takes one lock file for this process. Each acquisition has its own handle, because one
// handle does not exclude the goroutines that share it.
type locker struct {
	cfg  Config
	file string // relative to the project root
	info string // file with what the holder says about itself; empty: none
}

// path is the absolute path of the lock file.
func (l locker) path() string {
	return filepath.Join(l.cfg.Dir, filepath.FromSlash(l.file))
}

// release gives the lock back. Where that cannot be done, the lock ends with the handle, which is
// closed when it is collected, or with the process.
func release(h *flock.Flock) error {
	for try := 1; ; try++ {
		err := h.Unlock()
		if err == nil {
			return nil
		}
		if try == maxUnlocks {
			return badLock(filepath.Base(h.Path()), "", "could not be unlocked", err)
		}
	}
}

// maxUnlocks is how often the lock is given back before it is left to the kernel.
const maxUnlocks = 3

// maxEvictions bounds how often workers that hold a lock are ended before it counts as held.
const maxEvictions = 10

// maxReopens bounds how often a lock file that was replaced while it was waited for is opened
// again.
const maxReopens = 10

// take waits for the lock until the configured time has passed or ctx ends.
func (l locker) take(ctx context.Context, session string) (*flock.Flock, error) {
	limit := l.cfg.lockTimeout()
	start := l.cfg.Clock.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	notice := time.NewTimer(noticeAfter)
	defer notice.Stop()
	path := l.path()
	for range maxReopens {
		h, err := l.once(ctx, path, timer.C, notice.C)
		if err != nil {
			if errors.Is(err, errWaited) {
				return nil, lockTimeout(
					short(l.file),
					max(l.cfg.Clock.Now().Sub(start), limit),
					l.holder(),
				)
			}
			return nil, err
		}
		same, err := l.current(h, path)
		if err != nil {
			return nil, errors.Join(err, release(h))
		}
		if same {
			l.introduce(session)
			return h, nil
		}
		if err := release(h); err != nil {
			return nil, err
		}
	}

	return nil, badLock(
		short(l.file),
		"find the program that deletes lock files",
		"is replaced again and again",
		nil,
	)
}

// Claim takes a lock file of the workspace for this process without waiting. FILE.info describes
// the holder.
func (c Config) Claim(file, session string) (io.Closer, error) {
	l := locker{
		cfg:  c,
		file: file,
		info: file + ".info",
	}
	path := l.path()
	if err := l.inspect(path); err != nil {
		return nil, err
	}

	h := flock.New(
		path,
		flock.SetFlag(os.O_CREATE|os.O_RDWR|lockFlags),
		flock.SetPermissions(0o600),
	)
	got, err := h.TryLock()
	for try := 0; !got && err == nil && try < maxEvictions && l.evict(); try++ {
		pause := time.NewTimer(evictEvery)
		<-pause.C
		got, err = h.TryLock()
	}
	if got && err == nil {
		if got, err = l.current(h, path); !got { // its holder has just removed it
			err = errors.Join(err, release(h))
		}
	}
	switch {
	case err != nil:
		return nil, l.explain(path, err)
	case !got:
		return nil, formats.Fail(formats.CodeLocked,
			"wait until it has ended; a lock ends by itself with its process",
			"%s is held by %s", short(file), l.holder())
	}

	l.introduce(session)
	return claim{h}, nil
}

// claim is a lock that is held.
type claim struct{ h *flock.Flock }

// Close releases the lock.
func (c claim) Close() error {
	return release(c.h)
}

var errWaited = errors.New("waited")

// once opens the lock file and waits for the lock in a goroutine of its own. When the waiter gives
// up, that goroutine unlocks as soon as it gets the lock.
func (l locker) once(
	ctx context.Context,
	path string,
	limit, notice <-chan time.Time,
) (*flock.Flock, error) {
	if err := l.inspect(path); err != nil {
		return nil, err
	}
	handle := flock.New(
		path,
		flock.SetFlag(os.O_CREATE|os.O_RDWR|lockFlags),
		flock.SetPermissions(0o600),
	)
	got := make(chan error)
	gone := make(chan struct{})
	go func() {
		err := lockRetrying(handle)
		select {
		case got <- err:
		case <-gone:
			if err == nil {
				l.tell(handle.Unlock())
			}
		}
	}()
	look := time.NewTicker(evictEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			l.evict()
		case err := <-got:
			if err != nil {
				return nil, l.explain(path, err)
			}
			return handle, nil
		case <-notice:
			if l.cfg.Notice != nil {
				l.cfg.Notice(fmt.Sprintf("waiting for %s, held by %s", short(l.file), l.holder()))
			}
		case <-limit:
			close(gone)
			return nil, errWaited
		case <-ctx.Done():
			close(gone)
			return nil, context.Cause(ctx)
		}
	}
}

func lockRetrying(handle *flock.Flock) error {
	for {
		if err := handle.Lock(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// inspect refuses a lock path that is something else than a regular file: a link would be followed,
// a FIFO would block.
func (l locker) inspect(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return l.explain(path, err)
	}
	if !info.Mode().IsRegular() {
		return badLock(
			short(l.file),
			"remove it",
			"is "+kindOf(info.Mode())+", expected a regular file",
			nil,
		)
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	}
	return "a special file"
}

// explain turns an error of opening or locking into one that says what to do.
func (l locker) explain(path string, err error) error {
	is := func(cause error) bool { return errors.Is(err, cause) }
	switch {
	case is(syscall.ENOLCK), is(syscall.ENOSYS), is(syscall.EBADF), is(errors.ErrUnsupported):
		return badLock(short(l.file), "keep the workspace on a file system that has locks",
			"cannot be locked on this file system", err)
	case is(fs.ErrPermission):
		return badLock(
			short(l.file),
			"run tercet as the user that owns the workspace",
			"may not be opened"+owner(path),
			err,
		)
	}
	return badLock(short(l.file), "", "cannot be locked", err)
}

// current tells whether the handle is still the file at the path: a lock on a deleted file excludes
// no process.
func (l locker) current(h *flock.Flock, path string) (bool, error) {
	mine, err := h.Stat()
	if err != nil {
		return false, l.explain(path, err)
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, l.explain(path, err)
	}
	return os.SameFile(mine, there), nil
}

// introduce writes who holds the lock, for those who wait. It is for messages only, so it may go
// wrong.
func (l locker) introduce(session string) {
	if l.info == "" {
		return
	}
	self := l.cfg.Self(session, "")
	raw, err := jsonx.Marshal(Holder{
		ID:      l.cfg.NewID(),
		PID:     self.PID,
		Host:    self.Host,
		BootID:  self.BootID,
		PIDNS:   pidNamespace(),
		User:    l.cfg.User,
		Command: l.cfg.CommandLine,
		Session: session,
		Since:   stamp(l.cfg.now()),
	}, "")
	if err == nil {
		err = atomicfile.WriteLoose(l.cfg.Root, l.info, append(raw, '\n'), 0)
	}
	l.tell(err)
}

// tell shows an error that ends nothing.
func (l locker) tell(err error) {
	if err != nil && l.cfg.Notice != nil {
		l.cfg.Notice(short(l.file) + ": " + err.Error())
	}
}

// evict ends the workers that hold the lock, and reports whether there were any.
func (l locker) evict() bool {
	found := false
	for _, h := range l.held() {
		if h.Evict == nil {
			continue
		}
		if err := h.Evict(); err != nil {
			l.tell(err)
			continue
		}
		found = true
		if l.cfg.Notice != nil {
			who := Holder{PID: h.PID, Command: h.Command}
			l.cfg.Notice(fmt.Sprintf(
				"%s was held by %s, which a worker started: the worker is ended",
				short(l.file), who,
			))
		}
	}
	return found
}

// held lists the processes that hold the lock.
func (l locker) held() []LockHolder {
	if l.cfg.Holders == nil {
		return nil
	}
	return l.cfg.Holders(l.path())
}

// holder says who holds the lock: what the process says about itself, unless the system names
// another one. Zero if that cannot be known.
func (l locker) holder() Holder {
	said := l.introduced()
	held := l.held()
	if len(held) == 0 ||
		slices.ContainsFunc(held, func(h LockHolder) bool {
			return h.PID == said.PID
		}) {
		return said
	}
	return Holder{PID: held[0].PID, Command: held[0].Command}
}

// introduced reads what the last holder of the lock said about itself.
func (l locker) introduced() Holder {
	if l.info == "" {
		return Holder{}
	}
	src, err := readFile(l.cfg.Root, l.info, 64<<10)
	if err != nil {
		return Holder{}
	}
	var h Holder
	if json.Unmarshal(src, &h) != nil {
		return Holder{}
	}
	return h
}
