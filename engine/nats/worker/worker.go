// Package worker takes runs of a team and has tercet work on each in a clone.
package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/project"
	"tercet/team"
)

// Config is what a worker is started with.
type Config struct {
	Member  link.Member
	Dir     string              // the clone
	Main    string              // the clone in which the user agreed to the files of the project
	Slot    int                 // 1 is the first one
	Clone   *project.CloneState // as it was looked at a moment ago; nil: it was not
	Labels  []string
	Drained <-chan struct{} // closed: no further run is taken; nil: never
	Program string          // tercet
	Version string          // of it
	Tell    func(format string, args ...any)
}

// Worker works on one run after another.
type Worker struct {
	cfg  Config
	conn *link.Conn

	clone    project.CloneState
	prepared time.Time // zero: the clone is to be looked at

	mu   sync.Mutex
	id   string        // of the job at work
	stop func()        // ends the process of the run
	beat time.Duration // between signs of life
	last link.Report   // how the last process ended
}

var _ team.Queue = (*Worker)(nil)

// Run works until the context ends. What is at work then is suspended at the next line of its
// journal, and another worker goes on with it.
func Run(ctx context.Context, cfg Config) error {
	conn, err := link.Connect(cfg.Member)
	if err != nil {
		return err
	}
	defer conn.Close()

	w := &Worker{cfg: cfg, conn: conn, beat: time.Second}
	if cfg.Clone != nil {
		w.clone = *cfg.Clone
		w.prepared = time.Now()
	}

	name := cfg.name()
	cfg.Tell("worker %s: ready in %s", name, cfg.Dir)
	run := team.Worker{Name: name, Beat: w.beat, Start: w.start, Tell: cfg.Tell}

	err = run.Work(ctx, w)
	if errors.Is(err, errDrained) {
		cfg.Tell("worker %s: takes no more runs", name)
		return nil
	}
	return err
}

func (c Config) name() string {
	if c.Slot <= 1 {
		return c.Member.Name
	}
	return fmt.Sprintf("%s/%d", c.Member.Name, c.Slot)
}

// errDrained means that a worker was told to take no more runs.
var errDrained = errors.New("the worker takes no more runs")

func (w *Worker) isDrained() bool {
	select {
	case <-w.cfg.Drained: // a nil channel is never ready
		return true
	default:
		return false
	}
}

// Submit is refused: a worker takes runs, and persons submit lines.
func (w *Worker) Submit(context.Context, team.Job) error {
	return formats.Fail(formats.CodeDenied, "tercet --on team LINE", "a worker submits no line")
}

// Waiting lists the runs that no worker has.
func (w *Worker) Waiting(ctx context.Context) ([]team.Job, error) {
	var now link.Team
	if err := w.conn.Ask(ctx, link.State, struct{}{}, &now); err != nil {
		return nil, err
	}
	var list []team.Job
	for _, r := range now.Runs {
		if r.State == "queued" {
			list = append(list, team.Job{Run: r.Run, Line: r.Line})
		}
	}
	return list, nil
}

// answerGrace is how long a worker that was told to stop waits for the answer to its last question.
const answerGrace = 3 * time.Second

// Take waits for a job. A hub that is away is waited for.
func (w *Worker) Take(ctx context.Context, _ string) (team.Lease, error) {
	const patience = 10 * time.Second
	for {
		if w.isDrained() {
			return team.Lease{}, errDrained
		}
		if err := w.refreshClone(ctx); err != nil && ctx.Err() == nil {
			return team.Lease{}, err
		}

		// an answer that is on its way may be a run, which nobody else would get for a while
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(answerGrace, cancel) })

		var given link.TakeReply
		err := w.conn.Ask(within, link.Take, link.TakeRequest{
			Slot:    w.cfg.Slot,
			Version: w.cfg.Version,
			Labels:  w.cfg.Labels,
			Files:   w.clone.Files,
			Base:    w.clone.Base,
			Refuses: w.clone.Refuses,
		}, &given)
		stop()
		cancel()

		switch {
		case ctx.Err() != nil && given.ID != "":
			return team.Lease{}, errors.Join(context.Cause(ctx), w.reportDone(given.ID))
		case ctx.Err() != nil:
			return team.Lease{}, context.Cause(ctx)
		case w.conn.IsClosed():
			return team.Lease{}, w.conn.Refused()
		case err != nil:
			time.Sleep(w.beat)
		case given.Fault != nil:
			return team.Lease{}, given.Fault.Err()
		case given.ID == "" && given.Base != "":
			if err := w.prepareClone(ctx, given.Base); err != nil && ctx.Err() == nil {
				return team.Lease{}, err
			}
		case given.ID != "":
			w.mu.Lock()
			w.id = given.ID
			w.mu.Unlock()
			w.prepared = time.Time{} // the run changes the clone
			return team.Lease{
				Job:     team.Job{Run: given.Run, Line: given.Line},
				Extend:  func() error { return w.extend(ctx, given.ID) },
				Done:    func() error { return w.reportDone(given.ID) },
				Requeue: func(time.Duration) error { return w.reportDone(given.ID) },
			}, nil
		}
	}
}

// extend tells the hub that the worker is alive.
func (w *Worker) extend(ctx context.Context, id string) error {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var told link.ReportReply
	err := w.conn.Ask(within, link.Beat, link.Report{ID: id}, &told)

	w.mu.Lock()
	defer w.mu.Unlock()
	// the hub closes the connection for good if the worker was removed
	if (told.Stop || w.conn.IsClosed()) && w.id == id && w.stop != nil {
		w.stop()
	}
	return err
}

