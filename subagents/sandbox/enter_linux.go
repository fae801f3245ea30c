package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
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

// landlock takes from this process, and all it will start, the right to write elsewhere. Where the kernel can (ABI 6),
// it also takes the right to send signals and to use abstract sockets outside. The kernel takes also, with
// no_new_privs, what sudo and its like would give back.
func (o order) landlock() error {
	rules := []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
			"/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs("/dev/pts", "/dev/shm").WithIoctlDev().IgnoreIfMissing(),
	}
	for _, name := range o.Write {
		info, err := os.Stat(name)
		switch {
		case err != nil: // what does not exist is left out
		case info.IsDir():
			rules = append(rules, landlock.RWDirs(name).WithRefer())
		default:
			rules = append(rules, landlock.RWFiles(name))
		}
	}
	if o.Net {
		c := landlock.V7.BestEffort()
		return errors.Join(c.RestrictPaths(rules...), c.RestrictScoped())
	}
	return landlock.V7.BestEffort().Restrict(rules...)
}
