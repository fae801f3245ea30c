package sandbox_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// TestMain makes the test binary what Box.Enter and Starter.Supervisor name.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "__child":
			os.Exit(proc.Supervise(os.Args[2:], os.Environ()))
		case "__sandbox":
			fmt.Fprintln(os.Stderr, sandbox.Enter(os.Args[2:], os.Environ()))
			os.Exit(126)
		}
	}
	goleak.VerifyTestMain(m)
}

func prober(t *testing.T) *sandbox.Prober {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(ctx, proc.Command) error { return nil }, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Now: time.Now, Temp: t.TempDir(),
		Supervisor: []string{exe, "__child"}, Grace: proc.Grace{Interrupt: 3 * time.Second, Terminate: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox.Prober{Starter: s, Enter: []string{exe, "__sandbox"}}
}
