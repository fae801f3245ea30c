package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

// channel is how an answer or a message is recorded that came through a client.
const channel = "mcp"

// answerKey names the form in a result, and the answer to it in the next call.
const answerKey = "answer"

// answerTime is how long a client with a handshake may show a question to its user.
const answerTime = 10 * time.Minute

// runInput names a run.
type runInput struct {
	Run string `json:"run" jsonschema:"the name of the run or its beginning"`
}

// answerQuestion says where the open question of a run is answered. Only if the user's own
// configuration allows it does it have the client ask its user. The caller never gives the answer.
func answerQuestion(ctx context.Context, c *call, in runInput) (fields, error) {
	if err := c.mayCommand(); err != nil {
		return nil, err
	}
	r, err := c.find(in.Run)
	if err != nil {
		return nil, err
	}

	e, err := c.project.Evidence(ctx, r.ID)
	if err != nil {
		return nil, err
	}

	a := &clientQuestion{call: c, run: r, gate: e.Gate, evidence: e}
	if why := a.refusal(); why != "" {
		return a.leaveOpen(why), nil
	}
	switch {
	case c.request.Params.RequestState != "":
		return a.resumeAnswer(ctx)
	case a.isStateless():
		return nil, a.request()
	}

	waiting, done := context.WithTimeout(ctx, answerTime)
	defer done()
	got, err := c.request.Session.Elicit(waiting, a.form())
	if err != nil {
		return a.leaveOpen("no answer came: " + err.Error()), nil
	}
	return a.submit(ctx, got)
}

// clientQuestion is a question that a client may show to its user.
type clientQuestion struct {
	call     *call
	run      project.RunInfo
	gate     formats.Gate
	evidence project.Evidence // as it is now, which is what the user is shown
}

// leaveOpen gives the result that the question is open, why, and where a person answers it.
func (a *clientQuestion) leaveOpen(why string) fields {
	return fields{
		"run":      a.run.ID,
		"answered": false,
		"why":      why,
		"question": questionOf(a.gate),
		"where": []string{
			"on a terminal: tercet approve " + a.run.ID,
			"on a terminal: tercet reject " + a.run.ID,
			"on the full screen: tercet watch",
			"on the page: tercet serve prints a link",
		},
		"next": "show the question to the user, and say where it is answered",
	}
}

// refusal says why no client may pass an answer to this question on; empty: one may.
func (a *clientQuestion) refusal() string {
	switch {
	case !a.call.project.Config.MCPAnswers:
		return "a person answers it; 'mcp: {answers: true}' in the user's own configuration " +
			"would let this client ask"
	case a.gate.Consent, a.gate.NeedsPerson, a.gate.Subject != "":
		return "it is about what may run, so a person answers it where the run can be seen"
	case !a.canAsk():
		return "this client cannot ask its user"
	}
	return ""
}

// canAsk tells whether the client shows forms to its user.
func (a *clientQuestion) canAsk() bool {
	init := a.call.request.Session.InitializeParams()
	if init == nil || init.Capabilities == nil || init.Capabilities.Elicitation == nil {
		return false
	}
	can := init.Capabilities.Elicitation
	return can.Form != nil || can.URL == nil // neither means forms, as in older revisions
}

// stateless is the first revision in which a server asks by the result of a call.
const stateless = "2026-07-28"

// isStateless reports whether the client speaks a revision without a handshake.
func (a *clientQuestion) isStateless() bool {
	init := a.call.request.Session.InitializeParams()
	return init != nil && init.ProtocolVersion >= stateless
}

// shownEvidence names the question and its evidence as they are now.
func (a *clientQuestion) shownEvidence() project.Shown {
	return project.Shown{Run: a.run.ID, Gate: a.gate.ID, Digest: a.evidence.Digest}
}

// staleText is why no answer was taken when the evidence is not what the user saw.
const staleText = "nothing was answered: what the question is about has changed since it was shown"

// request makes the result that has the client ask, bound to what is asked.
func (a *clientQuestion) request() error {
	state, err := a.call.project.Seal(a.shownEvidence())
	if err != nil {
		return err
	}
	a.call.ask = &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{answerKey: a.form()},
		RequestState:  state,
	}
	return nil
}

