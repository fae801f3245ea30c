// Package slots bounds how much a user has at work at once, over all processes on one machine.
//
// Promise: of those who entered a pool, the first ones in the order of arrival hold a slot, as many
// as its limit; the others wait. Whoever ends gives its slot back, also if it is killed. A process
// that has a slot keeps it when the limit is lowered.
//
// A pool is a folder. Each who entered has a ticket there: a file with its number, which it holds
// locked. A ticket that nobody locks is void.
//
// It knows no run and no agent, and decides no limit. A caller that holds a slot may wait for one
// of another pool, if nobody there waits for the first one.
//
// Concurrency: a Pool may be used by any number of goroutines, and by any number of processes at
// once.
package slots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tercet/internal/order"

	"github.com/gofrs/flock"
)

// Pool is a number of slots for one kind of work.
type Pool struct {
	Dir   string // absolute
	Limit int    // at least 1
	Sleep func(ctx context.Context, d time.Duration) error
}

// interval is how often one who waits looks at those before it.
const interval = 250 * time.Millisecond

// lockInterval is how often one tries to take the lock of a pool, which is held for a moment.
const lockInterval = 5 * time.Millisecond

const (
	lockName = "lock"
	fileMode = 0o600
	dirMode  = 0o700
)

// Ticket is the place of one who entered a pool.
type Ticket struct {
	Holder string // what the holder called itself
	Before int    // how many entered earlier and are still there

	number uint64
	name   string
}

// Slot is a slot that is held.
type Slot struct {
	file *flock.Flock
}

// Leave gives the slot back.
func (s *Slot) Leave() error {
	err := os.Remove(s.file.Path()) // before the lock goes, so that nobody finds a void ticket
	return errors.Join(err, s.file.Close())
}

// Enter waits for a slot. Waiting is called with the place in the queue, from 1, when the caller
// has to wait and whenever its place changes. The holder is one word for those who look at the
// queue. When ctx ends, the place is given up, and the error is the cause.
func (p Pool) Enter(
	ctx context.Context, holder string, waiting func(place int),
) (*Slot, error) {
	mine, number, err := p.takeTicket(ctx, holder)
	if err != nil {
		return nil, err
	}

	slot := &Slot{mine}
	last := 0
	for {
		before, err := p.countBefore(number)
		if err != nil {
			return nil, errors.Join(err, slot.Leave())
		}
		if before < p.Limit {
			return slot, nil
		}

		if place := before - p.Limit + 1; place != last {
			last = place
			waiting(place)
		}
		if p.Sleep(ctx, interval) != nil {
			return nil, errors.Join(context.Cause(ctx), slot.Leave())
		}
	}
}

// takeTicket makes the next ticket and removes void ones.
func (p Pool) takeTicket(ctx context.Context, holder string) (*flock.Flock, uint64, error) {
	if err := os.MkdirAll(p.Dir, dirMode); err != nil {
		return nil, 0, err
	}
	lock := flock.New(filepath.Join(p.Dir, lockName), flock.SetPermissions(fileMode))
	if _, err := lock.TryLockContext(ctx, lockInterval); err != nil {
		return nil, 0, errors.Join(context.Cause(ctx), err)
	}
	defer lock.Close() //nolint:errcheck // closing releases it in any case

	tickets, err := p.readTickets()
	if err != nil {
		return nil, 0, err
	}

	number := uint64(1)
	for _, t := range tickets {
		number = max(number, t.number+1)
		held, err := p.isHeld(t)
		if err == nil && !held {
			err = os.Remove(filepath.Join(p.Dir, t.name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
	}

	name := fmt.Sprintf("%020d.%s", number, holder)
	mine := flock.New(filepath.Join(p.Dir, name), flock.SetPermissions(fileMode))
	return mine, number, mine.Lock() // one who looks at the queue may have it for a moment
}

// countBefore counts those who entered before a number and are still there.
func (p Pool) countBefore(number uint64) (n int, err error) {
	tickets, err := p.readTickets()
	if err != nil {
		return 0, err
	}
	for _, t := range tickets {
		if t.number >= number {
			break
		}
		held, err := p.isHeld(t)
		if err != nil {
			return 0, err
		}
		if held {
			n++
		}
	}
	return n, nil
}

// Tickets lists those who are in the pool, in the order of arrival. A pool that nobody has entered
// is empty.
func (p Pool) Tickets() ([]Ticket, error) {
	tickets, err := p.readTickets()
	var out []Ticket
	for _, t := range tickets {
		held, err := p.isHeld(t)
		if err != nil {
			return nil, err
		}
		if held {
			t.Before = len(out)
			out = append(out, t)
		}
	}
	return out, err
}

// readTickets lists all tickets by number, also void ones.
func (p Pool) readTickets() ([]Ticket, error) {
	entries, err := os.ReadDir(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	var out []Ticket
	for _, e := range entries {
		digits, holder, ok := strings.Cut(e.Name(), ".")
		number, bad := strconv.ParseUint(digits, 10, 64)
		if ok && bad == nil {
			out = append(out, Ticket{Holder: holder, number: number, name: e.Name()})
		}
	}

	order.Stable(out, func(a, b Ticket) int {
		return strings.Compare(a.name, b.name)
	})
	return out, err
}

// isHeld reports whether a process has a ticket locked. Several may ask at once.
func (p Pool) isHeld(t Ticket) (bool, error) {
	file := flock.New(filepath.Join(p.Dir, t.name), flock.SetFlag(os.O_RDONLY))
	free, err := file.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free, errors.Join(err, file.Close())
}
