package project

import (
	"sync"
	"time"
)

// homeClock goes by the time at the home of a team, as a worker's own clock may be wrong: the times
// in a journal, and the ends of waits and questions, are compared at the home and by workers on
// other machines. Before a run was taken it is the local clock. It may be used by several
// goroutines.
type homeClock struct {
	Clock

	mu          sync.Mutex
	home, local time.Time // the same moment; zero: unknown
}

// set says what time it is at the home.
func (c *homeClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.home = now
	c.local = c.Clock.Now()
}

// Now is the time at the home. It goes on with the time that has passed here, so that a clock that
// is set meanwhile changes nothing.
func (c *homeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	if c.home.IsZero() {
		return now
	}
	return c.home.Add(now.Sub(c.local)).In(now.Location())
}
