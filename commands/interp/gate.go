package interp

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// fileGate is a question of the command file.
type fileGate struct {
	step  step
	path  string
	gate  *syntax.Gate
	input any // what a rule asks about; nil: a step asks
}

// gate asks a question of the file: of a step, or of a rule about the result of its step. The
// target of the answer is where the step leads. Choices whose `if` does not hold are not offered.
func (s step) gate(path string, a *syntax.Gate, input any) (result, error) {
	q := fileGate{s, path, a, input}
	if s.run.dry.on {
		return q.dry()
	}

	g, d, err := ask(s, q)
	if err != nil {
		return result{}, err
	}

	at := slices.IndexFunc(a.Choices, func(ch syntax.GateChoice) bool {
		return ch.Label.Text == d.Answer
	})
	if _, offered := g.Choice(d.Answer); at < 0 || !offered {
		return result{}, unknownAnswer(g, d)
	}
	return gateResult(g, a.Choices[at], d), nil
}

// dry plans the question and takes the first choice.
func (q fileGate) dry() (result, error) {
	s := q.step
	question, err := s.env().dryText(q.gate.Question, q.input)
	if err != nil {
		return result{}, err
	}
	g := s.run.question(q.path, question)
	for _, ch := range q.gate.Choices {
		g.Choices = append(g.Choices, formats.Choice{Label: ch.Label.Text})
	}

	s.plan("ask: %s [%s]", question, strings.Join(labelsOf(g), ", "))
	return gateResult(g, q.gate.Choices[0], formats.Decision{
		Answer: g.Choices[0].Label,
		By:     "dry run",
	}), nil
}

// build evaluates the question.
func (q fileGate) build(fr frame) (g formats.Gate, err error) {
	q.step = q.step.withFrame(fr)
	s := q.step
	question, err := s.env().text(q.gate.Question, q.input)
	if err != nil {
		return g, err
	}

	g = s.run.question(q.path, question)
	g.Quorum = q.gate.Quorum
	g.Consent = q.gate.Consent
	if q.gate.Timeout != nil {
		g.Timeout = &formats.GateTimeout{
			After:  q.gate.Timeout.After,
			Choose: q.gate.Timeout.Choose.Text,
		}
	}

	if err := q.addChoices(&g); err != nil {
		return g, err
	}
	for _, e := range q.gate.Show {
		v, err := s.env().eval(e, q.input)
		if err != nil {
			return g, err
		}
		g.Show = append(g.Show, query.Text(v))
	}
	g.Reviews = q.reviews(g.Show)
	return g, nil
}

// addChoices adds the choices that can be taken.
func (q fileGate) addChoices(g *formats.Gate) error {
	var open []syntax.GateChoice
	for _, ch := range q.gate.Choices {
		ok, err := q.step.env().holds(ch.Target.If, q.input)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		open = append(open, ch)
		ends := ch.Target.Kind == syntax.ToFail || ch.Target.Kind == syntax.ToReturn
		g.Choices = append(g.Choices, formats.Choice{
			Label:     ch.Label.Text,
			Ends:      ends,
			NeedsNote: ch.Target.Note,
		})
		if auto := q.gate.Auto; auto != nil && ch.Label.Text == auto.Text {
			g.Auto = auto.Text
		}
	}

	if len(open) == 0 {
		return formats.Fail(formats.CodePrecondition, "",
			"no choice of the gate can be taken: %s", g.Question)
	}
	for _, at := range consentChoices(open) {
		g.Choices[at].Approves = true
	}

	goesOn := func(c syntax.GateChoice) bool {
		return c.Target.Kind == syntax.ToNext
	}
	first := slices.IndexFunc(open, goesOn)
	if g.Flow && first >= 0 && open[first].Label.Text == g.Auto {
		g.Choices[first].Recommended = slices.ContainsFunc(open[first+1:], goesOn)
	}
	if at := leavingChoice(open); at >= 0 {
		g.Choices[at].Leaves = true
	}
	for i, ch := range open {
		g.Choices[i].After = q.describeTarget(ch.Target)
	}
	return nil
}

