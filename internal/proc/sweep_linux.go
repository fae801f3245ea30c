package proc

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweepRounds bounds the hunt for descendants that multiply faster than they are killed.
const sweepRounds = 500

// adopt makes orphans of children come to this process, where sweep finds them, and not to the init process.
func adopt() {
	// A kernel that refuses leaves the group kill, as on other systems.
	ignore(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// blockUntilExit returns when the process has ended and leaves it unreaped, so that its number, which is also that
// of its group and session, cannot be given to another process before the group was killed.
func blockUntilExit(cmd *exec.Cmd) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// reap takes the process out of the process table.
func reap(cmd *exec.Cmd) {
	ignore(cmd.Wait()) // the exit is read from ProcessState, and no copying is done by os/exec
}

// sweep kills and reaps the descendants of cmd, which has ended, that are children of this process now: those of its
// session, those that have temp in their environment, and the descendants of both.
func sweep(cmd *exec.Cmd, temp string) {
	h := hunt{leader: cmd.Process.Pid, marker: "TMPDIR=" + temp, known: map[int]string{}}
	if temp == "" {
		h.marker = ""
	}
	for range sweepRounds {
		if !h.round() {
			return
		}
		pause(time.Millisecond)
	}
}

// hunt remembers whom it has seen, because a process that is about to die loses its environment first.
type hunt struct {
	leader int
	marker string
	known  map[int]string // pid to start time
}

// round kills what it finds and reports whether it found anything.
func (h *hunt) round() bool {
	found := false
	for _, pid := range childrenOf("/proc/self") {
		if pid == h.leader {
			continue
		}
		st, err := readStat(pid)
		if err != nil || !h.ours(pid, st) {
			continue
		}
		found = true
		h.kill(pid, st)
		var ws unix.WaitStatus
		_, err = unix.Wait4(pid, &ws, unix.WNOHANG, nil)
		ignore(err) // not yet a zombie, or not a child any more: the next round sees
	}
	return found
}

func (h *hunt) ours(pid int, st stat) bool {
	if st.session == h.leader || h.known[pid] == st.start {
		return true
	}
	if h.marker == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if string(kv) == h.marker {
			return true
		}
	}
	return false
}

// kill kills pid and what descends from it. Descendants are noted first: once their parent is dead they are children
// of this process, and nothing else may tell whose they were.
func (h *hunt) kill(pid int, st stat) {
	h.known[pid] = st.start
	for _, c := range childrenOf("/proc/" + strconv.Itoa(pid)) {
		if _, seen := h.known[c]; seen {
			continue
		}
		if cst, err := readStat(c); err == nil {
			h.kill(c, cst)
		}
	}
	ignore(unix.Kill(pid, unix.SIGKILL)) // one that is gone needs no signal
}

// childrenOf returns the children of every thread of the process whose folder is proc.
func childrenOf(proc string) []int {
	tasks, err := os.ReadDir(proc + "/task")
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks {
		b, err := os.ReadFile(proc + "/task/" + t.Name() + "/children")
		if err != nil {
			continue // the thread has ended
		}
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}
