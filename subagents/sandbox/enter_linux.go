package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Enter puts this process into the sandbox and execs the program. words come from Box.Wrap: the bounds, then the
// program's name for itself and its arguments. It returns only on failure.
func Enter(words, env []string) error {
	var o order
	err := errors.New("expected bounds and a program")
	if len(words) > 1 {
		err = json.Unmarshal([]byte(words[0]), &o)
	}
	if err == nil {
		err = o.landlock()
	}
	if err == nil {
		err = syscall.Exec(o.Path, words[1:], env)
	}
	return fmt.Errorf("sandbox %s: %w", Landlock, err)
}

// landlock takes from this process, and all it will start, the right to write elsewhere, to read what is secret, and,
// without a network, to use TCP. Newer kernels also take the right to send signals and to use abstract sockets outside
// (ABI 6), to connect to sockets that are files (ABI 9), and to use UDP (ABI 10). The kernel takes also, with
// no_new_privs, what sudo and its like would give back.
func (o order) landlock() error {
	if o.Scope {
		return landlock.V6.BestEffort().RestrictScoped()
	}
	rules, err := o.reads()
	if err != nil {
		return err
	}
	rules = append(rules,
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
			"/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs("/dev/pts").WithIoctlDev().IgnoreIfMissing(),
	)
	for _, name := range o.Write {
		info, err := os.Stat(name)
		switch {
		case err != nil: // what does not exist is left out
		case info.IsDir():
			rules = append(rules, landlock.RWDirs(name).WithRefer().WithResolveUnix())
		default:
			rules = append(rules, landlock.RWFiles(name))
		}
	}
	for _, name := range slices.Concat(nameServices, o.Sockets) {
		rules = append(rules, landlock.PathAccess(llsys.AccessFSResolveUnix, name).IgnoreIfMissing())
	}
	if o.Net {
		c := landlock.V9.BestEffort()
		return errors.Join(c.RestrictPaths(rules...), c.RestrictScoped())
	}
	return landlock.V10.BestEffort().Restrict(rules...)
}

// reads gives the rules of reading. landlock can only grant, so where something is secret, the folders on the way to it
// can be listed, and each other entry in them is granted. What appears there later cannot be read.
func (o order) reads() ([]landlock.Rule, error) {
	secret, err := everyPath(o.Secret)
	if err != nil {
		return nil, err
	}
	view, err := around("/", secret)
	if err != nil {
		return nil, err
	}
	rules := []landlock.Rule{
		landlock.RODirs(view.folders...).IgnoreIfMissing(),
		landlock.ROFiles(view.files...).IgnoreIfMissing(),
	}
	if len(view.listed) > 0 {
		rules = append(rules, landlock.PathAccess(llsys.AccessFSReadDir, view.listed...))
	}
	return rules, nil
}

// openSockets says that a program under landlock can connect to sockets that are files, where that is so.
func openSockets() string {
	const since = 9 // ABI
	if abi, err := llsys.LandlockGetABIVersion(); err != nil || abi >= since {
		return ""
	}
	return "; it can use sockets that are files: the kernel is too old to refuse that"
}
