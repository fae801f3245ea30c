//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"tercet/formats"
	"tercet/internal/testkit/faults"
	"tercet/state"
)

// hold takes the lock as a writer does that is busy, says "held", and keeps it until its input
// ends.
func hold(w *workspace) error {
	l := flock.New(w.path("state.lock"))
	if err := l.Lock(); err != nil {
		return err
	}

	note := fmt.Sprintf(`{"pid":%d,"command":"tercet /implement 5"}`, os.Getpid())
	if err := os.WriteFile(w.path("state.lock.info"), []byte(note), 0o600); err != nil {
		return err
	}

	if _, err := os.Stdout.WriteString("held\n"); err != nil {
		return err
	}

	_, err := io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, l.Unlock())
}

// asOther does an operation as another user, who may write into the folders and not open the lock.
func asOther(w *workspace, name string) (int, error) {
	if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return 2, err
	}
	return operate(w, name)
}

const nobody = 65534

// holding starts a process that holds the lock.
func holding(t *testing.T, dir string, attr *syscall.SysProcAttr) (cmd *exec.Cmd, release func()) {
	t.Helper()
	cmd = command(t, "free hold", dir)
	cmd.SysProcAttr = attr

	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		if attr != nil {
			t.Skip("no namespaces: ", err)
		}
		t.Fatal(err)
	}

	release = func() {
		in.Close()
		cmd.Wait() // it may have been killed
	}
	t.Cleanup(release)

	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return cmd, release
}

// free makes tasks in another process.
func free(t *testing.T, kind, dir string) (report, int) {
	t.Helper()

	cmd := command(t, kind, dir, "create")
	var out, errs bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errs

	cmd.Run() // how it ended is in what it says
	var said report
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatalf("%s: %v\n%s%s", kind, cmd.ProcessState, out.Bytes(), errs.Bytes())
	}

	return said, cmd.ProcessState.ExitCode()
}

// TestHolder: a writer that was stopped, or lives where its process id means something else, keeps
// the lock; who waits is told who it is, nobody breaks the lock, and it is free at once when the
// holder dies.
func TestHolder(t *testing.T) {
	t.Parallel()
	for name, attr := range map[string]*syscall.SysProcAttr{
		"stopped":        nil,
		"in a namespace": {Cloneflags: syscall.CLONE_NEWPID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			setUp(t, dir, five)

			holder, release := holding(t, dir, attr)
			if attr == nil {
				if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}

			before := mustView(t, dir)
			said, code := free(t, "free operation", dir)
			if said.Code != formats.CodeLocked || code != 75 ||
				!strings.Contains(said.Message, "tercet /implement 5") {
				t.Errorf(
					"a write under the lock of another process = %d %+v, want LOCKED, 75, and "+
						"who holds it",
					code, said,
				)
			}

			if now := mustView(t, dir); now != before {
				t.Errorf("the state changed without the lock:\n%s", now)
			}

			if err := holder.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			release()

			if said, code := free(t, "free operation", dir); code != 0 {
				t.Errorf("a write after the holder was killed = %d %+v", code, said)
			}
		})
	}
}

// TestOtherUser: the lock file of one user tells another one whose it is.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs the superuser")
	}

	dir := folder(t)
	setUp(t, dir, five)
	err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Join(dir, ".tercet"), 0o777))
	if err != nil {
		t.Fatal(err)
	}

	said, _ := free(t, "free other", dir)
	if !strings.Contains(said.Message, "state.lock") ||
		!strings.Contains(said.Message, "user with id 0") {
		t.Errorf("a write of another user = %+v, want the owner of the lock named", said)
	}
}

