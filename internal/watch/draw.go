package watch

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/phrase"
	"tercet/internal/plain"
	"tercet/internal/question"
	"tercet/internal/style"
)

// Limits of the layout, in columns: the least width for two panes, the least while a pane has the
// keys, and the left one's width.
const (
	narrow    = 60
	reading   = 120
	leastLeft = 24
	mostLeft  = 60
	chrome    = 4 // rows that are not of a pane: the head, that of the run, what was told, the keys
)

// selected is how the run is painted that is chosen, and the pane that is shown.
const selected style.Look = "7"

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	if m.typed != nil {
		if c := m.typed.input.Cursor(); c != nil {
			c.X = min(m.wide-1, c.X+ansi.StringWidth(m.lead()))
			c.Y = max(0, m.high-1)
			v.Cursor = c
		}
	}
	return v
}

// room is how many rows a pane has.
func (m *model) room() int {
	return max(1, m.high-chrome)
}

// left is how wide the list is, and right the pane; one of them has no room where both have too
// little.
func (m *model) sizes() (left, right int) {
	switch {
	case m.wide >= reading, m.wide >= narrow && !m.seen.focus:
		left = min(max(leastLeft, m.wide*7/20), mostLeft)
		return left, m.wide - left - len(" | ")
	case m.seen.focus:
		return 0, m.wide
	}
	return m.wide, 0
}

// lines are the rows of the screen, none wider than it.
func (m *model) lines() []string {
	sheet := m.do.Sheet
	rows := m.room()
	left, right := m.sizes()
	out := []string{m.head()}
	list := m.runs(left, rows+1)
	about := ""
	body := []string(nil)
	if right > 0 {
		about = m.about()
		body = m.content()
		top := min(m.seen.top, max(0, len(body)-rows))
		if m.seen.top == end {
			top = max(0, len(body)-rows)
		}
		body = body[top:]
	}
	if m.help {
		list = nil
		left = 0
		right = m.wide
		about = sheet.Paint(style.Heading, "keys")
		body = m.passage(keys, m.wide)
	}
	for i := range rows + 1 {
		line := ""
		if left > 0 {
			if i < len(list) {
				line = list[i]
			}
			line = m.cut(line, left)
		}
		if left > 0 && right > 0 {
			line += strings.Repeat(" ", max(0, left-ansi.StringWidth(line)))
			line += " " + sheet.Paint(style.Aside, sheet.Mark("│")) + " "
		}
		switch {
		case right == 0:
		case i == 0:
			line += m.cut(about, right)
		case i-1 < len(body):
			line += m.cut(body[i-1], right)
		}
		out = append(out, line)
	}

	out = append(out, m.bottom()...)
	for i, line := range out {
		out[i] = m.cut(line, m.wide)
	}
	return out[:min(len(out), max(1, m.high))]
}

// cut shortens a row by its width; what it holds has its colours.
func (m *model) cut(line string, columns int) string {
	sheet := m.do.Sheet
	return ansi.Truncate(
		sheet.Text(strings.ReplaceAll(line, "\t", "    ")),
		columns,
		sheet.Mark("…"),
	)
}

// head says how many runs there are of each kind, and which of them are shown.
func (m *model) head() string {
	var n [over + 1]int
	for _, r := range m.list.rows {
		n[r.state]++
	}
	words := []string{"tercet watch", plain.Line(m.do.Name)}
	for state, word := range []string{asks: "waiting for you", works: "at work"} {
		if n[state] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[state], word))
		}
	}
	if m.list.filter != "" && m.typed == nil {
		words = append(words, "only '"+plain.Line(m.list.filter)+"'")
	}
	return m.do.Sheet.Paint(style.Heading, strings.Join(words, "  "))
}

