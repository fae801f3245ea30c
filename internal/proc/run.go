package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Run starts c, waits until it and everything it started are gone, and returns how it ended.
//
// A non-zero exit, a reached time limit and a flood are not errors: see Result. Errors are
// ErrDenied, *NotFoundError and ErrStart. Beside a valid Result the error is ErrOutput, ErrEvicted,
// or the context's if ctx ended and the child was stopped.
func (s *Starter) Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if len(c.Argv) == 0 {
		return Result{}, &NotFoundError{}
	}
	allowed := ErrNoAllow
	if s.Allow != nil {
		allowed = s.Allow(ctx, c)
	}
	if allowed != nil {
		return Result{}, failed(ErrDenied, fmt.Sprintf("%q", c), allowed)
	}
	err := checkEnv(c.Env)
	_, bad := ParsePurpose(string(c.Purpose))
	if err == nil {
		err = bad
	}
	if err != nil {
		return Result{}, c.notStarted(err)
	}
	c.fill()
	return s.run(ctx, c)
}

func (c Command) notStarted(err error) error {
	return failed(ErrStart, fmt.Sprintf("%q", c), err)
}

func (s *Starter) run(ctx context.Context, c Command) (res Result, err error) {
	env := mergeEnv(s.Env, c.Env)
	if owner, err := self(); err == nil && c.Purpose == PurposeGit {
		env = mergeEnv(env, []string{ownerKey + "=" + strconv.Itoa(owner.PID) + "/" + owner.Start})
	}
	if len(c.After) > 0 {
		last, err := look(env, "", c.After[0])
		if err != nil {
			return Result{}, err
		}
		c.After = append([]string{last}, c.After[1:]...)
	}
	var temp string
	if c.Private {
		temp = s.private()
		env = mergeEnv(env, []string{"TMPDIR=" + temp})
	}
	o := order{
		Argv:  c.Argv,
		Env:   env,
		After: c.After,
		Dir:   c.Dir,
	}
	if o.Path, err = look(env, c.Dir, o.Argv[0]); err != nil && c.Within == nil {
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
		defer k.talk.hangup()
	}
	defer func() { err = errors.Join(err, k.tidy()) }()
	begin := s.Now()
	if err := k.start(ctx, s, o); err != nil {
		return Result{}, c.notStarted(err)
	}

	stop := k.supervise(ctx)
	err = k.settle(s)
	if k.helper == nil {
		runAfter(ctx, c.After, env)
	}
	res = k.result()
	res.Duration = s.Now().Sub(begin)
	if stop == stopContext {
		err = errors.Join(ctx.Err(), err)
	}
	if k.evicted {
		return res, errors.Join(fmt.Errorf("%q: %w", c, ErrEvicted), err)
	}
	if k.talk != nil && !res.Killed {
		err = errors.Join(err, k.talk.err)
	}
	return res, err
}

// ownerKey marks a git with the process that started it: it has no supervisor, and goes on when
// that is killed.
const ownerKey = "TERCET_OWNER"

// killWait is how long a supervisor has to kill everything before it is killed itself.
const killWait = 2 * time.Second

// afterTime bounds the time of Command.After.
const afterTime = 20 * time.Second

