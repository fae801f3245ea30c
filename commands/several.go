package commands

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/order"
)

// Part is one task of a line that names several. It has a run of its own, whose line names this
// task alone.
type Part struct {
	Task int
	Inv  formats.Invocation
	Was  *formats.Return // its earlier result; nil: it has not been done
}

// Several manages the runs of a line that names several tasks.
type Several interface {
	// Split gives each part its line and its run, or its earlier result, and says how many may run
	// at once. inv.Among identifies the line, however it is typed.
	Split(ctx context.Context, inv formats.Invocation, parts []Part) (most int, err error)
	// Ended says that this process is done with a run, while other runs of the line may go on.
	Ended(run string)
}

// runEach does each task of a line in a run of its own, as many side by side as may be. What one
// comes to stops no other. They begin in the order of the line, and publish in it.
func (l *Library) runEach(
	ctx context.Context,
	inv formats.Invocation,
	prog *compile.Program,
	values argspec.Values,
) (formats.Return, error) {
	parts := partsOf(inv, values, values.Tasks())
	var list []string
	for _, p := range parts {
		list = append(list, strconv.Itoa(p.Task))
	}

	raw, words := values.Line(strings.Join(list, ","))
	inv.Among = &formats.Among{
		Line:  argspec.StripEngineFlags("/" + inv.Name + " " + raw + argspec.Join(words)),
		Round: inv.Run,
	}
	most, err := l.Several.Split(ctx, inv, parts)
	if err != nil {
		return formats.Return{}, err
	}

	came := make([]formats.TaskReturn, len(parts))
	slots := make(chan struct{}, most)
	over := make([]chan struct{}, len(parts))
	var going sync.WaitGroup
	for i, p := range parts {
		came[i] = formats.TaskReturn{Task: p.Task}
		over[i] = make(chan struct{})
		if p.Was == nil {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
			}
		}
		switch {
		case p.Was != nil:
			came[i].Return = *p.Was
			close(over[i])
			continue
		case ctx.Err() != nil:
			came[i].Return = notBegunReturn(ctx)
			close(over[i])
			continue
		}
		came[i].Run = p.Inv.Run
		mine := &turn{
			before: over[:i],
			leave: sync.OnceFunc(func() {
				close(over[i])
			}),
		}
		going.Go(func() {
			defer func() { <-slots }()
			defer mine.leave()
			own, err := argspec.Bind(inv.Name, prog.Args, p.Inv.Raw, p.Inv.Words)
			var ret formats.Return
			if err == nil {
				ret, err = l.run(ctx, p.Inv, prog, own, mine)
			}
			if err != nil {
				ret = formats.Failed(err)
			}
			came[i].Return = ret
			l.Several.Ended(p.Inv.Run)
		})
	}

	going.Wait()
	return joinReturns(inv, most, came)
}

// notBegunReturn is the return of a task to which the line did not come.
func notBegunReturn(ctx context.Context) formats.Return {
	ret := formats.Failed(context.Cause(ctx))
	ret.Summary = "not begun: " + ret.Summary
	ret.Errors[0].Message = ret.Summary
	return ret
}

// turn is the place of a run among those of a line. The run publishes when those before it have, or
// have ended.
type turn struct {
	interp.Delegator

	before []chan struct{}
	leave  func()
}

// Delegate implements interp.Delegator.
func (t *turn) Delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	if r.Agent != compile.GitWorkflow || r.Input["action"] != "publish" || r.Input["child"] != nil {
		return t.Delegator.Delegate(ctx, r)
	}

	for _, over := range t.before {
		select {
		case <-over:
		case <-ctx.Done():
			return formats.Return{}, context.Cause(ctx)
		}
	}

	ret, err := t.Delegator.Delegate(ctx, r)
	if err == nil && ret.Outcome().Passes() {
		t.leave()
	}
	return ret, err
}