// runs is the list on the left, so that the chosen run is in it.
func (m *model) runs(columns, most int) []string {
	rows := m.list.shown()
	switch {
	case len(rows) == 0 && m.list.filter != "":
		return []string{"no run fits the filter"}
	case len(rows) == 0:
		return []string{"no run yet", "a slash command begins one"}
	}
	top := 0
	for i, r := range rows {
		if r.ID == m.list.at {
			top = min(max(0, i-most/2), max(0, len(rows)-most))
		}
	}
	var out []string
	for _, r := range rows[top:min(len(rows), top+most)] {
		out = append(out, m.row(r, columns))
	}
	return out
}

// row is a run in the list.
func (m *model) row(r row, columns int) string {
	sheet := m.do.Sheet
	now := m.do.Desk.Clock.Now()
	mark := map[state]string{
		asks:  "?",
		works: sheet.Mark("▶"),
		rests: sheet.Mark("○"),
	}[r.state]
	switch {
	case r.trouble != "", r.state == rests && r.Status == journal.Open:
		mark = "!"
	case r.state == over && formats.Outcome(r.Status).Passes():
		mark = sheet.Mark("✓")
	case r.state == over:
		mark = sheet.Mark("✗")
	}

	lead := "  "
	age := journal.Age(max(0, now.Sub(r.Started)))
	if r.ID == m.list.at {
		lead = "> "
	}
	const wide = 40
	if columns > wide {
		age = r.word() + "  " + age
	}
	if r.Number > 0 {
		age = fmt.Sprintf("%d/%d  %s", r.Number, r.Of, age)
	}
	look := style.LookOf(r.word())
	room := max(1, columns-len(lead)-ansi.StringWidth(mark)-ansi.StringWidth(age)-2)
	line := ansi.Truncate(plain.Line(r.Line), room, sheet.Mark("…"))
	line += strings.Repeat(" ", max(0, room-ansi.StringWidth(line)))
	if r.ID == m.list.at && !m.seen.focus {
		line = sheet.Paint(selected, line)
	}
	return lead + sheet.Paint(look, mark) + " " + line + " " + sheet.Paint(style.Aside, age)
}

// about is the row above a pane: which there are, and whose it is.
func (m *model) about() string {
	r, ok := m.chosen()
	var tabs []string
	for i, name := range panes {
		if i == int(paneGate) && r.state == asks && ok {
			name += "!"
		}
		if i == int(m.seen.pane) {
			name = m.do.Sheet.Paint(selected, "["+name+"]")
		}
		tabs = append(tabs, name)
	}
	line := strings.Join(tabs, " ")
	if ok {
		whose := r.ID + " " + r.word()
		if left, _ := m.sizes(); left == 0 {
			whose += "  " + r.Line
		}
		line += "  " + m.do.Sheet.Paint(style.Aside, plain.Line(whose))
	}
	return line
}

// content are all rows of the pane.
func (m *model) content() []string {
	r, ok := m.chosen()
	_, right := m.sizes()
	switch {
	case !ok:
		return m.runs(right, 1)
	case r.trouble != "":
		return m.passage(r.trouble, right)
	}

	switch m.seen.pane {
	case paneTree:
		now := m.do.Desk.Clock.Now()
		if r.state != works { // what has stopped stands still
			now = m.seen.last
		}
		out := m.seen.tree.Lines(right, now, m.look)
		if len(out) == 0 {
			out = []string{"the run has told nothing yet"}
		}
		if why := r.WaitReason(); why != "" && r.state != works {
			out = append(out, m.passage(why, right)...)
		}
		switch r.state {
		case asks:
			out = append(out, m.passage("g, or 'tercet approve "+r.ID+"', answers it", right)...)
		case rests:
			out = append(
				out,
				m.passage("r, or 'tercet resume "+r.ID+"', goes on with it", right)...,
			)
		case works, over:
		}
		return out
	case paneLog:
		return m.seen.log
	case paneDiff:
		switch {
		case !m.seen.known:
			return []string{"looks"}
		case strings.TrimSpace(m.seen.diff) == "":
			return []string{"nothing has changed in a worktree of the run"}
		}
		return strings.Split(m.do.Sheet.Diff(strings.TrimRight(m.seen.diff, "\n")), "\n")
	case paneGate:
	}

	return m.question(r, right)
}

