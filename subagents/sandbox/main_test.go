package sandbox_test

import (
	"flag"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// TestMain makes the test binary what Starter.Supervisor names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__connect":
			os.Exit(connect(os.Args[2:]))
		case "__child":
			os.Exit(proc.Supervise(os.Stdin, os.Stdout, sandbox.Ruleset))
		}
	}
	goleak.VerifyTestMain(m)
}

// connect prints which of the named sockets it can connect to; a name that begins with @ is
// abstract.
func connect(names []string) int {
	for _, name := range names {
		c, err := net.Dial("unix", name)
		if err == nil {
			fmt.Println(name)
			c.Close()
		}
	}
	return 0
}

func prober(t *testing.T) *sandbox.Prober {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow:      func(ctx, proc.Command) error { return nil },
		Env:        []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Now:        time.Now,
		Temp:       t.TempDir(),
		Supervisor: []string{exe, "__child"},
		Grace:      proc.Grace{Interrupt: 3 * time.Second, Terminate: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	var client []string
	for _, name := range []string{
		"HOME", "XDG_RUNTIME_DIR", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST",
	} {
		if v, ok := os.LookupEnv(name); ok && *imageFlag != "" {
			client = append(client, name+"="+v)
		}
	}

	var made atomic.Int64
	own := fmt.Sprintf("test%016x", time.Now().UnixNano())
	return &sandbox.Prober{
		Starter: s,
		Image: sandbox.Image{
			Name:   *imageFlag,
			Client: client,
			NewName: func() string {
				return fmt.Sprintf("%s-%d", own, made.Add(1))
			},
		},
	}
}

// imageFlag lets docker and podman take part in every test, where they run here:
//
//	go test ./subagents/sandbox -args -image NAME
//
// The image needs a shell and the programs of a small system, such as those of busybox.
var imageFlag = flag.String(
	"image",
	"",
	"image that docker or podman has here; empty: they take no part",
)
