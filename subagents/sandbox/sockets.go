package sandbox

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// nameServices are the sockets by which programs ask for names of users and machines. Every program
// may.
var nameServices = []string{
	"/run/nscd", "/var/run/nscd", "/var/lib/sss/pipes", "/run/systemd/userdb",
	"/run/systemd/resolve", "/run/avahi-daemon/socket",
}

// settledAge is how old a socket must be to count. A younger one is more likely to be removed while
// bubblewrap starts, which then fails to cover the file and is started again.
const settledAge = 10 * time.Second

// sockets gives the files of the sockets of other programs that the bounds do not allow. A
// read-only file system does not keep a program from connecting to them.
func (b Bounds) sockets(now time.Time) []string {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // there is no such list: the kernel has no such sockets, or /proc is not there
	}

	allowed := slices.Concat(b.Write, b.Sockets, nameServices)
	hidden := slices.Concat(b.Hide, b.Secret)
	var out []string
	for _, name := range parseSockets(string(text)) {
		name = realPath(name)
		info, err := os.Lstat(name)
		switch {
		case err != nil || info.Mode()&fs.ModeSocket == 0: // it was removed and still has its name
		case now.Sub(info.ModTime()) < settledAge:
		case belowAny(name, allowed), belowAny(name, hidden):
		default:
			out = append(out, name)
		}
	}

	slices.Sort(out)
	return slices.Compact(out)
}

// parseSockets reads the absolute paths of sockets out of /proc/net/unix.
func parseSockets(text string) (out []string) {
	for line := range strings.Lines(text) {
		rest := strings.TrimSuffix(line, "\n")
		for range 7 { // slot, references, protocol, flags, type, state, inode
			_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		if strings.HasPrefix(rest, "/") {
			out = append(out, rest)
		}
	}
	return out
}
