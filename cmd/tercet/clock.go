package main

import (
	"context"
	"time"
)

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