// joinReturns is the return of a line: the gravest of what its tasks came to, with a line of text
// for each.
func joinReturns(
	inv formats.Invocation, most int, came []formats.TaskReturn,
) (formats.Return, error) {
	out := formats.Return{Status: formats.StatusCompleted, Tasks: came}
	out.Metadata.Session = inv.Session
	var votes []interp.Vote
	open := ""
	passed := 0
	for _, one := range came {
		ret := one.Return
		votes = append(votes, interp.Vote{Return: ret})
		out.Artifacts = append(out.Artifacts, ret.Artifacts...)
		out.Tables = append(out.Tables, ret.Tables...)
		out.Issues = append(out.Issues, ret.Issues...)
		for _, w := range ret.Warnings {
			out.Warnings = append(out.Warnings, withTask(one.Task, w))
		}
		for _, e := range ret.Errors {
			e.Message = withTask(one.Task, e.Message)
			out.Errors = append(out.Errors, e)
		}
		out.Text += taskLine(one) + "\n"
		if ret.Resume != nil && ret.Resume.Gate != "" {
			open = "'tercet gates' lists the questions, and 'tercet approve RUN' answers one"
		}
		if ret.Outcome().Passes() {
			passed++
		}
		addUsage(&out.Metadata, ret.Metadata, most > 1)
	}

	outcome, err := interp.Decide(nil, votes)
	if err != nil {
		return formats.Return{}, err
	}
	if outcome == formats.OutcomeBlocked && slices.ContainsFunc(came, interrupted) {
		outcome = formats.OutcomeSuspended // else nothing would tell that a signal ended the line
	}
	out.Summary = summary(inv, most, passed, len(came))
	out.Text += out.Summary
	out.NextSteps = cmp.Or(open, nextSteps(came))
	if outcome.Passes() {
		return out, nil
	}

	worst := came[slices.IndexFunc(came, func(c formats.TaskReturn) bool {
		return c.Return.Outcome() == outcome
	})]
	out.Status = worst.Return.Status
	out.Said = worst.Return.Said
	out.Verdict = worst.Return.Verdict
	out.BlockedReason = worst.Return.BlockedReason
	if out.BlockedReason != "" {
		out.BlockedReason = withTask(worst.Task, out.BlockedReason)
	}
	// A line that was cancelled says so, whatever failed in it before.
	order.Stable(out.Errors, func(a, b formats.ReturnError) int {
		return cmp.Compare(cancelled(a), cancelled(b))
	})
	return out, nil
}

// nextSteps says what to run next, once for all tasks in whose advice nothing but their number
// differs.
func nextSteps(came []formats.TaskReturn) string {
	const number = "\x00" // in no text of a return
	var order []string
	tasks := map[string][]int{}
	for _, one := range came {
		if !one.Return.Outcome().Passes() || one.Return.NextSteps == "" {
			continue
		}
		own := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, one.Task))
		text := own.ReplaceAllString(one.Return.NextSteps, number)
		if tasks[text] == nil {
			order = append(order, text)
		}
		tasks[text] = append(tasks[text], one.Task)
	}

	for i, text := range order {
		order[i] = strings.ReplaceAll(text, number, argspec.Ranges(tasks[text]))
	}
	return strings.Join(order, "; ")
}

// interrupted tells whether a signal suspended the run of a task.
func interrupted(one formats.TaskReturn) bool {
	ret := one.Return
	return ret.Status == formats.StatusSuspended && len(ret.Errors) > 0 &&
		cancelled(ret.Errors[0]) == 0
}

func cancelled(e formats.ReturnError) int {
	if e.Code == formats.CodeCancelled {
		return 0
	}
	return 1
}

// addUsage sums up what was used; the time of runs side by side is that of the longest.
func addUsage(all *formats.Metadata, one formats.Metadata, beside bool) {
	all.Spawns = all.Spawns + one.Spawns
	all.Cost = all.Cost + one.Cost
	all.Tokens.Input += one.Tokens.Input
	all.Tokens.Cached += one.Tokens.Cached
	all.Tokens.Output += one.Tokens.Output
	all.Duration += one.Duration
	if beside {
		all.Duration = max(all.Duration-one.Duration, one.Duration)
	}
}

// summary says how far a line came.
func summary(inv formats.Invocation, most, passed, all int) string {
	switch {
	case inv.DryRun && most > 1:
		return fmt.Sprintf("/%s would run for %d tasks, at most %d side by side",
			inv.Name, all, most)
	case inv.DryRun:
		return fmt.Sprintf("/%s would run for %d tasks, one after the other", inv.Name, all)
	case passed == all:
		return fmt.Sprintf("/%s done for %d tasks", inv.Name, all)
	}
	return fmt.Sprintf("/%s done for %d of %d tasks", inv.Name, passed, all)
}

// taskLine tells what one task came to.
func taskLine(one formats.TaskReturn) string {
	ret := one.Return
	if outcome := ret.Outcome(); !outcome.Passes() {
		return withTask(one.Task, outcome.String()+": "+ret.Summary)
	}
	text := strings.TrimRight(cmp.Or(ret.Text, ret.Summary), "\n")
	if strings.Contains(text, "\n") {
		text = "\n" + text
	}
	return withTask(one.Task, text)
}

// withTask says of which task a text is.
func withTask(n int, text string) string {
	if which := fmt.Sprintf("task %d", n); !strings.HasPrefix(text, which+" ") {
		return strings.Replace(which+": "+text, ": \n", ":\n", 1)
	}
	return text
}
