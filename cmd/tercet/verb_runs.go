package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/letters"
	"tercet/internal/plain"
	"tercet/router"
)

// typed is the line that began a run.
func typed(r journal.Run) router.Line {
	name, _, _ := strings.Cut(r.Line, " ")
	if r.Begun.Words != nil {
		return router.Line{Words: append([]string{name}, r.Begun.Words...)}
	}
	return router.Line{Raw: strings.TrimSpace(name + " " + r.Begun.Raw)}
}

// before looks for a run that the same line began and that did not end. Without a person it goes on at once, unless it
// waits for one.
func (w runs) before(ctx context.Context, line router.Line, route router.Route) (*journal.Run, error) {
	if w.reader == nil || w.flags.dryRun {
		return nil, nil
	}
	list, err := journal.Runs(w.root, true)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if argspec.Bare(r.Line) != argspec.Bare(line.Text()) || r.Begun.Range {
			continue
		}
		if err := consent(w).first(ctx, invocationOf(route)); err != nil {
			return nil, err
		}
		switch err := w.take(r); {
		case formats.CodeOf(err) == formats.CodeLocked:
			continue // it runs
		case err != nil:
			w.term.note("warning: run %s cannot be resumed: %s", r.ID, err)
			continue
		}
		switch word, err := w.which(ctx, r); {
		case err != nil:
			return nil, err
		case word == "new":
			return nil, w.giveUp(ctx, r)
		}
		return &r, nil
	}
	return nil, nil
}

func invocationOf(r router.Route) formats.Invocation {
	return formats.Invocation{Name: r.Name, File: r.File, Source: r.Source}
}

// waitingError is that of a run which its line does not take up by itself; slash gives its return.
type waitingError struct{ ret formats.Return }

// Error says what it waits for.
func (e *waitingError) Error() string { return e.ret.Summary }

func waiting(r journal.Run) error {
	why := sprintf("run %s of this line: %s", r.ID, r.Waits())
	return &waitingError{formats.Return{
		Status: formats.StatusSuspended, Said: formats.OutcomeSuspended, Summary: why, BlockedReason: why,
		NextSteps: sprintf("run 'tercet resume %s', or type the line with --new to begin afresh", r.ID),
		Resume:    &formats.Resume{Run: r.ID, Line: "tercet resume " + r.ID, Gate: r.Gate, Until: r.Until},
	}}
}

// waits tells whether a run waits for a time, for a person who has paused it, or at a gate that nobody has answered.
func (w runs) waits(r journal.Run) bool {
	if r.Status != formats.OutcomeSuspended.String() || r.Due(clock{}.Now()) {
		return false
	}
	g, _ := journal.Gates(w.past[r.ID])
	if g == nil || r.Gate == "" {
		return true
	}
	list, err := w.box(r.ID).Answers(*g)
	return err != nil || !slices.ContainsFunc(list, func(d formats.Decision) bool {
		_, enough := g.Decides(d)
		return enough
	})
}

// which tells what to do with a run that did not end: new, or resume.
func (w runs) which(ctx context.Context, r journal.Run) (string, error) {
	waits := w.waits(r)
	switch {
	case w.flags.fresh:
		return "new", nil
	case !w.interactive() && waits:
		return "", waiting(r)
	case !w.interactive():
		w.term.note("goes on with run %s, which did not end", r.ID)
		return "resume", nil
	}
	ask := formats.Gate{
		Question: sprintf("run %s of this line did not end:", r.ID),
		Choices:  []formats.Choice{{Label: "resume"}, {Label: "new"}, {Label: "show"}},
	}
	for {
		d, err := w.approver.ask(ctx, ask)
		if err != nil || d.Answer != "show" {
			return d.Answer, err
		}
		if err := w.show(r); err != nil {
			return "", err
		}
	}
}

// giveUp ends a run that was taken: Error Handling runs, and what it holds goes back.
func (w runs) giveUp(ctx context.Context, r journal.Run) error {
	past := w.past[r.ID]
	if past[len(past)-1].Type != formats.EntryStopped {
		if err := w.add(ctx, r, formats.Entry{Type: formats.EntryStopped, Data: fields{
			"code": formats.CodeCancelled, "message": "given up", "help": "type its line to run it again",
		}}); err != nil {
			return err
		}
	}
	w.flags.giveUp = true
	defer func() { w.flags.giveUp = false }()
	line := typed(r)
	route, err := w.table.Route(line)
	if err != nil {
		return err
	}
	ret, err := w.handle(ctx, line, route, &r)
	switch {
	case err != nil:
		return err
	case ret.Resume != nil:
		return formats.Fail(formats.CodeBug, "", "run %s still waits", r.ID)
	case len(ret.Errors) > 0 && ret.Errors[0].Code != formats.CodeCancelled:
		return formats.Fail(ret.Errors[0].Code, ret.Errors[0].Recommendation, "%s", ret.Errors[0].Message)
	}
	w.term.note("run %s is given up", r.ID)
	return nil
}

// add makes an entry of the person's in the journal of a run that was taken.
func (w runs) add(ctx context.Context, r journal.Run, e formats.Entry) error {
	j := journal.New(func() (*os.Root, error) { return w.root.OpenRoot(path.Join(journal.Folder, r.ID)) },
		journal.Options{Clock: clock{}.Now, Sync: true, Mask: w.mask, Key: w.runKey(r.ID)})
	w.keep(j)
	err := j.Append(ctx, e)
	if err == nil {
		w.past[r.ID], err = journal.Load(w.root, r.ID)
	}
	return err
}

