package proc

import (
	"bytes"
	"os"
	"strconv"
)

// maxAncestorWalks bounds the walks that are repeated because an ancestor ended meanwhile.
const maxAncestorWalks = 100

// IsSupervised reports whether this process descends from a supervisor, which is this program with
// word as its only argument. A process can clear its environment and leave its session and group,
// but not its ancestors: an orphan's new parent is the nearest subreaper, which is the supervisor.
//
// It is false where /proc does not show this process, and in a PID namespace below the
// supervisor's.
func IsSupervised(word string) bool {
	// os.Getpid may be a number of another PID namespace than that of /proc.
	name, err := os.Readlink("/proc/self")
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(name)
	if err != nil {
		return false
	}
	_, found := supervisorOf(pid, word)
	return found
}

// supervisorOf returns the nearest supervisor among the ancestors of a process.
func supervisorOf(pid int, word string) (supervisor int, found bool) {
	for range maxAncestorWalks {
		supervisor, complete := walkAncestors(pid, word)
		if supervisor != 0 || complete {
			return supervisor, supervisor != 0
		}
	}
	return 0, false
}

// walkAncestors walks the ancestors once. It is incomplete if an ancestor ended during the walk:
// its children then have another parent, and its number may belong to another process.
func walkAncestors(pid int, word string) (supervisor int, complete bool) {
	child, err := readStat(pid)
	if err != nil {
		return 0, true
	}
	for child.parent > 0 {
		parent, err := readStat(child.parent)
		if err != nil || startedBefore(child.start, parent.start) {
			now, err := readStat(pid)
			moved := err != nil || now.parent != child.parent
			return 0, !moved // not moved: /proc hides processes of other users
		}
		if isSupervisor(child.parent, word) {
			return child.parent, true
		}
		pid = child.parent
		child = parent
	}
	return 0, true
}

// isSupervisor reports whether a process was started by a Starter as its supervisor.
func isSupervisor(pid int, word string) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	args := bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	return len(args) == 2 && string(args[1]) == word
}
