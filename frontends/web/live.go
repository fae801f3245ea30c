package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"tercet/project"
)

// livePath is the address of the stream.
const livePath = "/live"

// Intervals: between two looks for changes while a browser listens, and between two signs of life
// in a stream.
const (
	pollInterval = 25 * time.Millisecond
	beatInterval = 15 * time.Second
	// Between two looks whether the processes of the runs are still there: one that was killed
	// changes no file.
	processInterval = 2 * time.Second
)

// hub tells the browsers what has changed. It looks only while one of them listens.
type hub struct {
	pokes chan struct{}
	awake chan struct{} // a browser listens

	mu        sync.Mutex
	ended     bool
	listeners map[*listener]bool
	closing   chan struct{}
}

// listener is one stream.
type listener struct {
	ready   chan struct{} // something is pending
	mu      sync.Mutex
	pending map[string]*changeEvent // pending, by project
}

// changeEvent is one event of a stream.
type changeEvent struct {
	Project string   `json:"project"`
	Runs    []string `json:"runs,omitempty"`
	Tasks   bool     `json:"tasks,omitempty"`
	All     bool     `json:"all,omitempty"` // the project cannot be read
	Team    bool     `json:"team,omitempty"`
}

func newHub() *hub {
	return &hub{
		pokes:     make(chan struct{}, 1),
		awake:     make(chan struct{}, 1),
		listeners: map[*listener]bool{},
		closing:   make(chan struct{}),
	}
}

// poke makes the hub look now.
func (h *hub) poke() {
	select {
	case h.pokes <- struct{}{}:
	default:
	}
}

// close ends the streams.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.closing)
	}
}

// listen adds a stream; done removes it.
func (h *hub) listen() (l *listener, done func()) {
	l = &listener{ready: make(chan struct{}, 1), pending: map[string]*changeEvent{}}
	h.mu.Lock()
	h.listeners[l] = true
	h.mu.Unlock()
	select {
	case h.awake <- struct{}{}:
	default:
	}
	return l, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
	}
}

func (h *hub) currentListeners() []*listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*listener, 0, len(h.listeners))
	for l := range h.listeners {
		list = append(list, l)
	}
	return list
}

// run looks for changes until the context ends. Without a browser it sleeps.
func (h *hub) run(ctx context.Context, sites []*site, team *teamWatcher) {
	known := int64(0) // what came before is told too
	watchers := make([]*siteWatcher, len(sites))
	for i, one := range sites {
		watchers[i] = &siteWatcher{site: one}
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if len(h.currentListeners()) == 0 {
			ticker.Stop()
			select {
			case <-ctx.Done():
				return
			case <-h.awake:
				ticker.Reset(pollInterval)
			}
		}

		for _, w := range watchers {
			if c := w.poll(); c != nil {
				for _, l := range h.currentListeners() {
					l.add(c)
				}
			}
		}

		if now := team.changes(); now != known {
			known = now
			for _, l := range h.currentListeners() {
				l.add(&changeEvent{Team: true})
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-h.pokes:
			<-ticker.C // one look for many events
		case <-ticker.C:
		}
	}
}

// siteWatcher looks at one project.
type siteWatcher struct {
	site      *site
	project   *project.Project
	watcher   *project.Watcher
	broken    bool
	state     string    // of what is in no file: runs that are about to go on
	checkedAt time.Time // for processes
	live      []string  // the runs that had one then, or have changed since
}

// poll gives what has changed; nil: nothing.
func (w *siteWatcher) poll() *changeEvent {
	p := w.site.current()
	if p != w.project {
		w.project = p
		w.watcher = p.Watcher()
	}
	c := &changeEvent{Project: w.site.name}
	found, err := w.watcher.Poll()
	c.Runs = append(found.Runs, w.abandoned(found.Runs)...)
	c.Tasks = found.Tasks

	broken := err != nil
	state := w.site.memoryState()
	c.All = broken != w.broken || state != w.state
	w.broken = broken
	w.state = state
	if len(c.Runs) == 0 && !c.Tasks && !c.All {
		return nil
	}
	w.site.changes.Add(1)
	return c
}

// abandoned gives the runs that have no process any more and had one, or may have had one, since
// the last look. changed are the runs that have changed meanwhile.
func (w *siteWatcher) abandoned(changed []string) (runs []string) {
	w.live = append(w.live, changed...)
	now := w.site.server.config.Now()
	if now.Sub(w.checkedAt) < processInterval {
		return nil
	}
	w.checkedAt = now

	list, err := w.site.list()
	if err != nil {
		return nil // look tells that the project cannot be read
	}

	var live []string
	for _, r := range list {
		if r.Live {
			live = append(live, r.Run.ID)
		}
	}

	for _, run := range w.live {
		if !slices.Contains(live, run) && !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	w.live = live
	return runs
}

// memoryState describes the state that is only in memory, to see whether it changed.
func (o *site) memoryState() string {
	o.notesMu.Lock()
	notes := len(o.notes)
	o.notesMu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprint(len(o.resuming), len(o.failed), len(o.ownRuns), notes)
}

// add adds to what is pending for a stream. A slow browser gets it in one event.
func (l *listener) add(c *changeEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.pending[c.Project]
	if before == nil {
		before = &changeEvent{Project: c.Project}
		l.pending[c.Project] = before
	}

	seen := map[string]bool{}
	for _, run := range before.Runs {
		seen[run] = true
	}
	for _, run := range c.Runs {
		if !seen[run] {
			before.Runs = append(before.Runs, run)
		}
	}

	before.Tasks = before.Tasks || c.Tasks
	before.All = before.All || c.All
	before.Team = before.Team || c.Team

	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// takePending gives what is pending.
func (l *listener) takePending() []*changeEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*changeEvent, 0, len(l.pending))
	for _, c := range l.pending {
		list = append(list, c)
	}
	clear(l.pending)
	return list
}

// live is the stream of a browser: which runs have changed. The pages themselves say how.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")

	listener, done := s.hub.listen()
	defer done()
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()

	text := "retry: 1000\nevent: hello\ndata: {}\n\n"
	for {
		//nolint:errcheck // a connection without deadlines is a test's
		_ = control.SetWriteDeadline(s.config.Now().Add(writeTime)) // see above
		if _, err := w.Write([]byte(text)); err != nil || control.Flush() != nil {
			return
		}
		text = ""

		select {
		case <-r.Context().Done():
			return
		case <-s.hub.closing:
			return
		case <-beat.C:
			text = ": alive\n\n"
		case <-listener.ready:
			for _, c := range listener.takePending() {
				data, err := json.Marshal(c)
				if err != nil {
					return
				}
				text += "event: change\ndata: " + string(data) + "\n\n"
			}
		}
	}
}