// held finds a run that can go on and takes it.
func (w runs) held(word string) (journal.Run, error) {
	r, err := journal.Find(w.root, word)
	if err == nil {
		err = w.take(r)
	}
	return r, err
}

func resumeVerb(cmd *cobra.Command, a *app) run {
	a.runFlags(cmd)
	cmd.Flags().BoolVar(&a.flags.acceptChanges, "accept-changes", false, "go on although a file that decides has changed")
	from := cmd.Flags().String("from", "", "go back to this earlier `step`, and say which results that drops")
	wait := cmd.Flags().Bool("wait", false, "sleep until the time that the run waits for, and go on then")
	return func(c call) error {
		word := ""
		if len(c.args) > 0 {
			word = c.args[0]
		}
		for {
			r, err := c.resumed(word, *from, *wait)
			if r == nil || !*wait || r.Until.IsZero() {
				return err
			}
			if word, *from, err = r.Run, "", c.forget(); err != nil {
				return err
			}
		}
	}
}

// resumed goes on with a run, and tells how it goes on then where it waits again. It sleeps before it takes the run, so
// that others may have it meanwhile.
func (c call) resumed(word, from string, wait bool) (*formats.Resume, error) {
	w, err := c.app.world(c.ctx)
	if err != nil {
		return nil, err
	}
	if w.reader == nil {
		return nil, noWorkspace()
	}
	if wait {
		list, err := journal.Runs(w.root, true)
		if err != nil {
			return nil, err
		}
		if r, err := journal.Named(list, word); err == nil && !r.Until.IsZero() && !r.Due(clock{}.Now()) {
			w.term.note("run %s: %s", r.ID, r.Waits())
			if err := (clock{}).Sleep(c.ctx, r.Until.Sub(clock{}.Now())); err != nil {
				return nil, context.Cause(c.ctx)
			}
		}
	}
	r, err := runs{w}.held(word)
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

func cancelVerb(cmd *cobra.Command, a *app) run {
	a.runFlags(cmd)
	return func(c call) error {
		w, err := c.app.world(c.ctx)
		if err != nil {
			return err
		}
		if w.reader == nil {
			return noWorkspace()
		}
		r, err := runs{w}.held(c.args[0])
		if formats.CodeOf(err) == formats.CodeLocked {
			if _, err = (runs{w}).records(r.ID); err == nil {
				err = runs{w}.order(c.ctx, r, letters.Cancel)
			}
			return err
		}
		if err != nil {
			return err
		}
		return runs{w}.giveUp(c.ctx, r)
	}
}

func runsVerb(cmd *cobra.Command, _ *app) run {
	all := cmd.Flags().Bool("all", false, "list all runs, not only the newest 20")
	return func(c call) error {
		list, err := journal.Runs(c.root, false)
		if err != nil {
			return err
		}
		const most = 20
		if !*all && len(list) > most {
			list = list[:most]
		}
		if c.document("tercet.runs/1", fields{"runs": nonNil(list)}) {
			return nil
		}
		tab := formats.Table{Columns: []string{"run", "command", "task", "status", "step", "age", "cost"}}
		for _, r := range list {
			task, cost := "", ""
			if r.Task > 0 {
				task = strconv.Itoa(r.Task)
			}
			if r.Cost > 0 {
				cost = sprintf("%.2f", r.Cost)
			}
			since := journal.Age(clock{}.Now().Sub(r.Started))
			tab.Rows = append(tab.Rows, []string{r.ID, r.Line, task, r.Status, r.Step, since, cost})
		}
		if c.term.table(tab); len(list) == 0 {
			c.term.note("no run; a slash command begins one")
		}
		return nil
	}
}

func showRun(c call) error {
	list, err := journal.Runs(c.root, false)
	if err != nil {
		return err
	}
	r, err := journal.Named(list, c.args[0])
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
	if !journal.Over(records) {
		next = "tercet resume " + r.ID
	}
	if w.document("tercet.run/1", fields{"run": r, "steps": nonNil(steps), "resume": next}) {
		return nil
	}
	w.term.answer("%s", plain.Line(sprintf("%s  %s  %s", r.ID, r.Line, r.Status)))
	tab := formats.Table{Columns: []string{"step", "outcome", "time", "tokens", "summary"}}
	for _, s := range steps {
		tokens := ""
		if s.Tokens > 0 {
			tokens = strconv.FormatInt(s.Tokens, 10)
		}
		tab.Rows = append(tab.Rows, []string{
			s.Path, s.Outcome, fmt.Sprintf("%.1fs", s.Seconds), tokens, formats.Clip(s.Summary, 80),
		})
	}
	w.term.table(tab)
	if why := r.Waits(); why != "" {
		w.term.answer("%s", plain.Line(why))
	}
	if g, _ := journal.Gates(records); g != nil {
		w.term.answer("%s", sprintf("Answer: tercet approve %s, or tercet reject %[1]s", r.ID))
	}
	if next != "" {
		w.term.answer("%s", "Resume: "+next)
	}
	return nil
}
