package watch

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tercet/formats"
	"tercet/internal/phrase"
	"tercet/internal/plain"
	"tercet/internal/question"
	"tercet/internal/style"
	"tercet/project"
)

// Limits of the layout, in columns: the minimum for two panes, the same while a pane has the focus,
// and the width of the left one.
const (
	minTwoPanes = 60
	minReading  = 120
	minLeft     = 24
	maxLeft     = 60
	chromeRows  = 4 // rows outside the panes: head, pane header, notice, keys
)

// selected is the look of the selected run and of the shown pane.
const selected style.Look = "7"

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	if m.prompt != nil {
		if c := m.prompt.input.Cursor(); c != nil {
			c.X = min(m.width-1, c.X+ansi.StringWidth(m.lead()))
			c.Y = max(0, m.height-1)
			v.Cursor = c
		}
	}
	return v
}

// paneRows is the number of rows of a pane.
func (m *model) paneRows() int {
	return max(1, m.height-chromeRows)
}

// sizes returns the widths of the list and of the pane; one of them is 0 if both do not fit.
func (m *model) sizes() (left, right int) {
	switch {
	case m.width >= minReading, m.width >= minTwoPanes && !m.detail.focus:
		left = min(max(minLeft, m.width*7/20), maxLeft)
		return left, m.width - left - len(" | ")
	case m.detail.focus:
		return 0, m.width
	}
	return m.width, 0
}

// lines are the rows of the screen, none wider than it.
func (m *model) lines() []string {
	left, right := m.sizes()
	rows := m.paneRows() + 1 // with the header of the pane
	list := m.runLines(left, rows)
	pane := m.paneLines(right)
	if m.help {
		left = 0
		right = m.width
		pane = append(
			[]string{m.effects.Sheet.Paint(style.Heading, "keys")},
			m.wrapText(keys, m.width)...,
		)
	}

	out := []string{m.head()}
	for i := range rows {
		out = append(out, m.sideBySide(rowAt(list, i), left, rowAt(pane, i), right))
	}
	out = append(out, m.bottom()...)
	for i, line := range out {
		out[i] = m.cut(line, m.width)
	}
	return out[:min(len(out), max(1, m.height))]
}

// paneLines are the header of the pane and its rows from where it is scrolled to; none without a
// width.
func (m *model) paneLines(columns int) []string {
	if columns == 0 {
		return nil
	}
	body := m.content()
	lowest := max(0, len(body)-m.paneRows())
	top := lowest
	if m.detail.top != end {
		top = min(m.detail.top, lowest)
	}
	return append([]string{m.paneHeader()}, body[top:]...)
}

// rowAt is a row of a list, empty behind its end.
func rowAt(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// sideBySide puts a row of the list before one of the pane, with a line between them.
// Either has no width if it is not shown.
func (m *model) sideBySide(list string, left int, pane string, right int) string {
	list = m.cut(list, left)
	pane = m.cut(pane, right)
	switch {
	case left == 0:
		return pane
	case right == 0:
		return list
	}
	sheet := m.effects.Sheet
	list += strings.Repeat(" ", max(0, left-ansi.StringWidth(list)))
	return list + " " + sheet.Paint(style.Aside, sheet.Mark("│")) + " " + pane
}

// cut shortens a row to a width and keeps its colors.
func (m *model) cut(line string, columns int) string {
	sheet := m.effects.Sheet
	return ansi.Truncate(
		sheet.Text(strings.ReplaceAll(line, "\t", "    ")),
		columns,
		sheet.Mark("…"),
	)
}

// head counts the runs of each kind, and names the filter.
func (m *model) head() string {
	var n [project.StateFinished + 1]int
	for _, r := range m.list.rows {
		n[r.State]++
	}
	words := []string{"tercet watch", plain.Line(m.effects.Projects[0].Name)}
	if n := len(m.effects.Projects); n > 1 {
		words[1] = formats.Count(n, "project")
	}
	for state, word := range []string{
		project.StateAsking:  "waiting for you",
		project.StateRunning: "at work",
	} {
		if n[state] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[state], word))
		}
	}
	if m.list.filter != "" && m.prompt == nil {
		words = append(words, "only '"+plain.Line(m.list.filter)+"'")
	}
	return m.effects.Sheet.Paint(style.Heading, strings.Join(words, "  "))
}

// runLines is the list on the left, scrolled to the selected run.
func (m *model) runLines(columns, most int) []string {
	rows := m.list.filtered()
	switch {
	case len(rows) == 0 && m.list.filter != "":
		return []string{"no run fits the filter"}
	case len(rows) == 0:
		return []string{"no run yet", "a slash command begins one"}
	}

	top := 0
	for i, r := range rows {
		if r.key == m.list.selected {
			top = min(max(0, i-most/2), max(0, len(rows)-most))
		}
	}

	var out []string
	for _, r := range rows[top:min(len(rows), top+most)] {
		out = append(out, m.rowLine(r, columns))
	}
	return out
}

