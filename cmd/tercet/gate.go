package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/phrase"
	"tercet/internal/question"
	"tercet/subagents/checks"
)

// approver answers gates, once for each digest of a run: by --yes, by a digest that the user
// trusts, or by the user at the terminal. Without a terminal the gate's own auto label answers.
type approver struct {
	*app

	asking  chan struct{} // holds who asks: one question at a time
	desk    *control.Controller
	consent formats.Consent // of a run that starts now

	mu      sync.Mutex // guards answers
	answers map[answerKey]formats.Decision
}

// Approve answers a gate; a *formats.GateOpenError means that there is no terminal and no consent.
func (p *approver) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	if g.Waits { // for an answer from elsewhere; other gates go on
		return p.decide(ctx, g)
	}
	if d, err := p.queue(ctx, g); d.Answer != "" || err != nil {
		return d, err
	}
	defer func() { <-p.asking }()
	if d, ok := p.remembered(g.Run, g.Digest); ok && g.NeedsPerson {
		return d, nil
	}
	d, err := p.decide(ctx, g)
	if err == nil {
		p.Remember(g.Run, g.Digest, d)
	}
	return d, err
}

// answerKey names what an answer is about: the same digest in another run is another question.
type answerKey struct{ run, digest string }

// Remember keeps an answer for the next time that the same is asked.
func (p *approver) Remember(run, digest string, d formats.Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[answerKey{run, digest}] = d
}

func (p *approver) remembered(run, digest string) (formats.Decision, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.answers[answerKey{run, digest}]
	return d, ok
}

// queue waits until no other question is open here, or until the gate is answered elsewhere.
func (p *approver) queue(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	select {
	case p.asking <- struct{}{}:
		return formats.Decision{}, nil
	default:
	}
	ctx, done := p.desk.Watch(ctx, g)
	defer done()
	select {
	case p.asking <- struct{}{}:
		return formats.Decision{}, nil
	case <-ctx.Done():
		return control.ArrivedAnswer(ctx)
	}
}

func (p *approver) decide(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	approve := ""
	if i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool { return c.Approves }); i >= 0 {
		approve = g.Choices[i].Label
	}
	answer := func(label, by, shown string) (formats.Decision, error) {
		p.term.note("%sgate: %s %s (%s)",
			p.term.parts[g.Run], g.Question, phrase.In(p.language(), label), shown)
		return formats.Decision{Answer: label, By: by}, nil
	}
	if d, ok, err := p.desk.Answered(g); ok || err != nil {
		return d, err
	}
	if ctx.Err() != nil {
		return formats.Decision{}, context.Cause(ctx)
	}
	if p.play != nil && p.play.cast != nil {
		if d, ok := p.play.cast.Answer(g); ok {
			return d, nil
		}
	}
	w := p.built
	consented := cmp.Or(g.Auto, approve)
	switch {
	case consented == "", g.Quorum > 1: // a consent does not count for a quorum
		consented = ""
	case p.flags.yes:
		return answer(consented, interp.ByYes, interp.ByYes)
	case approve != "" && g.NeedsPerson && w != nil && w.gate.Named(g.Trusted()):
		return answer(approve, "trusted digest", "trusted digest")
	case !g.NeedsPerson && g.Agreed != "":
		return answer(consented, g.Agreed, g.Agreed)
	}

	if p.built != nil && (p.interactive() || g.Auto == "" || g.Consent || consented == "") {
		p.built.bell.Gate(ctx, g)
	}
	only := p.desk.LocalOnly(g)
	switch {
	case p.interactive():
		if only != "" {
			p.term.note("gate: %s is answered only here: %s", g.Question, only)
		}
		return p.ask(ctx, g)
	case g.Auto != "" && consented != "" && !g.Consent && !p.flags.await:
		return answer(g.Auto, "auto", "auto")
	case (g.Waits || p.flags.await) && g.ID != "" && only == "":
		return p.desk.Await(ctx, g)
	}

	return formats.Decision{}, &formats.GateOpenError{Gate: g, Only: only}
}

// language is that in which the fixed texts of flows are shown.
func (a *app) language() string {
	if a.built == nil {
		return ""
	}
	return a.built.cfg.Language
}

// others waits for the answers of other users that a gate needs. Who leaves by Ctrl-C leaves it
// open.
func (p *approver) others(outer context.Context, g formats.Gate) (formats.Decision, error) {
	p.term.note("gate: %s waits for %s more; Ctrl-C leaves it open", g.Question,
		formats.Count(max(1, g.Quorum-len(g.Votes)), "answer"))
	ctx, leave := context.WithCancel(outer)
	defer leave()
	defer p.signals.instead(leave)()
	d, err := p.desk.Await(ctx, g)
	if err != nil && ctx.Err() != nil && outer.Err() == nil {
		err = &formats.GateOpenError{Gate: g, Left: true}
	}
	return d, err
}

// answerOf is an answer of the user at this terminal.
func answerOf(a question.Answer) formats.Decision {
	return formats.Decision{
		Answer: a.Label,
		By:     userName(),
		Person: true,
		Note:   a.Note,
		Edited: a.Edited,
		At:     clock{}.Now().UTC(),
	}
}

