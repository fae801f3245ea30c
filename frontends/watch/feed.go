package watch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/project"
)

// row is a run in the list.
type row struct{ project.RunState }

// word is the state of a run in a word.
func (r row) word() string {
	switch {
	case r.Answer != "":
		return "answered"
	case r.State == project.StateAsking:
		return style.Asks
	case r.State == project.StateRunning:
		return style.AtWork
	case r.Run.Status == project.RunOpen:
		return style.Gone
	}
	return r.Run.Status
}

// update is the result of one poll.
type update struct {
	rows     []row
	run      string // the selected run, to which the fields below belong
	reset    bool   // the first poll of this run: replace everything
	events   []project.Event
	log      []string
	diff     string
	diffRead bool // the diff was read
	err      error
}

// feed reads what runs write. It belongs to the running poll, one at a time.
type feed struct {
	project Project
	monitor *project.Monitor

	run            string // the selected run, to which the fields below belong
	log            *project.RunLog
	actions        []timed           // actions of agents, until the log is shown
	doing          map[string]string // current action of an agent, by step
	pollsUntilDiff int               // polls until the diff is read again
}

func newFeed(c Config) *feed {
	return &feed{project: c.Project, monitor: c.Project.Monitor()}
}

// timed is a line of the log.
type timed struct {
	at   time.Time
	text string
}

// Limits: finished runs in the list, and polls between two diffs.
const (
	maxFinished  = 20
	diffInterval = 3
)

// poll reads what is new of all runs, and for the selected run what the pane shows.
func (f *feed) poll(ctx context.Context, run string, at pane) (n update) {
	runs, err := f.monitor.Runs(maxFinished)
	n.err = err
	if err != nil {
		return n
	}
	for _, r := range runs {
		n.rows = append(n.rows, row{r})
	}
	if run == "" && len(n.rows) > 0 {
		run = n.rows[0].Run.ID
	}
	n.run = run
	if run != "" {
		f.follow(ctx, &n, at)
	}
	return n
}

// follow reads what is new of the selected run.
func (f *feed) follow(ctx context.Context, n *update, at pane) {
	if n.run != f.run {
		f.run = n.run
		f.log = f.project.Log(n.run, "")
		f.actions = nil
		f.pollsUntilDiff = 0
		f.doing = map[string]string{}
		n.reset = true
	}
	var err error
	if n.events, err = f.log.Events(); err != nil {
		n.err = err
	}
	for _, e := range n.events {
		// otherwise only its usage changed
		if doing := live.Doing(e); doing != "" && doing != f.doing[e.Step] {
			f.doing[e.Step] = doing
			text := strings.Join(
				[]string{e.Time.Local().Format(time.TimeOnly), e.Name, e.Step, doing},
				"  ",
			)
			f.actions = append(
				f.actions[max(0, len(f.actions)-maxLog):], timed{e.Time, plain.Line(text)},
			)
		}
	}

	switch at {
	case paneLog:
		if n.log, err = f.newLog(); err != nil {
			n.err = err
		}
	case paneDiff:
		f.pollsUntilDiff--
		if f.pollsUntilDiff < 0 {
			f.pollsUntilDiff = diffInterval
			n.diffRead = true
			if n.diff, err = f.project.WorkOf(ctx, n.run); err != nil {
				n.err = err
			}
			n.diff = plain.Text(n.diff)
		}
	case paneTree, paneGate:
	}
}

// newLog returns the new lines of the log: what 'tercet show --log' prints, and the actions of
// agents, by time.
func (f *feed) newLog() (out []string, err error) {
	events, _, err := f.log.Lines()
	list := f.actions
	f.actions = nil
	var at time.Time
	for _, e := range events {
		if !e.Time.IsZero() {
			at = e.Time // an agent's output has no time
		}
		if e.Type != project.LogOutput || !isEvent(e.Text) {
			list = append(list, timed{at, plain.Line(e.String())})
		}
	}
	slices.SortStableFunc(list, func(a, b timed) int {
		return a.at.Compare(b.at)
	})
	for _, one := range list {
		out = append(out, one.text)
	}
	return out, err
}

// isEvent reports whether an agent printed a line for programs. The trace has it in words.
func isEvent(text string) bool {
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}
