package control

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
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

// pollInterval is how often a process checks for answers and orders.
const pollInterval = 250 * time.Millisecond

// Controller controls the runs of a project for one process of the user. Close releases all runs
// that it holds.
type Controller struct {
	Root   *os.Root      // the project root
	Secret func() []byte // the user's key; nil: there is none
	// Claim takes a lock file without waiting; the error is LOCKED if it is held.
	Claim func(file string) (io.Closer, error)
	Clock Clock
	User  string // login name for orders
	Mask  *journal.Masker
	Note  func(format string, args ...any) // prints a note
	// Share gets the lines of the journals; see journal.Options. Nil: nobody does.
	Share func(ctx context.Context, run string, lines []byte) error
	// RunKey gives the key of a run that another machine began; nil, or a nil key: it is derived
	// from Secret.
	RunKey func(run string) []byte

	// Tier returns the sandbox tier of new workers. HidesKey reports whether workers in a tier
	// cannot read the user's key, with which they could forge an answer; nil: no worker can.
	Tier     func() (string, error)
	HidesKey func(tier string) bool

	mu       sync.Mutex
	runs     map[string]*run
	journals []*journal.Writer
	paused   error // why all runs are paused; nil: they are not
}

// run is the state of a run that this process works on.
type run struct {
	past       []journal.Record // of a resumed run, until its ledger is open
	ledger     *journal.Ledger
	pause      *signal
	cancel     *signal
	lock       io.Closer // nil: not locked
	stopOrders func()    // stops watching for orders
	finished   bool      // it was finished when it was taken

	localOnly map[string]string // by gate: cached result of LocalOnly
}

// signal is an order as a context that it cancels.
type signal struct {
	ctx    context.Context //nolint:containedctx // the context is the signal
	cancel context.CancelCauseFunc
}

