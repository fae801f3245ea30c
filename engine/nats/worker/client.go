package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/internal/plain"
	"tercet/team"
)

// Client does what a user asks of the home of a team.
type Client struct {
	me   link.Member
	conn *link.Conn
	out  io.Writer
	err  io.Writer
}

// NewClient connects to a hub.
func NewClient(me link.Member, out, err io.Writer) (*Client, error) {
	conn, cerr := link.Connect(me)
	if cerr != nil {
		return nil, cerr
	}
	return &Client{me: me, conn: conn, out: out, err: err}, nil
}

// Close ends the connection.
func (c *Client) Close() { c.conn.Close() }

// Do does one line behind --on team and gives the exit code.
func (c *Client) Do(ctx context.Context, args []string) (int, error) {
	flags := flagsOf(&args)
	if len(args) == 0 {
		return 0, formats.Fail(formats.CodeUsage, "such as: tercet --on team /plan 1",
			"expected a line or a verb behind --on team, got nothing")
	}

	if strings.HasPrefix(args[0], "/") {
		return c.runLine(ctx, strings.Join(args, " "), flags)
	}
	if args[0] == "invite" {
		return 0, c.invite(ctx, slices.Concat(flags, args[1:]))
	}
	if args[0] == team.Resume {
		return 0, c.resume(ctx, slices.Concat(flags, args[1:]))
	}

	if err := flags.only("--json"); err != nil && slices.Contains([]string{
		"status", "watch", "pause", "cancel", "wait", "members", "remove",
	}, args[0]) {
		return 0, err
	}

	switch args[0] {
	case "status":
		return 0, c.status(ctx, flags.has("--json"))
	case "watch":
		if len(args) != 1 {
			return 0, formats.Fail(formats.CodeUsage, "tercet --on team show RUN shows one run",
				"expected no words behind watch, got %d", len(args)-1)
		}
		return 0, c.watch(ctx, flags.has("--json"))
	case team.Pause, team.Cancel:
		if len(args) != 2 {
			return 0, formats.Fail(formats.CodeUsage, "tercet --on team status lists them",
				"expected one run, got %d words", len(args)-1)
		}
		return 0, c.order(ctx, link.OrderRequest{Run: args[1], Do: args[0]})
	case "wait":
		if len(args) != 2 {
			return 0, formats.Fail(formats.CodeUsage, "tercet --on team status lists them",
				"expected one run, got %d words", len(args)-1)
		}
		return c.wait(ctx, args[1])
	case "members":
		return 0, c.members(ctx, flags.has("--json"))
	case "remove":
		return 0, c.remove(ctx, args[1:])
	}
	return c.runVerb(ctx, slices.Concat(args[:1], flags, args[1:]))
}

// flags are those before the line or the verb.
type flags []string

// flagsOf takes the flags off the front of the words.
func flagsOf(args *[]string) (f flags) {
	for len(*args) > 0 && strings.HasPrefix((*args)[0], "-") {
		f = append(f, (*args)[0])
		*args = (*args)[1:]
	}
	return f
}

func (f flags) has(name string) bool { return slices.Contains(f, name) }

// only refuses other flags than these.
func (f flags) only(names ...string) error {
	for _, one := range f {
		if !slices.Contains(names, one) {
			return formats.Fail(formats.CodeUsage, "the flags there are "+strings.Join(names, ", "),
				"%s does not go with --on team here", one)
		}
	}
	return nil
}

// needs takes the labels out of the flags.
func (f flags) needs() (labels []string, rest flags) {
	for _, one := range f {
		if label, ok := strings.CutPrefix(one, "--needs="); ok {
			labels = append(labels, strings.Split(label, ",")...)
			continue
		}
		rest = append(rest, one)
	}
	return labels, rest
}

// runLine begins a run, and waits for its end with --wait.
func (c *Client) runLine(ctx context.Context, text string, f flags) (int, error) {
	needs, f := f.needs()
	if err := f.only("--yes", "--wait", "--json", "--needs=LABEL"); err != nil {
		return 0, err
	}

	text, wait := strings.CutSuffix(text, " --wait")
	var begun link.RunsReply
	err := c.conn.Ask(ctx, link.Submit, link.LineRequest{
		Text:  text,
		Yes:   f.has("--yes"),
		Needs: needs,
	}, &begun)
	if err == nil {
		err = begun.Fault.Err()
	}
	if err != nil {
		if len(begun.Runs) > 0 {
			list := strings.Join(begun.Runs, ", ")
			fmt.Fprintln(c.err, "these runs were begun before that:", list)
		}
		return 0, err
	}

	if f.has("--json") {
		doc := map[string]any{"schema": "tercet.team_runs/1", "runs": begun.Runs}
		if err := c.printJSON(doc); err != nil {
			return 0, err
		}
	} else {
		fmt.Fprintln(c.out, strings.Join(begun.Runs, "\n"))
	}

	if wait || f.has("--wait") {
		return c.waitAll(ctx, begun.Runs)
	}
	return 0, nil
}

// waitAll waits for the runs of a line. The exit code is that of the first one that did not
// succeed.
func (c *Client) waitAll(ctx context.Context, runs []string) (int, error) {
	code := 0
	var first error
	for _, run := range runs {
		got, err := c.wait(ctx, run)
		code = cmp.Or(code, got)
		if first == nil {
			first = err
		}
	}
	return code, first
}

