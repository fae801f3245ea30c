package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/query"
	"tercet/state"
)

// stateHistory prints the audit log, newest last.
func stateHistory(cmd *cobra.Command, _ *app) run {
	limit := cmd.Flags().Int("limit", 0, "only the last `n` entries")
	return func(c call) error {
		list, err := c.w.reader.History(c.ctx)
		if err != nil {
			return err
		}
		if len(c.args) == 1 {
			n, err := taskNumber(c.args[0])
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(e state.Entry) bool { return !e.About(n) })
		}
		if *limit > 0 {
			list = list[max(0, len(list)-*limit):]
		}
		if c.document("tercet.state-history/1", fields{"entries": list}) {
			return nil
		}
		tab := formats.Table{Columns: []string{"serial", "time", "kind", "what", "session"}}
		for i := range list {
			e := &list[i]
			tab.Rows = append(tab.Rows, []string{strconv.FormatUint(e.Serial, 10), e.Time, e.Kind, whatOf(e), e.Session})
		}
		c.term.table(tab)
		c.changedOutside()
		return nil
	}
}

// whatOf says in a few words what an entry changed.
func whatOf(e *state.Entry) string {
	var parts []string
	for _, c := range e.Changes {
		from, to := c["from"], c["to"]
		switch {
		case c["task"] == 0:
			parts = append(parts, sprintf("%v", c["op"]))
		case from == "":
			parts = append(parts, sprintf("+%v", c["task"]))
		case from != to:
			parts = append(parts, sprintf("%v: %v -> %v", c["task"], from, to))
		default:
			parts = append(parts, sprintf("%v: %v", c["task"], c["op"]))
		}
	}
	if len(parts) == 0 && !strings.HasSuffix(e.File, "/state.json") {
		return e.File
	}
	if e.Force {
		parts = append(parts, "(forced)")
	}
	return strings.Join(parts, ", ")
}

// stateDiff compares two states, each a file or the serial of an earlier one.
func stateDiff(c call) error {
	names := append(c.args, "")[:2]
	var text [2][]byte
	for i, name := range names {
		var err error
		if text[i], err = c.stateNamed(name); err != nil {
			return err
		}
	}
	if names[1] == "" {
		names[1] = formats.Workspace + "/state.json"
	}
	list, err := state.Diff(names[0], text[0], names[1], text[1])
	if err != nil || c.document("tercet.state-diff/1", fields{"differences": list}) {
		return err
	}
	for _, d := range list {
		c.term.answer("%s", differenceLine(d))
	}
	if len(list) == 0 {
		c.term.note("no difference")
	}
	return nil
}

func differenceLine(d state.Difference) string {
	where := ""
	if d.Task != 0 {
		where = sprintf("task %d", d.Task)
	}
	if d.Field != "" {
		where = strings.TrimPrefix(where+": ", ": ") + d.Field
	}
	switch {
	case d.From == "":
		return "+ " + where + ": " + d.To
	case d.To == "":
		return "- " + where + ": " + d.From
	}
	return "  " + where + ": " + d.From + " -> " + d.To
}

// stateNamed gives the bytes of a state: of a file, of a serial, or the present one for the empty word.
func (c call) stateNamed(word string) ([]byte, error) {
	serial, err := strconv.ParseUint(word, 10, 64)
	if word != "" && (err != nil || exists(word)) {
		data, err := os.ReadFile(word)
		if err != nil {
			return nil, broken(formats.CodeUsage, word, err, "name a file or the serial of a state")
		}
		return data, nil
	}
	w, err := c.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	if word == "" {
		return w.reader.Bytes(c.ctx)
	}
	return w.reader.At(c.ctx, serial)
}

// inputAt is the state of a serial as the input of a query.
func (c call) inputAt(word string, files []string) ([]query.Source, error) {
	serial, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return nil, usage("expected the serial of a state for --at, got %q", word)
	}
	if len(files) > 0 {
		return nil, usage("expected --at or files, got both")
	}
	w, err := c.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	data, err := w.reader.At(c.ctx, serial)
	return []query.Source{{Name: "state.json@" + word, Data: data}}, err
}
