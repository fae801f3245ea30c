package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/letters"
	"tercet/internal/plain"
	"tercet/internal/question"
	"tercet/subagents/checks"
)

// approver answers gates: once for each digest of a run, by --yes, by a digest that the person trusts, by the gate's
// own auto label where nobody can be asked, else by the person at the terminal.
type approver struct {
	*app

	mu      sync.Mutex
	kept    map[string]formats.Decision // by run and digest
	consent string                      // the auto-approve file that answers for the run; empty: none
}

// Approve implements the consumers' interface; a *formats.GateOpenError says that nobody can answer.
func (p *approver) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := g.Run + "\x00" + g.Digest
	if d, ok := p.kept[key]; ok && g.NeedsPerson {
		return d, nil
	}
	d, err := p.decide(ctx, g)
	if err != nil {
		return d, err
	}
	if p.kept == nil {
		p.kept = map[string]formats.Decision{}
	}
	p.kept[key] = d
	return d, nil
}

func (p *approver) decide(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	approve := ""
	if i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool { return c.Approves }); i >= 0 {
		approve = g.Choices[i].Label
	}
	answer := func(label, by, shown string) (formats.Decision, error) {
		p.term.note("gate: %s %s (%s)", g.Question, label, shown)
		return formats.Decision{Answer: label, By: by}, nil
	}
	box := p.box(g)
	if d, ok, err := answered(box, g); ok || err != nil {
		return d, err
	}
	if ctx.Err() != nil {
		return formats.Decision{}, context.Cause(ctx)
	}
	w, consented := p.built, cmp.Or(g.Auto, approve)
	switch {
	case consented == "", g.Quorum > 1: // what is no person is no one of them
		consented = ""
	case p.flags.yes:
		return answer(consented, "--yes", "--yes")
	case approve != "" && g.NeedsPerson && w != nil && w.gate.Named(g.Digest):
		return answer(approve, "trusted digest", "trusted digest")
	case !g.NeedsPerson && p.consent != "":
		return answer(consented, "auto-approve file", p.consent)
	}
	switch {
	case p.interactive():
		return p.ask(ctx, g)
	case g.Auto != "" && consented != "":
		return answer(g.Auto, "auto", "auto")
	case g.Waits && g.ID != "":
		return p.await(ctx, g)
	}
	return formats.Decision{}, &formats.GateOpenError{Gate: g}
}

// box is where answers to a gate lie. Those to a gate that is in no journal come from here alone.
func (p *approver) box(g formats.Gate) letters.Box {
	if g.ID == "" || p.built == nil {
		return letters.Box{}
	}
	return runs{p.built}.box(g.Run)
}

// answered gives the next answer to a gate that lies in its box.
func answered(box letters.Box, g formats.Gate) (formats.Decision, bool, error) {
	if box.Root == nil {
		return formats.Decision{}, false, nil
	}
	list, err := box.Answers(g)
	i := slices.IndexFunc(list, func(d formats.Decision) bool {
		_, before := g.Voted(d.By)
		return !before
	})
	if err != nil || i < 0 {
		return formats.Decision{}, false, err
	}
	return list[i], true, nil
}

// arrivedError ends a question that was answered elsewhere.
type arrivedError struct {
	decision formats.Decision
	err      error
}

// Error says who answered.
func (e *arrivedError) Error() string { return "answered by " + e.decision.By }

// heedEvery is how often a process looks for answers and orders.
const heedEvery = 250 * time.Millisecond

