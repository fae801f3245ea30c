package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"tercet/engine/nats/link"
)

// How often a watched team is looked at, and how long at most a reader waits for a new state: the
// times at which workers were heard of change all the time.
const (
	pollInterval    = 500 * time.Millisecond
	refreshInterval = 10 * time.Second
)

// watch shows the team whenever it changes, until the context ends: on a terminal all of it, in the
// place of the last picture; as JSON one state a line; else a line for each change. A hub that is
// away is told once, and waited for.
func (c *Client) watch(ctx context.Context, asJSON bool) error {
	show := c.changePrinter()
	switch {
	case asJSON:
		show = c.printJSONLine
	case isTerminal(c.out):
		show = c.redraw
	}

	var last link.Team
	var told time.Time
	away := ""
	for first := true; ; first = false {
		t, err := c.fetchTeam(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the user has seen enough
		case err != nil && first:
			return err
		case err != nil:
			if err.Error() != away {
				fmt.Fprintln(c.err, "tercet:", err)
			}
			away = err.Error()
		default:
			if first || away != "" || !sameState(last, t) || time.Since(told) > refreshInterval {
				if err := show(t); err != nil {
					return err
				}
				told = time.Now()
			}
			away = ""
			last = t
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollInterval):
		}
	}
}

// sameState reports whether two states differ in nothing but the age of what was heard of workers.
func sameState(a, b link.Team) bool {
	return reflect.DeepEqual(withoutAges(a), withoutAges(b))
}

func withoutAges(t link.Team) link.Team {
	workers := make([]link.Worker, len(t.Workers))
	for i, w := range t.Workers {
		w.Ago = 0
		workers[i] = w
	}
	t.Workers = workers
	return t
}

// printJSONLine prints a state as one line of JSON.
func (c *Client) printJSONLine(t link.Team) error {
	return json.NewEncoder(c.out).Encode(teamDocument{teamSchema, t})
}

// redraw shows a state in the place of the last one.
func (c *Client) redraw(t link.Team) error {
	const clear = "\x1b[H\x1b[2J"
	_, err := io.WriteString(c.out, clear+renderTable(t)+"\nCtrl-C ends this, and nothing else.\n")
	return err
}

// changePrinter gives a function that prints what is new in a state, a line each.
func (c *Client) changePrinter() func(link.Team) error {
	seen := map[string]string{}
	return func(t link.Team) error {
		for line := range strings.Lines(renderTable(withoutAges(t))) {
			fields := strings.Fields(line)
			key := fields[0]
			if key == "worker" {
				key += " " + fields[1]
			}
			if seen[key] == line {
				continue
			}
			seen[key] = line
			_, err := fmt.Fprintf(c.out, "%s  %s", time.Now().Format(time.TimeOnly), line)
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// isTerminal reports whether something is written to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
