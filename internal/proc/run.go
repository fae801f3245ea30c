package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Run starts c, waits until it and all its descendants are gone, and returns how it ended.
//
// A non-zero exit, a reached time limit and a flood are not errors: see Result. Errors are
// ErrDenied, *NotFoundError and ErrStart. With a valid Result the error is ErrOutput, ErrEvicted,
// or the context's if ctx ended and the child was stopped.
func (s *Starter) Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if len(c.Argv) == 0 {
		return Result{}, &NotFoundError{}
	}

	denied := ErrNoAllow
	if s.Allow != nil {
		denied = s.Allow(ctx, c)
	}
	if denied != nil {
		return Result{}, wrapError(ErrDenied, fmt.Sprintf("%q", c), denied)
	}

	err := checkEnv(c.Env)
	if err == nil {
		_, err = ParsePurpose(string(c.Purpose))
	}
	if err != nil {
		return Result{}, c.startError(err)
	}

	c.fill()
	for attempt := 1; ; attempt++ {
		res, err := s.run(ctx, c)
		if !errors.Is(err, errSandboxFailed) || attempt == maxSandboxAttempts || ctx.Err() != nil {
			return res, err
		}
	}
}

// maxSandboxAttempts is how often a sandbox is made for one child. A file that it covers may be
// removed at the moment it is made: other programs come and go.
const maxSandboxAttempts = 5

func (c Command) startError(err error) error {
	return wrapError(ErrStart, fmt.Sprintf("%q", c), err)
}

// run prepares environment and folder of the child, starts it, and waits for its end.
func (s *Starter) run(ctx context.Context, c Command) (res Result, err error) {
	env := mergeEnv(s.Env, c.Env)
	if owner, err := ownProc(); err == nil && c.Purpose == PurposeGit {
		env = mergeEnv(env, []string{ownerKey + "=" + strconv.Itoa(owner.PID) + "/" + owner.Start})
	}
	if len(c.After) > 0 {
		path, err := lookPath(env, "", c.After[0])
		if err != nil {
			return Result{}, err
		}
		c.After = append([]string{path}, c.After[1:]...)
	}

	var temp string
	if c.Private {
		temp = s.tempName()
		env = mergeEnv(env, []string{"TMPDIR=" + temp})
	}

	o := startRequest{
		Argv:  c.Argv,
		Env:   env,
		After: c.After,
		Dir:   c.Dir,
	}
	o.Path, err = lookPath(env, c.Dir, o.Argv[0])
	if err != nil && c.Wrap == nil {
		return Result{}, err
	}

	k := &child{
		command: c,
		grace:   s.Grace,
		temp:    temp,
		meter:   newMeter(c.Limit),
		exited:  make(chan struct{}),
	}
	if c.Talk != nil {
		k.talk = newTalk(ctx, c.Talk)
		defer k.talk.cancel()
	}
	defer func() { err = errors.Join(err, k.cleanup()) }()

	begin := s.Now()
	if err := k.start(ctx, s, o); err != nil {
		return Result{}, c.startError(err)
	}

	stop := k.supervise(ctx)
	err = k.finish(s)
	if k.supervisor == nil {
		runAfter(ctx, c.After, env)
	}

	res = k.result()
	res.Duration = s.Now().Sub(begin)
	if stop == stopContext {
		err = errors.Join(ctx.Err(), err)
	}
	if k.unbuilt && stop == stopNone {
		return Result{}, c.startError(fmt.Errorf("%w: %s", errSandboxFailed, lastLine(res.Stderr)))
	}
	if k.evicted {
		return res, errors.Join(fmt.Errorf("%q: %w", c, ErrEvicted), err)
	}
	if k.talk != nil && !res.Killed {
		err = errors.Join(err, k.talk.err)
	}
	return res, err
}

// ownerKey is a variable that marks a git with the process that started it: git has no supervisor,
// and survives if that process is killed.
const ownerKey = "TERCET_OWNER"

// killTimeout is how long a supervisor may take to kill everything before it is killed itself.
const killTimeout = 2 * time.Second

// afterTimeout bounds Command.After.
const afterTimeout = 20 * time.Second

