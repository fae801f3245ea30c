package proc

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canSupervise reports whether a child can have a supervisor here.
const canSupervise = true

// Supervise is the main function of a supervisor: a process of tercet between a Starter and its
// children, one after another. It reports a child's end once all descendants are gone. As a
// subreaper it finds even those that left session and group and cleared their environment. When its
// Starter's process is gone, even by SIGKILL, it kills them all and exits.
//
// in and out are its standard input with requests and its standard output. restrict makes the
// bounds of children that have some; it may be nil if none has.
func Supervise(in io.Reader, out io.Writer, restrict Restrict) int {
	becomeSubreaper()
	if err := reserveStatus(); err != nil {
		ignore(gob.NewEncoder(out).Encode(childReport{Why: err.Error()})) // the owner may be gone
		return 1
	}

	// It mostly waits, and the runtime would wake threads for each processor.
	runtime.GOMAXPROCS(1)
	s := &supervisor{
		out:        gob.NewEncoder(out),
		childEnded: make(chan os.Signal, 1),
		restrict:   restrict,
	}

	signal.Notify(s.childEnded, unix.SIGCHLD)
	toForward := make(chan os.Signal, 8)
	signal.Notify(toForward, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go s.forwardSignals(toForward)
	evictions := make(chan os.Signal, 1)
	signal.Notify(evictions, evictSignal)
	go s.evict(evictions)
	// A report without a reader must fail: SIGPIPE would end the supervisor and leave the child.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)

	requests := make(chan startRequest)
	go s.listen(gob.NewDecoder(in), requests)
	for o := range requests {
		ignore(s.out.Encode(s.serve(o))) // the owner may be gone
	}
	return 0
}

// supervisor is the state of a supervisor process. It is safe for concurrent use.
type supervisor struct {
	out        *gob.Encoder
	childEnded chan os.Signal // SIGCHLD
	mu         sync.Mutex
	// pid of the child; 0: none. Then nothing is killed, because Command.After must not be taken
	// for a descendant.
	child     int
	ownerGone bool // the owner has ended
	evicted   bool // the child was evicted
	restrict  Restrict
}

// listen receives requests until the owner is gone, and then kills the remaining processes.
func (s *supervisor) listen(in *gob.Decoder, requests chan<- startRequest) {
	defer close(requests)
	for {
		var o startRequest
		if in.Decode(&o) != nil {
			break
		}
		requests <- o
	}
	s.mu.Lock()
	s.ownerGone = true
	child := s.child
	s.mu.Unlock()
	s.killAll(child)
}

// serve runs one child and Command.After.
func (s *supervisor) serve(o startRequest) childReport {
	pid, status, err := s.start(o)
	if err != nil {
		return childReport{Why: err.Error()}
	}
	defer status.close()
	ignore(s.out.Encode(childReport{})) // the owner may be gone
	end := s.reapAll(pid)

	s.mu.Lock()
	evicted := s.evicted
	s.child = 0
	s.evicted = false
	s.mu.Unlock()

	s.runCleanup(o.After, o.Env)
	ignore(os.Chdir("/")) // do not keep the folder busy

	if end.Signaled() {
		return childReport{
			Exit:    -1,
			Signal:  unix.SignalName(end.Signal()),
			Evicted: evicted,
		}
	}
	return childReport{
		Exit:    end.ExitStatus(),
		Evicted: evicted,
		Unbuilt: o.Status && end.ExitStatus() == 1 && !status.startedProgram(),
	}
}

// evictSignal asks a supervisor to end its child, which holds a lock that tercet waits for.
const evictSignal = unix.SIGUSR1

// evict kills the child and all descendants on request.
func (s *supervisor) evict(requests <-chan os.Signal) {
	for range requests {
		s.mu.Lock()
		child := s.child
		s.evicted = child != 0
		s.mu.Unlock()
		s.killAll(child)
	}
}

// start starts the program in the supervisor's group. Bubblewrap gets its own group: a signal to
// the group would end it and the program with it. The caller closes the status.
func (s *supervisor) start(o startRequest) (pid int, status statusPipe, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status = noStatus
	if s.ownerGone {
		return 0, status, errors.New("no process needs it any more")
	}
	defer func() {
		if err != nil {
			status.close()
		}
	}()

	attr := &syscall.ProcAttr{
		Env: o.Env,
		Sys: &syscall.SysProcAttr{Setpgid: filepath.Base(o.Path) == bubblewrap},
	}
	// Only the program may hold the streams open, so that their end shows when it has closed them.
	defer func() {
		for _, fd := range attr.Files {
			ignore(unix.Close(int(fd))) // nothing was written to it
		}
	}()
	for i, name := range o.Streams {
		flag := unix.O_WRONLY
		if i == 0 {
			flag = unix.O_RDONLY
		}
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, status, fmt.Errorf("stream %d: %w", i, err)
		}
		attr.Files = append(attr.Files, uintptr(fd))
	}
	if o.Status {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return 0, status, err
		}
		status = statusPipe(ends[0])
		attr.Files = append(attr.Files, uintptr(ends[1]))
	}

	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil { // for Command.After too
			return 0, status, err
		}
	}

	pid, err = s.fork(o, attr)
	if err == nil {
		s.child = pid
	}
	return pid, status, err
}

