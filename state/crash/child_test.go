//go:build linux && (amd64 || arm64)

package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/testkit/faults"
)

// report is what a child says about its operation.
type report struct {
	Code     formats.Code `json:"code"` // empty: done
	Message  string       `json:"message"`
	Warnings []string     `json:"warnings"`
	Serial   uint64       `json:"serial"`
}

// child is a process of the tests. All but those that are killed from outside are under the filter.
func child(kind, dir string, args []string) (int, error) {
	w, err := openWorkspace(dir, hit)
	if err != nil {
		return 2, err
	}

	kind, free := strings.CutPrefix(kind, "free ")
	if !free {
		if err := faults.Enter(os.NewFile(3, "faults"), false); err != nil {
			return 2, err
		}
	}

	switch kind {
	case "operation":
		return operate(w, args[0])
	case "other":
		return asOther(w, args[0])
	case "hold":
		err = hold(w)
	case "steps":
		seed, serr := strconv.ParseUint(args[0], 10, 64)
		err = errors.Join(serr, steps(w, seed))
	case "adds":
		err = adds(dir, args)
	case "updates":
		err = updates(w, args)
	default:
		return 2, fmt.Errorf("expected a kind of child, got %q", kind)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// operate does one operation and prints a report.
func operate(w *workspace, name string) (int, error) {
	list := operations()
	i := slices.IndexFunc(list, func(o operation) bool {
		return o.name == name
	})

	res, err := list[i].do(w)
	said := report{Warnings: res.Warnings, Serial: res.Serial}
	if err != nil {
		said.Code = formats.CodeOf(err)
		said.Message = err.Error()
	}

	raw, err := json.Marshal(said)
	if err != nil {
		return 2, err
	}

	_, err = os.Stdout.Write(raw)
	if said.Code != "" {
		return formats.ExitFor(said.Code), err
	}
	return 0, err
}

// under runs a child with its descriptor 3 as the plan says, and waits for it. How it ended is in
// the command.
func under(t *testing.T, cmd *exec.Cmd, plan faults.Plan) faults.Outcome {
	t.Helper()
	test, program, err := faults.Pair()
	if err != nil {
		t.Fatal(err)
	}

	cmd.ExtraFiles = []*os.File{program}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()

	l, err := faults.Accept(test)
	var out faults.Outcome
	if err == nil {
		out, err = l.Serve(cmd.Process, plan)
	}

	waited := cmd.Wait()
	if errors.Is(err, faults.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, ended := errors.AsType[*exec.ExitError](waited); waited != nil && !ended {
		t.Fatal(waited)
	}

	return out
}

// command makes a child, which is killed when it has not ended after five minutes, or after ten if
// it writes until it is killed.
func command(t *testing.T, kind, dir string, args ...string) *exec.Cmd {
	t.Helper()

	limit := 5 * time.Minute
	if kind == "free updates" {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)

	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"child", kind, dir}, args...)...)
	// with the race detector a process sleeps at its end
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}
