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
	"tercet/project"
)

// model is the state of the screen. Only messages change it; its effects are commands.
type model struct {
	effects      *effects
	look         live.Style
	width        int
	height       int
	list         list
	detail       detail
	prompt       *prompt // nil: keys are commands
	notice       notice  // shown until the next key
	help         bool
	refreshing   bool // a poll is running
	refreshAgain bool // poll again after this one
	leaving      bool // the last key asked to leave
	last         time.Time
}

// list is the runs on the left.
type list struct {
	rows     []row
	selected string // key of the selected run
	filter   string
	err      string // why the last poll failed
	// resumed are the runs that were resumed without the user, by key, with the time for which they
	// waited.
	resumed map[string]time.Time
}

// pane is the view on the right.
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

// detail is the view of the selected run.
type detail struct {
	pane  pane
	focus bool   // the pane gets the keys
	top   int    // first visible line; end: follow the end
	run   string // the key of the selected run, to which the fields below belong
	tree  *live.View
	last  time.Time // of its last event
	log   []string
	diff  string
	known bool // the diff was read
}

// end makes a pane show its last lines.
const end = -1

// maxLog is how many lines of a log are stored.
const maxLog = 2000

// prompt is a line that the user types at the bottom.
type prompt struct {
	what  purpose
	run   row
	gate  formats.Gate
	label string // of a note: the choice that it is for
	input textinput.Model
}

// purpose is the purpose of a prompt.
type purpose int

const (
	purposeFilter purpose = iota
	purposeAnswer
	purposeNote
	purposeCancel
)

// minKeyInterval is the minimum time between two typed keys: what comes faster was pasted, and
// decides nothing.
const minKeyInterval = 80 * time.Millisecond

func newModel(d *effects, look live.Style) *model {
	return &model{
		effects: d,
		look:    look,
		width:   80,
		height:  24,
		list:    list{resumed: map[string]time.Time{}},
		detail:  detail{top: end, tree: &live.View{}},
	}
}

// tick starts a poll.
type tick struct{}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.refresh(), nextTick())
}

// nextTick waits for the next poll.
func nextTick() tea.Cmd {
	return tea.Tick(pollInterval, func(time.Time) tea.Msg { return tick{} })
}

// refresh polls, one poll at a time.
func (m *model) refresh() tea.Cmd {
	m.refreshAgain = m.refreshing
	if m.refreshing {
		return nil
	}
	m.refreshing = true
	run := m.list.selected
	at := m.detail.pane
	return m.effects.track(func() tea.Msg { return m.effects.feed.poll(m.effects.ctx, run, at) })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
		m.height = msg.Height
	case tick:
		if m.refreshing { // the poll takes longer than the interval
			return m, nextTick()
		}
		return m, tea.Batch(m.refresh(), nextTick())
	case update:
		m.refreshing = false
		m.apply(msg)
		cmds := m.resumeDue()
		if m.refreshAgain {
			cmds = append(cmds, m.refresh())
		}
		return m, tea.Batch(cmds...)
	case notice:
		m.notice = notice{plain.Line(msg.text), msg.bad}
		return m, m.refresh()
	case loneKey:
		if m.last.Equal(msg.at) { // nothing came behind it
			return m, m.send(msg.run, msg.gate, msg.label, "")
		}
	case tea.PasteMsg:
		m.last = m.effects.Now()
		if m.prompt == nil || m.prompt.what != purposeFilter {
			m.notice = notice{"what is pasted is not taken; type it", true}
			return m, nil
		}
		return m, m.edit(msg)
	case tea.KeyPressMsg:
		now := m.effects.Now()
		quick := now.Sub(m.last) < minKeyInterval
		m.last = now
		m.notice = notice{}
		return m, m.key(msg, quick)
	}

	return m, nil
}

// apply applies the result of a poll.
func (m *model) apply(n update) {
	m.list.err = ""
	if n.err != nil {
		m.list.err = failure(n.err).text
	}
	if n.rows != nil || n.err == nil {
		m.list.rows = n.rows
	}

	m.list.selected = cmp.Or(m.list.selected, n.run)
	if n.run != m.detail.run {
		m.detail.run = n.run
		m.detail.tree = &live.View{}
		m.detail.log = nil
		m.detail.diff = ""
		m.detail.known = false
	}

	if n.reset {
		m.detail.tree = &live.View{}
		m.detail.log = nil
	}
	for _, e := range n.events {
		m.detail.tree.Apply(e)
		m.detail.last = e.Time
	}

	if r, ok := m.chosen(); ok {
		m.look.Language = r.place.Language
	}
	m.detail.tree.Finished(m.width, m.look) // discard: this screen shows the tree
	m.detail.log = append(m.detail.log, n.log...)
	m.detail.log = slices.Clip(m.detail.log[max(0, len(m.detail.log)-maxLog):])
	if n.diffRead {
		m.detail.diff = n.diff
		m.detail.known = true
	}
	m.reselect()
}

// reselect selects a run that matches the filter.
func (m *model) reselect() {
	rows := m.list.filtered()
	if len(rows) > 0 &&
		!slices.ContainsFunc(rows, func(r row) bool { return r.key == m.list.selected }) {
		m.choose(rows[0].key)
	}
}