// resumeAnswer takes the user's answer to the question that an earlier call asked.
func (a *clientQuestion) resumeAnswer(ctx context.Context) (fields, error) {
	shown, err := a.call.project.Unseal(a.call.request.Params.RequestState)
	if err != nil {
		return nil, err
	}

	now := a.shownEvidence()
	switch {
	case shown.Run != now.Run || shown.Gate != now.Gate:
		return nil, formats.Fail(formats.CodePrecondition, "call answer again",
			"nothing was answered: the question is another one now")
	case shown != now:
		return a.leaveOpen(staleText), nil
	}

	got, ok := a.call.request.Params.InputResponses[answerKey].(*sdk.ElicitResult)
	if !ok {
		return a.leaveOpen("no answer came"), nil
	}
	return a.submit(ctx, got)
}

// maxShown bounds what a form shows of the evidence, in bytes.
const maxShown = 8 << 10

// form is the question for the user of the client.
func (a *clientQuestion) form() *sdk.ElicitParams {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nRun %s, %s\n", a.gate.Question, a.run.ID, a.run.Line)
	for _, line := range a.gate.ShownTexts() {
		text.WriteString("\n" + line)
	}
	for _, name := range slices.Sorted(maps.Keys(a.gate.Evidence)) {
		fmt.Fprintf(&text, "\n%s sha256:%s", name, a.gate.Evidence[name])
	}
	for _, name := range a.evidence.Changed {
		fmt.Fprintf(&text, "\n%s has changed since the run asked: it will ask again", name)
	}
	for _, d := range a.evidence.Documents {
		fmt.Fprintf(&text, "\n\n%s:\n%s", d.Path, d.Text)
	}
	if a.evidence.Diff != "" {
		text.WriteString("\n\n" + a.evidence.Diff)
	}
	shown := a.call.project.Mask.Values(text.String())
	if len(shown) > maxShown {
		shown = formats.Clip(shown, maxShown) + "\n\n'tercet show " + a.run.ID +
			"' shows all of it."
	}

	labels := make([]any, len(a.gate.Choices))
	for i, one := range a.gate.Choices {
		labels[i] = one.Label
	}

	return &sdk.ElicitParams{
		Message: plain.Text(shown),
		RequestedSchema: fields{
			"type": "object",
			"properties": fields{
				"choice": fields{
					"type":        "string",
					"enum":        labels,
					"description": "your answer; it counts as yours",
				},
				"note": fields{"type": "string", "description": "kept with the answer"},
			},
			"required": []string{"choice"},
		},
	}
}

// submit gives an answer of the user to the run. All but an accepted choice leave the question
// open.
func (a *clientQuestion) submit(ctx context.Context, got *sdk.ElicitResult) (fields, error) {
	if got.Action != "accept" {
		return a.leaveOpen("the user gave no answer: " + got.Action), nil
	}
	label, _ := got.Content["choice"].(string) //nolint:errcheck // another type is no choice
	note, _ := got.Content["note"].(string)    //nolint:errcheck // another type is no note
	if _, ok := a.gate.Choice(label); !ok {
		return a.leaveOpen(fmt.Sprintf("expected one of the choices, got %q", label)), nil
	}
	if a.gate.Lacks(label, note) {
		return a.leaveOpen("the choice '" + label + "' needs a note"), nil
	}

	reply := project.Reply{
		Label:   label,
		Note:    note,
		Channel: channel,
	}
	effect, err := a.call.project.AnswerShown(ctx, a.run.ID, a.gate.ID, a.evidence.Digest, reply)
	if _, changed := errors.AsType[*project.StaleEvidenceError](err); changed {
		return a.leaveOpen(staleText), nil
	}
	if err != nil {
		return nil, err
	}

	return fields{
		"run":      a.run.ID,
		"answered": true,
		"question": a.gate.Question,
		"choice":   label,
		"effect":   effect.Text,
		"next":     fmt.Sprintf(`call show with {"run": %q, "wait": 50}`, a.run.ID),
	}, nil
}
