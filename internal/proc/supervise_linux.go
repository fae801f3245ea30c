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

// supervisable tells whether a child can have a supervisor here.
const supervisable = true

// Supervise is the main function of a supervisor: a process of tercet between a Starter and its
// children, one after another. It reports a child's end once all descendants are gone. As a
// subreaper it finds even those that left session and group and cleared their environment. When its
// Starter's process is gone, even by SIGKILL, it kills them all and ends.
//
// in and out are its standard input, with its orders, and its standard output. restrict makes the
// bounds of children that have some; it may be nil if none has.
func Supervise(in io.Reader, out io.Writer, restrict Restrict) int {
	adopt()
	// it waits, and the runtime wakes threads for each processor that it may use
	runtime.GOMAXPROCS(1)
	s := &supervisor{
		tell:     gob.NewEncoder(out),
		ended:    make(chan os.Signal, 1),
		restrict: restrict,
	}
	signal.Notify(s.ended, unix.SIGCHLD)
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go s.pass(asked)
	evict := make(chan os.Signal, 1)
	signal.Notify(evict, evictSignal)
	go s.evict(evict)
	// An answer without a reader must fail: its signal would end the supervisor, and the child
	// would stay.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	orders := make(chan order)
	go s.listen(gob.NewDecoder(in), orders)
	for o := range orders {
		ignore(s.tell.Encode(s.serve(o))) // the process that asked may be gone
	}
	return 0
}

// supervisor has the child of one order. It is safe for concurrent use.
type supervisor struct {
	tell  *gob.Encoder
	ended chan os.Signal // a child ended, or several did
	mu    sync.Mutex
	// 0: none; then everybody is left alone: what is run last must not be taken for a descendant
	child int
	gone  bool // the owner

	evicted bool // the child

	restrict Restrict
}

// listen takes orders until the owner is gone, and then kills whom it left.
func (s *supervisor) listen(in *gob.Decoder, orders chan<- order) {
	defer close(orders)
	for {
		var o order
		if in.Decode(&o) != nil {
			break
		}
		orders <- o
	}
	s.mu.Lock()
	s.gone = true
	child := s.child
	s.mu.Unlock()
	s.killAll(child)
}

// serve runs one child and what comes after it.
func (s *supervisor) serve(o order) news {
	pid, err := s.start(o)
	if err != nil {
		return news{Why: err.Error()}
	}
	ignore(s.tell.Encode(news{})) // the process that asked may be gone
	end := s.reapAll(pid)
	s.mu.Lock()
	evicted := s.evicted
	s.child = 0
	s.evicted = false
	s.mu.Unlock()
	s.runLast(o.After, o.Env)
	ignore(os.Chdir("/")) // the supervisor keeps no folder busy
	if end.Signaled() {
		return news{
			Exit:    -1,
			Signal:  unix.SignalName(end.Signal()),
			Evicted: evicted,
		}
	}
	return news{Exit: end.ExitStatus(), Evicted: evicted}
}

// evictSignal asks a supervisor to end its child, which holds a lock that another process of tercet
// waits for.
const evictSignal = unix.SIGUSR1

// evict kills the child, with all that it started, when it is asked to.
func (s *supervisor) evict(asked <-chan os.Signal) {
	for range asked {
		s.mu.Lock()
		child := s.child
		s.evicted = child != 0
		s.mu.Unlock()
		s.killAll(child)
	}
}

// start starts the program in the supervisor's group. Bubblewrap gets one of its own: it would die
// of a signal to the group and take the program along.
func (s *supervisor) start(o order) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return 0, errors.New("no process needs it any more")
	}

	attr := &syscall.ProcAttr{
		Env: o.Env,
		Sys: &syscall.SysProcAttr{Setpgid: filepath.Base(o.Path) == bubblewrap},
	}
	// The streams belong to the program alone: their ends must show when it has closed them.
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
			return 0, fmt.Errorf("stream %d: %w", i, err)
		}
		attr.Files = append(attr.Files, uintptr(fd))
	}

	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil { // what comes after the program works there too
			return 0, err
		}
	}
	pid, err := s.fork(o, attr)
	if err == nil {
		s.child = pid
	}
	return pid, err
}

