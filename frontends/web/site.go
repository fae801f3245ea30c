package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tercet/formats"
	"tercet/project"
)

// site is one project of the server.
type site struct {
	server *Server
	name   string // in addresses
	dir    string
	lock   io.Closer // of the one server of the project

	mu       sync.Mutex
	project  *project.Project
	replaced []*project.Project // that a new one replaced; requests may still use them
	monitor  *project.Monitor
	followed map[string]*followedRun
	ownRuns  map[string]*project.Run // at work in this process
	resuming map[string]bool         // taken to go on, and not yet in the journal
	failed   map[string]string       // why a run did not go on
	due      map[string]*dueResume   // runs that go on at a time
	spent    spent
	closing  bool
	tracking sync.WaitGroup // what waits for the end of own runs

	notesMu sync.Mutex // of notes alone: the project tells some while mu is held
	notes   []note

	changes atomic.Int64 // that the hub has found
}

// note is a line that the project told.
type note struct {
	at   time.Time
	text string
}

// spent is what the agents of one day used.
type spent struct {
	at      time.Time // when it was summed
	dollars float64
}

// maxNotes bounds the notes that a site keeps.
const maxNotes = 50

// pageFrontend is the Frontend of the projects: nobody sits at it, and questions wait for an answer
// on a page.
type pageFrontend struct {
	project.Unattended

	poke func()
}

// Event implements Frontend: what happens in this process is shown at once.
func (f pageFrontend) Event(project.Event, []byte, bool) {
	f.poke()
}

// open opens a project and claims it for this server.
func (s *Server) open(ctx context.Context, dir string) (*site, error) {
	one := &site{
		server:   s,
		dir:      dir,
		name:     s.siteName(filepath.Base(dir)),
		followed: map[string]*followedRun{},
		ownRuns:  map[string]*project.Run{},
		resuming: map[string]bool{},
		failed:   map[string]string{},
		due:      map[string]*dueResume{},
	}

	p, err := s.config.Open(ctx, dir, one.frontend())
	if err != nil {
		return nil, err
	}
	one.setProject(p)
	one.lock, err = p.ClaimServer()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), one.close(ctx))
	}
	return one, nil
}

func (o *site) frontend() project.Frontend {
	return pageFrontend{
		Unattended: project.Unattended{Tell: o.addNote},
		poke:       o.server.hub.poke,
	}
}

// siteName makes the name of a project unique among those of the server.
func (s *Server) siteName(base string) string {
	name := base
	for n := 2; slices.ContainsFunc(s.sites, func(o *site) bool { return o.name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// site finds a project by its name in addresses.
func (s *Server) site(name string) (*site, error) {
	for _, one := range s.sites {
		if one.name == name {
			return one, nil
		}
	}
	return nil, formats.Fail(formats.CodeNotFound, "go back to Home",
		"this server has no project of that name")
}

// addNote keeps a note, and gives it to the terminal of the server. It tells nothing twice.
func (o *site) addNote(line string) {
	o.notesMu.Lock()
	if slices.ContainsFunc(o.notes, func(n note) bool { return n.text == line }) {
		o.notesMu.Unlock()
		return
	}
	o.notes = append(o.notes, note{o.server.config.Now(), line})
	o.notes = o.notes[max(0, len(o.notes)-maxNotes):]
	o.notesMu.Unlock()
	o.server.config.Tell(o.name + ": " + line)
	o.server.hub.poke()
}

// current gives the open project.
func (o *site) current() *project.Project {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.project
}

// setProject replaces the project of the site. The replaced one stays open for requests that use
// it.
func (o *site) setProject(p *project.Project) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.project != nil {
		o.replaced = append(o.replaced, o.project)
	}
	o.project = p
	o.monitor = p.Monitor()
	o.monitor.LookEvery = time.Second
	o.followed = map[string]*followedRun{}
}

// reopen reads the project anew, after the user agreed to its files.
func (o *site) reopen(ctx context.Context) error {
	p, err := o.server.config.Open(ctx, o.dir, o.frontend())
	if err != nil {
		return err
	}
	o.setProject(p)
	return nil
}

// close suspends the runs of the site, and releases the project. What is not done when the context
// ends is interrupted.
func (o *site) close(ctx context.Context) error {
	var errs []error
	o.mu.Lock()
	o.closing = true
	for _, one := range o.due {
		one.timer.Stop()
	}
	o.mu.Unlock()

	for _, p := range append(o.replaced, o.project) {
		errs = append(errs, p.Close(ctx))
	}
	o.tracking.Wait()
	if o.lock != nil {
		errs = append(errs, o.lock.Close())
	}
	return errors.Join(errs...)
}

// maxFinished bounds the runs that ended on the first page.
const maxFinished = 20

// list gives the runs, those that need a person first.
func (o *site) list() ([]project.RunState, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.project.CheckPresent(); err != nil {
		return nil, err
	}
	list, err := o.monitor.Runs(maxFinished)
	for _, r := range list {
		o.scheduleResume(r)
	}
	return list, err
}

// reading is a run as it was read.
type reading struct {
	state   project.RunState
	at      time.Time
	changes int64 // that the hub had found by then
}

// readRun gives one run and what follows it. Twenty tabs ask at once for the same change, so a
// recent reading is enough for an answer to the script: what it lacks, the hub has yet to find.
func (o *site) readRun(run string, recent bool) (project.RunState, *followedRun, error) {
	now := reading{at: o.server.config.Now(), changes: o.changes.Load()}
	o.mu.Lock()
	f := o.followed[run]
	enough := recent && f != nil && f.last.changes == now.changes &&
		now.at.Sub(f.last.at) < pollInterval
	if enough {
		now.state = f.last.state
	}
	o.mu.Unlock()
	if enough {
		return now.state, f, nil
	}

	var err error
	now.state, err = o.findRun(run)
	if err != nil {
		return now.state, nil, err
	}
	f, err = o.follow(run)
	if err != nil {
		return now.state, nil, err
	}
	o.mu.Lock()
	f.last = now
	o.mu.Unlock()
	return now.state, f, nil
}

// findRun gives a run by its id.
func (o *site) findRun(run string) (project.RunState, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.project.CheckPresent(); err != nil {
		return project.RunState{}, err
	}
	r, ok := o.monitor.Run(run)
	if !ok {
		return r, formats.Fail(formats.CodeNotFound, "go back to Home",
			"the project has no run of that name")
	}
	return r, nil
}

// spentToday sums what agents used since midnight, at most every few seconds.
func (o *site) spentToday() float64 {
	const often = 5 * time.Second
	now := o.server.config.Now()
	o.mu.Lock()
	known := o.spent
	p := o.project
	o.mu.Unlock()
	if now.Sub(known.at) < often {
		return known.dollars
	}

	known.at = now
	y, m, d := now.Date()
	list, err := p.Spent(time.Date(y, m, d, 0, 0, 0, 0, now.Location()))
	if err == nil {
		known.dollars = 0
		for _, one := range list {
			if one.By == "all" {
				known.dollars = one.Cost
			}
		}
	}

	o.mu.Lock()
	o.spent = known
	o.mu.Unlock()
	return known.dollars
}
