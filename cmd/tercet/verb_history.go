package main

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/state"
)

// stateHistory prints the audit log, newest last.
func (a *app) stateHistory() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history [TASK]", Short: "list what was written, by whom, and which serials can still be read", Args: words(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			list, err := w.reader.History(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				n, err := strconv.Atoi(args[0])
				if err != nil {
					return usage("expected a task number, got %q", args[0])
				}
				kept := list[:0]
				for _, e := range list {
					if e.About(n) {
						kept = append(kept, e)
					}
				}
				list = kept
			}
			if limit > 0 && len(list) > limit {
				list = list[len(list)-limit:]
			}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.state-history/1", "entries": list})
				return nil
			}
			tab := formats.Table{Columns: []string{"serial", "time", "kind", "what", "session"}}
			for i := range list {
				e := &list[i]
				tab.Rows = append(tab.Rows, []string{strconv.FormatUint(e.Serial, 10), e.Time, e.Kind, whatOf(e), e.Session})
			}
			a.term.table(tab)
			if notice := w.reader.Notice(cmd.Context()); notice != "" {
				a.term.note("warning: %s", notice)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "only the last `n` entries")
	return cmd
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
func (a *app) stateDiff() *cobra.Command {
	return &cobra.Command{
		Use: "diff A [B]", Short: "compare two states by task and field; each is a file or a serial (default B: the state)", Args: words(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var text [2][]byte
			for i := range text {
				word := ""
				if i < len(args) {
					word = args[i]
				}
				data, err := a.stateNamed(cmd.Context(), word)
				if err != nil {
					return err
				}
				text[i] = data
			}
			to := formats.Workspace + "/state.json"
			if len(args) == 2 {
				to = args[1]
			}
			list, err := state.Diff(args[0], text[0], to, text[1])
			if err != nil {
				return err
			}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.state-diff/1", "differences": list})
				return nil
			}
			for _, d := range list {
				a.term.answer("%s", differenceLine(d))
			}
			if len(list) == 0 {
				a.term.note("no difference")
			}
			return nil
		},
	}
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
func (a *app) stateNamed(ctx context.Context, word string) ([]byte, error) {
	serial, err := strconv.ParseUint(word, 10, 64)
	if word != "" && (err != nil || exists(word)) {
		data, err := os.ReadFile(word)
		if err != nil {
			return nil, &formats.Failure{Code: formats.CodeUsage, Message: word, Err: err, Help: "name a file or the serial of a state"}
		}
		return data, nil
	}
	w, err := a.workspace(ctx)
	if err != nil {
		return nil, err
	}
	if word == "" {
		return w.reader.Bytes(ctx)
	}
	return w.reader.At(ctx, serial)
}

// inputAt is the state of a serial as the input of a query.
func (a *app) inputAt(ctx context.Context, word string, files []string) ([]queryInput, error) {
	serial, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return nil, usage("expected the serial of a state for --at, got %q", word)
	}
	if len(files) > 0 {
		return nil, usage("expected --at or files, got both")
	}
	w, err := a.workspace(ctx)
	if err != nil {
		return nil, err
	}
	data, err := w.reader.At(ctx, serial)
	if err != nil {
		return nil, err
	}
	return []queryInput{{Name: "state.json@" + word, Data: data}}, nil
}
