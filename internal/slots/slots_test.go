package slots_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tercet/internal/slots"
)

// TestMain lets this program hold a slot for the tests: it enters the pool that its environment
// names, says so, and stays until it is killed. It waits for a pipe that nobody writes to, because
// the runtime ends a program in which nothing can go on any more.
func TestMain(m *testing.M) {
	if dir := os.Getenv("HOLD_SLOT_IN"); dir != "" {
		_, err := pool(dir, 1).Enter(context.Background(), "child", func(int) {})
		if err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("held\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func pool(dir string, limit int) slots.Pool {
	return slots.Pool{
		Dir:   dir,
		Limit: limit,
		Sleep: func(ctx context.Context, _ time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
				return nil
			}
		},
	}
}

// TestBound: whatever comes and goes, never more than the limit are at work, each one that wants to
// gets its turn, and they begin in the order in which they came.
func TestBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "slots") //nolint:usetesting // rapid has no TempDir
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		impatient := rapid.SliceOfN(rapid.Bool(), 1, 10).Draw(t, "impatient")
		p := pool(dir, limit)

		var all sync.WaitGroup
		var mu sync.Mutex
		var order []int
		var now, most atomic.Int32
		for i, gives := range impatient {
			ctx, cancel := context.WithCancel(context.Background())
			arrived := make(chan struct{})
			arrive := sync.OnceFunc(func() { close(arrived) })
			all.Go(func() {
				defer cancel()
				defer arrive()
				slot, err := p.Enter(ctx, strconv.Itoa(i), func(int) {
					arrive()
					if gives {
						cancel()
					}
				})
				if gives && errors.Is(err, context.Canceled) {
					return
				}
				if err != nil {
					t.Errorf("Enter = %v", err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				most.Store(max(most.Load(), now.Add(1)))
				arrive()
				time.Sleep(time.Millisecond)
				now.Add(-1)
				if err := slot.Leave(); err != nil {
					t.Errorf("Leave = %v", err)
				}
			})
			<-arrived // the next one comes later
		}
		all.Wait()
		if int(most.Load()) > limit {
			t.Errorf("%d at work at once, want at most %d", most.Load(), limit)
		}
		// two that got a slot at once may be noted in either order
		for i, n := range order {
			for _, later := range order[i+1:] {
				if limit == 1 && later < n {
					t.Errorf("the order was %v", order)
				}
			}
		}
		if left, err := p.Tickets(); err != nil || len(left) > 0 {
			t.Errorf("Tickets = %v, %v, want none", left, err)
		}
	})
}

// TestKilled: who is killed gives the slot back, and those who wait are told their place.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), "HOLD_SLOT_IN="+dir)
	if _, err := child.StdinPipe(); err != nil { // open until the child ends
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 5)
	if _, err := out.Read(said); err != nil || string(said) != "held\n" {
		t.Fatalf("the child said %q, %v", said, err)
	}

	places := make(chan int, 10)
	entered := make(chan *slots.Slot, 1)
	go func() {
		defer close(places)
		slot, err := pool(dir, 1).Enter(t.Context(), "me", func(place int) { places <- place })
		if err != nil {
			t.Error(err)
		}
		entered <- slot
	}()
	place, waited := <-places
	if !waited {
		t.Fatal("entered while the slot was held")
	}
	if place != 1 {
		t.Errorf("place %d, want 1", place)
	}
	list, err := pool(dir, 1).Tickets()
	var holders []string
	for _, one := range list {
		holders = append(holders, one.Holder+" "+strconv.Itoa(one.Before))
	}
	if got := strings.Join(holders, ", "); err != nil || got != "child 0, me 1" {
		t.Errorf("Tickets = %s, %v", got, err)
	}
	select {
	case <-entered:
		t.Fatal("entered while the slot was held")
	default:
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	slot := <-entered
	if err := slot.Leave(); err != nil {
		t.Error(err)
	}
	child.Wait()
	// a limit that is raised lets more in, also beside void tickets
	for range 2 {
		if _, err := pool(dir, 2).Enter(t.Context(), "more", func(int) {}); err != nil {
			t.Error(err)
		}
	}
}