// fork starts the program, restricted if there are rules.
func (s *supervisor) fork(o startRequest, attr *syscall.ProcAttr) (int, error) {
	if len(o.Rules) == 0 {
		return syscall.ForkExec(o.Path, o.Argv, attr)
	}
	if s.restrict == nil {
		return 0, errors.New("this supervisor knows no bounds")
	}
	ruleset, err := s.restrict(o.Rules)
	if err != nil {
		return 0, err
	}
	if ruleset == nil {
		return syscall.ForkExec(o.Path, o.Argv, attr)
	}
	defer func() { ignore(ruleset.Close()) }() // nothing was written to it
	return forkExecRuleset(o.Path, o.Argv, attr, int(ruleset.Fd()))
}

// runCleanup runs Command.After in its own group, and waits for it and its descendants.
func (s *supervisor) runCleanup(words, env []string) {
	if len(words) == 0 {
		return
	}
	_, err := syscall.ForkExec(words[0], words, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{2, 2, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return // the owner notices what was not removed
	}

	late := time.AfterFunc(afterTimeout, func() {
		for _, child := range descendants("/proc/self", "") {
			ignore(unix.Kill(child, unix.SIGKILL)) // already gone
		}
	})
	defer late.Stop()
	for {
		if _, err := s.wait(nil); err != nil {
			return
		}
	}
}

// wait returns the next child that ended. It sleeps outside of the system call, because the runtime
// polls a thread inside one every 20 us, which used a tenth of a processor.
func (s *supervisor) wait(ws *unix.WaitStatus) (int, error) {
	for {
		pid, err := unix.Wait4(-1, ws, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil || pid > 0:
			return pid, err
		default:
			<-s.childEnded
		}
	}
}

// reapAll waits for the program, then for its descendants, which it kills after a while.
func (s *supervisor) reapAll(pid int) (end unix.WaitStatus) {
	for {
		var ws unix.WaitStatus
		reaped, err := s.wait(&ws)
		switch {
		case err != nil:
			return end
		case reaped == pid:
			end = ws
			late := time.AfterFunc(DefaultDrain, func() { s.killAll(pid) })
			defer late.Stop()
		}
	}
}

// killAll kills every descendant of a child until all have been waited for.
func (s *supervisor) killAll(child int) {
	for s.killOnce(child) {
		pause(time.Millisecond)
	}
}

// killOnce kills the descendants that it finds, and reports whether there may be more. Finding
// none proves nothing: a process that loses its parent meanwhile moves to where the search has been
// already.
func (s *supervisor) killOnce(child int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if child == 0 || s.child != child {
		return false
	}
	for _, pid := range descendants("/proc/self", "") {
		ignore(unix.Kill(pid, unix.SIGKILL)) // already gone
	}
	return true
}

// forwardSignals forwards signals to descendants that left the group, to which the signals were
// sent. A container gets them from its engine.
func (s *supervisor) forwardSignals(signals <-chan os.Signal) {
	for received := range signals {
		if sig, ok := received.(syscall.Signal); ok {
			s.forward(sig)
		}
	}
}

// forward forwards one signal. It holds the lock until its end, so that Command.After does not
// start while descendants are searched.
func (s *supervisor) forward(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == 0 {
		return
	}
	own := unix.Getpgrp()
	for _, pid := range descendants("/proc/self", "conmon") {
		group, err := unix.Getpgid(pid)
		if err != nil || group == own || processName(pid) == bubblewrap {
			continue
		}
		ignore(unix.Kill(pid, sig)) // already gone
	}
}

// bubblewrap is the name of the sandbox program.
const bubblewrap = "bwrap"

func processName(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// descendants lists all descendants of the process whose /proc folder is proc. It leaves out those
// below a program named except, because an engine watches them.
func descendants(proc, except string) []int {
	var out []int
	for _, pid := range childrenOf(proc) {
		if except != "" && processName(pid) == except {
			continue
		}
		if st, err := readStat(pid); err == nil && st.state != "Z" {
			out = append(out, pid)
		}
		out = append(out, descendants("/proc/"+strconv.Itoa(pid), except)...)
	}
	return out
}
