package watch

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"tercet/formats"
	"tercet/internal/live"
	"tercet/internal/phrase"
	"tercet/internal/plain"
	"tercet/internal/question"
)

// model is what the screen shows. All that it changes by are messages; what it does are the
// commands of its deeds.
type model struct {
	do    *deeds
	look  live.Style
	wide  int
	high  int
	list  list
	seen  seen
	typed *typed // the line that is typed; nil: keys are commands
	told  told   // stays until the next key
	help  bool
	busy  bool // a look for news is under way
	again bool // and has to do so once more
	last  time.Time
}

// list is the runs on the left.
type list struct {
	rows   []row
	at     string // the run that is chosen, by its id
	filter string
	err    string // why nothing new is known
	// runs that were resumed without the user, with the time for which they waited
	begun map[string]time.Time
}

// pane is what stands on the right.
type pane int

const (
	paneTree pane = iota
	paneLog
	paneDiff
	paneGate
)

var panes = [...]string{
	paneTree: "tree",
	paneLog:  "log",
	paneDiff: "diff",
	paneGate: "gate",
}

// seen is the run that is looked at.
type seen struct {
	pane  pane
	focus bool   // keys move in it
	top   int    // its first line that is shown; end: the last ones are
	run   string // what follows is of it
	tree  *live.View
	last  time.Time // of its last event
	log   []string
	diff  string
	known bool // the diff is
}

// end shows the last lines of a pane.
const end = -1

// mostLog is how many lines of a log are kept.
const mostLog = 2000

// typed is a line that the user types at the bottom.
type typed struct {
	what  purpose
	run   string
	gate  formats.Gate
	input textinput.Model
}

// purpose is what a typed line is for.
type purpose int

const (
	filters purpose = iota
	answers
	cancels
)

// human is the least time between two keys that a user types: what comes faster was pasted, and
// decides nothing.
const human = 80 * time.Millisecond

func newModel(d *deeds, look live.Style) *model {
	return &model{
		do:   d,
		look: look,
		wide: 80,
		high: 24,
		list: list{begun: map[string]time.Time{}},
		seen: seen{top: end, tree: &live.View{}},
	}
}

// tick says that it is time to look.
type tick struct{}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.refresh(), later())
}

// later waits until it is time to look.
func later() tea.Cmd {
	return tea.Tick(every, func(time.Time) tea.Msg { return tick{} })
}

// refresh looks for what is new, once at a time.
func (m *model) refresh() tea.Cmd {
	m.again = m.busy
	if m.busy {
		return nil
	}
	m.busy = true
	run := m.list.at
	at := m.seen.pane
	return m.do.do(func() tea.Msg { return m.do.feed.look(m.do.ctx, run, at) })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.wide = msg.Width
		m.high = msg.Height
	case tick:
		if m.busy { // which takes longer than it should
			return m, later()
		}
		return m, tea.Batch(m.refresh(), later())
	case news:
		m.busy = false
		m.take(msg)
		cmds := m.alone()
		if m.again {
			cmds = append(cmds, m.refresh())
		}
		return m, tea.Batch(cmds...)
	case told:
		m.told = told{plain.Line(msg.text), msg.bad}
		return m, m.refresh()
	case tea.PasteMsg:
		if m.typed == nil || m.typed.what != filters {
			m.told = told{"what is pasted is not taken; type it", true}
			return m, nil
		}
		return m, m.edit(msg)
	case tea.KeyPressMsg:
		now := m.do.Desk.Clock.Now()
		quick := now.Sub(m.last) < human
		m.last = now
		m.told = told{}
		return m, m.key(msg, quick)
	}

	return m, nil
}

// take takes in what a look has found.
func (m *model) take(n news) {
	m.list.err = ""
	if n.err != nil {
		m.list.err = failure(n.err).text
	}
	if n.rows != nil || n.err == nil {
		m.list.rows = n.rows
	}
	m.list.at = cmp.Or(m.list.at, n.run)
	if n.run != m.seen.run {
		m.seen.run = n.run
		m.seen.tree = &live.View{}
		m.seen.log = nil
		m.seen.diff = ""
		m.seen.known = false
	}
	if n.afresh {
		m.seen.tree = &live.View{}
		m.seen.log = nil
	}
	for _, e := range n.events {
		m.seen.tree.Apply(e)
		m.seen.last = e.Time
	}

	m.seen.tree.Finished(m.wide, m.look) // which this screen does not draw
	m.seen.log = append(m.seen.log, n.log...)
	m.seen.log = slices.Clip(m.seen.log[max(0, len(m.seen.log)-mostLog):])
	if n.differ {
		m.seen.diff = n.diff
		m.seen.known = true
	}
	m.fit()
}