// fork starts the program, within its bounds if it has some.
func (s *supervisor) fork(o order, attr *syscall.ProcAttr) (int, error) {
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

// runLast runs Command.After in a group of its own, and waits for it and for what it leaves behind.
func (s *supervisor) runLast(words, env []string) {
	if len(words) == 0 {
		return
	}
	pid, err := syscall.ForkExec(words[0], words, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{2, 2, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return // its owner finds out when it looks
	}
	late := time.AfterFunc(afterTime, func() {
		for _, child := range append(descendants("/proc/self", ""), pid) {
			ignore(unix.Kill(child, unix.SIGKILL)) // one that is gone needs no signal
		}
	})
	defer late.Stop()
	for {
		if _, err := s.wait(nil); err != nil {
			return
		}
	}
}

// wait gives the next child that ended. It sleeps outside of the system call: the runtime looks at
// a thread within one every 20 us, which took a tenth of a processor.
func (s *supervisor) wait(ws *unix.WaitStatus) (int, error) {
	for {
		pid, err := unix.Wait4(-1, ws, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil || pid > 0:
			return pid, err
		default:
			<-s.ended
		}
	}
}

// reapAll waits for the program, then for what it left behind, which it kills after a while.
func (s *supervisor) reapAll(pid int) (end unix.WaitStatus) {
	for {
		var ws unix.WaitStatus
		got, err := s.wait(&ws)
		switch {
		case err != nil:
			return end
		case got == pid:
			end = ws
			late := time.AfterFunc(DefaultDrain, func() { s.killAll(pid) })
			defer late.Stop()
		}
	}
}

// killAll kills every descendant of a child until all have been waited for.
func (s *supervisor) killAll(child int) {
	for s.killSome(child) {
		pause(time.Millisecond)
	}
}

// killSome kills the descendants that it finds, and reports whether there may be more. Finding none
// proves nothing: a process that loses its parent meanwhile moves to where the search has been
// already.
func (s *supervisor) killSome(child int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if child == 0 || s.child != child {
		return false
	}
	for _, pid := range descendants("/proc/self", "") {
		ignore(unix.Kill(pid, unix.SIGKILL)) // one that is gone needs no signal
	}
	return true
}

// pass hands signals on to those who left the group, to which they were sent. To a container its
// engine hands them on.
func (s *supervisor) pass(asked <-chan os.Signal) {
	for one := range asked {
		if sig, ok := one.(syscall.Signal); ok {
			s.passOne(sig)
		}
	}
}

// passOne holds the lock to its end: what is run last must not begin while the descendants of
// before are looked for.
func (s *supervisor) passOne(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == 0 {
		return
	}
	own := unix.Getpgrp()
	for _, pid := range descendants("/proc/self", "conmon") {
		group, err := unix.Getpgid(pid)
		if err != nil || group == own || comm(pid) == bubblewrap {
			continue
		}
		ignore(unix.Kill(pid, sig)) // one that is gone needs no signal
	}
}

// bubblewrap is the name of the program that makes a container of its child.
const bubblewrap = "bwrap"

func comm(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// descendants lists the children of the process whose folder is proc, their children, and so on.
// Those below a program of the name but are left out: an engine watches over them.
func descendants(proc, but string) []int {
	var out []int
	for _, pid := range childrenOf(proc) {
		if but != "" && comm(pid) == but {
			continue
		}
		if st, err := readStat(pid); err == nil && st.state != "Z" {
			out = append(out, pid)
		}
		out = append(out, descendants("/proc/"+strconv.Itoa(pid), but)...)
	}
	return out
}