// runAfter runs Command.After if there is no supervisor.
func runAfter(ctx context.Context, words, env []string) {
	if len(words) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = env
	cmd.WaitDelay = DefaultDrain
	ignore(cmd.Run()) // the target may be gone already
}

// stopReason is why a child was stopped.
type stopReason string

const (
	stopNone    stopReason = ""
	stopContext stopReason = "context"
	stopTotal   stopReason = "total"
	stopIdle    stopReason = "idle"
	stopFlood   stopReason = "flood"
	stopWatch   stopReason = "watch"
	stopTalk    stopReason = "talk"
)

// child is one run. Its goroutines are those of run, drain (two), feed, talk and wait. The comments
// below name the owner of shared fields.
type child struct {
	command    Command
	grace      Grace
	temp       string
	cmd        *exec.Cmd // the supervisor, if there is one
	meter      *meter
	out, err   *sink
	stdin      *os.File // write end, may be nil; closing it ends feed
	talk       *talk    // nil without a conversation
	readers    sync.WaitGroup
	others     sync.WaitGroup
	exited     chan struct{}     // closed by wait when the child has ended
	reason     stopReason        // owned by run
	supervisor *supervisorClient // nil without a supervisor
	forget     func()            // removes the record
	exit       int               // exit code, set by wait or finish
	signal     string
	evicted    bool
	unbuilt    bool // as in childReport
}

// start opens pipes and files and starts the process. If it returns an error nothing is left open.
func (k *child) start(ctx context.Context, s *Starter, o startRequest) (err error) {
	var parentEnds, childEnds []*os.File
	defer func() {
		closeAll(childEnds)
		if err != nil {
			closeAll(parentEnds)
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			parentEnds = append(parentEnds, r)
			childEnds = append(childEnds, w)
		}
		return r, w, err
	}
	sinkTo := func(keep int, file string) (*sink, *os.File, error) {
		r, w, err := pipe()
		if err != nil {
			return nil, nil, err
		}
		s := &sink{
			pipe:  r,
			limit: keep,
			name:  file,
		}
		if file != "" {
			s.file, err = openSpill(file)
			if err != nil {
				return nil, nil, err
			}
			parentEnds = append(parentEnds, s.file)
		}
		return s, w, nil
	}

	var stdin, stdout, stderr *os.File
	k.out, stdout, err = sinkTo(k.command.StdoutCap, k.command.OutFile)
	if err != nil {
		return err
	}

	k.err, stderr, err = sinkTo(k.command.StderrCap, k.command.ErrFile)
	if err != nil {
		return err
	}
	k.out.watch = k.command.Watch
	if k.talk != nil {
		k.out.watch = k.talk.tee(k.command.Watch)
	}
	if k.command.Stdin != nil || k.talk != nil {
		stdin, k.stdin, err = os.Pipe()
		if err != nil {
			return err
		}
		parentEnds = append(parentEnds, k.stdin)
		childEnds = append(childEnds, stdin)
	}

	if s.needsSupervisor(k.command) {
		err = k.startSupervised(s, o, stdin, stdout, stderr)
	} else {
		err = k.startDirectly(ctx, o, stdin, stdout, stderr)
	}
	if err == nil {
		k.startGoroutines()
	}
	return err
}

// startDirectly starts the child as a child of this process.
func (k *child) startDirectly(
	ctx context.Context,
	o startRequest,
	stdin, stdout, stderr *os.File,
) error {
	if err := k.prepare(&o); err != nil {
		return err
	}
	if len(o.Rules) > 0 {
		return fmt.Errorf("a program with bounds starts under a supervisor only: %w",
			errors.ErrUnsupported)
	}

	// This package stops the whole group when ctx ends; os/exec would stop one process.
	k.cmd = exec.CommandContext(context.WithoutCancel(ctx), o.Path)
	k.cmd.Args = o.Argv
	k.cmd.Dir = o.Dir
	k.cmd.Env = o.Env
	k.cmd.Stdout = stdout
	k.cmd.Stderr = stderr
	if stdin != nil { // a nil *os.File in the interface would not be nil
		k.cmd.Stdin = stdin
	}
	return launch(k.cmd)
}