// fit chooses a run that the filter leaves.
func (m *model) fit() {
	rows := m.list.shown()
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(r row) bool { return r.ID == m.list.at }) {
		m.choose(rows[0].ID)
	}
}

// alone goes on, once each, with the runs whose time has come and that need no answer.
func (m *model) alone() (cmds []tea.Cmd) {
	for _, r := range m.list.rows {
		if r.state != rests || !r.DueUnattended(m.do.Desk.Clock.Now()) ||
			m.list.begun[r.ID].Equal(r.Until) {
			continue
		}
		m.list.begun[r.ID] = r.Until
		m.told = told{text: "run " + r.ID + " goes on: the time has come for which it waited"}
		cmds = append(cmds, m.do.resume(r.ID))
	}
	return cmds
}

// shown are the runs that the filter leaves.
func (l list) shown() []row {
	if l.filter == "" {
		return l.rows
	}
	var out []row
	for _, r := range l.rows {
		if strings.Contains(
			strings.ToLower(r.ID+" "+r.Line+" "+r.word()),
			strings.ToLower(l.filter),
		) {
			out = append(out, r)
		}
	}
	return out
}

// chosen is the run that is chosen, if the filter leaves it.
func (m *model) chosen() (row, bool) {
	for _, r := range m.list.shown() {
		if r.ID == m.list.at {
			return r, true
		}
	}
	return row{}, false
}

// choose looks at another run.
func (m *model) choose(id string) {
	if m.list.at != id {
		m.list.at = id
		m.seen.top = m.start()
	}
}

// start is where a pane is shown first: what goes on at its end, what is read from its beginning.
func (m *model) start() int {
	if m.seen.pane == paneTree || m.seen.pane == paneLog {
		return end
	}
	return 0
}

// show shows a pane, and gives it the keys.
func (m *model) show(p pane) tea.Cmd {
	m.seen.pane = p
	m.seen.focus = true
	m.seen.top = m.start()
	if p == paneDiff {
		m.seen.known = false
	}
	return m.refresh()
}

// key does what a key says. A quick one followed another at once.
func (m *model) key(k tea.KeyPressMsg, quick bool) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Exec(stop{m.do.Suspend}, func(error) tea.Msg { return nil })
	case m.typed != nil:
		return m.typing(k, quick)
	case m.help:
		m.help = false
		return nil
	}

	r, ok := m.chosen()
	if ok && m.seen.focus && m.seen.pane == paneGate && r.state == asks && len(k.Text) > 0 {
		if _, _, fits := question.Of(r.gate.Choices, m.do.Language).Read(k.Text); fits {
			return m.begin(&typed{
				what: answers,
				run:  r.ID,
				gate: *r.gate,
			}, k.Text)
		}
	}
	switch name {
	case "q":
		return tea.Quit
	case "?":
		m.help = true
	case "/":
		return m.begin(&typed{what: filters}, m.list.filter)
	case "tab":
		return m.show((m.seen.pane + 1) % pane(len(panes)))
	case "shift+tab":
		return m.show((m.seen.pane + pane(len(panes)) - 1) % pane(len(panes)))
	case "enter", "right":
		m.seen.focus = true
		if ok && r.state == asks && name == "enter" {
			return m.show(paneGate)
		}
	case "esc", "left":
		if !m.seen.focus {
			m.list.filter = ""
		}
		m.seen.focus = false
	case "t", "l", "d", "g":
		return m.show(pane(strings.Index("tldg", name)))
	case "p", "r", "c":
		if ok && !quick {
			return m.order(name, r)
		}
	default:
		return m.move(name)
	}

	return nil
}

