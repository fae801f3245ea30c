package control

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/internal/letters"
)

// Clock is the time.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// every is how often a process looks for answers and orders.
const every = 250 * time.Millisecond

// Desk controls the runs of a project for one process of the user. Close releases all runs it
// holds.
type Desk struct {
	Root   *os.Root      // the project root
	Secret func() []byte // the user's key; nil: there is no place for one
	// takes a lock file without waiting; the error is LOCKED if it is held
	Claim func(file string) (io.Closer, error)
	Clock Clock
	User  string // login name for orders
	Mask  *journal.Masker
	Tell  func(format string, args ...any) // prints a note

	// Tier names the tier in which workers are started now. Holds reports whether a worker in a
	// tier could not read the user's key, with which it could forge an answer. nil: no worker
	// could.
	Tier  func() (string, error)
	Holds func(tier string) bool

	mu       sync.Mutex
	runs     map[string]*run
	journals []*journal.Writer
}

// run is what this process knows of a run that it works on.
type run struct {
	past   []journal.Record // of one that is taken up again, until its ledger has it
	ledger *journal.Ledger
	pause  *signal
	end    *signal
	held   io.Closer // its lock; nil: it is not taken
	deaf   func()    // ends looking for orders
	over   bool      // it had ended when it was taken

	only map[string]string // by gate: what OnlyHere found
}

// signal is an order that came.
type signal struct {
	ctx  context.Context //nolint:containedctx // it is the signal
	call context.CancelCauseFunc
}

// with lets one look at what is known of a run, and change it.
func (d *Desk) with(id string, do func(r *run)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[id]
	if r == nil {
		r = (&run{})
		if d.runs == nil {
			d.runs = map[string]*run{}
		}
		d.runs[id] = r
	}
	do(r)
}

// Past is the journal of a resumed run as it was when this process took it; nil once the run makes
// new entries.
func (d *Desk) Past(id string) (past []journal.Record) {
	d.with(id, func(r *run) { past = r.past })
	return past
}

// Ledger is the journal of a run of this process; nil before it is open.
func (d *Desk) Ledger(id string) (l *journal.Ledger) {
	d.with(id, func(r *run) { l = r.ledger })
	return l
}

// Orders gives contexts that end when a run is paused and when it is cancelled.
func (d *Desk) Orders(ctx context.Context, id string) (pause, end context.Context) {
	p, e := d.signals(ctx, id)
	return p.ctx, e.ctx
}

func (d *Desk) signals(ctx context.Context, id string) (pause, end *signal) {
	d.with(id, func(r *run) {
		for _, s := range []**signal{&r.pause, &r.end} {
			if *s == nil {
				*s = &signal{}
				(*s).ctx, (*s).call = context.WithCancelCause(context.WithoutCancel(ctx))
			}
		}
		pause = r.pause
		end = r.end
	})
	return pause, end
}