// passage breaks a text of a stranger.
func (m *model) passage(text string, columns int) []string {
	return strings.Split(style.Wrap(plain.Text(text), max(1, columns)), "\n")
}

// question is what a gate asks, shows and takes.
func (m *model) question(r row, columns int) []string {
	g := r.gate
	if g == nil {
		return []string{"the run asks nothing"}
	}

	out := []string{}
	for _, line := range m.passage(g.Question, columns) {
		out = append(out, m.do.Sheet.Paint(style.Waits, line))
	}
	for _, v := range g.Votes {
		out = append(out, plain.Line("answered by "+v.By+": "+v.Answer))
	}

	if r.answer != "" {
		return append(
			out,
			m.passage("answered by "+r.answer+"; r goes on with the run", columns)...,
		)
	}

	if until := g.Until(); !until.IsZero() {
		left := journal.Age(max(0, until.Sub(m.do.Desk.Clock.Now())))
		out = append(
			out,
			plain.Line("takes '"+phrase.In(m.do.Language, g.Timeout.Choose)+"' in "+left),
		)
	}
	if !m.seen.focus {
		out = append(out, "g or Enter, then a key of it answers")
	}
	out = append(out, "")
	for _, key := range question.Of(g.Choices, m.do.Language).Keys() {
		out = append(out, m.passage(key, columns)...)
	}

	out = append(out, "")
	for _, text := range g.Show {
		for line := range strings.SplitSeq(strings.TrimRight(plain.Text(text), "\n"), "\n") {
			out = append(out, m.passage(line, columns)...)
		}
	}

	return out
}

// bottom is what was told, and the keys or the line that is typed.
func (m *model) bottom() []string {
	told := m.told.text
	look := style.Plain
	if m.told.bad {
		look = style.Bad
	}
	if told == "" && m.list.err != "" {
		told = plain.Line(m.list.err)
		look = style.Bad
	}
	if t := m.typed; t != nil {
		if told == "" && t.what == answers {
			told = "Enter answers, Esc leaves"
			label, note, ok := question.Of(t.gate.Choices, m.do.Language).Read(t.input.Value())
			if ok {
				told = "Enter answers '" + plain.Line(phrase.In(m.do.Language, label)) + "'"
				if note != "" {
					told += " with a note"
				}
				told += " to: " + plain.Line(t.gate.Question)
			}
		}
		m.typed.input.SetWidth(max(1, m.wide-ansi.StringWidth(m.lead())-1))
		return []string{m.do.Sheet.Paint(look, told), m.lead() + m.typed.input.View()}
	}
	return []string{m.do.Sheet.Paint(look, told), m.do.Sheet.Paint(style.Aside, m.hint())}
}

// lead stands before the line that is typed.
func (m *model) lead() string {
	switch m.typed.what {
	case answers:
		return "answer> "
	case cancels:
		return "cancel run " + plain.Line(m.typed.run) + "? [y/N] "
	case filters:
	}
	return "filter> "
}

// hint are the keys that matter now.
func (m *model) hint() string {
	back := "Enter opens"
	if m.seen.focus {
		back = "Esc back"
	}
	if r, ok := m.chosen(); ok && r.state == asks && m.seen.focus && m.seen.pane == paneGate {
		return "a letter or number answers  " + back + "  Tab pane  ? keys  q leaves"
	}
	return "? keys  " + back + "  Tab pane  p pause  r resume  c cancel  / filter  q leaves"
}

// keys explains the keys.
const keys = `Up Down k j   another run; in a pane another line, as PgUp PgDn Home End
Enter Right   into the pane, to the question if there is one
Esc Left      back to the runs, and from there to all of them
Tab           the next pane; t tree, l log, d diff, g gate
p r c         pause, resume, cancel the run
/             shows the runs whose line, id or status has the words
q Ctrl-C      leaves; the runs go on; Ctrl-Z stops the screen

In the gate, a letter or number of a choice begins the answer.
Enter sends it, Esc leaves it. What is pasted answers nothing.`