// order pauses, resumes or cancels a run.
func (m *model) order(key string, r row) tea.Cmd {
	switch {
	case r.state == over:
		m.told = told{"run " + r.ID + " has ended", true}
	case key == "p":
		m.told = told{text: "run " + r.ID + ": asked to pause"}
		return m.do.pause(r.ID)
	case key == "r":
		m.told = told{text: "run " + r.ID + " goes on in a process of its own"}
		return m.do.resume(r.ID)
	default:
		return m.begin(&typed{what: cancels, run: r.ID}, "")
	}
	return nil
}

// begin lets the user type a line.
func (m *model) begin(t *typed, text string) tea.Cmd {
	t.input = textinput.New()
	t.input.Prompt = ""
	t.input.SetStyles(textinput.Styles{})
	t.input.CharLimit = 500
	t.input.SetVirtualCursor(false)
	t.input.SetValue(text)
	t.input.CursorEnd()
	m.typed = t
	return t.input.Focus()
}

func (m *model) edit(msg tea.Msg) (cmd tea.Cmd) {
	m.typed.input, cmd = m.typed.input.Update(msg)
	if m.typed.what == filters {
		m.list.filter = strings.TrimSpace(m.typed.input.Value())
		m.fit()
	}
	return cmd
}

// typing takes a key of the line that is typed.
func (m *model) typing(k tea.KeyPressMsg, quick bool) tea.Cmd {
	t := m.typed
	switch k.String() {
	case "esc":
		m.typed = nil
		if t.what == filters {
			m.list.filter = ""
		}
		return nil
	case "ctrl+v": // of a clipboard that is not here
		return nil
	case "enter":
	default:
		return m.edit(k)
	}

	text := t.input.Value()
	if quick && t.what != filters {
		m.told = told{"Enter came at once, as in a paste; press it again", true}
		return nil
	}

	switch t.what {
	case filters:
	case answers:
		label, note, ok := question.Of(t.gate.Choices, m.do.Language).Read(text)
		if free := t.gate.Free; !ok && free != "" && strings.TrimSpace(text) != "" {
			label = free
			note = strings.TrimSpace(text)
			ok = true
		}
		if !ok {
			m.told = told{"that is no choice; Esc leaves", true}
			return nil
		}
		if t.gate.Lacks(label, note) {
			word := plain.Line(phrase.In(m.do.Language, label))
			m.told = told{"'" + word + "' needs a note: type it behind a colon", true}
			return nil
		}
		m.typed = nil
		m.told = told{text: "answers " + plain.Line(phrase.In(m.do.Language, label))}
		return m.do.answer(t.run, t.gate, label, note)
	case cancels:
		yes, ok := question.ParseYes(text)
		if !ok {
			m.told = told{"expected y or n", true}
			return nil
		}
		m.typed = nil
		if yes {
			m.told = told{text: "run " + t.run + ": asked to end"}
			return m.do.cancel(t.run)
		}
	}

	m.typed = nil
	return nil
}

// move chooses another run, or another part of a pane.
func (m *model) move(key string) tea.Cmd {
	page := max(1, m.room()-1)
	by, ok := map[string]int{
		"up":     -1,
		"k":      -1,
		"down":   1,
		"j":      1,
		"pgup":   -page,
		"pgdown": page,
		"home":   -1 << 30,
		"end":    1 << 30,
	}[key]
	switch {
	case !ok:
		return nil
	case m.seen.focus:
		last := max(0, len(m.content())-m.room())
		if m.seen.top == end {
			m.seen.top = last
		}
		m.seen.top = min(max(m.seen.top+by, 0), last)
		if m.seen.top == last && m.start() == end {
			m.seen.top = end
		}
		return nil
	}

	rows := m.list.shown()
	if len(rows) == 0 {
		return nil
	}
	at := slices.IndexFunc(rows, func(r row) bool { return r.ID == m.list.at })
	m.choose(rows[min(max(at+by, 0), len(rows)-1)].ID)
	return m.refresh()
}

// stop is a command of bubbletea that gives the terminal back meanwhile.
type stop struct{ suspend func() }

// Run implements tea.ExecCommand.
func (s stop) Run() error {
	s.suspend()
	return nil
}

func (stop) SetStdin(io.Reader)  {}
func (stop) SetStdout(io.Writer) {}
func (stop) SetStderr(io.Writer) {}