// withRun calls do with the state of a run, under the lock.
func (d *Controller) withRun(id string, do func(r *run)) {
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

// Past is the journal of a resumed run as of when this process took it; nil once the run makes new
// entries.
func (d *Controller) Past(id string) (past []journal.Record) {
	d.withRun(id, func(r *run) { past = r.past })
	return past
}

// Ledger is the ledger of a run of this process; nil before it is open.
func (d *Controller) Ledger(id string) (l *journal.Ledger) {
	d.withRun(id, func(r *run) { l = r.ledger })
	return l
}

// OrderContexts returns contexts that are canceled when a run is paused and when it is canceled.
func (d *Controller) OrderContexts(ctx context.Context, id string) (pause, end context.Context) {
	p, e := d.orderSignals(ctx, id)
	return p.ctx, e.ctx
}

func (d *Controller) orderSignals(ctx context.Context, id string) (pause, end *signal) {
	d.withRun(id, func(r *run) {
		for _, s := range []**signal{&r.pause, &r.cancel} {
			if *s == nil {
				*s = &signal{}
				(*s).ctx, (*s).cancel = context.WithCancelCause(context.WithoutCancel(ctx))
			}
		}
		pause = r.pause
		end = r.cancel
		if d.paused != nil {
			pause.cancel(d.paused)
		}
	})
	return pause, end
}

// PauseAll pauses the runs of this process as soon as what they began is done, also those that
// begin later.
func (d *Controller) PauseAll(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = &formats.LaterError{Why: why}
	for _, r := range d.runs {
		if r.pause != nil {
			r.pause.cancel(d.paused)
		}
	}
}

// Key derives the key that seals the journal of a run. The user's key is outside the project, so
// nothing in a project and no worker can forge an answer to a gate.
func (d *Controller) Key(id string) []byte {
	if d.RunKey != nil {
		if key := d.RunKey(id); key != nil {
			return key
		}
	}

	secret := d.Secret()
	if secret == nil {
		return nil
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

// mailbox has the answers and orders to a run.
func (d *Controller) mailbox(id string) letters.Box {
	return letters.Box{
		Root: d.Root,
		Dir:  path.Join(journal.Folder, id),
		Run:  id,
		Key:  d.Key(id),
		Tell: func(line string) { d.Note("%s", line) },
	}
}

// Hooks are called at the first entry of a run's journal.
type Hooks struct {
	Ready func(dir string) error // before it is written; gets the folder of the run
	Begun func()                 // once that of a new run is written
}

// Open opens and locks the journal of a run, at its first entry. A resumed run begins with its
// recorded entries, and the journal records who resumed it. stay keeps a stopped run stopped.
func (d *Controller) Open(
	ctx context.Context,
	id string,
	who map[string]any,
	stay bool,
	hooks Hooks,
) *journal.Ledger {
	past := d.Past(id)
	again := len(past) > 0
	view := tasksWriter(d.Root, journal.NewTasks(id, past), d.Note)

	written := func(r journal.Record) {
		view(r)
		if r.Seq == 1 {
			hooks.Begun()
		}
	}

	l := journal.NewLedger(d.writer(id, func(dir string) error {
		err := atomicfile.MkdirAll(d.Root, dir, 0o700)
		if err == nil && !again { // a resumed run was locked before it was read
			err = d.lockRun(ctx, id)
			if err == nil {
				err = d.refuseTaken(id)
			}
		}
		if err == nil {
			err = hooks.Ready(dir)
		}
		return err
	}, written), past, who, stay)

	d.withRun(id, func(r *run) {
		r.ledger = l
		r.past = nil
	})
	return l
}

// refuseTaken refuses a new run whose id another process gave to a run in the same second.
func (d *Controller) refuseTaken(id string) error {
	_, err := d.Root.Lstat(path.Join(journal.Folder, id, journal.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &formats.Failure{Code: formats.CodeIO, Err: err}
	}
	return formats.Fail(formats.CodeLocked, "run the line again",
		"another process has begun a run with the same id, %s", id)
}

// tasksWriter returns a function that updates the view of a run's tasks. It never fails a run: an
// error is reported once.
func tasksWriter(
	root *os.Root,
	tasks *journal.Tasks,
	tell func(format string, args ...any),
) func(journal.Record) {
	const name = formats.Workspace + "/" + journal.TasksName
	swept := false
	reported := false
	return func(r journal.Record) {
		tasks.Add(r)
		text, changed := tasks.View()
		if !changed {
			return
		}
		err := atomicfile.WriteLoose(root, name, []byte(text), 0o644)
		if !swept { // remove temporary files of a killed process
			swept = true
			err = errors.Join(err, atomicfile.Sweep(root, formats.Workspace, journal.TasksName))
		}
		if err != nil && !reported {
			reported = true
			tell("warning: %s was not written: %s", name, err)
		}
	}
}

func (d *Controller) writer(
	id string,
	ready func(dir string) error,
	each func(journal.Record),
) *journal.Writer {
	dir := path.Join(journal.Folder, id)
	opts := journal.Options{
		Clock: d.Clock.Now,
		Sync:  true,
		Mask:  d.Mask,
		Key:   d.Key(id),
		Each:  each,
	}

	if d.Share != nil {
		opts.Share = func(ctx context.Context, lines []byte) error {
			return d.Share(ctx, id, lines)
		}
	}

	w := journal.New(func() (*os.Root, error) {
		if err := ready(dir); err != nil {
			return nil, err
		}
		return d.Root.OpenRoot(dir)
	}, opts)

	d.mu.Lock()
	defer d.mu.Unlock()
	d.journals = append(d.journals, w)
	return w
}

// Add appends an entry of the user to the journal of a taken run.
func (d *Controller) Add(ctx context.Context, id string, e formats.Entry) error {
	err := d.writer(id, func(string) error { return nil }, nil).Append(ctx, e)
	if err != nil {
		return err
	}
	past, err := journal.Load(d.Root, id)
	d.withRun(id, func(r *run) {
		r.past = past
		r.finished = r.finished && journal.Finished(past)
	})
	return err
}

// Lock only takes the lock of a run.
func (d *Controller) Lock(id string) (io.Closer, error) {
	return d.Claim(journal.LockPath(id))
}

// Running reports whether a process works on a run.
func (d *Controller) Running(id string) bool {
	held, err := d.Lock(id)
	return err != nil || held.Close() != nil
}

// RunsElsewhere reports whether another process works on a run, not this one.
func (d *Controller) RunsElsewhere(id string) bool {
	own := false
	d.withRun(id, func(r *run) { own = r.lock != nil })
	return !own && d.Running(id)
}

// A lock is held for a moment by whoever looks whether a process works on the run; see Running.
const (
	lockTries = 15
	lockPause = 20 * time.Millisecond
)

// lockRun takes the lock of a run until the controller is closed, and follows orders to it from now
// on.
func (d *Controller) lockRun(ctx context.Context, id string) error {
	since := d.Clock.Now()
	lock, err := d.Lock(id)
	for range lockTries {
		if formats.CodeOf(err) != formats.CodeLocked {
			break
		}
		if err := d.Clock.Sleep(ctx, lockPause); err != nil {
			return err
		}
		lock, err = d.Lock(id)
	}

	if err == nil {
		stopOrders := d.watchOrders(ctx, id, since)
		d.withRun(id, func(r *run) {
			r.lock = lock
			r.stopOrders = stopOrders
		})
	}
	return err
}

// Close releases all runs.
func (d *Controller) Close() error {
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
		errs = append(errs, d.releaseRun(id, r))
	}
	return errors.Join(errs...)
}

// Release releases one run, so that another process may resume it.
func (d *Controller) Release(id string) error {
	d.mu.Lock()
	r := d.runs[id]
	delete(d.runs, id)
	d.mu.Unlock()
	if r == nil {
		return nil
	}
	return d.releaseRun(id, r)
}

func (d *Controller) releaseRun(id string, r *run) (err error) {
	if r.lock == nil {
		return nil
	}
	r.stopOrders()

	// a lock file marks a run that can continue
	if r.finished || r.ledger != nil && r.ledger.Finished() {
		name := journal.LockPath(id)
		err = errors.Join(d.Root.Remove(name), d.Root.Remove(name+".info"))
	}
	return errors.Join(err, r.lock.Close())
}