// evidenceFiles gives the files that a gate names as evidence: by path, by pattern, or by the step
// that made them.
func (q fileGate) evidenceFiles() (files []string, err error) {
	s := q.step
	r := s.run
	names, err := s.env().value(q.gate.Evidence, q.input)
	for _, name := range paths(names) {
		made, ok := s.scope.result(name)
		switch {
		case ok:
			for _, a := range listIn(made, "artifacts") {
				files = append(files, formats.As[string](objectOf(a)["path"]))
			}
		case strings.ContainsAny(name, "*?["):
			patterns := slices.Compact([]string{name, s.pathInTree(name)})
			var found []string
			found, err = r.cfg.Docs.Glob(s.frame.ctx, patterns)
			files = append(files, found...)
		default:
			files = append(files, name)
			_, err = r.cfg.Docs.Sum(s.frame.ctx, s.pathInTree(name))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // it may come
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return files, err
}

// question is a gate of the engine with some choices, none of which approves. One that stops the
// run is for users who leave without an answer.
func (r *run) question(path, words string, choices ...string) formats.Gate {
	g := formats.Gate{
		Question: words,
		Run:      r.cfg.IDs.Run,
		Step:     path,
		Flow:     r.prog.Tiers != nil,
	}
	for _, label := range choices {
		g.Choices = append(g.Choices, formats.Choice{
			Label:     label,
			Leaves:    label == choiceAbort || label == choiceExit || label == choiceStop,
			NeedsNote: label == choiceRetryWithNote || label == choiceAnswer,
		})
	}
	return g
}

func unknownAnswer(g formats.Gate, d formats.Decision) error {
	return formats.Fail(formats.CodeBug, "", "expected one of %s as the answer to a gate, got %q",
		strings.Join(labelsOf(g), ", "), d.Answer)
}

func labelsOf(g formats.Gate) []string {
	out := make([]string, len(g.Choices))
	for i, c := range g.Choices {
		out[i] = c.Label
	}
	return out
}

// gateResult is the result of an answered gate. An answer that ends the command is a rejection
// (code 5).
func gateResult(g formats.Gate, ch syntax.GateChoice, d formats.Decision) result {
	outcome := formats.OutcomeCompleted
	ret := formats.Return{}
	kind := ch.Target.Kind
	switch {
	case kind == syntax.ToFail:
		outcome = formats.OutcomeRejected
		ret = refusal(g, d)
	case (kind == syntax.ToRedo || kind == syntax.ToRollback) && d.Note != "":
		ret.Issues = []formats.Issue{{
			Level:       formats.LevelError,
			Description: d.Note,
			Source:      "user",
		}}
	}

	out := newResult(outcome, object{"choice": d.Answer, "note": d.Note, "by": d.By})
	out.answer = d
	out.ret = ret
	out.target = ch.Target
	return out
}

// refusal is the return of an answer that ends the command.
func refusal(g formats.Gate, d formats.Decision) formats.Return {
	ret := formats.Return{Said: formats.OutcomeRejected}
	ret.Summary = fmt.Sprintf("'%s' was the answer to: %s", d.Answer, g.Question)
	if d.Note != "" {
		ret.Summary += " (" + d.Note + ")"
	}
	return ret
}

// consentChoices are the choices that an earlier consent may take if the file has no `auto`: those
// that go on, else those that do not end the command. It takes the first.
func consentChoices(open []syntax.GateChoice) []int {
	var next, stay []int
	for i, c := range open {
		switch {
		case c.Target.Note, c.Target.Kind == syntax.ToFail, c.Target.Kind == syntax.ToReturn:
		case c.Target.Kind == syntax.ToNext:
			next = append(next, i)
		default:
			stay = append(stay, i)
		}
	}

	if len(next) > 0 {
		return next
	}
	return stay
}

// leavingChoice is the choice of a user who leaves without an answer: the first that fails, else
// the first that ends the command, -1 without one.
func leavingChoice(open []syntax.GateChoice) int {
	kind := func(k syntax.TargetKind) int {
		return slices.IndexFunc(open, func(c syntax.GateChoice) bool { return c.Target.Kind == k })
	}
	if at := kind(syntax.ToFail); at >= 0 {
		return at
	}
	return kind(syntax.ToReturn)
}

// The answers of the engine's own gates.
const (
	choiceRetry         = "Retry"
	choiceRetryWithNote = "Retry with a note"
	choiceSkip          = "Skip"
	choiceAccept        = "Approve despite findings"
	choiceAnswer        = "Answer"
	choiceResume        = "Resume"
	choiceExit          = "Exit as interrupted"
	choiceAbort         = "Abort"
)

// engineChoices are the choices of the engine's gate for the outcomes that have choices of their
// own.
var engineChoices = map[formats.Outcome][]string{
	formats.OutcomeFailed:    {choiceRetry, choiceRetryWithNote, choiceSkip, choiceAbort},
	formats.OutcomeSuspended: {choiceResume, choiceExit},
	formats.OutcomeBlocked:   {choiceAnswer, choiceAbort},
}

// engineQuestion is the engine's gate for an outcome that the user may settle. Approval without the
// user takes the first choice, at most as often as the run may retry. Only a user answers a
// question and resumes suspended work.
func (tr transition) engineQuestion() formats.Gate {
	s := tr.step
	r := s.run
	res := tr.result
	words, ok := engineChoices[res.outcome]
	if !ok {
		words = []string{choiceRetry, choiceRetryWithNote, choiceAccept, choiceAbort}
	}
	why := cmp.Or(res.ret.BlockedReason, res.ret.Summary)
	question := fmt.Sprintf("step '%s' is %s: %s", s.info.Step.Title, res.outcome, why)

	g := r.question(s.journalPath(), question, words...)
	mayRetry := r.counts.autoAnswers[s.path] < r.limits.Retries
	g.Choices[0].Approves = mayRetry && !tr.needsUser()
	return g
}

// needsUser tells whether only a user settles the outcome.
func (tr transition) needsUser() bool {
	outcome := tr.result.outcome
	return outcome == formats.OutcomeBlocked || outcome == formats.OutcomeSuspended
}

// engineGate asks what to do with an outcome. If nobody can answer, the run waits where the file
// asks for the user; otherwise the command ends with the outcome.
func (tr transition) engineGate(mayWait bool) (*ending, error) {
	s := tr.step
	r := s.run
	res := tr.result
	ret := tr.defaultReturn()
	if r.finishing || r.dry.on {
		return &ending{ret: ret}, nil
	}

	asks := res.outcome == formats.OutcomeBlocked &&
		res.ret.BlockedTarget == formats.TargetUser
	list, faults := formats.Questions(res.ret.Fields[formats.FieldQuestions])
	if asks && faults == nil {
		return tr.interview(list, mayWait && r.cfg.Prefix == "")
	}

	q := fixedGate{gate: tr.engineQuestion()}
	g, d, err := ask(s, q)
	q.deferred = true
	for err == nil && d.Answer == choiceExit { // the process that resumes the run asks again
		g, d, err = ask(s, q)
	}

	mayWait = mayWait && r.cfg.Prefix == "" && (g.Choices[0].Approves || tr.needsUser())
	if asGateOpen(err) != nil && !mayWait { // the outcome stands
		if ret.BlockedReason != "" {
			ret.NextSteps = cmp.Or(ret.NextSteps, "run it on a terminal to answer")
		}
		return &ending{ret: ret}, nil
	}
	if err != nil {
		return nil, err
	}

	if !d.Person {
		r.counts.autoAnswers[s.path]++
	}

	switch d.Answer {
	case choiceRetry, choiceRetryWithNote, choiceAnswer, choiceResume:
		return s.withFeedback(tr.gateFeedback(d)).execute()
	case choiceSkip:
		return tr.stepReturn()
	case choiceAccept:
		tr.recordOverride(d)
		return tr.proceed()
	case choiceAbort:
		return tr.rejectedEnding(g, d), nil
	}

	return nil, unknownAnswer(g, d)
}

// rejectedEnding ends the command because the user refused to go on.
func (tr transition) rejectedEnding(g formats.Gate, d formats.Decision) *ending {
	tr.result.ret = refusal(g, d)
	tr.result.outcome = formats.OutcomeRejected
	return final(tr.failedReturn())
}