// ownProc identifies this process.
var ownProc = sync.OnceValues(func() (Proc, error) { return Identify(os.Getpid()) })

// startSupervised records the child and starts it by a supervisor. If it returns an error the child
// is gone.
func (k *child) startSupervised(s *Starter, o startRequest, streams ...*os.File) (err error) {
	k.supervisor, err = s.acquireSupervisor()
	if err != nil {
		return err
	}
	k.cmd = k.supervisor.cmd

	owner, err := ownProc()
	if err == nil && s.Record != nil {
		k.forget, err = s.Record(Started{
			Proc:  k.supervisor.Proc,
			Owner: owner,
			Temp:  k.temp,
			Name:  k.command.Argv[0],
			After: k.command.After,
		})
	}
	if err == nil {
		err = k.prepare(&o)
	}
	if err == nil {
		err = k.supervisor.start(o, streams...)
	}
	if err != nil {
		k.endProcesses(s)
	}
	return err
}

// prepare makes the private folder, which is recorded by then, so that a killed process leaves
// none. Then it asks for the launch, which may refer to the folder.
func (k *child) prepare(o *startRequest) (err error) {
	if k.temp != "" {
		err = os.Mkdir(k.temp, 0o700)
	}
	if k.command.Wrap == nil || err != nil {
		return err
	}
	launch := k.command.Wrap(k.temp)
	o.Path = launch.Path
	o.Argv = launch.Argv
	o.Rules = launch.Rules
	o.Status = launch.Status
	if o.Path == "" {
		o.Path, err = lookPath(o.Env, o.Dir, o.Argv[0])
	}
	return err
}

// cleanup removes the private folder, then the record.
func (k *child) cleanup() (err error) {
	if k.temp != "" {
		err = removeTemp(k.temp)
	}
	if k.forget != nil {
		k.forget()
	}
	return err
}

// endProcesses ends the remaining processes of the child. A supervisor that has reaped all of them
// is kept for the next child.
func (k *child) endProcesses(s *Starter) {
	switch {
	case k.supervisor == nil:
		kill(k.cmd)
		sweep(k.cmd, k.temp)
		reap(k.cmd)
		k.exit = k.cmd.ProcessState.ExitCode()
		k.signal = signalName(k.cmd.ProcessState)
	case k.supervisor.clean && k.reason == stopNone && s.releaseSupervisor(k.supervisor):
	default:
		kill(k.cmd)
		sweep(k.cmd, k.temp)
		k.supervisor.kill()
	}
}

// startGoroutines starts the goroutines of the child.
func (k *child) startGoroutines() {
	k.readers.Go(func() {
		k.out.drain(k.meter)
		if k.talk != nil {
			ignore(k.talk.w.Close()) // an in-memory pipe
		}
	})
	k.readers.Go(func() { k.err.drain(k.meter) })
	k.others.Go(k.wait)
	switch {
	case k.talk != nil:
		k.talk.in = k.stdin
		k.others.Go(k.talk.run)
	case k.stdin != nil:
		k.others.Go(k.feed)
	}
}

// wait closes exited when the process has ended.
func (k *child) wait() {
	if k.supervisor != nil {
		report := k.supervisor.wait()
		k.exit = report.Exit
		k.signal = report.Signal
		k.evicted = report.Evicted
		k.unbuilt = report.Unbuilt
	} else {
		blockUntilExit(k.cmd)
	}
	close(k.exited)
}

// feed writes the input and closes it. A child need not read all of it.
func (k *child) feed() {
	_, err := k.stdin.Write(k.command.Stdin)
	ignore(err)             // the child may not read all of it
	ignore(k.stdin.Close()) // finish may have closed it first
}