// reportDone tells the hub how the process of a run ended.
func (w *Worker) reportDone(id string) error {
	within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	w.mu.Lock()
	r := w.last
	r.ID = id
	w.mu.Unlock()
	return w.conn.Ask(within, link.Done, r, &link.ReportReply{})
}

// start has tercet work on a run. The process reaches its home through a connection that no other
// process has: it inherits it, and keeps it from its children.
func (w *Worker) start(ctx context.Context, j team.Job) error {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	own := os.NewFile(uintptr(pair[0]), "run")
	theirs := os.NewFile(uintptr(pair[1]), "worker")

	w.mu.Lock()
	id := w.id
	w.mu.Unlock()
	//nolint:gosec,noctx // tercet itself, which is ended by a signal
	cmd := exec.Command(w.cfg.Program, "__team", j.Run, strings.ToLower(id), w.cfg.Main)
	cmd.Dir = w.cfg.Dir
	cmd.Env = append(withoutJoinWord(os.Environ()), "TERCET_NO_INPUT=1")
	cmd.ExtraFiles = []*os.File{theirs}

	var out, said bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &said

	err = cmd.Start()
	if cerr := theirs.Close(); err != nil || cerr != nil {
		return errors.Join(err, cerr, own.Close())
	}

	var once sync.Once
	stop := func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		})
	}
	w.mu.Lock()
	w.stop = stop
	w.mu.Unlock()

	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			stop()
		case <-ended:
		}
	}()

	relayed := make(chan error, 1)
	answer, end := w.relay(id)
	go func() {
		relayed <- team.Relay(own, answer)
		end()
	}()

	_ = cmd.Wait() //nolint:errcheck // its exit code says how it ended
	close(ended)
	if err := <-relayed; err != nil && !errors.Is(err, io.EOF) {
		w.cfg.Tell("run %s: its connection to the worker: %s", j.Run, err)
	}

	w.mu.Lock()
	w.stop = nil
	r := parseReport(out.Bytes(), said.String())
	r.Code = cmd.ProcessState.ExitCode()
	w.last = r
	w.mu.Unlock()
	w.cfg.Tell("worker %s: run %s %s: exit %d: %s", w.cfg.name(), j.Run, j.Line, r.Code, r.Said)
	return own.Close()
}

// withoutJoinWord takes the secret of the team out of the variables of a run.
func withoutJoinWord(env []string) []string {
	return slices.DeleteFunc(env, func(one string) bool {
		return strings.HasPrefix(one, JoinVariable+"=")
	})
}

// relay passes a call of a run to the hub. Without an answer the run has lost its home.
func (w *Worker) relay(id string) (answer func(call []byte) []byte, end func()) {
	var objects *link.Objects
	open := func(ctx context.Context) (err error) {
		if objects == nil {
			objects, err = w.conn.Objects(ctx, id)
		}
		return err
	}

	ask := func(ctx context.Context, call []byte) ([]byte, error) {
		if err := link.TooLarge("what the run sends", len(call)); err != nil {
			return nil, err
		}
		m := nats.NewMsg(link.Subject(w.cfg.Member.Name, link.Call))
		m.Header.Set(link.JobHeader, id)
		m.Data = call
		if len(call) > link.Inline {
			if err := open(ctx); err != nil {
				return nil, err
			}
			name, err := objects.Put(ctx, call)
			if err != nil {
				return nil, err
			}
			m.Header.Set(link.ObjectHeader, name)
			m.Data = nil
		}

		reply, err := w.conn.RequestUntilLost(ctx, m)
		if err != nil {
			return nil, err
		}
		name := reply.Header.Get(link.ObjectHeader)
		if name == "" {
			return reply.Data, nil
		}
		if err := open(ctx); err != nil {
			return nil, err
		}
		return objects.Take(ctx, name)
	}

	answer = func(call []byte) []byte {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		data, err := ask(ctx, call)
		switch {
		case err == nil:
			return data
		case formats.CodeOf(err) == formats.CodeLimit:
			return team.Refusal(err)
		}
		return team.Refusal(formats.Broken(formats.CodeNotDurable, "the hub", err,
			"the run goes on once the hub answers"))
	}

	return answer, func() {
		if objects != nil {
			objects.Close()
		}
	}
}

// callTime bounds a call with its objects. A busy home may need minutes for a large snapshot; one
// that is gone shows by its connection.
const callTime = 10 * time.Minute

// parseReport is what a run said of its end, in one line, and what stopped it.
func parseReport(out []byte, said string) (r link.Report) {
	var ret struct {
		Status  formats.ReturnStatus `json:"status"`
		Summary string               `json:"summary"`
		Errors  []struct {
			Code    formats.Code `json:"code"`
			Message string       `json:"message"`
		} `json:"errors"`
	}
	text := strings.TrimSpace(said)
	if json.Unmarshal(out, &ret) == nil {
		text = ret.Summary
		if len(ret.Errors) > 0 {
			text = ret.Errors[0].Message
		}
		stopped := ret.Status == formats.StatusSuspended || ret.Status == formats.StatusBlocked
		if stopped && len(ret.Errors) > 0 {
			r.Stopped = ret.Errors[0].Code
		}
	}

	const most = 400
	r.Said = formats.Clip(strings.Join(strings.Fields(text), " "), most)
	return r
}

// Version asks a tercet for its version.
func Version(program string) (string, error) {
	//nolint:gosec,noctx // tercet itself, at once
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first, nil
}