// resumeDue resumes, once each, the runs that are due and need no answer.
func (m *model) resumeDue() (cmds []tea.Cmd) {
	for _, r := range m.list.rows {
		if r.State != project.StateWaiting || !r.Run.DueUnattended(m.effects.Now()) ||
			m.list.resumed[r.key].Equal(r.Run.Until) {
			continue
		}
		m.list.resumed[r.key] = r.Run.Until
		m.notice = notice{
			text: "run " + r.Run.ID + " goes on: the time has come for which it waited",
		}
		cmds = append(cmds, m.effects.resume(r))
	}
	return cmds
}

// filtered are the runs that match the filter.
func (l list) filtered() []row {
	if l.filter == "" {
		return l.rows
	}
	var out []row
	for _, r := range l.rows {
		text := strings.ToLower(r.Run.ID + " " + r.Run.Line + " " + r.word() + " " + r.place.Name)
		if strings.Contains(text, strings.ToLower(l.filter)) {
			out = append(out, r)
		}
	}
	return out
}

// chosen is the selected run, if it matches the filter.
func (m *model) chosen() (row, bool) {
	for _, r := range m.list.filtered() {
		if r.key == m.list.selected {
			return r, true
		}
	}
	return row{}, false
}

// choose selects another run.
func (m *model) choose(key string) {
	if m.list.selected != key {
		m.list.selected = key
		m.detail.top = m.start()
	}
}

// start is the initial position of a pane: the end of a tree or log, the beginning of others.
func (m *model) start() int {
	if m.detail.pane == paneTree || m.detail.pane == paneLog {
		return end
	}
	return 0
}

// show shows a pane and gives it the keys.
func (m *model) show(p pane) tea.Cmd {
	m.detail.pane = p
	m.detail.focus = true
	m.detail.top = m.start()
	if p == paneDiff {
		m.detail.known = false
	}
	return m.refresh()
}

