package project

import (
	"io/fs"
	"path"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
)

// Watcher tells what has changed in a project since it was asked last. It compares sizes and times
// of files, so that it may be asked many times a second. It belongs to one goroutine.
type Watcher struct {
	project *Project
	folder  fileStamp
	tasks   fileStamp
	runs    map[string]*watchedRun
	polls   int
	open    int // runs that are not over, at the last poll
}

// How many polls pass until a run is looked at again: one that is over, because there may be
// thousands of them, and one of many that has not changed for a while.
const (
	overInterval  = 40
	quietInterval = 10
	quietPolls    = 400 // a while
	manyRuns      = 16
)

// watchedRun are the files of a run that may go on.
type watchedRun struct {
	journal, trace, answers, messages, lock fileStamp

	finished bool
	still    int // polls without a change
}

// Changes are what a Watcher found.
type Changes struct {
	Runs  []string // runs that changed, or that are new
	Tasks bool
}

// Watcher makes a watcher that first reports every run that may go on.
func (p *Project) Watcher() *Watcher {
	return &Watcher{project: p, runs: map[string]*watchedRun{}}
}

// Poll reports what has changed. The error says that the runs cannot be read.
func (w *Watcher) Poll() (c Changes, err error) {
	tasks := w.stamp(formats.Workspace + "/state.json")
	c.Tasks = tasks != w.tasks
	w.tasks = tasks

	folder := w.stamp(journal.Folder)
	if folder != w.folder {
		ids, err := journal.IDs(w.project.Root)
		if err != nil {
			return c, err
		}
		w.folder = folder
		for _, id := range ids {
			if w.runs[id] == nil {
				w.runs[id] = &watchedRun{}
			}
		}
	}

	w.polls++
	open := 0
	for id, r := range w.runs {
		if !r.finished {
			open++
		}
		interval := 1
		switch {
		case r.finished:
			interval = overInterval
		case w.open > manyRuns && r.still > quietPolls:
			interval = quietInterval
		}
		if w.polls%interval == 0 && w.pollRun(id, r) {
			c.Runs = append(c.Runs, id)
		}
	}

	w.open = open
	return c, nil
}

// pollRun reports whether a run has changed. One without a lock has ended, but a user may go back
// to one of its steps.
func (w *Watcher) pollRun(id string, r *watchedRun) bool {
	dir := path.Join(journal.Folder, id)
	lock := w.stamp(journal.LockPath(id))
	if r.finished && lock == r.lock {
		return false
	}

	now := watchedRun{
		journal:  w.stamp(path.Join(dir, journal.Name)),
		trace:    w.stamp(path.Join(dir, "trace.jsonl")),
		answers:  w.stamp(path.Join(dir, "answers")),
		messages: w.stamp(path.Join(dir, "messages")),
		lock:     lock,
		finished: lock == fileStamp{},
		still:    r.still,
	}

	first := r.journal == fileStamp{}
	if now == *r {
		r.still++
		return false
	}
	now.still = 0
	*r = now
	endedBefore := first && now.finished
	return !endedBefore && now.journal != fileStamp{}
}

// stamp identifies the version of a file; zero: there is none.
func (w *Watcher) stamp(name string) fileStamp {
	info, err := w.project.Root.Lstat(name)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.Size(), info.ModTime()}
}

// CheckPresent fails if the workspace has vanished, or lies in another folder than the one that was
// opened.
func (p *Project) CheckPresent() error {
	gone := func(err error) error {
		return formats.Broken(formats.CodeNoWorkspace, p.Dir, err,
			"restore the folder, and open the page again")
	}

	if _, err := fs.Stat(atomicfile.FS(p.Root), formats.Workspace); err != nil {
		return gone(err)
	}

	root, err := p.Root.Stat(".")
	if err != nil {
		return gone(err)
	}
	same, err := sameFolder(p.Dir, root)
	if err != nil {
		return gone(err)
	}
	if !same {
		return formats.Fail(formats.CodeNoWorkspace, "start tercet serve again",
			"%s is another folder now", p.Dir)
	}
	return nil
}