// watch gives a context that ends when the gate is answered elsewhere.
func (p *approver) watch(ctx context.Context, g formats.Gate) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	box := p.box(g)
	var looking sync.WaitGroup
	looking.Go(func() {
		for box.Root != nil && (clock{}).Sleep(ctx, heedEvery) == nil {
			if d, ok, err := answered(box, g); ok || err != nil {
				cancel(&arrivedError{d, err})
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		looking.Wait()
	}
}

// await waits for an answer from elsewhere.
func (p *approver) await(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	ctx, done := p.watch(ctx, g)
	defer done()
	<-ctx.Done()
	if there, ok := errors.AsType[*arrivedError](context.Cause(ctx)); ok {
		return there.decision, there.err
	}
	return formats.Decision{}, context.Cause(ctx)
}

// others waits for the further people that a gate needs. Who leaves by Ctrl-C leaves it open.
func (p *approver) others(outer context.Context, g formats.Gate) (formats.Decision, error) {
	p.term.note("gate: %s waits for %s more; Ctrl-C leaves it open", g.Question,
		formats.Count(max(1, g.Quorum-len(g.Votes)), "answer"))
	ctx, leave := context.WithCancel(outer)
	defer leave()
	defer p.signals.instead(leave)()
	d, err := p.await(ctx, g)
	if err != nil && ctx.Err() != nil && outer.Err() == nil {
		err = &formats.GateOpenError{Gate: g, Left: true}
	}
	return d, err
}

// given keeps an answer of the person here, unless somebody else was first: then it is theirs.
func (p *approver) given(g formats.Gate, d formats.Decision) (formats.Decision, error) {
	d.By, d.Person, d.At = userName(), true, clock{}.Now().UTC()
	box := p.box(g)
	if box.Root == nil || len(box.Key) == 0 {
		return d, nil
	}
	err := box.Answer(g, d)
	if taken, ok := errors.AsType[*letters.TakenError](err); ok {
		first, ok, err := answered(box, g)
		if ok || err != nil {
			p.term.note("not taken: %s", taken)
			return first, err
		}
	}
	if err != nil {
		p.term.note("warning: %s", err)
	}
	return d, nil
}

// ask shows what the answer is bound to, and reads one. Who leaves by Ctrl-D or Ctrl-C takes the choice for that.
func (p *approver) ask(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	w, set := p.io.err, question.Of(g.Choices)
	if _, ok := g.Voted(userName()); ok {
		return p.others(ctx, g)
	}
	ctx, done := p.watch(ctx, g)
	defer done()
	for _, s := range g.Show {
		for line := range strings.SplitSeq(strings.TrimRight(plain.Text(s), "\n"), "\n") {
			fmt.Fprintln(w, "  | "+line)
		}
	}
	p.untaken(p.lines.Drop())
	for {
		line, err := p.question(ctx, sprintf("%s  %s ", plain.Line(g.Question), set))
		if err != nil && line == "" {
			fmt.Fprintln(w)
			if there, ok := errors.AsType[*arrivedError](context.Cause(ctx)); ok {
				return there.decision, there.err
			}
			if ctx.Err() != nil {
				return formats.Decision{}, context.Cause(ctx)
			}
			i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool { return c.Leaves })
			if i < 0 {
				return formats.Decision{}, &formats.GateOpenError{Gate: g, Left: true}
			}
			p.term.note("left without an answer, which is '%s'", g.Choices[i].Label)
			return p.given(g, formats.Decision{Answer: g.Choices[i].Label})
		}
		label, note, ok := set.Read(line)
		switch {
		case ok:
			return p.given(g, formats.Decision{Answer: label, Note: note})
		case strings.TrimSpace(line) != "?":
			fmt.Fprintf(w, "expected one of the choices, got %s\n", plain.Line(strconv.Quote(line)))
		}
		for _, key := range set.Keys() {
			fmt.Fprintln(w, "  "+key)
		}
	}
}

// question asks one thing on the terminal and gives the line that is typed then. What was pasted is told and not taken.
// Ctrl-C leaves the question alone, and not what asks it.
func (a *app) question(ctx context.Context, text string) (string, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer a.signals.instead(leave)()
	for {
		fmt.Fprint(a.io.err, text)
		line, err := a.lines.Next(ctx)
		rest := a.lines.Rest()
		if len(rest) == 0 || err != nil {
			return line, err
		}
		a.untaken(append([]string{line}, rest...))
	}
}

// untaken tells lines that came before a question or by a paste.
func (a *app) untaken(lines []string) {
	for _, one := range lines {
		a.term.say("not taken as an answer, type it again: " + formats.Clip(one, 60))
	}
}

// approveOrReject are the choices of a question about what would run.
var approveOrReject = []formats.Choice{{Label: "approve", Approves: true}, {Label: "reject", Leaves: true}}

// check runs one check of the gatekeeper. A program that a command file names itself is asked about once a process;
// what a project's own tools are is known, and the person asked for it.
func (w *world) check(ctx context.Context, dir string, c checks.Check) (checks.Result, error) {
	if c.Stack == "" {
		sum := sha256.Sum256([]byte(strings.Join(c.Argv, "\x00")))
		d, err := w.approver.Approve(ctx, formats.Gate{
			Question: fmt.Sprintf("Run %q?", c.Argv), Show: []string{"the command file names this program as a check"},
			NeedsPerson: true, Digest: hex.EncodeToString(sum[:]), Choices: approveOrReject,
		})
		if err != nil {
			return checks.Result{}, err
		}
		if d.Answer != approveOrReject[0].Label {
			return checks.Result{}, formats.Fail(formats.CodeDenied, "", "running %q was not approved", c.Argv)
		}
	}
	return checks.Run(ctx, w.starter, dir, c, w.checkBounds())
}