// runAfter runs Command.After where no supervisor does.
func runAfter(ctx context.Context, words, env []string) {
	if len(words) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = env
	cmd.WaitDelay = DefaultDrain
	ignore(cmd.Run()) // what was to be removed may be gone already; a later look sees the rest
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

// child is one run. The goroutines of run, drain (two), feed, talk and wait share it; what they
// share is named here.
type child struct {
	command  Command
	grace    Grace
	temp     string
	cmd      *exec.Cmd // the supervisor, if there is one
	meter    *meter
	out, err *sink
	stdin    *os.File // write end, may be nil; closing it ends feed
	talk     *talk    // nil without a conversation
	readers  sync.WaitGroup
	others   sync.WaitGroup
	exited   chan struct{} // closed by wait when the child has ended
	reason   stopReason    // belongs to run
	helper   *helper       // nil without a supervisor
	forget   func()        // of the record
	exit     int           // code, written by wait or settle
	signal   string
	evicted  bool
}

// start opens pipes and files and starts the process. If it returns an error nothing is left open.
func (k *child) start(ctx context.Context, s *Starter, o order) (err error) {
	var ours, theirs []*os.File
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			ours = append(ours, r)
			theirs = append(theirs, w)
		}
		return r, w, err
	}
	sinkTo := func(keep int, file string) (*sink, *os.File, error) {
		r, w, err := pipe()
		if err != nil {
			return nil, nil, err
		}
		s := &sink{
			pipe: r,
			max:  keep,
			name: file,
		}
		if file != "" {
			if s.file, err = openSpill(file); err != nil {
				return nil, nil, err
			}
			ours = append(ours, s.file)
		}
		return s, w, nil
	}
	var stdin, stdout, stderr *os.File
	if k.out, stdout, err = sinkTo(k.command.StdoutCap, k.command.OutFile); err != nil {
		return err
	}

	if k.err, stderr, err = sinkTo(k.command.StderrCap, k.command.ErrFile); err != nil {
		return err
	}
	k.out.look = k.command.Watch
	if k.talk != nil {
		k.out.look = k.talk.hear(k.command.Watch)
	}
	if k.command.Stdin != nil || k.talk != nil {
		if stdin, k.stdin, err = os.Pipe(); err != nil {
			return err
		}
		ours = append(ours, k.stdin)
		theirs = append(theirs, stdin)
	}
	if s.supervised(k.command) {
		err = k.under(s, o, stdin, stdout, stderr)
	} else {
		// The context is watched by this package, which stops the whole group; os/exec would stop
		// one process.
		if err := k.prepare(&o); err != nil {
			return err
		}
		if len(o.Rules) > 0 {
			return fmt.Errorf("a program with bounds starts under a supervisor only: %w",
				errors.ErrUnsupported)
		}
		k.cmd = exec.CommandContext(context.WithoutCancel(ctx), o.Path)
		k.cmd.Args = o.Argv
		k.cmd.Dir = o.Dir
		k.cmd.Env = o.Env
		k.cmd.Stdout = stdout
		k.cmd.Stderr = stderr
		if stdin != nil {
			k.cmd.Stdin = stdin
		}
		err = launch(k.cmd)
	}
	if err == nil {
		k.attend()
	}
	return err
}

// self is this process. Its facts never change.
var self = sync.OnceValues(func() (Proc, error) { return Facts(os.Getpid()) })

