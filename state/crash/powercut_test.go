//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// device is a file system in a file, whose power can be cut.
type device struct {
	kind, loop, at string
	dropped        int // files that were not synced and were not there after a cut
}

// newDevice makes the file system. Where that cannot be done the test is skipped with the reason.
func newDevice(t *testing.T, kind string) *device {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs the superuser")
	}
	for _, name := range []string{"losetup", "mkfs." + kind} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}

	dir := folder(t)
	d := &device{kind: kind, at: filepath.Join(dir, "mounted")}
	image := filepath.Join(dir, "image")
	if err := errors.Join(
		os.Mkdir(d.at, 0o755),
		os.WriteFile(image, nil, 0o600),
		os.Truncate(image, 400<<20),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := tool("mkfs."+kind, "-q", image); err != nil {
		t.Skip(err)
	}
	out, err := tool("losetup", "-f", "--show", image)
	if err != nil {
		t.Skip("no loop device: ", err)
	}
	d.loop = out
	t.Cleanup(func() {
		unix.Unmount(d.at, unix.MNT_DETACH) // it may not be mounted
		if _, err := tool("losetup", "-d", d.loop); err != nil {
			t.Error(err)
		}
	})
	if err := d.mount(); err != nil {
		t.Skip("mounting ", kind, ": ", err)
	}
	return d
}

func tool(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func (d *device) mount() error {
	return unix.Mount(d.loop, d.at, d.kind, 0, "")
}

// unmount waits for those who have files open: they were killed, and the kernel closes for them.
func (d *device) unmount() error {
	var err error
	for range 100 {
		if err = unix.Unmount(d.at, 0); !errors.Is(err, unix.EBUSY) {
			return err
		}
		<-time.After(10 * time.Millisecond)
	}
	return err
}

// again mounts what is on the device. A mount namespace that another program made meanwhile, as
// sandboxes do, has a copy of the mount: as long as it lives the file system is not read anew but
// stays the one that was cut and refuses everything.
func (d *device) again(t *testing.T) {
	t.Helper()
	for range 200 {
		if err := errors.Join(d.unmount(), d.mount()); err != nil {
			t.Fatal(err)
		}
		probe := filepath.Join(d.at, "probe")
		err := os.WriteFile(probe, nil, 0o600)
		if err == nil {
			err = os.Remove(probe)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EIO) {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Skip("another mount namespace keeps the file system that was cut")
}

// cut drops what is not on the device yet, the journal included, and refuses everything from then
// on.
func (d *device) cut() error {
	const (
		shutdown   = 0x8004587d
		noLogFlush = 2
	) // of ext4, XFS and others
	f, err := os.Open(d.at)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush), f.Close())
}

// TestPowerCut cuts the power of a file system while processes write to a state on it: what was
// acknowledged is there when it is mounted again.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()

			cuts := 2
			if *full {
				cuts = 200
			} else if kind != "ext4" {
				t.Skip("only with -full")
			}

			d := newDevice(t, kind)

			acked := 0
			for i := range cuts {
				acked += d.round(t, i)
				if t.Failed() {
					return
				}
			}

			if d.dropped == 0 {
				t.Error("every file that was not synced is there: no power was cut")
			}

			t.Logf(
				"R5, %s: %d cuts of power, %d acknowledged writes, none lost; %d files without a "+
					"sync dropped",
				kind, cuts, acked, d.dropped,
			)
		})
	}
}

const cutWriters = 2

// heard is what a process has said until now.
type heard struct {
	mu   sync.Mutex
	text []byte
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p...)
	return len(p), nil
}

func (h *heard) now() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.text)
}

// round writes, cuts, and looks. It gives the number of acknowledged writes. On XFS only those
// count that were heard of before the cut: the sync of a folder finds nothing to wait for there
// when the cut has just dropped it, and says yes to a process that a real loss of power would have
// ended as well.
func (d *device) round(t *testing.T, i int) int {
	t.Helper()
	s := &soak{dir: filepath.Join(d.at, strconv.Itoa(i)), last: make([]ack, cutWriters*perProcess)}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	setUp(t, s.dir, s.tasks(cutWriters))
	unix.Sync() // the folder itself; its state needs no help
	cmds := make([]*exec.Cmd, cutWriters)
	outs := make([]heard, cutWriters)
	for j := range cmds {
		cmds[j] = command(t, "free updates", s.dir, strconv.Itoa(j))
		cmds[j].Stdout = &outs[j]
		if err := cmds[j].Start(); err != nil {
			t.Fatal(err)
		}
	}

	rng := rand.New(rand.NewPCG(uint64(i), 11))
	<-time.After(time.Duration(80+rng.IntN(240)) * time.Millisecond)
	careless := filepath.Join(s.dir, "careless")
	if err := os.WriteFile(careless, []byte("not synced"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := make([][]byte, cutWriters)
	for j := range outs {
		before[j] = outs[j].now()
	}

	if err := d.cut(); err != nil {
		t.Skip("the file system cannot be cut: ", err)
	}
	for j := range cmds {
		cmds[j].Process.Kill()
		cmds[j].Wait()
		if d.kind == "ext4" {
			before[j] = outs[j].now()
		}
		s.take(before[j], "")
	}

	d.again(t)
	if data, err := os.ReadFile(careless); err != nil || len(data) == 0 {
		d.dropped++
	}
	s.settle(t)
	return s.acked
}