// Key gives the user's key for sealing journals. It lies outside the project, so that no journal or
// line from a project or a worker can answer a gate.
func (d *Desk) Key(id string) []byte {
	secret := d.Secret()
	if secret == nil {
		return nil
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

// box is where the letters to a run lie.
func (d *Desk) box(id string) letters.Box {
	return letters.Box{
		Root: d.Root,
		Dir:  path.Join(journal.Folder, id),
		Run:  id,
		Key:  d.Key(id),
		Tell: func(line string) { d.Tell("%s", line) },
	}
}

// Open opens and locks the journal of a run; the first entry creates the file, and ready then gets
// its folder. A resumed run begins with its recorded entries, and the journal notes who resumed it.
// stay keeps a stopped run stopped.
func (d *Desk) Open(
	ctx context.Context, id string, who map[string]any, stay bool, ready func(dir string) error,
) *journal.Ledger {
	past := d.Past(id)
	again := len(past) > 0
	l := journal.NewLedger(d.writer(id, func(dir string) error {
		err := atomicfile.MkdirAll(d.Root, dir, 0o700)
		if err == nil && !again { // else it was locked before it was read
			err = d.lock(ctx, id)
		}
		if err == nil {
			err = ready(dir)
		}
		return err
	}, show(d.Root, journal.NewTasks(id, past), d.Tell)), past, who, stay)
	d.with(id, func(r *run) {
		r.ledger = l
		r.past = nil
	})
	return l
}

// show keeps the view of a run's tasks up to date. It never fails a run: what goes wrong is told
// once.
func show(
	root *os.Root,
	tasks *journal.Tasks,
	tell func(format string, args ...any),
) func(journal.Record) {
	const name = formats.Workspace + "/" + journal.TasksName
	swept := false
	told := false
	return func(r journal.Record) {
		tasks.Add(r)
		text, news := tasks.View()
		if !news {
			return
		}
		err := atomicfile.WriteLoose(root, name, []byte(text), 0o644)
		if !swept { // what a killed process left of it
			swept = true
			err = errors.Join(err, atomicfile.Sweep(root, formats.Workspace, journal.TasksName))
		}
		if err != nil && !told {
			told = true
			tell("warning: %s was not written: %s", name, err)
		}
	}
}

func (d *Desk) writer(
	id string,
	ready func(dir string) error,
	each func(journal.Record),
) *journal.Writer {
	dir := path.Join(journal.Folder, id)
	w := journal.New(func() (*os.Root, error) {
		if err := ready(dir); err != nil {
			return nil, err
		}
		return d.Root.OpenRoot(dir)
	}, journal.Options{
		Clock: d.Clock.Now,
		Sync:  true,
		Mask:  d.Mask,
		Key:   d.Key(id),
		Each:  each,
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.journals = append(d.journals, w)
	return w
}

// Add appends an entry of the user to the journal of a taken run.
func (d *Desk) Add(ctx context.Context, id string, e formats.Entry) error {
	err := d.writer(id, func(string) error { return nil }, nil).Append(ctx, e)
	if err != nil {
		return err
	}
	past, err := journal.Load(d.Root, id)
	d.with(id, func(r *run) {
		r.past = past
		r.over = r.over && journal.Over(past)
	})
	return err
}

// Lock only takes the lock of a run.
func (d *Desk) Lock(id string) (io.Closer, error) {
	return d.Claim(journal.LockOf(id))
}

// Live reports whether a process works on a run.
func (d *Desk) Live(id string) bool {
	held, err := d.Lock(id)
	return err != nil || held.Close() != nil
}

// lock takes a run until the desk is closed, and obeys the orders to it from now on.
func (d *Desk) lock(ctx context.Context, id string) error {
	since := d.Clock.Now()
	held, err := d.Lock(id)
	if err == nil {
		deaf := d.heed(ctx, id, since)
		d.with(id, func(r *run) {
			r.held = held
			r.deaf = deaf
		})
	}
	return err
}

// Close releases all runs.
func (d *Desk) Close() error {
	d.mu.Lock()
	runs := d.runs
	journals := d.journals
	d.runs = nil
	d.journals = nil
	d.mu.Unlock()
	var errs []error
	for _, j := range journals {
		errs = append(errs, j.Close())
	}
	for id, r := range runs {
		errs = append(errs, d.leave(id, r))
	}
	return errors.Join(errs...)
}

// GiveBack releases one run, so that another process may resume it.
func (d *Desk) GiveBack(id string) error {
	d.mu.Lock()
	r := d.runs[id]
	delete(d.runs, id)
	d.mu.Unlock()
	if r == nil {
		return nil
	}
	return d.leave(id, r)
}

func (d *Desk) leave(id string, r *run) (err error) {
	if r.held == nil {
		return nil
	}
	r.deaf()
	if r.over || r.ledger != nil && r.ledger.Over() { // what can go on is found by its lock
		name := journal.LockOf(id)
		err = errors.Join(d.Root.Remove(name), d.Root.Remove(name+".info"))
	}
	return errors.Join(err, r.held.Close())
}
