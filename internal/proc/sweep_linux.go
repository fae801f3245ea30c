package proc

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweepRounds bounds the rounds against descendants that multiply faster than they are killed.
const sweepRounds = 500

// becomeSubreaper makes orphans children of this process, where sweep finds them, instead of init.
func becomeSubreaper() {
	// If the kernel refuses, only the group is killed, as on other systems.
	ignore(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// blockUntilExit returns when the process has ended and does not reap it. So its number, which is
// also that of its group and session, is not reused before the group is killed.
func blockUntilExit(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	if waitPolled(pid) {
		return
	}
	for {
		if ended, err := hasEnded(pid, 0); ended || !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// waitPolled waits for the end of a child by the runtime's poller, and reports whether it could.
// While a thread waits inside a system call, the runtime looks at it every 20 us at first, which
// costs more than the start of a short child.
func waitPolled(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer func() { ignore(f.Close()) }() // nothing was written to it
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	err = conn.Read(func(uintptr) bool {
		var err error
		ended, err = hasEnded(pid, unix.WNOHANG)
		return ended || err != nil
	})
	return err == nil && ended
}

// hasEnded reports whether a child has ended, and leaves it to be reaped.
func hasEnded(pid, flags int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
	return err == nil && info.Signo != 0, err
}

// reap reaps the process.
func reap(cmd *exec.Cmd) {
	ignore(cmd.Wait()) // the exit is read from ProcessState, and no copying is done by os/exec
}

// sweep kills and reaps the descendants of cmd that are children of this process now. cmd has
// ended.
func sweep(cmd *exec.Cmd, temp string) {
	Started{Proc: Proc{PID: cmd.Process.Pid}, Temp: temp}.killDescendants(func() []int {
		return childrenOf("/proc/self")
	})
}

// Sweep kills the descendants of a child whose owner is gone: the members of its session, and
// processes with its private temporary folder in their environment. It does nothing while the owner
// runs, after another boot, or if the process number was reused. It returns the number killed.
func Sweep(s Started) int {
	if s.BootID != bootID() || s.Owner.PID != 0 && IsAlive(s.Owner) {
		return 0
	}
	if st, err := readStat(s.PID); err == nil && st.start != s.Start {
		return 0 // the number, and with it the session, belongs to another process now
	}
	return s.killDescendants(allPIDs)
}

// killDescendants kills the processes of a list that descend from the child, and their descendants,
// and reaps those it can.
func (s Started) killDescendants(list func() []int) int {
	// Start times of the descendants, by PID. They are remembered, because a dying process loses
	// its environment first and is no longer recognizable.
	startTimes := map[int]string{}
	for range sweepRounds {
		mayBeMore := false
		for _, pid := range list() {
			st, err := readStat(pid)
			switch {
			case err != nil || pid == os.Getpid() || startTimes[pid] != st.start &&
				!s.isDescendant(pid, st):
			case st.state == "Z" || st.state == "X":
				if pid != s.PID {
					reaped, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
					ignore(err) // not a child of this process
					// Its children may have become children of this process after the list was
					// made.
					mayBeMore = mayBeMore || reaped == pid
				}
			default:
				mayBeMore = true
				// Note descendants first: once their parent is dead they may no longer be
				// recognizable.
				for _, victim := range append(descendants("/proc/"+strconv.Itoa(pid), ""), pid) {
					if st, err := readStat(victim); err == nil {
						startTimes[victim] = st.start
					}
					ignore(unix.Kill(victim, unix.SIGKILL)) // already gone
				}
			}
		}
		if !mayBeMore {
			break
		}
		pause(time.Millisecond)
	}

	return len(startTimes)
}

// isDescendant reports whether a process descends from the child. A process of the session that
// began before the child does not: the session number was reused.
func (s Started) isDescendant(pid int, st stat) bool {
	// PID 0 is no child: in a container, processes from outside have session 0.
	if s.PID != 0 && st.session == s.PID && !startedBefore(st.start, s.Start) {
		return true
	}
	if s.Temp == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.Contains(strings.Split(string(env), "\x00"), "TMPDIR="+s.Temp)
}

// OrphanedGits lists gits that outlived the process that started them and have an entry in their
// environment. Daemons started by git, such as those of ssh or for credentials, are left alone.
func OrphanedGits(entry string) (pids []int) {
	for _, pid := range allPIDs() {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		env := strings.Split(string(text), "\x00")
		owner, ok := lookupEnv(env, ownerKey)
		if err != nil || !ok || !slices.Contains(env, entry) || processName(pid) != "git" {
			continue
		}

		number, start, _ := strings.Cut(owner, "/")
		parent, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		st, err := readStat(parent)
		ownerEnded := err != nil || st.start != start
		if ownerEnded {
			pids = append(pids, pid)
		}
	}
	return pids
}

// startedBefore compares start times in clock ticks, as decimal numbers.
func startedBefore(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}

// allPIDs lists all process ids.
func allPIDs() (out []int) {
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
