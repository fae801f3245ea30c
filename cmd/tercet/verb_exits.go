package main

import (
	"strconv"
	"strings"

	"tercet/formats"
)

// showExits prints the table of exit codes.
func showExits(c call) error {
	tab := formats.Table{Columns: []string{"code", "name", "when"}}
	exits := []fields{}
	for _, e := range formats.Exits() {
		codes := make([]string, len(e.Codes))
		for i, c := range e.Codes {
			codes[i] = c.String()
		}
		exits = append(exits, fields{"code": e.Number, "name": e.Name, "codes": codes, "meaning": e.Meaning})
		when := e.Meaning
		if len(codes) > 0 {
			when += " (" + strings.Join(codes, ", ") + ")"
		}
		tab.Rows = append(tab.Rows, []string{strconv.Itoa(e.Number), e.Name, when})
	}
	if !c.document("tercet.exit-codes/1", fields{"exits": exits}) {
		c.term.table(tab)
		c.term.note("tercet query keeps jq's own codes")
	}
	return nil
}