// rowLine is a run in the list.
func (m *model) rowLine(r row, columns int) string {
	sheet := m.effects.Sheet
	mark := m.markOf(r)
	age := style.Age(max(0, m.effects.Now().Sub(r.Run.Started)))
	const wide = 40
	if columns > wide {
		age = r.word() + "  " + age
	}
	if r.Run.Number > 0 {
		age = fmt.Sprintf("%d/%d  %s", r.Run.Number, r.Run.Of, age)
	}

	lead := "  "
	if r.key == m.list.selected {
		lead = "> "
	}

	room := max(1, columns-len(lead)-ansi.StringWidth(mark)-ansi.StringWidth(age)-2)
	whose := m.projectName(r, room/3)
	room = max(1, room-ansi.StringWidth(whose))
	line := ansi.Truncate(plain.Line(r.Run.Line), room, sheet.Mark("…"))
	line += strings.Repeat(" ", max(0, room-ansi.StringWidth(line)))
	if r.key == m.list.selected && !m.detail.focus {
		line = sheet.Paint(selected, line)
	}

	mark = sheet.Paint(style.LookOf(r.word()), mark)
	whose = sheet.Paint(style.Aside, whose)
	return lead + mark + " " + whose + line + " " + sheet.Paint(style.Aside, age)
}

// markOf is the sign of what a run does, or of how it ended.
func (m *model) markOf(r row) string {
	sheet := m.effects.Sheet
	if r.ReadError != "" {
		return "!"
	}
	switch r.State {
	case project.StateAsking:
		return "?"
	case project.StateRunning:
		return sheet.Mark("▶")
	case project.StateWaiting:
		if r.Run.Status == project.RunOpen { // its process died
			return "!"
		}
		return sheet.Mark("○")
	case project.StateFinished:
	}
	if formats.Outcome(r.Run.Status).Passes() {
		return sheet.Mark("✓")
	}
	return sheet.Mark("✗")
}

// projectName names the project of a run, with a space behind it, if there are several. The names
// stand in a column, as wide as the longest of them and at most so many columns.
func (m *model) projectName(r row, most int) string {
	if len(m.effects.Projects) < 2 {
		return ""
	}
	wide := 0
	for _, p := range m.effects.Projects {
		wide = max(wide, ansi.StringWidth(plain.Line(p.Name)))
	}
	wide = max(1, min(wide, most))
	name := ansi.Truncate(plain.Line(r.place.Name), wide, m.effects.Sheet.Mark("…"))
	return name + strings.Repeat(" ", wide-ansi.StringWidth(name)+1)
}

// paneHeader is the row above a pane: the panes, and the run.
func (m *model) paneHeader() string {
	r, ok := m.chosen()
	var tabs []string
	for i, name := range panes {
		if i == int(paneGate) && r.State == project.StateAsking && ok {
			name += "!"
		}
		if i == int(m.detail.pane) {
			name = m.effects.Sheet.Paint(selected, "["+name+"]")
		}
		tabs = append(tabs, name)
	}

	line := strings.Join(tabs, " ")
	if ok {
		whose := r.Run.ID + " " + r.word()
		if len(m.effects.Projects) > 1 {
			whose = r.place.Name + " " + whose
		}
		if left, _ := m.sizes(); left == 0 {
			whose += "  " + r.Run.Line
		}
		line += "  " + m.effects.Sheet.Paint(style.Aside, plain.Line(whose))
	}
	return line
}

// content is all rows of the pane.
func (m *model) content() []string {
	r, ok := m.chosen()
	_, right := m.sizes()
	switch {
	case !ok:
		return m.runLines(right, 1)
	case r.ReadError != "":
		return m.wrapText(r.ReadError, right)
	}

	switch m.detail.pane {
	case paneTree:
		return m.treeLines(r, right)
	case paneLog:
		return m.detail.log
	case paneDiff:
		return m.diffLines()
	case paneGate:
	}
	return m.question(r, right)
}

// treeLines are the steps of a run, what it waits for, and how it goes on.
func (m *model) treeLines(r row, columns int) []string {
	now := m.effects.Now()
	if r.State != project.StateRunning { // a stopped run does not go on counting
		now = m.detail.last
	}
	out := m.detail.tree.Lines(columns, now, m.look)
	if len(out) == 0 {
		out = []string{"the run has told nothing yet"}
	}

	why := r.Run.WaitReason()
	if why != "" && (r.State != project.StateRunning || r.Run.Queue != "") {
		out = append(out, m.wrapText(why, columns)...)
	}
	switch r.State {
	case project.StateAsking:
		help := "g, or '" + r.place.line("approve", r.Run.ID) + "', answers it"
		out = append(out, m.wrapText(help, columns)...)
	case project.StateWaiting:
		help := "r, or '" + r.place.line("resume", r.Run.ID) + "', goes on with it"
		out = append(out, m.wrapText(help, columns)...)
	case project.StateRunning, project.StateFinished:
	}
	return out
}

