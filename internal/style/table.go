package style

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/plain"
)

// painted are the columns whose cells have the look of what they say.
var painted = []string{"status", "outcome"}

// Tabbed gives the rows of a table without heads, with a tab between cells, for scripts.
func (s Sheet) Tabbed(tab formats.Table) string {
	var b strings.Builder
	for _, row := range tab.Rows {
		row = cleanCells(row)
		for i, cell := range row {
			row[i] = s.cell(tab.Columns, i, cell, cell)
		}
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return b.String()
}

// minReadable is how narrow a column may become before a table is no help any more.
func minReadable(columns int) int {
	return max(16, columns/4)
}

// copied are the columns whose cells users copy: a cut one is of no use.
var copied = []string{"path"}

// Table formats an aligned table within a number of columns; 0: any width. A table that is too wide
// loses its empty columns; then the widest column is cut, then all wide ones. If that is not
// enough, each row becomes a list of its cells.
func (s Sheet) Table(tab formats.Table, columns int) string {
	if len(tab.Rows) == 0 {
		return ""
	}
	if columns >= minColumns && totalWidth(widthsOf(tab)) > columns {
		tab = tab.Filled()
	}
	widths, fits := fitColumns(tab, columns)
	if !fits {
		return s.stackedRows(tab, columns)
	}

	var b strings.Builder
	for n, row := range slices.Insert(slices.Clone(tab.Rows), 0, headings(tab)) {
		var line []string
		for i, cell := range cleanCells(row) {
			shown := s.Cut(cell, widths[i])
			pad := strings.Repeat(" ", max(0, widths[i]-Width(shown)))
			if i == len(row)-1 {
				pad = ""
			}
			if n == 0 {
				shown = s.Paint(Heading, shown)
			} else {
				shown = s.cell(tab.Columns, i, cell, shown)
			}
			line = append(line, shown+pad)
		}
		b.WriteString(strings.TrimRight(strings.Join(line, "  "), " ") + "\n")
	}

	return b.String()
}

// fitColumns gives the widths of columns, and tells whether a table with them can be read.
func fitColumns(tab formats.Table, columns int) (widths []int, fits bool) {
	widths = widthsOf(tab)
	sum := totalWidth(widths)

	widest := 0
	for i, w := range widths {
		if i > 0 && (widest == 0 || w > widths[widest]) &&
			!slices.Contains(copied, tab.Columns[i]) {
			widest = i
		}
	}
	if columns < minColumns || sum <= columns {
		return widths, true
	}

	whole := slices.Clone(widths)
	if left := widths[widest] - (sum - columns); widest > 0 && left >= minReadable(columns) {
		widths[widest] = left
	} else {
		Fit(widths, columns)
	}

	for i, w := range widths {
		if w < whole[i] && (w < minReadable(columns) || slices.Contains(copied, tab.Columns[i])) {
			return widths, false
		}
	}
	return widths, totalWidth(widths) <= columns
}

// totalWidth is how wide columns are with two blanks between.
func totalWidth(widths []int) int {
	sum := -2
	for _, w := range widths {
		sum += w + 2
	}
	return sum
}

// stackedRows shows each row by itself: its cells are in one line, and what does not fit in the
// line below it. What is copied is whole: the terminal breaks it.
func (s Sheet) stackedRows(tab formats.Table, columns int) string {
	const in = "  "
	var b strings.Builder
	for _, row := range tab.Rows {
		at := 0
		for i, cell := range cleanCells(row) {
			if cell == "" {
				continue
			}
			shown := cell
			if !slices.Contains(copied, tab.Columns[i]) {
				shown = s.Cut(cell, columns-len(in))
			}
			w := Width(shown)
			switch {
			case at == 0:
			case at+len(in)+w <= columns:
				b.WriteString(in)
				at += len(in)
			default:
				b.WriteString("\n" + in)
				at = len(in)
			}
			b.WriteString(s.cell(tab.Columns, i, cell, shown))
			at += w
		}
		b.WriteString("\n")
	}

	return b.String()
}

// cell paints what is shown of a cell.
func (s Sheet) cell(columns []string, i int, cell, shown string) string {
	if i < len(columns) && slices.Contains(painted, columns[i]) {
		return s.Paint(LookOf(cell), shown)
	}
	return shown
}

func headings(tab formats.Table) []string {
	out := make([]string, len(tab.Columns))
	for i, name := range tab.Columns {
		out[i] = strings.ToUpper(strings.ReplaceAll(name, "_", " "))
	}
	return out
}

func widthsOf(tab formats.Table) []int {
	out := make([]int, len(tab.Columns))
	for _, row := range append([][]string{headings(tab)}, tab.Rows...) {
		for i, cell := range cleanCells(row) {
			out[i] = max(out[i], Width(cell))
		}
	}
	return out
}

func cleanCells(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = plain.Line(cell)
	}
	return out
}

// Age formats a duration in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
