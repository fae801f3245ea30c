package sandbox

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// Enter puts this process within bounds and becomes the program. words are what Box.Wrap wrote: the bounds, then the
// program's name for itself and its arguments. It returns only if it could not.
func Enter(words, env []string) error {
	if len(words) < 2 {
		return &EnterError{Means: None, Err: errors.New("expected bounds and a program")}
	}
	var o order
	if err := json.Unmarshal([]byte(words[0]), &o); err != nil {
		return &EnterError{Means: None, Err: err}
	}
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "TMPDIR="); ok && dir != "" {
			o.Bounds.Write = append(o.Bounds.Write, dir)
		}
	}
	o.Bounds.settle()
	var err error
	switch o.Means {
	case Bubblewrap:
		err = o.bubblewrap(words[1:], env)
	case Landlock:
		if err = o.landlock(); err == nil {
			err = syscall.Exec(o.Path, words[1:], env)
		}
	case Docker, Podman, None:
		err = errors.ErrUnsupported
	default:
		err = errors.ErrUnsupported
	}
	return &EnterError{Means: o.Means, Err: err}
}

// landlock takes the right to write elsewhere from this process and all it will start. The kernel takes also, with
// no_new_privs, what sudo and its like would give back.
func (o order) landlock() error {
	rules := []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
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
		return landlock.V7.BestEffort().RestrictPaths(rules...)
	}
	return landlock.V7.BestEffort().Restrict(rules...)
}

// bubblewrap becomes bwrap, in a process group of its own: a signal to the group would end it and with it the program, which
// is asked politely first. The supervisor passes signals on, and the end of the supervisor ends both.
func (o order) bubblewrap(argv, env []string) error {
	args := []string{
		"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
	}
	if !o.Bounds.Net {
		args = append(args, "--unshare-net")
	}
	if o.Bounds.Nest && os.Geteuid() == 0 {
		// The kernel lets a user namespace have a root only if its maker has this right, which no_new_privs keeps without effect on files.
		args = append(args, "--cap-add", "CAP_SETFCAP")
	}
	for _, name := range o.Bounds.Write {
		args = append(args, "--bind", name, name)
	}
	for _, name := range o.Bounds.Keep {
		args = append(args, "--ro-bind", name, name)
	}
	for _, name := range o.Bounds.Write { // what may be written inside of what stays
		if slices.ContainsFunc(o.Bounds.Keep, func(keep string) bool { return name != keep && below(name, keep) }) {
			args = append(args, "--bind", name, name)
		}
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
	args = append(append(args, "--", o.Path), argv[1:]...)
	if err := syscall.Setpgid(0, 0); err != nil && !errors.Is(err, syscall.EPERM) { // the leader of a session has one already
		return err
	}
	return syscall.Exec(o.Tool, args, env)
}