// TestLockPaths: what is no regular file at the place of the lock is refused and neither waited for
// nor followed.
func TestLockPaths(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"named pipe": func(path string) error {
			return unix.Mkfifo(path, 0o600)
		},
		"dangling link": func(path string) error {
			return os.Symlink("made-by-lock", path)
		},
		"folder": func(path string) error {
			return os.Mkdir(path, 0o755)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			setUp(t, dir, five)

			lock := filepath.Join(dir, ".tercet/state.lock")
			if err := errors.Join(os.Remove(lock), put(lock)); err != nil {
				t.Fatal(err)
			}

			start := time.Now()
			said, code := free(t, "free operation", dir)
			if said.Code != formats.CodeIO || code != 74 ||
				!strings.Contains(said.Message, "state.lock") ||
				time.Since(start) > 20*time.Second {
				t.Errorf("a write = %d %+v, want IO that names the lock, at once", code, said)
			}

			if _, err := os.Lstat(filepath.Join(dir, ".tercet/made-by-lock")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

// TestNoLocks: a file system without locks is not written to; one that wants a handle opened for
// writing, as NFS does, is.
func TestNoLocks(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}

	dir := folder(t)
	setUp(t, dir, five)

	first := 0

	s := &subject{op: operation{name: "create"}}
	template := folder(t)
	clone(t, dir, template)
	s.run(t, dir, faults.Plan{Record: func(c faults.Call) {
		if c.Name == "flock" && first == 0 {
			first = c.N
		}
	}})

	always := func(c faults.Call) bool { return c.Name == "flock" }

	for _, tt := range []struct {
		errno unix.Errno
		again func(faults.Call) bool
		code  formats.Code
	}{
		{unix.ENOLCK, always, formats.CodeIO},
		{unix.EOPNOTSUPP, always, formats.CodeIO},
		{unix.ENOSYS, always, formats.CodeIO},
		{unix.EBADF, always, formats.CodeIO},
		{unix.EBADF, nil, ""},
		{unix.EINTR, nil, ""},
	} {
		at := folder(t)
		clone(t, template, at)
		before := mustView(t, at)

		_, said, _ := s.run(t, at, faults.Plan{
			At:    first,
			Errno: tt.errno,
			Again: tt.again,
		})
		if said.Code != tt.code ||
			tt.code != "" &&
				!strings.Contains(said.Message, "state.lock cannot be locked on this file system") {
			t.Errorf("%v, again %v: %+v, want code %q", tt.errno, tt.again != nil, said, tt.code)
		}

		if now := mustView(t, at); (now != before) != (tt.code == "") {
			t.Errorf("%v: the state is\n%s", tt.errno, now)
		}
	}
}

// mounted mounts something for the length of a test.
func mounted(t *testing.T, what, at, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(what, at, kind, flags, data); err != nil {
		t.Skipf("mounting %s: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestReadOnlyMount: where nothing can be written the state can be read, with nothing made, and a
// write says so.
func TestReadOnlyMount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs the superuser")
	}

	for _, lock := range []bool{true, false} {
		dir := folder(t)
		at := filepath.Join(folder(t), "mounted")
		setUp(t, dir, five)
		if !lock { // as in a fresh clone
			if err := os.Remove(filepath.Join(dir, ".tercet/state.lock")); err != nil {
				t.Fatal(err)
			}
		}

		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}

		mounted(t, dir, at, "bind", unix.MS_BIND, "")
		if err := unix.Mount(
			"", at, "",
			unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY,
			"",
		); err != nil {
			t.Skip("mounting read-only: ", err)
		}

		before := snapshot(t, dir)
		w, err := openWorkspace(at, late)
		if err != nil {
			t.Fatal(err)
		}

		if task, err := w.r.Task(t.Context(), 1); err != nil || task.Title != "task 1" {
			t.Errorf("lock %v: Task = %v, %v", lock, task, err)
		}
		if _, _, err := w.r.Snapshot(t.Context()); err != nil {
			t.Errorf("lock %v: Snapshot = %v", lock, err)
		}

		_, err = w.apply("", state.CreateTasks{Tasks: []state.NewTask{{Title: "new"}}})
		if formats.CodeOf(err) != formats.CodeIO || !errors.Is(err, unix.EROFS) {
			t.Errorf("lock %v: a write = %v, want IO, read-only file system", lock, err)
		}
		w.close()

		if now := snapshot(t, dir); now.key() != before.key() {
			t.Errorf("lock %v: something was written", lock)
		}
	}
}

// TestOverlay: a workspace in the lower layer is copied up by the first write, and no update is
// lost on the way.
func TestOverlay(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs the superuser")
	}
	base := folder(t)
	at := filepath.Join(base, "merged")
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	const processes = 3
	lower := filepath.Join(base, "lower")
	s := &soak{dir: at, last: make([]ack, processes*perProcess)}
	setUp(t, lower, s.tasks(processes))
	mounted(
		t,
		"overlay",
		at,
		"overlay",
		0,
		fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", lower, base, base),
	)
	cmds := make([]*exec.Cmd, processes)
	outs := make([]heard, processes)
	for i := range cmds {
		cmds[i] = command(t, "free updates", at, strconv.Itoa(i))
		cmds[i].Stdout = &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}

	written := func(h *heard) bool {
		return bytes.Count(h.now(), []byte("\n")) > 0
	}
	for !written(&outs[0]) || !written(&outs[1]) || !written(&outs[2]) {
		<-time.After(10 * time.Millisecond)
	}

	<-time.After(300 * time.Millisecond) // some more, at any moment of which they are killed
	for i := range cmds {
		cmds[i].Process.Kill()
		cmds[i].Wait()
		s.take(outs[i].now(), "")
	}

	s.settle(t)
	if s.acked == 0 {
		t.Error("nothing was written")
	}
	t.Logf("%d acknowledged writes, none lost", s.acked)
}
