package live

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/plain"
)

// speechMarks stand before what an agent did, by its kind.
var speechMarks = map[string]string{
	"says":   "|",
	"prints": "|",
	"thinks": "~",
	"uses":   ">",
	"gets":   "<",
	"fails":  "!",
}

// Limits of a transcript: rows of a result or a thought, and runes of one of its rows.
const (
	maxResultRows = 4
	maxResultRow  = 160
)

// Speech is one thing that an agent did, in rows, with the mark of its kind. What it said stands
// whole; a use of a tool is one row, and what it thought or got is clipped.
func Speech(kind, tool, text string) (mark string, rows []string) {
	mark = speechMarks[kind]
	text = strings.TrimSpace(plain.Text(text))
	switch kind {
	case "uses":
		use := plain.Line(tool) + "  " + formats.OneLine(text)
		return mark, []string{formats.Clip(strings.TrimSpace(use), maxResultRow)}
	case "gets", "thinks":
		rows = strings.Split(text, "\n")
		if more := len(rows) - maxResultRows; more > 1 {
			rows = append(rows[:maxResultRows:maxResultRows],
				fmt.Sprintf("... %d lines more", more))
		}
		for i, row := range rows {
			rows[i] = formats.Clip(row, maxResultRow)
		}
		return mark, rows
	}
	return mark, strings.Split(text, "\n")
}
