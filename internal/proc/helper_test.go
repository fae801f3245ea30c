//go:build unix

package proc_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tercet/internal/proc"
	"tercet/internal/testkit"
)

// shell is a helper that is a script.
func shell(script string) proc.Helper {
	return proc.Helper{Argv: []string{"/bin/sh", "-c", script, "sh"}, Env: []string{"A=b"}}
}

// TestHelper: a helper's output, the end of what it says, and its exit code come back, and its
// lines as they are printed. It ends with the context, and when its reader has an error.
func TestHelper(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	said, err := shell(
		`echo "$A $1"; head -c 20000 /dev/zero | tr '\0' x >&2; echo end >&2; exit 3`,
	).
		Run(ctx, "one")
	if err != nil || string(said.Out) != "b one\n" || said.Code != 3 || len(said.Err) > 9000 ||
		!strings.HasSuffix(string(said.Err), "xend\n") {
		t.Errorf("Run() = %q, %d, %d bytes of errors, %v", said.Out, said.Code, len(said.Err), err)
	}
	if _, err := shell("kill -9 $$").Run(ctx); err == nil {
		t.Error("a helper that is killed gives no error")
	}
	if _, err := (proc.Helper{Argv: []string{"/nowhere"}}).Run(ctx); err == nil {
		t.Error("a helper that is not there gives no error")
	}

	var lines []string
	said, err = shell("echo one; echo two; exit 4").EachLine(ctx, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	if err != nil || said.Code != 4 || strings.Join(lines, " ") != "one two" {
		t.Errorf("Lines() = %q, %d, %v", lines, said.Code, err)
	}
	stop := errors.New("enough")
	_, err = shell("echo one; exec sleep 1000").EachLine(ctx, func([]byte) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("a reader that stops gives %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	_, err = shell("echo one; exec sleep 1000").EachLine(short, func([]byte) error {
		cancel()
		return nil
	})
	if err == nil {
		t.Error("a helper that the context ended gives no error")
	}
}

// TestBeside: a program in PATH is found, and one that is nowhere is a *NotFoundError.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tercet-helper-of-a-test")
	if err := testkit.WriteProgram(file, "#!/bin/sh\n"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got, err := proc.FindHelper(filepath.Base(file)); err != nil || got != file {
		t.Errorf("Beside() = %q, %v", got, err)
	}
	_, err := proc.FindHelper("tercet-none")
	if _, ok := errors.AsType[*proc.NotFoundError](err); !ok {
		t.Errorf("Beside() of nothing = %v", err)
	}
}
