package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep kills what is left of a child whose owner is gone: the members of its session, and those with its private
// temporary folder in their environment. It does nothing while the owner runs, after another boot, and to a process
// with a number that was given again. It returns how many it killed.
func Sweep(s Started) int {
	if s.BootID != bootID() || s.Owner.PID != 0 && Alive(s.Owner) {
		return 0
	}
	if st, err := readStat(s.PID); err == nil && st.start != s.Start {
		return 0 // the number, and with it the session, belongs to another process now
	}
	killed := map[int]bool{}
	for range sweepRounds {
		found := false
		for _, pid := range everybody() {
			st, err := readStat(pid)
			if err != nil || st.state == "Z" || st.state == "X" || pid == os.Getpid() || !s.owns(pid, st) {
				continue
			}
			found, killed[pid] = true, true
			ignore(unix.Kill(pid, unix.SIGKILL)) // one that is gone needs no signal
		}
		if !found {
			break
		}
		pause(time.Millisecond)
	}
	return len(killed)
}

// owns tells whether a process descends from the child. One of the session that began before the child does not: the
// number of the session was given again.
func (s Started) owns(pid int, st stat) bool {
	if st.session == s.PID && !before(st.start, s.Start) {
		return true
	}
	if s.Temp == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if string(kv) == "TMPDIR="+s.Temp {
			return true
		}
	}
	return false
}

// before compares start times, which are counts of clock ticks.
func before(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// everybody lists the numbers of all processes.
func everybody() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}
