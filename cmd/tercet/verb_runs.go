package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/internal/letters"
	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/router"
)

// typed is the line that began a run: its words as a shell gave them, else its text.
func typed(r journal.Run) router.Line {
	name, _, _ := strings.Cut(r.Line, " ")
	if r.Begun.Words != nil {
		return router.Line{Words: append([]string{name}, r.Begun.Words...)}
	}
	return router.Line{Raw: strings.TrimSpace(name + " " + r.Begun.Raw)}
}

// before looks for an earlier run that the same line began and that did not end; nil: begin a new
// one. On a terminal it asks whether to go on with it, and gives it up after a no. Without a
// terminal it goes on; a run that waits, or of a flow, is an error. Among lines that run together
// it goes on without the question. A run of the same flow with other words may be about something
// else, so a no keeps it. Without a terminal tercet only names that run, but for a line without
// words it is an error.
func (w runs) before(
	ctx context.Context, line router.Line, route router.Route, together bool,
) (*journal.Run, error) {
	if w.reader == nil || w.flags.dryRun {
		return nil, nil
	}
	may := func() error { return consent(w).first(ctx, invocationOf(route)) }
	text := argspec.Bare(line.Text())
	of := "this line"
	r, err := w.desk.TakeMatching(
		ctx,
		func(r journal.Run) bool { return argspec.Bare(r.Line) == text },
		may,
	)
	other := r == nil && err == nil && !together && !w.flags.fresh
	if other {
		r, err = w.desk.TakeMatching(ctx, func(r journal.Run) bool {
			its, err := w.table.Route(typed(r))
			return err == nil && argspec.Bare(r.Line) != text && its.File == route.File &&
				its.Source == route.Source && w.isFlow(route)
		}, may)
	}
	if r == nil || err != nil {
		return nil, err
	}

	var ask func(formats.Gate) (formats.Decision, error)
	if w.interactive() {
		ask = func(g formats.Gate) (formats.Decision, error) {
			return w.approver.ask(ctx, g)
		}
	}
	goesOn := false
	switch {
	case w.flags.fresh, other && ask == nil && strings.Contains(text, " "):
	case together && ask != nil:
		w.term.note("goes on with run %s, which did not end", r.ID)
		goesOn = true
	default:
		if other {
			of = r.Line
		}
		goesOn, err = w.desk.ShouldResume(*r, of, w.isFlow(route), ask, w.show)
	}

	switch {
	case err != nil || goesOn:
		return r, err
	case other:
		w.term.note(
			"run %s of %s did not end: go on by 'tercet resume %[1]s', or give it up by 'tercet "+
				"cancel %[1]s'",
			r.ID, r.Line,
		)
		return nil, w.desk.Release(r.ID)
	}

	return nil, w.giveUp(ctx, *r)
}

// isFlow tells whether a command has tiers.
func (w runs) isFlow(r router.Route) bool {
	prog, _, err := w.library.Load(r.Source, r.File)
	return err == nil && prog != nil && prog.Tiers != nil
}

func invocationOf(r router.Route) formats.Invocation {
	return formats.Invocation{
		Name:   r.Name,
		File:   r.File,
		Source: r.Source,
	}
}

// giveUp ends a run that was taken: Error Handling runs, and what it holds goes back.
func (w runs) giveUp(ctx context.Context, r journal.Run) error {
	if err := w.desk.Stop(ctx, r); err != nil {
		return err
	}
	w.flags.giveUp = true
	defer func() { w.flags.giveUp = false }()
	line := typed(r)
	route, err := w.table.Route(line)
	if err != nil {
		return err
	}
	ret, err := w.handle(ctx, line, route, &r)
	if err == nil {
		err = control.CheckGivenUp(r, ret)
	}
	if err == nil {
		w.term.note("run %s is given up", r.ID)
	}
	return err
}

func resumeVerb(cmd *cobra.Command, a *app) run {
	a.flags.run(cmd)
	cmd.Flags().BoolVar(&a.flags.acceptChanges, "accept-changes", false,
		"go on even if a command, subagent or configuration file has changed")
	from := cmd.Flags().String(
		"from", "",
		"go back to this `step`, also of a run that failed; tercet shows what that keeps and drops",
	)
	cmd.Flags().BoolVar(
		&a.flags.await,
		"await-answers",
		false,
		"without a terminal: wait at a question until 'tercet approve' or 'tercet watch' "+
			"answers it",
	)
	wait := cmd.Flags().Bool(
		"wait", false,
		"sleep until the time that the run waits for, then go on",
	)
	return func(c call) error {
		word := strings.Join(c.args, "")
		for { // one word, or none

			r, err := c.resumed(word, *from, *wait)
			if r == nil || !*wait || r.Until.IsZero() {
				return err
			}
			word, *from, err = r.Run, "", c.forget()
			if err != nil {
				return err
			}
		}
	}
}

