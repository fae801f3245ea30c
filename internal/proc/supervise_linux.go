package proc

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisable tells whether a child can have a supervisor here.
const supervisable = true

// The files of a supervisor beside its streams.
const (
	fileLife = 3 // a byte in it lets the program start; its end is the end of whoever started the supervisor
	fileSaid = 4 // takes the reason why the program did not start
)

// Exit codes of a supervisor that are not those of its program.
const (
	exitUsage = 125
	exitStart = 127
	exitKill  = 137
)

// superviseDrain is how long what a program left behind may go on, as long as its owner lets it.
const superviseDrain = DefaultDrain

// Supervise is the whole life of a supervisor: a process of this program between Starter and the program it was asked
// for. words are the program's path, its name for itself and its arguments. It ends as the program ended, once nothing
// that the program started is left: being a subreaper, it finds descendants that left session and group and cleared
// their environment. When whoever started it is gone, killed without warning or not, it kills them all and ends. enter
// may be nil.
func Supervise(words, env []string, enter Enter) int {
	after, words := cutAfter(words)
	if len(words) < 2 {
		return exitUsage
	}
	unix.CloseOnExec(fileLife)
	unix.CloseOnExec(fileSaid)
	life, said := os.NewFile(fileLife, "life"), os.NewFile(fileSaid, "said")
	if life == nil || said == nil {
		return exitUsage
	}
	adopt()
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	if n, err := life.Read(make([]byte, 1)); n != 1 || err != nil {
		return exitKill
	}
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{}}
	path, argv := words[0], words[1:]
	if enter != nil {
		path, argv, attr.Sys.Setpgid = enter(path, argv)
	}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		_, werr := said.WriteString(err.Error())
		ignore(werr) // whoever asked is gone
		return exitStart
	}
	letGo()
	ignore(said.Close()) // its end says that the program runs
	h := &hunter{}
	go h.pass(asked)
	go func() {
		_, err := life.Read(make([]byte, 1))
		ignore(err) // any end of the file is the end of the owner
		h.killAll()
	}()
	end := h.reapAll(pid)
	if len(after) > 0 {
		h.rest()
		runLast(after, env)
	}
	return mimic(end)
}

// hunter kills what a program left behind. Once it rests it leaves everybody alone, so that what is run last is not
// taken for a descendant. It is safe for concurrent use.
type hunter struct {
	mu    sync.Mutex
	rests bool
}

func (h *hunter) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rests = true
}

// runLast runs Command.After in a group of its own, and waits for it and for what it leaves behind.
func runLast(words, env []string) {
	pid, err := syscall.ForkExec(
		words[0], words, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}},
	)
	if err != nil {
		return // its owner finds out when it looks
	}
	late := time.AfterFunc(afterTime, func() {
		for _, child := range append(descendants("/proc/self"), pid) {
			ignore(unix.Kill(child, unix.SIGKILL)) // one that is gone needs no signal
		}
	})
	defer late.Stop()
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		if err != nil && err != unix.EINTR {
			return
		}
	}
}

// letGo gives up the streams, which belong to the program now: their ends must show when it has closed them.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the ends show when this process ends, which is soon after
	}
	for fd := range 3 {
		ignore(unix.Dup3(null, fd, 0)) // as above
	}
	ignore(unix.Close(null)) // nothing was written to it
}

// reapAll waits for the program, then for what it left behind, which it kills after a while.
func (h *hunter) reapAll(pid int) (end unix.WaitStatus) {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return end
		case got == pid:
			end = ws
			late := time.AfterFunc(superviseDrain, h.killAll)
			defer late.Stop()
		}
	}
}

// killAll kills every descendant until there is none.
func (h *hunter) killAll() {
	for h.killSome() {
		pause(time.Millisecond)
	}
}

// killSome kills who is there and reports whether anybody was.
func (h *hunter) killSome() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rests {
		return false
	}
	list := descendants("/proc/self")
	for _, pid := range list {
		ignore(unix.Kill(pid, unix.SIGKILL)) // one that is gone needs no signal
	}
	return len(list) > 0
}

// pass hands signals on to those who left the group, to which they were sent. Bubblewrap stands in a group of its own,
// because it would die of them and take the program along; to a container its engine hands them on.
func (h *hunter) pass(asked <-chan os.Signal) {
	for s := range asked {
		if sig, ok := s.(syscall.Signal); ok {
			h.passOne(sig)
		}
	}
}

// passOne holds the lock to its end: what is run last must not begin while the descendants of before are looked for.
func (h *hunter) passOne(sig syscall.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rests {
		return
	}
	own := unix.Getpgrp()
	for _, pid := range uncontained("/proc/self") {
		group, err := unix.Getpgid(pid)
		if err != nil || group == own || comm(pid) == "bwrap" {
			continue
		}
		ignore(unix.Kill(pid, sig)) // one that is gone needs no signal
	}
}

func comm(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// uncontained is descendants without those that an engine watches.
func uncontained(proc string) []int {
	var out []int
	for _, pid := range childrenOf(proc) {
		if comm(pid) == "conmon" {
			continue
		}
		out = append(append(out, pid), uncontained("/proc/"+strconv.Itoa(pid))...)
	}
	return out
}

// descendants lists the children of the process whose folder is proc, their children, and so on.
func descendants(proc string) []int {
	var out []int
	for _, pid := range childrenOf(proc) {
		if st, err := readStat(pid); err == nil && st.state != "Z" {
			out = append(out, pid)
		}
		out = append(out, descendants("/proc/"+strconv.Itoa(pid))...)
	}
	return out
}

// mimic ends as the program ended: with its exit code, or by the signal that ended it.
func mimic(ws unix.WaitStatus) int {
	if !ws.Signaled() {
		return ws.ExitStatus()
	}
	ignore(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})) // a second core would hide the first
	signal.Reset(ws.Signal())
	ignore(unix.Kill(os.Getpid(), ws.Signal())) // if it comes back, the code below says the same
	pause(100 * time.Millisecond)
	return 128 + int(ws.Signal())
}
