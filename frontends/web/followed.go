package web

import (
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/live"
	"tercet/project"
)

// followedRun is a run that a page showed a moment ago: what it reads is kept, so that the next
// page reads only what is new.
type followedRun struct {
	mu      sync.Mutex
	journal *project.Follower
	log     *project.RunLog // for titles, and what agents do
	used    time.Time       // guarded by the site, as the last reading
	last    reading

	version int64 // grows with each change
	began   int64 // the version at which the list of steps begins; steps that are dropped change it
	read    bool  // poll has read all once
	broken  error // why poll stopped in the middle; seen may lack steps of the journal then
	seen    []stepSeen
	titles  map[string]string // by place
	doing   map[string]string // what the agent of a step does, by place
	touched map[string]int64  // version of the last change of titles and doing, by place
	detail  detailSeen

	rows      []treeRow // of the tree, for the steps of the version at which the list began
	rowsBegan int64

	// answers are what the script got for this version since a time. Twenty tabs ask for the same.
	answers map[string][]byte
	since   time.Time
}

// How many answers are kept of a run, and how long: what an agent prints is in no version.
const (
	maxAnswers = 32
	answerLife = time.Second
)

// cachedAnswer gives an answer of the cache, unless it is too old.
func (f *followedRun) cachedAnswer(key string, now time.Time) (body []byte, ok bool) {
	if now.Sub(f.since) > answerLife {
		return nil, false
	}
	body, ok = f.answers[key]
	return body, ok
}

// cacheAnswer caches an answer until something changes.
func (f *followedRun) cacheAnswer(key string, body []byte, now time.Time) {
	if f.answers == nil || len(f.answers) >= maxAnswers || now.Sub(f.since) > answerLife {
		f.answers = map[string][]byte{}
		f.since = now
	}
	f.answers[key] = body
}

// stepSeen is when a step of the list last changed.
type stepSeen struct {
	path    string
	place   string // the path without visits
	seq     int
	outcome string
	version int64
}

// detailSeen is the detail of a step that was read last.
type detailSeen struct {
	path    string
	seq     int
	at      time.Time
	step    project.StepDetail
	err     error
	version int64
}

// maxFollowed bounds the runs that are kept, and keepFollowed how long.
const (
	maxFollowed  = 24
	keepFollowed = 2 * time.Minute
)

// visits matches the numbers of visits in a path.
var visits = lazy.Regexp(`#[0-9]+`)

// placeOf is the path of a step without the numbers of visits.
func placeOf(path string) string {
	return visits().ReplaceAllString(path, "")
}

// follow reads what is new of a run.
func (o *site) follow(run string) (*followedRun, error) {
	o.mu.Lock()
	now := o.server.config.Now()
	f := o.followed[run]
	if f == nil {
		f = &followedRun{
			journal: o.monitor.Follow(run),
			log:     o.project.Log(run, ""),
			version: now.UnixMilli(), // more than that of any page that was shown before
			titles:  map[string]string{},
			doing:   map[string]string{},
			touched: map[string]int64{},
		}
		f.began = f.version
		o.followed[run] = f
	}
	f.used = now
	for id, other := range o.followed {
		old := now.Sub(other.used) > keepFollowed
		if other != f && (old || len(o.followed) > maxFollowed) {
			delete(o.followed, id)
		}
	}
	o.mu.Unlock()

	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.poll()
	f.broken = err
	if err != nil {
		o.mu.Lock()
		delete(o.followed, run)
		o.mu.Unlock()
	}
	return f, err
}

// poll reads what is new.
func (f *followedRun) poll() error {
	changed, err := f.journal.Poll()
	if err != nil {
		return err
	}
	events, err := f.log.EventsWith(`"message":"started"`, `"kind":"agent"`) // what take takes
	if err != nil {
		return err
	}
	if f.read && !changed && len(events) == 0 {
		return nil
	}

	f.read = true // the journal may have been read before, by the monitor
	f.version++
	f.answers = nil
	for _, e := range events {
		f.applyEvent(e)
	}

	for i, s := range f.journal.Steps() {
		switch {
		case i == len(f.seen):
			f.seen = append(f.seen, stepSeen{})
		case f.seen[i].path != s.Path: // the user went back to a step
			f.seen = f.seen[:i]
			f.seen = append(f.seen, stepSeen{})
			f.began = f.version
		case f.seen[i].seq == s.Seq:
			continue
		}
		f.seen[i] = stepSeen{s.Path, placeOf(s.Path), s.Seq, s.Outcome, f.version}
	}

	if n := len(f.journal.Steps()); n < len(f.seen) {
		f.seen = f.seen[:n]
		f.began = f.version
	}
	return nil
}

// applyEvent records what an event says: the title of a step, or what its agent does.
func (f *followedRun) applyEvent(e project.Event) {
	place := placeOf(e.Step)
	if place == "" {
		return
	}
	if e.Outcome == "" && e.Message == "started" && e.Name != "" {
		f.titles[place] = e.Name
		f.touched[place] = f.version
	}
	if doing := live.Doing(e); doing != "" && doing != f.doing[place] {
		f.doing[place] = doing
		f.touched[place] = f.version
	}
}

// changedAt is the version at which a step last changed.
func (f *followedRun) changedAt(i int) int64 {
	return max(f.seen[i].version, f.touched[f.seen[i].place])
}

// step reads the detail of one step. While it is at work it is read again at most once a second.
func (f *followedRun) step(p *project.Project, path string, now time.Time) detailSeen {
	seq := 0
	open := false
	for _, s := range f.seen {
		if s.path == path {
			seq = s.seq
			open = s.outcome == ""
		}
	}

	d := f.detail
	same := d.path == path && d.seq == seq && d.err == nil
	if same && (!open || now.Sub(d.at) < time.Second) {
		return d
	}

	step, err := p.Step(f.journal, path)
	f.detail = detailSeen{
		path:    path,
		seq:     seq,
		at:      now,
		step:    step,
		err:     err,
		version: f.version,
	}
	return f.detail
}

// isPassing reports whether an outcome is one that goes on.
func isPassing(outcome string) bool {
	return formats.Outcome(outcome).Passes()
}
