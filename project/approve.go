package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/phrase"
	"tercet/subagents/checks"
	"tercet/subagents/offline"
)

// approver answers gates, once for each digest of a run: by --yes, by a digest that the user
// trusts, or by the user at the frontend. Without a user the gate's own auto label answers.
type approver struct {
	session *Session
	consent formats.Consent // of a run that starts now

	mu      sync.Mutex // guards answers
	answers map[answerKey]formats.Decision
}

func newApprover(s *Session) *approver {
	return &approver{session: s, answers: map[answerKey]formats.Decision{}}
}

// Approve answers a gate; a *formats.GateOpenError means that there is no user to ask and no
// consent.
func (p *approver) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	if g.Waits { // for an answer from elsewhere; other gates go on
		return p.decide(ctx, g)
	}

	if d, err := p.queue(ctx, g); d.Answer != "" || err != nil {
		return d, err
	}
	defer func() { <-p.session.Project.askSlot }()

	if d, ok := p.remembered(g.Run, g.Digest); ok && g.NeedsPerson {
		return d, nil
	}

	d, err := p.decide(ctx, g)
	if err == nil {
		p.Remember(g.Run, g.Digest, d)
		p.session.noteMeta(g, d)
	}
	return d, err
}

// The approver answers the gates of steps and of offline workers.
var (
	_ interp.Approver  = (*approver)(nil)
	_ offline.Approver = (*approver)(nil)
)

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
	asking := p.session.Project.askSlot
	select {
	case asking <- struct{}{}:
		return formats.Decision{}, nil
	default:
	}

	ctx, done := p.session.Project.Control.Watch(ctx, g)
	defer done()
	select {
	case asking <- struct{}{}:
		return formats.Decision{}, nil
	case <-ctx.Done():
		return control.ArrivedAnswer(ctx)
	}
}

// decide answers a gate by what was answered elsewhere or agreed to before, or has the user answer.
func (p *approver) decide(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	project := p.session.Project
	options := p.session.Options

	if d, ok, err := project.Control.Answered(g); ok || err != nil {
		return d, err
	}
	if ctx.Err() != nil {
		return formats.Decision{}, context.Cause(ctx)
	}

	if options.Workers != nil {
		if d, ok := options.Workers.Answer(g); ok {
			return d, nil
		}
	}
	if label, by := p.priorConsent(g); label != "" {
		return p.answer(g, label, by)
	}

	auto := g.Auto
	if g.Quorum > 1 || g.Consent { // the gate does not answer itself
		auto = ""
	}
	interactive := project.Host.Frontend.Interactive()
	if interactive || auto == "" {
		project.notifier.Gate(ctx, g)
	}

	only := project.Control.LocalOnly(g)
	switch {
	case interactive:
		if only != "" {
			project.note("gate: %s is answered only here: %s", g.Question, only)
		}
		return p.ask(ctx, g)
	case auto != "" && !options.Await:
		return p.answer(g, auto, "auto")
	case (g.Waits || options.Await) && g.ID != "" && only == "":
		return project.Control.Await(ctx, g)
	}

	// an answer comes to the home of a team, and with a later attempt to the run
	left := project.team != nil && g.Timeout != nil
	return formats.Decision{}, &formats.GateOpenError{Gate: g, Only: only, Left: left}
}

// priorConsent gives the label that the user agreed to before the gate opened, and what says so;
// empty if there is none. Such a consent is no vote of a quorum.
func (p *approver) priorConsent(g formats.Gate) (label, by string) {
	approve := ""
	i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool { return c.Approves })
	if i >= 0 {
		approve = g.Choices[i].Label
	}

	label = cmp.Or(g.Auto, approve)
	switch {
	case label == "" || g.Quorum > 1:
		return "", ""
	case p.session.Options.Yes:
		return label, formats.ByYes
	case g.NeedsPerson:
		if approve != "" && p.session.Project.Trust.NamesDigest(g.Trusted()) {
			return approve, "trusted digest"
		}
	case g.Agreed != "":
		return label, g.Agreed
	}
	return "", ""
}