// key handles a key. quick means that it followed another at once.
func (m *model) key(k tea.KeyPressMsg, quick bool) tea.Cmd {
	name := k.String()
	if name != "q" && name != "ctrl+c" {
		m.leaving = false
	}
	switch {
	case name == "ctrl+c":
		return m.leave()
	case name == "ctrl+z":
		return tea.Exec(suspendCommand{m.effects.Suspend}, func(error) tea.Msg { return nil })
	case m.prompt != nil:
		return m.promptKey(k, quick)
	case m.help:
		m.help = false
		return nil
	}

	r, ok := m.chosen()
	atGate := ok && m.detail.focus && m.detail.pane == paneGate
	if atGate && r.State == project.StateAsking && len(k.Text) > 0 {
		label, _, fits := question.Of(r.Gate.Choices, r.place.Language).Read(k.Text)
		if fits {
			return m.answerKey(r, label, k.Text, quick)
		}
	}
	switch name {
	case "q":
		return m.leave()
	case "?":
		m.help = true
	case "/":
		return m.begin(&prompt{what: purposeFilter}, m.list.filter)
	case "tab":
		return m.show((m.detail.pane + 1) % pane(len(panes)))
	case "shift+tab":
		return m.show((m.detail.pane + pane(len(panes)) - 1) % pane(len(panes)))
	case "enter", "right":
		m.detail.focus = true
		if ok && r.State == project.StateAsking && name == "enter" {
			return m.show(paneGate)
		}
	case "esc", "left":
		if !m.detail.focus {
			m.list.filter = ""
		}
		m.detail.focus = false
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

// answerKey answers by one key. Where the user's own words are an answer too it begins a line, and
// where a note belongs to the choice it asks for that first.
func (m *model) answerKey(r row, label, key string, quick bool) tea.Cmd {
	g := *r.Gate
	switch {
	case quick:
		m.notice = notice{
			"the key came at once behind another, as in a paste; press it again", true,
		}
		return nil
	case g.Free != "":
		return m.begin(&prompt{what: purposeAnswer, run: r, gate: g}, key)
	case question.WantsNote(g, label, key):
		return m.begin(&prompt{what: purposeNote, run: r, gate: g, label: label}, "")
	}
	at := m.last
	return tea.Tick(minKeyInterval, func(time.Time) tea.Msg {
		return loneKey{at: at, run: r, gate: g, label: label}
	})
}

// loneKey is a key that answers a question unless another one followed at once, as in a paste.
type loneKey struct {
	at    time.Time
	run   row
	gate  formats.Gate
	label string
}

// send answers a question.
func (m *model) send(r row, g formats.Gate, label, note string) tea.Cmd {
	m.prompt = nil
	m.notice = notice{text: "answers " + plain.Line(phrase.In(r.place.Language, label))}
	return m.effects.answer(r, g, label, note)
}

// leave leaves the screen. Runs that go on here would be suspended with that, so it asks for a
// second key then.
func (m *model) leave() tea.Cmd {
	n := len(m.effects.atWork())
	if n == 0 || m.leaving {
		return tea.Quit
	}
	m.leaving = true
	m.notice = notice{
		formats.Count(n, "run") + " at work here; the same key again suspends and leaves",
		true,
	}
	return nil
}

// order pauses, resumes or cancels a run.
func (m *model) order(key string, r row) tea.Cmd {
	switch {
	case r.State == project.StateFinished:
		m.notice = notice{"run " + r.Run.ID + " has ended", true}
	case key == "p":
		m.notice = notice{text: "run " + r.Run.ID + ": asked to pause"}
		return m.effects.pause(r)
	case key == "r":
		m.notice = notice{text: "run " + r.Run.ID + " goes on"}
		return m.effects.resume(r)
	default:
		return m.begin(&prompt{what: purposeCancel, run: r}, "")
	}
	return nil
}

// begin opens a prompt.
func (m *model) begin(t *prompt, text string) tea.Cmd {
	t.input = textinput.New()
	t.input.Prompt = ""
	t.input.SetStyles(textinput.Styles{})
	t.input.CharLimit = 500
	t.input.SetVirtualCursor(false)
	t.input.SetValue(text)
	t.input.CursorEnd()
	m.prompt = t
	return t.input.Focus()
}

func (m *model) edit(msg tea.Msg) (cmd tea.Cmd) {
	m.prompt.input, cmd = m.prompt.input.Update(msg)
	if m.prompt.what == purposeFilter {
		m.list.filter = strings.TrimSpace(m.prompt.input.Value())
		m.reselect()
	}
	return cmd
}

// promptKey handles a key of the prompt.
func (m *model) promptKey(k tea.KeyPressMsg, quick bool) tea.Cmd {
	t := m.prompt
	if t.what == purposeCancel {
		return m.confirmCancel(k.String(), quick)
	}
	switch k.String() {
	case "esc":
		m.prompt = nil
		if t.what == purposeFilter {
			m.list.filter = ""
		}
		return nil
	case "ctrl+v": // the local clipboard is not available
		return nil
	case "enter":
	default:
		return m.edit(k)
	}

	text := t.input.Value()
	if quick && t.what != purposeFilter {
		m.notice = notice{"Enter came at once, as in a paste; press it again", true}
		return nil
	}

	switch t.what {
	case purposeFilter:
	case purposeAnswer:
		label, note, ok := question.Of(t.gate.Choices, t.run.place.Language).Read(text)
		if free := t.gate.Free; !ok && free != "" && strings.TrimSpace(text) != "" {
			label = free
			note = strings.TrimSpace(text)
			ok = true
		}
		if !ok {
			m.notice = notice{"that is no choice; Esc leaves", true}
			return nil
		}
		if t.gate.Lacks(label, note) {
			word := plain.Line(phrase.In(t.run.place.Language, label))
			m.notice = notice{"'" + word + "' needs a note: type it behind a colon", true}
			return nil
		}
		return m.send(t.run, t.gate, label, note)
	case purposeNote:
		note := strings.TrimSpace(text)
		if t.gate.Lacks(t.label, note) {
			word := plain.Line(phrase.In(t.run.place.Language, t.label))
			m.notice = notice{"'" + word + "' needs a note; Esc leaves", true}
			return nil
		}
		return m.send(t.run, t.gate, t.label, note)
	case purposeCancel: // a key has answered it
	}

	m.prompt = nil
	return nil
}

// confirmCancel takes the key that answers whether to cancel a run.
func (m *model) confirmCancel(key string, quick bool) tea.Cmd {
	run := m.prompt.run
	switch {
	case key == "n" || key == "N" || key == "enter" || key == "esc":
		m.prompt = nil
	case key != "y" && key != "Y":
		m.notice = notice{"expected y or n", true}
	case quick:
		m.notice = notice{"the key came at once, as in a paste; press it again", true}
	default:
		m.prompt = nil
		m.notice = notice{text: "run " + run.Run.ID + ": asked to end"}
		return m.effects.cancel(run)
	}
	return nil
}

// move selects another run or scrolls a pane.
func (m *model) move(key string) tea.Cmd {
	page := max(1, m.paneRows()-1)
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
	case m.detail.focus:
		last := max(0, len(m.content())-m.paneRows())
		if m.detail.top == end {
			m.detail.top = last
		}
		m.detail.top = min(max(m.detail.top+by, 0), last)
		if m.detail.top == last && m.start() == end {
			m.detail.top = end
		}
		return nil
	}

	rows := m.list.filtered()
	if len(rows) == 0 {
		return nil
	}
	at := slices.IndexFunc(rows, func(r row) bool { return r.key == m.list.selected })
	m.choose(rows[min(max(at+by, 0), len(rows)-1)].key)
	return m.refresh()
}

// suspendCommand is a command of bubbletea that releases the terminal meanwhile.
type suspendCommand struct{ suspend func() }

// Run implements tea.ExecCommand.
func (s suspendCommand) Run() error {
	s.suspend()
	return nil
}

func (suspendCommand) SetStdin(io.Reader)  {}
func (suspendCommand) SetStdout(io.Writer) {}
func (suspendCommand) SetStderr(io.Writer) {}
