package proc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"tercet/internal/proc"
)

// playMore plays the parts that a supervisor is needed for.
func playMore(part string) int {
	switch part {
	case "owner": // starts a child with a supervisor and waits for it
		return own()
	case "supervised":
		fmt.Println(proc.IsSupervised(superviseWord))
		return 0
	case "lend": // lends its terminal to a program, many times
		return lend()
	case "dial": // prints what the one at an address says
		return dial(os.Args[1], os.Args[2], func(c io.Reader) error {
			_, err := io.Copy(os.Stdout, c)
			return err
		})
	case "leave": // connects, leaves the connection to a child, and ends
		return dial(os.Args[1], os.Args[2], func(c io.Reader) error {
			file, err := c.(*net.UnixConn).File()
			if err != nil {
				return err
			}
			cmd := exec.Command("cat")
			cmd.Stdin = file
			cmd.Stdout = os.Stdout
			return cmd.Start()
		})
	case "floodowner":
		return floodOwner(os.Getenv("PROC_DIR"))
	}
	return 99
}

// dial connects to an address.
func dial(network, address string, use func(io.Reader) error) int {
	c, err := net.Dial(network, address)
	if err == nil {
		err = use(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// own starts a child that escapes as it can, in the folder PROC_DIR, and records it there.
func own() int {
	dir := os.Getenv("PROC_DIR")
	exe, err := os.Executable()
	if err != nil {
		return 1
	}

	s, err := proc.NewStarter(proc.Starter{
		Allow:      func(ctx, proc.Command) error { return nil },
		Env:        []string{"PATH=" + os.Getenv("PATH")},
		Now:        time.Now,
		Temp:       dir,
		Supervisor: []string{exe, superviseWord},
		Record: func(c proc.Started) (func(), error) {
			text := fmt.Sprintf("%d\n%s\n%s\n%s\n%d\n%s\n%s",
				c.PID, c.Start, c.BootID, c.Host, c.Owner.PID, c.Owner.Start, c.Temp)
			return func() {}, os.WriteFile(dir+"/record", []byte(text), 0o600)
		},
	})
	if err != nil {
		return 1
	}

	if err := os.WriteFile(dir+"/pids", nil, 0o600); err != nil {
		return 1
	}
	_, err = s.Run(backgroundContext(), proc.Command{
		Argv:    []string{"sh", "-c", escapes},
		Dir:     dir,
		Private: true,
		Purpose: proc.PurposeAgent,
		Watch: func(p []byte) bool {
			os.Stdout.Write(p)
			return true
		},
		After: afterOf(dir),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// backgroundContext is that of a process that this test binary plays.
func backgroundContext() context.Context {
	return context.Background()
}

// afterOf looks who is left, notes it, and leaves a process of its own behind.
func afterOf(dir string) []string {
	return []string{"sh", "-c", `for p in $(cat "$1/pids" 2>/dev/null); do grep -qs '^State:.[RSD]' "/proc/$p/status" && echo "$p is left"; done >"$1/after.tmp"
		sleep 60 & echo $! >"$1/late"; echo over >>"$1/after.tmp"; mv "$1/after.tmp" "$1/after"; kill $!`, "sh", dir}
}