// diffLines are what has changed in the worktree of the run.
func (m *model) diffLines() []string {
	switch {
	case !m.detail.known:
		return []string{"looks"}
	case strings.TrimSpace(m.detail.diff) == "":
		return []string{"nothing has changed in a worktree of the run"}
	}
	return strings.Split(m.effects.Sheet.Diff(strings.TrimRight(m.detail.diff, "\n")), "\n")
}

// wrapText wraps an untrusted text.
func (m *model) wrapText(text string, columns int) []string {
	return strings.Split(style.Wrap(plain.Text(text), max(1, columns)), "\n")
}

// question shows what a gate asks, its evidence and its choices.
func (m *model) question(r row, columns int) []string {
	g := r.Gate
	if g == nil {
		return []string{"the run asks nothing"}
	}

	out := []string{}
	for _, line := range m.wrapText(phrase.Question(r.place.Language, g.Question), columns) {
		out = append(out, m.effects.Sheet.Paint(style.Waits, line))
	}
	for _, v := range g.Votes {
		out = append(out, plain.Line("answered by "+v.By+": "+v.Answer))
	}

	if r.Answer != "" {
		return append(
			out,
			m.wrapText("answered by "+r.Answer+"; r goes on with the run", columns)...,
		)
	}

	if until := g.Until(); !until.IsZero() {
		left := style.Age(max(0, until.Sub(m.effects.Now())))
		out = append(
			out,
			plain.Line("takes '"+phrase.In(r.place.Language, g.Timeout.Choose)+"' in "+left),
		)
	}
	if !m.detail.focus {
		out = append(out, "g or Enter, then a key of it answers")
	}
	out = append(out, "")
	for _, key := range question.Of(g.Choices, r.place.Language).Keys() {
		out = append(out, m.wrapText(key, columns)...)
	}

	out = append(out, "")
	for _, text := range g.ShownTexts() {
		for line := range strings.SplitSeq(strings.TrimRight(plain.Text(text), "\n"), "\n") {
			out = append(out, m.wrapText(line, columns)...)
		}
	}

	return out
}

// bottom is the notice, and the keys or the prompt.
func (m *model) bottom() []string {
	told := m.notice.text
	look := style.Plain
	if m.notice.bad {
		look = style.Bad
	}
	if told == "" && m.list.err != "" {
		told = plain.Line(m.list.err)
		look = style.Bad
	}

	sheet := m.effects.Sheet
	if m.prompt == nil {
		return []string{sheet.Paint(look, told), sheet.Paint(style.Aside, m.hint())}
	}
	if told == "" {
		told = m.promptHelp()
	}
	m.prompt.input.SetWidth(max(1, m.width-ansi.StringWidth(m.lead())-1))
	return []string{sheet.Paint(look, told), m.lead() + m.prompt.input.View()}
}

// promptHelp says what Enter does with what is typed.
func (m *model) promptHelp() string {
	t := m.prompt
	switch t.what {
	case purposeAnswer:
		return answerHelp(t)
	case purposeNote:
		if t.gate.Lacks(t.label, "") {
			return "Enter sends it, Esc leaves the question as it is"
		}
		return "Enter sends it, also without a note; Esc leaves the question as it is"
	case purposeCancel, purposeFilter:
	}
	return ""
}

// answerHelp says which answer to which question Enter gives.
func answerHelp(t *prompt) string {
	language := t.run.place.Language
	label, note, ok := question.Of(t.gate.Choices, language).Read(t.input.Value())
	if !ok {
		return "Enter answers, Esc leaves"
	}
	help := "Enter answers '" + plain.Line(phrase.In(language, label)) + "'"
	if note != "" {
		help += " with a note"
	}
	return help + " to: " + plain.Line(phrase.Question(language, t.gate.Question))
}

// lead is the label of the prompt.
func (m *model) lead() string {
	switch m.prompt.what {
	case purposeAnswer:
		return "answer> "
	case purposeNote:
		return "note for '" +
			plain.Line(phrase.In(m.prompt.run.place.Language, m.prompt.label)) + "'> "
	case purposeCancel:
		return "cancel run " + plain.Line(m.prompt.run.Run.ID) + "? [y/N] "
	case purposeFilter:
	}
	return "filter> "
}

// hint is the keys that matter now.
func (m *model) hint() string {
	back := "Enter opens"
	if m.detail.focus {
		back = "Esc back"
	}
	r, ok := m.chosen()
	atGate := ok && m.detail.focus && m.detail.pane == paneGate
	if atGate && r.State == project.StateAsking {
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

In the gate, a letter or number of a choice answers. With Shift, and
where it says no, it asks for a note first. What is pasted answers nothing.`