// supervise waits until the process has ended and returns the reason if it had to be stopped.
func (k *child) supervise(ctx context.Context) stopReason {
	total := time.NewTimer(k.command.Timeout.Total)
	defer total.Stop()
	var idle *time.Timer
	var idleC <-chan time.Time
	if d := k.command.Timeout.Idle; d > 0 {
		idle = time.NewTimer(d)
		defer idle.Stop()
		idleC = idle.C
	}

	talkDone := k.talkDone()
	var late <-chan time.Time
	for {
		select {
		case <-k.exited:
			return stopNone
		case <-talkDone:
			talkDone = nil
			stay := time.NewTimer(k.grace.Interrupt)
			defer stay.Stop()
			late = stay.C
		case <-late:
			return k.stop(stopTalk)
		case <-k.meter.activity:
			if idle != nil {
				idle.Reset(k.command.Timeout.Idle)
			}
		case <-ctx.Done():
			return k.stop(stopContext)
		case <-total.C:
			return k.stop(stopTotal)
		case <-idleC:
			return k.stop(stopIdle)
		case <-k.meter.overflow:
			return k.stop(stopFlood)
		case <-k.meter.stopRequest:
			return k.stop(stopWatch)
		}
	}
}

// stop ends the group step by step and returns when the process has ended. A flood is killed at
// once.
func (k *child) stop(why stopReason) stopReason {
	select {
	case <-k.exited: // it ended by itself at the same moment
		return stopNone
	default:
	}

	k.reason = why
	if why != stopFlood {
		if why != stopTalk && k.cancelTalk() {
			return why
		}
		interrupt(k.cmd)
		if k.exitsWithin(k.grace.Interrupt) {
			return why
		}
		terminate(k.cmd)
		if k.exitsWithin(k.grace.Terminate) {
			return why
		}
	}
	if k.supervisor == nil || !k.endBySupervisor() {
		kill(k.cmd)
	}
	<-k.exited
	return why
}

// endBySupervisor lets the supervisor kill the child and all descendants, and reports whether it
// did.
func (k *child) endBySupervisor() bool {
	k.supervisor.requestEnd()
	wait := killTimeout
	if len(k.command.After) > 0 {
		wait += afterTimeout
	}
	return k.waitClosed(k.exited, wait)
}

// exitsWithin waits for the process to end by itself, and reports whether it did.
func (k *child) exitsWithin(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-k.exited:
		return true
	case <-t.C:
		return false
	case <-k.grace.Abort:
		return false
	}
}

// waitClosed waits at most d until done is closed, and reports whether it is.
func (k *child) waitClosed(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// finish reads the rest of the output, kills what the process left behind, and reaps. Afterwards
// all goroutines of the run have ended.
func (k *child) finish(s *Starter) error {
	eof := make(chan struct{})
	k.others.Go(func() {
		k.readers.Wait()
		close(eof)
	})
	k.waitClosed(eof, k.grace.Drain)
	k.endProcesses(s)
	k.finishTalk()

	// All processes are gone, so the end of the stream must follow; only a descendant that escaped
	// can still hold it open.
	cut := !k.waitClosed(eof, 8*k.grace.Drain)
	ignore(k.out.pipe.Close()) // read to its end, or closed to wake the reader
	ignore(k.err.pipe.Close()) // as above
	<-eof
	k.out.truncated = k.out.truncated || cut
	if k.stdin != nil {
		ignore(k.stdin.Close()) // feed may have closed it first
	}
	k.others.Wait()
	return errors.Join(k.out.close(), k.err.close())
}

func (k *child) result() Result {
	r := Result{
		Exit:      k.exit,
		Signal:    k.signal,
		Stdout:    k.out.buf,
		Stderr:    k.err.buf,
		Truncated: k.out.truncated || k.err.truncated,
		Killed:    k.reason != stopNone,
		Flooded:   k.meter.isFlooded(),
		Stopped:   k.reason == stopWatch || k.reason == stopTalk,
	}
	switch k.reason {
	case stopTotal:
		r.TimedOut = TimeoutTotal
	case stopIdle:
		r.TimedOut = TimeoutIdle
	case stopNone, stopContext, stopFlood, stopWatch, stopTalk:
	}
	return r
}

// lastLine is the last line of a text that is not empty.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// ignore discards an error; each call says why.
func ignore(error) {}

func closeAll(files []*os.File) {
	for _, f := range files {
		ignore(f.Close()) // some are closed already, and nothing was written to the files
	}
}
