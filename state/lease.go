package state

import (
	"time"

	"tercet/formats"
)

// isStale reports whether a lease no longer binds: its process is gone or its time has passed. The
// lease of a suspended run binds until the run is resumed, canceled or replaced, or its journal is
// gone.
func (c Config) isStale(l *formats.Lease, now time.Time) bool {
	if l == nil || l.Suspended {
		return l != nil && !c.Alive(*l)
	}

	taken, err := time.Parse(time.RFC3339, l.Taken)
	if err != nil {
		return true
	}

	limit := time.Duration(l.Timeout) * time.Second
	if limit <= 0 {
		limit = formats.DefaultLeaseTimeout
	}
	return now.After(taken.Add(limit)) || !c.Alive(*l)
}

// effectiveStatus returns the status that a task really has: the prior one if the lease of an
// in-progress status is stale.
func (c Config) effectiveStatus(
	t *formats.Task,
	now time.Time,
) (status formats.TaskStatus, stale bool) {
	if !t.Status.InProgress() || !c.isStale(t.Lease, now) {
		return t.Status, false
	}
	if t.Prior == "" {
		return t.Status, true
	}
	return t.Prior, true
}

// newLease makes the lease that a task gets with an in-progress status.
func (d *draft) newLease(timeout time.Duration) *formats.Lease {
	if timeout <= 0 {
		timeout = formats.DefaultLeaseTimeout
	}
	l := d.cfg.Self(d.tx.Session, d.tx.Run)
	l.Session = d.tx.Session
	l.Run = d.tx.Run
	l.Taken = timestamp(d.now)
	l.Timeout = max(int(timeout/time.Second), 1)
	return &l
}
