//go:build unix

package proc_test

import (
	"bytes"
	"testing"
)

func TestWatchSeesAllAndMayEnd(t *testing.T) {
	t.Parallel()
	var all []byte
	c := sh("for i in 1 2 3 4 5; do echo $i; done; echo not this >&2")
	c.Watch = func(p []byte) bool {
		all = append(all, p...)
		return true
	}
	got := run(t, starter(t, nil), c)
	if string(all) != "1\n2\n3\n4\n5\n" || !bytes.Equal(all, got.Stdout) || got.Stopped ||
		got.Killed {
		t.Errorf("Watch saw %q of %q, stopped %v, want all of it", all, got.Stdout, got.Stopped)
	}

	calls := 0
	loop := sh("while :; do echo again; sleep 0.01; done")
	loop.Watch = func([]byte) bool {
		calls++
		return calls < 3
	}
	got = run(t, starter(t, nil), loop)
	if !got.Stopped || !got.Killed || got.Success() || got.TimedOut != "" || got.Flooded {
		t.Errorf("Run(loop) = %+v, want stopped by Watch", got)
	}
	if calls != 3 {
		t.Errorf("Watch was called %d times, want 3: not after it said no", calls)
	}
}