// asked has the user answer a gate.
func (p *approver) asked(
	ctx context.Context,
	g formats.Gate,
	note string,
) (question.Answer, error) {
	who := question.Person{
		Lines:    p.lines,
		Out:      p.io.err,
		Screen:   func() (int, int) { return size(p.io.err) },
		Sheet:    p.term.sheet(p.term.errTTY),
		Line:     p.question,
		Untaken:  p.untaken,
		Env:      os.Environ(),
		Suspend:  suspended,
		Lend:     p.term.stage.lend,
		Language: p.language(),
	}
	resume := p.term.stage.Pause()
	defer resume(true)
	m := question.Matter{Begins: p.term.parts[g.Run], Note: note}
	if w := p.built; w != nil {
		m.Root = w.root
		if dir := filepath.FromSlash(g.Place); dir != "" && filepath.IsLocal(dir) {
			m.Diff = func(ctx context.Context) (string, error) {
				return runs{w}.work(ctx, filepath.Join(w.dir, dir))
			}
		}
	}
	return who.Ask(ctx, g, m)
}

// ask shows what the answer is bound to, and reads one. Who leaves by Ctrl-D takes the choice for
// that. Ctrl-C leaves the question open.
func (p *approver) ask(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	if _, ok := g.Voted(userName()); ok {
		return p.others(ctx, g)
	}
	ctx, done := p.desk.Watch(ctx, g)
	defer done()
	a, err := p.asked(ctx, g, "")
	if errors.Is(err, question.ErrInterrupted) {
		return formats.Decision{}, formats.Interrupted("interrupted")
	}
	if errors.Is(err, question.ErrLeft) {
		i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool {
			return c.Leaves
		})
		if i < 0 {
			return formats.Decision{}, &formats.GateOpenError{Gate: g, Left: true}
		}
		a.Label = g.Choices[i].Label
		p.term.note("no answer; '%s' is taken", phrase.In(p.language(), a.Label))
	} else if err != nil {
		return control.ArrivedAnswer(ctx)
	}
	return p.desk.Submit(g, answerOf(a))
}

// question asks one thing on the terminal and gives the line that is typed then. What was pasted is
// told and not taken. Ctrl-C leaves the question alone, and not what asks it.
func (a *app) question(ctx context.Context, text string) (line string, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer a.signals.instead(leave)()
	resume := a.term.stage.Pause()
	defer func() { resume(err == nil) }()
	defer aborts(a.term.stage.restore, func() { fmt.Fprint(a.io.err, text) })()
	for {
		fmt.Fprint(a.io.err, text)
		line, err = a.lines.Next(ctx)
		rest := a.lines.Rest(ctx)
		if err != nil { // the rest of a paste is no line of the prompt
			a.lines.Drop(ctx)
		}
		if len(rest) == 0 || err != nil {
			return line, err
		}
		a.untaken(append([]string{line}, rest...))
	}
}

// askMissing asks for what a line lacks. A user who leaves by Ctrl-D or Ctrl-C begins nothing.
func (a *app) askMissing(
	ctx context.Context,
	missing commands.MissingArguments,
) ([]string, error) {
	var items []question.Item
	for _, q := range missing.Questions {
		items = append(items, question.Item(q))
	}
	ask := func(lines []string, prompt string) (string, error) {
		for _, line := range lines {
			a.term.tell(line)
		}
		line, err := a.question(ctx, prompt)
		if err == nil || line != "" {
			return line, nil
		}
		fmt.Fprintln(a.io.err)
		return "", formats.Fail(formats.CodeCancelled, "", "left: nothing was begun")
	}
	return question.NewInterview(items).Run(missing.Problem, missing.Line, ask)
}

// untaken tells lines that came before a question or by a paste.
func (a *app) untaken(lines []string) {
	for _, one := range lines {
		a.term.say("not taken as an answer, type it again: " + formats.Clip(one, 60))
	}
}

// approveOrReject are the choices of a question about what would run.
var approveOrReject = []formats.Choice{
	{Label: "approve", Approves: true},
	{Label: "reject", Leaves: true},
}

// check runs one check of the gatekeeper. The first use of a program that a command file names
// needs the user's approval, once a run. A project's own tools are known, and the user asked for
// the check.
func (w *world) check(
	ctx context.Context,
	r formats.Request,
	c checks.Check,
) (checks.Result, error) {
	if c.Stack == "" {
		sum := sha256.Sum256([]byte(strings.Join(c.Argv, "\x00")))
		d, err := w.approver.Approve(ctx, formats.Gate{
			Question:    fmt.Sprintf("Run %q?", c.Argv),
			Show:        []string{"the command file names this program as a check"},
			NeedsPerson: true,
			Digest:      hex.EncodeToString(sum[:]),
			Choices:     approveOrReject,
			Run:         r.Run,
			Step:        r.Step,
		})
		if err != nil {
			return checks.Result{}, err
		}
		if d.Answer != approveOrReject[0].Label {
			return checks.Result{}, formats.Fail(formats.CodeDenied, "",
				"running %q was not approved", c.Argv)
		}
	}
	return checks.Run(ctx, w.starter, r.Dir, c, w.checkBounds())
}