func (c *Client) printJSON(v any) error {
	e := json.NewEncoder(c.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (c *Client) fetchTeam(ctx context.Context) (t link.Team, err error) {
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return t, c.conn.Ask(within, link.State, struct{}{}, &t)
}

// status shows runs and workers.
func (c *Client) status(ctx context.Context, asJSON bool) error {
	t, err := c.fetchTeam(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(teamDocument{teamSchema, t})
	}
	_, err = io.WriteString(c.out, renderTable(t))
	return err
}

// teamDocument is the state of a team as JSON.
type teamDocument struct {
	Schema string `json:"schema"`
	link.Team
}

const teamSchema = "tercet.team/1"

// renderTable is the state of a team as text. What members wrote is in one line each, without
// control characters.
func renderTable(t link.Team) string {
	var b strings.Builder
	for _, w := range t.Workers {
		fmt.Fprintf(&b, "worker %-16s %-12s heard of %.0f s ago  %s%s\n", w.Name, orNone(w.Run),
			w.Ago, plain.Line(strings.Join(w.Labels, ",")),
			formats.Prefixed("  takes no run: ", plain.Line(w.Refuses)))
	}
	for _, r := range t.Runs {
		fmt.Fprintf(&b, "%s  %-8s  %s  %s%s\n", r.Run, r.State, plain.Line(r.Line), r.Worker,
			plain.Line(r.Why))
	}
	return b.String()
}

func orNone(text string) string {
	if text == "" {
		return "free"
	}
	return text
}

// wait waits until a run has ended or cannot go on by itself, and gives its exit code.
func (c *Client) wait(ctx context.Context, word string) (int, error) {
	for {
		t, err := c.fetchTeam(ctx)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(c.err, "tercet:", err)
		}

		var found []link.Run
		for _, r := range t.Runs {
			if strings.HasPrefix(r.Run, word) {
				found = append(found, r)
			}
		}
		if err == nil && len(found) != 1 {
			return 0, formats.Fail(formats.CodeNotFound, "tercet --on team status lists them",
				"expected one run, got %d that begin with %q", len(found), word)
		}

		if err == nil {
			r := found[0]
			switch r.State {
			case "ended":
				fmt.Fprintf(c.err, "run %s has ended: %s\n", r.Run, r.Why)
				return r.Code, nil
			case "waiting", "paused":
				fmt.Fprintf(c.err, "run %s %s: %s\n", r.Run, r.State, r.Why)
				return formats.ExitFor(formats.CodeSuspended), nil
			case "broken":
				return 0, formats.Fail(formats.CodeTransient,
					"the owner puts the journal back at the home, from a copy",
					"run %s does not get on: %s", r.Run, r.Why)
			case "stuck":
				return 0, formats.Fail(formats.CodeTransient, "tercet --on team resume "+r.Run,
					"run %s does not get on: %s", r.Run, r.Why)
			}
		}

		select {
		case <-ctx.Done():
			return 0, formats.Interrupted("interrupted")
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// order pauses, resumes or cancels a run.
func (c *Client) order(ctx context.Context, o link.OrderRequest) error {
	var begun link.RunsReply
	err := c.conn.Ask(ctx, link.Order, o, &begun)
	if err == nil {
		err = begun.Fault.Err()
	}

	for _, line := range begun.Notes {
		fmt.Fprintln(c.err, "tercet:", plain.Line(line))
	}
	if err != nil {
		return err
	}

	fmt.Fprintf(c.err, "run %s: %s\n", begun.Run, o.Do)
	return nil
}

// resume lets a run go on where it stopped, or from an earlier step.
func (c *Client) resume(ctx context.Context, args []string) error {
	const help = "tercet --on team resume RUN, or resume RUN --from STEP"
	o := link.OrderRequest{Do: team.Resume}
	back := false

	var words []string
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		step, inline := strings.CutPrefix(word, "--from=")

		switch {
		case word == "--json":
		case word == "--yes":
			o.Yes = true
		case inline:
			back = true
			o.From = step
		case word == "--from" && len(args) > 0:
			back = true
			o.From = args[0]
			args = args[1:]
		case strings.HasPrefix(word, "-"):
			return formats.Fail(formats.CodeUsage, help, "wrong words for resume: %s", word)
		default:
			words = append(words, word)
		}
	}
	switch {
	case len(words) != 1:
		return formats.Fail(formats.CodeUsage, "tercet --on team status lists them",
			"expected one run, got %d words", len(words))
	case back && o.From == "":
		return formats.Fail(formats.CodeUsage, help, "expected a step behind --from, got nothing")
	case o.Yes && !back:
		return formats.Fail(formats.CodeUsage, help, "--yes goes with --from here")
	}

	o.Run = words[0]
	return c.order(ctx, o)
}

// runVerb does a verb of tercet at the home.
func (c *Client) runVerb(ctx context.Context, args []string) (int, error) {
	within, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var done link.VerbReply
	err := c.conn.Ask(within, link.Verb, link.VerbRequest{Args: args}, &done)
	if err == nil {
		err = done.Fault.Err()
	}
	if err != nil {
		return 0, err
	}

	if _, err := c.out.Write(done.Out); err != nil {
		return 0, formats.Broken(formats.CodeIO, "standard output", err)
	}
	c.err.Write(done.Err) //nolint:errcheck // it is for a user who is not there
	return done.Code, nil
}
