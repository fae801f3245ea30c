package proc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// LockHolders lists the other processes that hold a lock (flock) on a file. word is that of
// supervisors, as in IsSupervised.
func LockHolders(path, word string) (out []LockHolder) {
	file, err := os.Stat(path)
	if err != nil {
		return nil
	}
	pids := holdersByFile(file)
	if len(pids) == 0 { // processes of another user do not show their files
		pids = holdersByLockTable(file)
	}
	for _, pid := range pids {
		supervisor, _ := supervisorOf(pid, word)
		out = append(out, LockHolder{
			PID:        pid,
			Command:    commandLine(pid),
			supervisor: supervisor,
		})
	}
	return out
}

// EndWorker asks the supervisor of the process to end its child.
func (h LockHolder) EndWorker() error {
	return unix.Kill(h.supervisor, evictSignal)
}

// holdersByFile lists the processes that have the file open and locked. A lock belongs to an open
// file, and the process that took it may have passed the file on and ended.
func holdersByFile(file os.FileInfo) (out []int) {
	for _, pid := range allPIDs() {
		dir := "/proc/" + strconv.Itoa(pid)
		files, err := os.ReadDir(dir + "/fd")
		if err != nil || pid == os.Getpid() {
			continue
		}
		if slices.ContainsFunc(files, func(e os.DirEntry) bool {
			open, err := os.Stat(dir + "/fd/" + e.Name())
			if err != nil || !os.SameFile(file, open) {
				return false
			}
			info, err := os.ReadFile(dir + "/fdinfo/" + e.Name())
			return err == nil && bytes.Contains(info, []byte("FLOCK"))
		}) {
			out = append(out, pid)
		}
	}
	return out
}

// holdersByLockTable lists the processes that took a lock on the file, from /proc/locks.
func holdersByLockTable(file os.FileInfo) (out []int) {
	st, ok := file.Sys().(*syscall.Stat_t)
	text, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return nil
	}
	name := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for line := range strings.Lines(string(text)) {
		// Fields: number, kind, ADVISORY, READ or WRITE, process, file, range; -> follows the
		// number of a waiting process.
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != name {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err == nil && pid > 0 && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// commandLine returns the command line of a process, with spaces between the words; empty if it is
// unreadable. A process that is executing a new program may have none yet: then it is the process
// name.
func commandLine(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	line, err := os.ReadFile(dir + "/cmdline")
	if err == nil && len(line) == 0 {
		line, err = os.ReadFile(dir + "/comm")
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(
		strings.ReplaceAll(string(line), "\x00", " "),
		"?",
	))
}
