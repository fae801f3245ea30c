package editor

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	cursorOn  = "\x1b[?25h"
	cursorOff = "\x1b[?25l"
	// mostRows is how many rows of the menu are shown.
	mostRows = 8
)

// frame is what is shown: its rows are as wide as they were when they were painted.
type frame struct {
	columns, rows int // of the terminal
	widths        []int
	row, column   int // of the cursor in it
}

// resize takes over the size of the terminal.
func (e *Editor) resize() {
	if e.frame.resize(e.Size()) {
		e.text.SetWidth(e.frame.columns - 1)
	}
}

// resize takes over the size of a terminal, and tells whether it is another. A terminal that has
// become narrower may have broken rows in two.
func (f *frame) resize(columns, rows int) (changed bool) {
	columns = max(columns, 10)
	rows = max(rows, 3)
	if columns == f.columns && rows == f.rows {
		return false
	}

	if f.columns > 0 && columns < f.columns {
		row := 0
		for _, w := range f.widths[:f.row] {
			row += max(1, (w+columns-1)/columns)
		}
		f.row = row + f.column/columns
	}

	f.columns = columns
	f.rows = rows
	return true
}

// setRows makes the rows of a text those that are shown, with the cursor behind the last.
func (f *frame) setRows(text string) (rows []string) {
	rows = strings.Split(text, "\n")
	f.widths = f.widths[:0]
	for _, r := range rows {
		f.widths = append(f.widths, lipgloss.Width(r))
	}
	f.row = len(rows) - 1
	f.column = f.widths[f.row]
	return rows
}

// paint shows the line with its menu in the place of what was shown before; at the end of a line
// only what was typed.
func (e *Editor) paint(over bool) {
	rows := strings.Split(e.text.View(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}

	if len(rows[0]) < len(e.Prompt) {
		rows[0] = e.Prompt
	}
	row := 0
	column := 0
	if c := e.text.Cursor(); c != nil {
		row = c.Y
		column = min(c.X, e.frame.columns-1)
	}
	if over {
		row = len(rows) - 1
		column = lipgloss.Width(rows[len(rows)-1])
	} else {
		below := e.rowsBelow()
		below = below[:min(len(below), e.frame.rows-2)]
		first := max(0, min(row-(e.frame.rows-len(below))/2, len(rows)+len(below)-e.frame.rows))
		if first > 0 {
			// a text longer than the terminal is shown around the cursor
			rows = rows[first:]
			row = row - first
			rows = rows[:min(len(rows), e.frame.rows-len(below))]
		}
		if e.search != nil {
			row = len(rows)
			column = lipgloss.Width(below[0])
		}
		rows = append(rows, below...)
	}

	e.draw(rows, row, column, over)
}

// draw writes rows over those of before.
func (e *Editor) draw(rows []string, row, column int, over bool) {
	var b strings.Builder
	b.WriteString(cursorOff + "\r")
	if e.frame.row > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", e.frame.row)
	}
	e.frame.widths = e.frame.widths[:0]
	for i, r := range rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		r = ansi.Truncate(r, e.frame.columns-1, "")
		b.WriteString(r + "\x1b[K")
		e.frame.widths = append(e.frame.widths, lipgloss.Width(r))
	}

	b.WriteString("\x1b[J\r")
	if up := len(rows) - 1 - row; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	if column > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", column)
	}
	if over {
		b.WriteString("\r\n")
	}
	b.WriteString(cursorOn)
	e.frame.row = row
	e.frame.column = column
	io.WriteString(e.Out, b.String()) //nolint:errcheck // if it is gone, the next read fails
}

// clear empties the screen but for the line.
func (e *Editor) clear() {
	io.WriteString(e.Out, "\x1b[H\x1b[2J") //nolint:errcheck // as in draw
	e.frame.row = 0
}

// rowsBelow are the rows under the text: the hint, the menu and what there is to say.
func (e *Editor) rowsBelow() []string {
	if e.search != nil {
		return e.searchRows()
	}

	var out []string
	if hint := e.hint(); hint != "" {
		out = append(out, hint)
	}

	if e.menu.open() {
		items := e.menu.offer.Items
		wide := 0
		for _, i := range items {
			wide = max(wide, min(lipgloss.Width(i.Value), max(e.frame.columns/2, 16)))
		}
		out = append(out, e.itemRows(len(items), e.menu.picked, func(i int) (string, string) {
			value := e.cut(items[i].Value, wide)
			return value + strings.Repeat(" ", wide-lipgloss.Width(value)), items[i].About
		})...)
	}

	if e.help {
		for _, k := range e.Keys {
			out = append(out, strings.Split(ansi.Wordwrap(k, e.frame.columns-1, ""), "\n")...)
		}
	}
	if e.notice != "" {
		out = append(out, e.cut(e.notice, e.frame.columns-1))
	}

	return out
}

// searchRows are the rows of a search.
func (e *Editor) searchRows() []string {
	s := e.search
	out := []string{e.cut("history: "+s.query, e.frame.columns-2)}
	if len(s.found) == 0 {
		return append(out, "  no line has these letters")
	}
	return append(out, e.itemRows(len(s.found), s.picked, func(i int) (string, string) {
		return strings.ReplaceAll(s.found[i], "\n", " "), ""
	})...)
}

// itemRows shows the items around the one that is picked.
func (e *Editor) itemRows(n, picked int, item func(int) (value, about string)) []string {
	most := max(1, min(mostRows, e.frame.rows-4))
	first := min(max(0, picked-most+1), max(0, n-most))

	var out []string
	for i := first; i < min(n, first+most); i++ {
		value, about := item(i)
		mark := "  "
		if i == picked {
			mark = "> "
		}

		row := e.cut(mark+value, e.frame.columns-1)
		if room := e.frame.columns - 1 - lipgloss.Width(row) - 2; about != "" && room > 4 {
			row += "  " + e.style("2", e.cut(about, room))
		}
		if i == picked {
			row = e.style("1", row)
		}
		out = append(out, row)
	}

	if n > most {
		out = append(out, e.style("2", fmt.Sprintf("  %d of %d", min(max(picked+1, 1), n), n)))
	}

	return out
}

// hint is the shape of the line, its part at the cursor in bold.
func (e *Editor) hint() string {
	var b strings.Builder
	room := e.frame.columns - 1
	for i, w := range e.menu.offer.Hint {
		text := w.Text
		if i > 0 {
			text = " " + text
		}
		text = e.cut(text, room)
		room -= lipgloss.Width(text)
		if w.Bold {
			text = "\x1b[1m" + text + "\x1b[0m"
		} else {
			text = e.style("2", text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// cut shortens a text to a width.
func (e *Editor) cut(text string, wide int) string {
	dots := "..."
	if e.UTF8 {
		dots = "…"
	}
	return ansi.Truncate(text, max(wide, 0), dots)
}

// style writes a text in a way that is a colour's.
func (e *Editor) style(code, text string) string {
	if !e.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