// under starts the child by a supervisor, once it is recorded. If it returns an error the child is
// gone.
func (k *child) under(s *Starter, o order, streams ...*os.File) (err error) {
	if k.helper, err = s.hire(); err != nil {
		return err
	}
	k.cmd = k.helper.cmd
	owner, err := self()
	if err == nil && s.Record != nil {
		k.forget, err = s.Record(Started{
			Proc:  k.helper.Proc,
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
		err = k.helper.start(o, streams...)
	}
	if err != nil {
		k.clear(s)
	}
	return err
}

// prepare makes the private folder, which stands in the record by then, so that a process that is
// killed leaves none. Then it asks for the program with its bounds, which name what is there.
func (k *child) prepare(o *order) (err error) {
	if k.temp != "" {
		err = os.Mkdir(k.temp, 0o700)
	}
	if k.command.Within == nil || err != nil {
		return err
	}
	launch := k.command.Within(k.temp)
	o.Path = launch.Path
	o.Argv = launch.Argv
	o.Rules = launch.Rules
	if o.Path == "" {
		o.Path, err = look(o.Env, o.Dir, o.Argv[0])
	}
	return err
}

// tidy removes the private folder, and behind it the record.
func (k *child) tidy() (err error) {
	if k.temp != "" {
		err = removeTemp(k.temp)
	}
	if k.forget != nil {
		k.forget()
	}
	return err
}

// clear ends the processes that are left of the child. A supervisor that has seen the end of all of
// it is kept for the next one.
func (k *child) clear(s *Starter) {
	switch {
	case k.helper == nil:
		kill(k.cmd)
		sweep(k.cmd, k.temp)
		reap(k.cmd)
		k.exit = k.cmd.ProcessState.ExitCode()
		k.signal = signalName(k.cmd.ProcessState)
	case k.helper.well && k.reason == stopNone && s.rest(k.helper):
	default:
		kill(k.cmd)
		sweep(k.cmd, k.temp)
		k.helper.end()
	}
}

// attend starts the goroutines of the child.
func (k *child) attend() {
	k.readers.Go(func() {
		k.out.drain(k.meter)
		if k.talk != nil {
			ignore(k.talk.feed.Close()) // a pipe in memory, which cannot fail
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
	if k.helper != nil {
		n := k.helper.wait()
		k.exit = n.Exit
		k.signal = n.Signal
		k.evicted = n.Evicted
	} else {
		blockUntilExit(k.cmd)
	}
	close(k.exited)
}

// feed writes the input and closes it. A child that does not read all of it is its own business.
func (k *child) feed() {
	_, err := k.stdin.Write(k.command.Stdin)
	ignore(err)             // a broken pipe says only that the child did not want the rest
	ignore(k.stdin.Close()) // settle may have closed it first
}

// supervise returns when the process has ended; if it had to be stopped, with the reason.
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
	over := k.over()
	var late <-chan time.Time
	for {
		select {
		case <-k.exited:
			return stopNone
		case <-over:
			over = nil
			stay := time.NewTimer(k.grace.Interrupt)
			defer stay.Stop()
			late = stay.C
		case <-late:
			return k.stop(stopTalk)
		case <-k.meter.beat:
			if idle != nil {
				idle.Reset(k.command.Timeout.Idle)
			}
		case <-ctx.Done():
			return k.stop(stopContext)
		case <-total.C:
			return k.stop(stopTotal)
		case <-idleC:
			return k.stop(stopIdle)
		case <-k.meter.flood:
			return k.stop(stopFlood)
		case <-k.meter.halt:
			return k.stop(stopWatch)
		}
	}
}

// stop ends the group by and by and returns when the process has ended. A flood is not asked
// politely.
func (k *child) stop(why stopReason) stopReason {
	select {
	case <-k.exited: // it ended by itself at the same moment
		return stopNone
	default:
	}
	k.reason = why
	if why != stopFlood {
		if why != stopTalk && k.leave() {
			return why
		}
		interrupt(k.cmd)
		if k.exits(k.grace.Interrupt) {
			return why
		}
		terminate(k.cmd)
		if k.exits(k.grace.Terminate) {
			return why
		}
	}
	if k.helper == nil || !k.dismissed() {
		kill(k.cmd)
	}
	<-k.exited
	return why
}

// dismissed has the supervisor kill the child and everything it started, and reports whether it
// did.
func (k *child) dismissed() bool {
	k.helper.dismiss()
	wait := killWait
	if len(k.command.After) > 0 {
		wait += afterTime
	}
	return k.waitFor(k.exited, wait)
}

// exits gives the process time to end by itself, and reports whether it did.
func (k *child) exits(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-k.exited:
		return true
	case <-t.C:
		return false
	case <-k.grace.Over:
		return false
	}
}

func (k *child) waitFor(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// settle takes in the rest of the output, kills what the process left behind and reaps. Afterwards
// no goroutine of the run is left.
func (k *child) settle(s *Starter) error {
	eof := make(chan struct{})
	k.others.Go(func() {
		k.readers.Wait()
		close(eof)
	})
	k.waitFor(eof, k.grace.Drain)
	k.clear(s)
	k.endTalk()
	// With everybody gone the end of the stream is at hand; only a descendant that escaped can
	// still hold it.
	cut := !k.waitFor(eof, 8*k.grace.Drain)
	ignore(k.out.pipe.Close()) // it is read to its end, or closed to wake its reader
	ignore(k.err.pipe.Close()) // as above
	<-eof
	k.out.lost = k.out.lost || cut
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
		Truncated: k.out.lost || k.err.lost,
		Killed:    k.reason != stopNone,
		Flooded:   k.meter.flooded(),
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

// ignore takes an error that tells nothing new; every call says why.
func ignore(error) {}

func closeAll(files []*os.File) {
	for _, f := range files {
		ignore(f.Close()) // pipe ends, some closed before, and files to which nothing was written
	}
}
