package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"

	"tercet/internal/proc"
)

// Enter puts this process within bounds and becomes the program. words are what Box.Wrap wrote: the bounds, then the
// program's name for itself and its arguments. It returns only if it could not.
func Enter(words, env []string) error {
	o, err := decode(words, env)
	if err != nil {
		return fmt.Errorf("sandbox %s: %w", None, err)
	}
	switch o.Means {
	case Bubblewrap:
		// A group of its own: a signal to the group would end bwrap and with it the program, which is asked politely first.
		// The supervisor passes signals on, and the end of the supervisor ends both. The leader of a session has a group.
		if err = syscall.Setpgid(0, 0); err == nil || errors.Is(err, syscall.EPERM) {
			err = syscall.Exec(o.Tool, o.bubblewrap(words[1:]), env)
		}
	case Landlock:
		if err = o.landlock(); err == nil {
			err = syscall.Exec(o.Path, words[1:], env)
		}
	case Docker, Podman, None:
		err = errors.ErrUnsupported
	default:
		err = errors.ErrUnsupported
	}
	return fmt.Errorf("sandbox %s: %w", o.Means, err)
}

// Starts lets a supervisor start bwrap itself, without this program in between. word stands before what Box.Wrap wrote,
// as in Box.Enter. What is not for bubblewrap is started as it is.
func Starts(word string, env []string) proc.Enter {
	return func(path string, argv []string) (string, []string, bool) {
		self, err := os.Executable()
		if err != nil || path != self || len(argv) < 4 || argv[1] != word {
			return path, argv, false
		}
		o, err := decode(argv[2:], env)
		if err != nil || o.Means != Bubblewrap {
			return path, argv, false // Enter tells what is wrong
		}
		return o.Tool, o.bubblewrap(argv[3:]), true
	}
}

// decode reads what Box.Wrap wrote.
func decode(words, env []string) (o order, err error) {
	if len(words) < 2 {
		return o, errors.New("expected bounds and a program")
	}
	if err := json.Unmarshal([]byte(words[0]), &o); err != nil {
		return o, err
	}
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "TMPDIR="); ok && dir != "" {
			o.Bounds.Write = append(o.Bounds.Write, dir)
		}
	}
	o.Bounds.settle()
	return o, nil
}

// landlock takes the right to write elsewhere from this process and all it will start, and where the kernel can (ABI 6)
// that to send signals and to use abstract sockets outside. The kernel takes also, with no_new_privs, what sudo and its
// like would give back.
func (o order) landlock() error {
	rules := []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
			"/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs("/dev/pts", "/dev/shm").WithIoctlDev().IgnoreIfMissing(),
	}
	for _, name := range o.Bounds.Write {
		info, err := os.Stat(name)
		switch {
		case err != nil: // what does not exist is left out
		case info.IsDir():
			rules = append(rules, landlock.RWDirs(name).WithRefer())
		default:
			rules = append(rules, landlock.RWFiles(name))
		}
	}
	if o.Bounds.Net {
		c := landlock.V7.BestEffort()
		return errors.Join(c.RestrictPaths(rules...), c.RestrictScoped())
	}
	return landlock.V7.BestEffort().Restrict(rules...)
}

// kernelFiles are where root, which root in a container is too, could change the kernel.
var kernelFiles = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/acpi"}

// bubblewrap gives the words of bwrap.
func (o order) bubblewrap(argv []string) []string {
	args := []string{
		"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
	}
	for _, name := range kernelFiles {
		args = append(args, "--ro-bind-try", name, name)
	}
	if o.User && !o.Bounds.Nest {
		args = append(args, "--unshare-user")
	}
	if !o.Bounds.Net {
		args = append(args, "--unshare-net")
	}
	if o.Bounds.Nest && os.Geteuid() == 0 {
		// The kernel lets a user namespace have a root only if its maker has this right, which no_new_privs keeps without
		// effect on files.
		args = append(args, "--cap-add", "CAP_SETFCAP")
	}
	for _, l := range o.Bounds.layers() {
		bind := "--ro-bind"
		if l.writable {
			bind = "--bind"
		}
		args = append(args, bind, l.name, l.name)
	}
	for _, name := range o.Bounds.Hide {
		info, err := os.Stat(name)
		switch {
		case err != nil: // what does not exist needs no hiding
		case info.IsDir():
			args = append(args, "--tmpfs", name)
		default:
			args = append(args, "--ro-bind", "/dev/null", name)
		}
	}
	if dir, err := os.Getwd(); err == nil {
		args = append(args, "--chdir", dir)
	}
	return append(append(args, "--", o.Path), argv[1:]...)
}
