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
	"tercet/state/files"
)

// locker takes one lock file for this process. Each acquisition opens its own handle, because
// goroutines that share a handle do not exclude each other.
type locker struct {
	cfg  Config
	file string // relative to the project root
	info string // file with what the holder says about itself; empty: none
}

// path is the absolute path of the lock file.
func (l locker) path() string {
	return filepath.Join(l.cfg.Dir, filepath.FromSlash(l.file))
}

// release unlocks the file. If that fails, the kernel drops the lock when the handle is collected
// or the process exits.
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

// maxUnlocks bounds the attempts to unlock before it is left to the kernel.
const maxUnlocks = 3

// maxEvictions bounds how often workers that hold a lock are ended before the lock counts as held.
const maxEvictions = 10

// maxReopens bounds how often the lock file is opened again because it was replaced while this
// process waited.
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
		h, err := l.acquire(ctx, path, timer.C, notice.C)
		if err != nil {
			if errors.Is(err, errWaitTimeout) {
				return nil, lockTimeout(
					shortName(l.file),
					max(l.cfg.Clock.Now().Sub(start), limit),
					l.holder(),
				)
			}
			return nil, err
		}

		same, err := l.isCurrent(h, path)
		if err != nil {
			return nil, errors.Join(err, release(h))
		}
		if same {
			l.writeInfo(session)
			return h, nil
		}
		if err := release(h); err != nil {
			return nil, err
		}
	}

	return nil, badLock(
		shortName(l.file),
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

	acquired, err := h.TryLock()
	for try := 0; !acquired && err == nil && try < maxEvictions && l.evict(); try++ {
		pause := time.NewTimer(evictEvery)
		<-pause.C
		acquired, err = h.TryLock()
	}
	if acquired && err == nil {
		acquired, err = l.isCurrent(h, path)
		if !acquired { // the holder has just removed the file
			err = errors.Join(err, release(h))
		}
	}

	switch {
	case err != nil:
		return nil, l.wrapError(path, err)
	case !acquired:
		return nil, formats.Fail(formats.CodeLocked,
			"wait until it has ended; a lock ends by itself with its process",
			"%s is held by %s", shortName(file), l.holder())
	}

	l.writeInfo(session)
	return heldLock{h}, nil
}

type heldLock struct{ h *flock.Flock }

// Close releases the lock.
func (c heldLock) Close() error {
	return release(c.h)
}

var errWaitTimeout = errors.New("waited")

// acquire opens the lock file and waits for the lock in a goroutine. If the caller gives up, the
// goroutine unlocks as soon as it gets the lock.
func (l locker) acquire(
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

	done := make(chan error)
	abandoned := make(chan struct{})
	go func() {
		err := lockRetrying(handle)
		select {
		case done <- err:
		case <-abandoned:
			if err == nil {
				l.notify(handle.Unlock())
			}
		}
	}()

	evictTick := time.NewTicker(evictEvery)
	defer evictTick.Stop()
	for {
		select {
		case <-evictTick.C:
			l.evict()
		case err := <-done:
			if err != nil {
				return nil, l.wrapError(path, err)
			}
			return handle, nil
		case <-notice:
			if l.cfg.Notice != nil {
				l.cfg.Notice(
					fmt.Sprintf("waiting for %s, held by %s", shortName(l.file), l.holder()),
				)
			}
		case <-limit:
			close(abandoned)
			return nil, errWaitTimeout
		case <-ctx.Done():
			close(abandoned)
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

// inspect refuses a lock path that is not a regular file: a link would be followed and a FIFO would
// block.
func (l locker) inspect(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return l.wrapError(path, err)
	}

	if !info.Mode().IsRegular() {
		return badLock(
			shortName(l.file),
			"remove it",
			"is "+files.KindOf(info.Mode())+", expected a regular file",
			nil,
		)
	}
	return nil
}

// wrapError adds to an error of opening or locking what the user can do about it.
func (l locker) wrapError(path string, err error) error {
	is := func(cause error) bool { return errors.Is(err, cause) }
	switch {
	case is(syscall.ENOLCK), is(syscall.ENOSYS), is(syscall.EBADF), is(errors.ErrUnsupported):
		return badLock(shortName(l.file), "keep the workspace on a file system that has locks",
			"cannot be locked on this file system", err)
	case is(fs.ErrPermission):
		return badLock(
			shortName(l.file),
			"run tercet as the user that owns the workspace",
			"may not be opened"+owner(path),
			err,
		)
	}
	return badLock(shortName(l.file), "", "cannot be locked", err)
}

// isCurrent reports whether the handle is still the file at the path: a lock on a deleted file
// excludes no other process.
func (l locker) isCurrent(h *flock.Flock, path string) (bool, error) {
	own, err := h.Stat()
	if err != nil {
		return false, l.wrapError(path, err)
	}

	current, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, l.wrapError(path, err)
	}
	return os.SameFile(own, current), nil
}

// writeInfo records who holds the lock, for the messages of those who wait. A failure is only
// reported.
func (l locker) writeInfo(session string) {
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
		Since:   timestamp(l.cfg.now()),
	}, "")

	if err == nil {
		err = atomicfile.WriteLoose(l.cfg.Root, l.info, append(raw, '\n'), 0)
	}
	l.notify(err)
}

// notify reports an error that does not stop the operation.
func (l locker) notify(err error) {
	if err != nil && l.cfg.Notice != nil {
		l.cfg.Notice(shortName(l.file) + ": " + err.Error())
	}
}

// evict ends the workers that hold the lock, and reports whether there were any.
func (l locker) evict() bool {
	found := false
	for _, h := range l.holders() {
		if h.Evict == nil {
			continue
		}
		if err := h.Evict(); err != nil {
			l.notify(err)
			continue
		}
		found = true
		if l.cfg.Notice != nil {
			who := Holder{PID: h.PID, Command: h.Command}
			l.cfg.Notice(fmt.Sprintf(
				"%s was held by %s, which a worker started: the worker is ended",
				shortName(l.file), who,
			))
		}
	}
	return found
}

// holders lists the processes that hold the lock.
func (l locker) holders() []LockHolder {
	if l.cfg.Holders == nil {
		return nil
	}
	return l.cfg.Holders(l.path())
}

// holder returns who holds the lock: what the last holder recorded about itself, unless the system
// names another process. It is zero if that is unknown.
func (l locker) holder() Holder {
	recorded := l.readInfo()
	holders := l.holders()
	if len(holders) == 0 ||
		slices.ContainsFunc(holders, func(h LockHolder) bool {
			return h.PID == recorded.PID
		}) {
		return recorded
	}
	return Holder{PID: holders[0].PID, Command: holders[0].Command}
}

// readInfo reads what the last holder recorded about itself.
func (l locker) readInfo() Holder {
	if l.info == "" {
		return Holder{}
	}

	src, err := files.Read(l.cfg.Root, l.info, 64<<10)
	if err != nil {
		return Holder{}
	}

	var h Holder
	if json.Unmarshal(src, &h) != nil {
		return Holder{}
	}
	return h
}