// answer gives a gate a label without a user, and shows by what.
func (p *approver) answer(g formats.Gate, label, by string) (formats.Decision, error) {
	project := p.session.Project
	project.Host.Frontend.Answered(g, project.Translated(label), by)
	return formats.Decision{Answer: label, By: by}, nil
}

// awaitVotes waits for the answers of other users that a gate needs. A user who leaves leaves it
// open.
func (p *approver) awaitVotes(outer context.Context, g formats.Gate) (formats.Decision, error) {
	project := p.session.Project
	project.note("gate: %s waits for %s more; Ctrl-C leaves it open", g.Question,
		formats.Count(max(1, g.Quorum-len(g.Votes)), "answer"))
	ctx, done := project.Host.Frontend.Leaving(outer)
	defer done()
	d, err := project.Control.Await(ctx, g)
	if err != nil && ctx.Err() != nil && outer.Err() == nil {
		err = &formats.GateOpenError{Gate: g, Left: true}
	}
	return d, err
}

// ask has the user answer a gate. Who leaves it takes the choice for that; who interrupts it leaves
// the question open.
func (p *approver) ask(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	project := p.session.Project
	if _, ok := g.Voted(project.Host.User); ok {
		return p.awaitVotes(ctx, g)
	}

	ctx, done := project.Control.Watch(ctx, g)
	defer done()
	a, err := project.Host.Frontend.Ask(ctx, project.AboutGate(g, ""))

	if errors.Is(err, ErrInterrupted) {
		return formats.Decision{}, formats.Interrupted("interrupted")
	}
	if errors.Is(err, ErrLeft) {
		i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool {
			return c.Leaves
		})
		if i < 0 {
			return formats.Decision{}, &formats.GateOpenError{Gate: g, Left: true}
		}
		a.Label = g.Choices[i].Label
		project.note("no answer; '%s' is taken", project.Translated(a.Label))
	} else if err != nil {
		return control.ArrivedAnswer(ctx)
	}

	return project.Control.Submit(g, project.Decision(a))
}

// Translated is the label of a choice in the user's language.
func (p *Project) Translated(label string) string {
	return phrase.In(p.Config.Language, label)
}

// TranslatedQuestion is the question of a gate in the user's language.
func (p *Project) TranslatedQuestion(g formats.Gate) string {
	return phrase.Question(p.Config.Language, g.Question)
}

// AboutGate is a gate with what the user may look at before the answer, and a note given in
// advance.
func (p *Project) AboutGate(g formats.Gate, note string) Question {
	q := Question{Gate: g, Note: note, Project: p}
	if dir := filepath.FromSlash(g.Place); dir != "" && filepath.IsLocal(dir) {
		q.Diff = func(ctx context.Context) (string, error) {
			return p.workPatch(ctx, filepath.Join(p.Dir, dir))
		}
	}
	return q
}

// Decision is the answer of the user of this process.
func (p *Project) Decision(a Reply) formats.Decision {
	return formats.Decision{
		Answer:  a.Label,
		By:      p.Host.User,
		Person:  true,
		Note:    a.Note,
		Edited:  a.Edited,
		Channel: a.Channel,
		At:      p.Host.Clock.Now().UTC(),
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
func (s *Session) check(
	ctx context.Context,
	r formats.Request,
	c checks.Check,
) (checks.Result, error) {
	if c.Stack == "" {
		sum := sha256.Sum256([]byte(strings.Join(c.Argv, "\x00")))
		d, err := s.approver.Approve(ctx, formats.Gate{
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
	return checks.Run(ctx, s.Project.Starter, r.Dir, c, s.Project.checkBounds())
}

// Confirm shows what would be done and asks whether to do it. Options.Yes says yes; without a user
// the answer is no.
func (s *Session) Confirm(ctx context.Context, show []string, question string) error {
	d, err := s.approver.decide(ctx, formats.Gate{
		Question:    question,
		Show:        show,
		NeedsPerson: true,
		Choices:     []formats.Choice{{Label: "yes", Approves: true}, {Label: "no", Leaves: true}},
	})
	if err == nil && d.Answer != "yes" {
		err = formats.Fail(formats.CodeRejected, "", "nothing was done")
	}
	return err
}
