package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/internal/live"
	"tercet/internal/order"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/project"
)

// row is a run in the list.
type row struct {
	project.RunState

	place *Place
	key   string // distinct among the runs of all projects
}

// word is the state of a run in a word.
func (r row) word() string {
	switch {
	case r.Answer != "":
		return "answered"
	case r.State == project.StateAsking:
		return style.Asks
	case r.Run.Queue != "":
		return r.Run.Queue
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
	run      string // the key of the selected run, to which the fields below belong
	reset    bool   // the first poll of this run: replace everything
	events   []project.Event
	log      []string
	diff     string
	diffRead bool // the diff was read
	err      error
}

// feed reads what runs write. It belongs to the running poll, one at a time.
type feed struct {
	places   []Place
	monitors []*project.Monitor // of the projects, in their order

	run            string // the key of the selected run, to which the fields below belong
	log            *project.RunLog
	actions        []timed           // actions of agents, until the log is shown
	doing          map[string]string // current action of an agent, by step
	pollsUntilDiff int               // polls until the diff is read again
}

func newFeed(c Config) *feed {
	f := &feed{places: c.Projects}
	for _, p := range c.Projects {
		f.monitors = append(f.monitors, p.Project.Monitor())
	}
	return f
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
	n.rows, n.err = f.rows()
	if run == "" && len(n.rows) > 0 {
		run = n.rows[0].key
	}
	n.run = run
	i := slices.IndexFunc(n.rows, func(r row) bool { return r.key == run })
	if i >= 0 {
		f.follow(ctx, &n, n.rows[i], at)
	}
	return n
}

// rows are the runs of all projects, those that need a person first. A project that cannot be read
// does not hide the others.
func (f *feed) rows() (rows []row, err error) {
	for i, m := range f.monitors {
		p := &f.places[i]
		runs, bad := m.Runs(maxFinished)
		if bad != nil && len(f.monitors) > 1 {
			bad = fmt.Errorf("%s: %w", p.Name, bad)
		}
		err = cmp.Or(err, bad)
		for _, r := range runs {
			rows = append(rows, row{r, p, strconv.Itoa(i) + "/" + r.Run.ID})
		}
	}

	if len(f.monitors) > 1 {
		order.Stable(rows, func(a, b row) int { return project.Before(a.RunState, b.RunState) })
	}
	begin := slices.IndexFunc(rows, func(r row) bool { return r.State == project.StateFinished })
	if begin >= 0 {
		rows = rows[:min(len(rows), begin+maxFinished)]
	}
	return rows, err
}

// follow reads what is new of the selected run.
func (f *feed) follow(ctx context.Context, n *update, of row, at pane) {
	if n.run != f.run {
		f.run = n.run
		f.log = of.place.Project.Log(of.Run.ID, "")
		f.actions = nil
		f.pollsUntilDiff = 0
		f.doing = map[string]string{}
		n.reset = true
	}

	var err error
	n.events, err = f.log.Events()
	if err != nil {
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
		n.log, err = f.newLog()
		if err != nil {
			n.err = err
		}
	case paneDiff:
		f.pollsUntilDiff--
		if f.pollsUntilDiff < 0 {
			f.pollsUntilDiff = diffInterval
			n.diffRead = true
			n.diff, err = of.place.Project.WorktreeChanges(ctx, of.Run.ID)
			if err != nil {
				n.err = err
			}
			n.diff = plain.Text(n.diff)
		}
	case paneTree, paneGate:
	}
}

// newLog returns the new lines of the log: what 'tercet show --log' prints, with the actions of
// agents as they come, by time.
func (f *feed) newLog() (out []string, err error) {
	passages, _, err := f.log.Passages()
	list := f.actions
	f.actions = nil
	var at time.Time
	for _, p := range passages {
		if p.Spoken == nil {
			at = p.Time // what an agent said has no time
			list = append(list, timed{at, plain.Line(p.String())})
		}
		for _, s := range p.Spoken {
			mark, rows := live.Speech(string(s.Kind), s.Tool, s.Text)
			if s.Kind == project.SpokenUse { // it is among the actions
				continue
			}
			for _, row := range rows {
				list = append(list, timed{at, plain.Line(p.Step + " " + mark + " " + row)})
			}
		}
	}

	order.Stable(list, func(a, b timed) int {
		return a.at.Compare(b.at)
	})
	for _, one := range list {
		out = append(out, one.text)
	}
	return out, err
}
