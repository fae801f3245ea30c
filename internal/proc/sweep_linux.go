package proc

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweepRounds bounds the hunt for descendants that multiply faster than they are killed.
const sweepRounds = 500

// adopt makes orphans of children come to this process, where sweep finds them, and not to the init
// process.
func adopt() {
	// A kernel that refuses leaves the group kill, as on other systems.
	ignore(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// blockUntilExit returns when the process has ended and leaves it unreaped. So its number, which is
// also that of its group and session, goes to no other process before the group is killed.
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

// sweep kills and reaps the descendants of cmd, which has ended, that are children of this process
// now.
func sweep(cmd *exec.Cmd, temp string) {
	Started{Proc: Proc{PID: cmd.Process.Pid}, Temp: temp}.hunt(func() []int {
		return childrenOf("/proc/self")
	})
}

// Sweep kills the remains of a child whose owner is gone: the members of its session, and processes
// whose environment has its private temporary folder. It does nothing while the owner runs, after
// another boot, and to a process whose number was reused. It gives the number killed.
func Sweep(s Started) int {
	if s.BootID != bootID() || s.Owner.PID != 0 && Alive(s.Owner) {
		return 0
	}
	if st, err := readStat(s.PID); err == nil && st.start != s.Start {
		return 0 // the number, and with it the session, belongs to another process now
	}
	return s.hunt(everybody)
}

// hunt kills those of a list that descend from the child, with their own descendants, and reaps
// whom it can.
func (s Started) hunt(list func() []int) int {
	// start times: a process that is about to die loses its environment first
	known := map[int]string{}
	for range sweepRounds {
		found := false
		for _, pid := range list() {
			st, err := readStat(pid)
			switch {
			case err != nil || pid == os.Getpid() || known[pid] != st.start && !s.owns(pid, st):
			case st.state == "Z" || st.state == "X":
				if pid != s.PID {
					got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
					ignore(err) // another's child, or not one any more
					// Its own children came to this process after the list was made.
					found = found || got == pid
				}
			default:
				found = true
				// Descendants are noted first: once their parent is dead nothing else may tell
				// whose they were.
				for _, one := range append(descendants("/proc/"+strconv.Itoa(pid), ""), pid) {
					if st, err := readStat(one); err == nil {
						known[one] = st.start
					}
					ignore(unix.Kill(one, unix.SIGKILL)) // one that is gone needs no signal
				}
			}
		}
		if !found {
			break
		}
		pause(time.Millisecond)
	}

	return len(known)
}

// owns tells whether a process descends from the child. One of the session that began before the
// child does not: the number of the session was given again.
func (s Started) owns(pid int, st stat) bool {
	// Number 0 is no child: within a container it is the session of everybody who was sent in from
	// outside.
	if s.PID != 0 && st.session == s.PID && !before(st.start, s.Start) {
		return true
	}
	if s.Temp == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.Contains(strings.Split(string(env), "\x00"), "TMPDIR="+s.Temp)
}

// Orphans lists gits that outlived the process which started them, with an entry in their
// environment. Daemons that a git starts, such as those of ssh or for credentials, are none: they
// stay.
func Orphans(entry string) (pids []int) {
	for _, pid := range everybody() {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		env := strings.Split(string(text), "\x00")
		owner, ok := lookEnv(env, ownerKey)
		if err != nil || !ok || !slices.Contains(env, entry) || comm(pid) != "git" {
			continue
		}
		number, start, _ := strings.Cut(owner, "/")
		parent, err := strconv.Atoi(number)
		if st, gone := readStat(parent); err == nil && (gone != nil || st.start != start) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// before compares start times, which are counts of clock ticks.
func before(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}

// everybody lists the numbers of all processes.
func everybody() (out []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
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