// resumed goes on with a run, and tells how it goes on then where it waits again. It sleeps before
// it takes the run, so that others may have it meanwhile.
func (c call) resumed(word, from string, wait bool) (*formats.Resume, error) {
	w, err := c.inside(c.ctx)
	if err != nil {
		return nil, err
	}
	if wait {
		if err := w.desk.Wait(c.ctx, word); err != nil {
			return nil, err
		}
	}
	r, err := runs{w}.taken(c.ctx, word, from)
	if err != nil {
		return nil, err
	}

	line := typed(r)
	route, err := w.table.Route(line)
	if err == nil {
		err = consent{w}.first(c.ctx, invocationOf(route))
	}
	if err == nil && from != "" {
		err = runs{w}.goBack(c.ctx, r, from)
	}
	if err != nil {
		return nil, err
	}

	ret, err := runs{w}.handle(c.ctx, line, route, &r)
	if err != nil {
		return nil, err
	}
	return ret.Resume, w.ended(ret)
}

// taken takes the run to resume. One that failed is only taken to go back to a step.
func (w runs) taken(ctx context.Context, word, from string) (journal.Run, error) {
	if from != "" && word != "" {
		if r, err := w.desk.Named(word); err == nil && r.Ended() {
			return r, w.desk.TakeFailed(ctx, r.ID)
		}
	}
	return w.desk.Take(ctx, word)
}

func cancelVerb(cmd *cobra.Command, a *app) run {
	a.flags.end(cmd)
	return func(c call) error {
		w, err := c.inside(c.ctx)
		if err != nil {
			return err
		}
		r, taken, err := w.desk.End(c.ctx, c.args[0])
		switch {
		case err != nil:
			return err
		case taken:
			if err = (runs{w}).giveUp(c.ctx, r); err == nil {
				r, err = w.desk.Named(r.ID)
				c.document("tercet.control/1", fields{
					"run":    r.ID,
					"do":     letters.Cancel,
					"status": r.Status,
				})
			}
			return err
		default:
			return c.obeyed(r, letters.Cancel)
		}
	}
}

func runsVerb(cmd *cobra.Command, _ *app) run {
	all := cmd.Flags().Bool("all", false, "list all runs, not only the newest 20")
	return func(c call) error {
		list, err := journal.Runs(c.root, false)
		if err != nil {
			return err
		}
		if !*all {
			list = list[:min(len(list), 20)]
		}
		if c.document("tercet.runs/1", fields{"runs": nonNil(list)}) {
			return nil
		}

		tab := formats.Table{Columns: []string{
			"run", "command", "task", "status", "step", "age", "cost",
		}}
		for _, r := range list {
			// nothing for 0
			task := sprintf("%.0d", r.Task)
			cost := ""
			if r.Cost > 0 {
				cost = sprintf("%.2f", r.Cost)
			}
			since := journal.Age(clock{}.Now().Sub(r.Started))
			tab.Rows = append(tab.Rows, []string{
				r.ID, r.Line, task,
				r.Status,
				r.String(),
				since,
				cost,
			})
		}

		c.term.table(tab)
		if len(list) == 0 {
			c.term.note("no run; a slash command begins one")
		}
		return nil
	}
}

func showVerb(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	log := f.Bool(
		"log", false,
		"print the events of the run, one a line, and the output of its agents",
	)
	follow := f.BoolP("follow", "f", false, "with --log: keep printing until the run has ended")
	step := f.String("step", "",
		"with --log: only this `step` and the steps inside it: an id, a place or a step path")
	bundle := f.Bool(
		"bundle",
		false,
		"write one file about the run for a bug report, without secrets",
	)
	return func(c call) error {
		switch {
		case *bundle && *log:
			return usage("expected --log or --bundle, got both")
		case !*log && (*follow || *step != ""):
			return usage("expected --log with --follow and --step")
		case *bundle:
			return c.bundleRun()
		case *log:
			return c.logs(*step, *follow)
		}
		return c.showRun()
	}
}

func (c call) showRun() error {
	r, err := c.desk.Named(c.args[0])
	if err != nil {
		return err
	}
	return runs{c.world}.show(r)
}

// show prints the steps of a run, and how it goes on.
func (w runs) show(r journal.Run) error {
	records, err := journal.Load(w.root, r.ID)
	if err != nil {
		return err
	}

	steps := journal.Steps(records)
	next := ""
	if !journal.Finished(records) {
		next = "tercet resume " + r.ID
	}
	boards := journal.Topics(records)
	then := journal.Next(records)
	all := fields{
		"run":        r,
		"steps":      nonNil(steps),
		"boards":     nonNil(boards),
		"resume":     next,
		"next_steps": then,
	}
	if w.document("tercet.run/1", all) {
		return nil
	}

	head := sprintf("%s  %s  %s", r.ID, r.Line, r.Status)
	if r.Number > 0 {
		head += "  step " + r.String()
	}
	w.term.answer("%s", plain.Line(head))
	look := live.Style{Sheet: w.term.sheet(w.term.outTTY)}
	w.term.stage.root = w.dir
	if w.term.outTTY {
		look.Link = w.term.stage.look().Link
	}
	for _, line := range live.Steps(steps, columns(w.term.io.out), look) {
		fmt.Fprintln(w.term.io.out, line)
	}

	for _, topic := range boards {
		w.term.sentence("%s", topic)
	}
	w.term.sentence("%s", r.WaitReason()) // nothing of what does not wait
	if g, _ := journal.Gates(records); g != nil {
		w.term.answer("%s", sprintf("Answer: tercet approve %s, or tercet reject %[1]s", r.ID))
	}
	if next != "" {
		w.term.answer("%s", "Resume: "+next)
	} else if then != "" {
		w.term.answer("%s", plain.Line("Next: "+then))
	}
	return nil
}
