package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/formats"
	"tercet/project"
)

// lineInput is a line.
type lineInput struct {
	Line string `json:"line" jsonschema:"the line, from its slash to its last argument"`
}

// startRun begins a line in a process of its own, which outlives this server.
func startRun(ctx context.Context, c *call, in lineInput) (fields, error) {
	if err := c.mayCommand(); err != nil {
		return nil, err
	}
	if len(in.Line) > project.MaxLine {
		return nil, formats.Fail(formats.CodeUsage, "put long texts into a file",
			"expected a line of at most %d bytes, got %d", project.MaxLine, len(in.Line))
	}

	// at a question the process waits, so that the run goes on with the answer
	begun, err := c.project.StartDetached(
		ctx, project.Line{Raw: in.Line}, project.Options{Await: true},
	)
	if err != nil {
		return nil, err
	}
	if begun.Return != nil {
		return c.returnedAnswer(*begun.Return), nil
	}
	return c.runAnswer(ctx, c.project.Monitor(), begun.Run)
}

// returnedAnswer gives the result about a line that ended before it had a run to follow.
func (c *call) returnedAnswer(ret formats.Return) fields {
	answer := fields{
		"state":  project.StateFinished.String(),
		"return": ret,
		"next":   "tell the user what came of it",
	}
	if run := ret.Metadata.Run; run != "" {
		answer["run"] = run
	}
	return answer
}

// showInput names a run.
type showInput struct {
	Run  string  `json:"run" jsonschema:"the name of the run or its beginning"`
	Wait float64 `json:"wait,omitempty" jsonschema:"how many seconds to wait at most, 0 to 50"`
}

// maxWait is how long one call waits at most: clients give up after a minute.
const maxWait = 50 * time.Second

// pollInterval is how often a run is looked at that is waited for.
const pollInterval = 200 * time.Millisecond

// showRun shows a run, and waits for it.
func showRun(ctx context.Context, c *call, in showInput) (fields, error) {
	if err := c.workspace(); err != nil {
		return nil, err
	}
	if in.Wait < 0 || in.Wait > maxWait.Seconds() {
		return nil, formats.Fail(formats.CodeUsage, "call show again to wait longer",
			"expected wait from 0 to %.0f seconds, got %g", maxWait.Seconds(), in.Wait)
	}
	r, err := c.find(in.Run)
	if err != nil {
		return nil, err
	}

	m := c.project.Monitor()
	if err := c.wait(ctx, m, r.ID, time.Duration(in.Wait*float64(time.Second))); err != nil {
		return nil, err
	}
	return c.runAnswer(ctx, m, r.ID)
}

// maxName bounds the name of a run, in bytes.
const maxName = 100

// find finds a run. An agent must name it, also where only one could be meant.
func (c *call) find(word string) (project.RunInfo, error) {
	if word == "" {
		return project.RunInfo{}, formats.Fail(formats.CodeUsage, "call runs to list them",
			"expected the name of a run, got nothing")
	}
	if len(word) > maxName {
		return project.RunInfo{}, formats.Fail(formats.CodeNotFound, "call runs to list them",
			"no run has a name of %d bytes", len(word))
	}
	return c.project.Find(word)
}

// wait waits until no process works on a run, or until it asks.
func (c *call) wait(
	ctx context.Context, m *project.Monitor, run string, most time.Duration,
) error {
	clock := c.project.Host.Clock
	end := clock.Now().Add(most)
	step := ""
	n := 1.0
	for {
		now, ok := m.Run(run)
		if !ok || now.State != project.StateRunning || !clock.Now().Before(end) {
			return nil
		}
		at := now.Run.String()
		if at != step {
			step = at
			c.progress(ctx, n, "step "+at)
			n++
		}
		if err := clock.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// progress tells a client that asked for it how far a run is.
func (c *call) progress(ctx context.Context, n float64, text string) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	at := &sdk.ProgressNotificationParams{
		ProgressToken: token,
		Progress:      n,
		Message:       c.project.Mask.Values(text),
	}
	//nolint:errcheck // the call itself fails if the client is gone
	_ = c.request.Session.NotifyProgress(ctx, at) // see above
}

// maxSteps is how many of the last steps of a run are shown.
const maxSteps = 20

// runAnswer gives the result about a run as it is now.
func (c *call) runAnswer(ctx context.Context, m *project.Monitor, run string) (fields, error) {
	now, ok := m.Run(run)
	if !ok {
		return nil, formats.Fail(formats.CodeNotFound, "call runs", "run %s has no journal", run)
	}
	d, err := c.project.Detail(run)
	if err != nil {
		return nil, err
	}

	switch { // the journal may have grown since
	case d.Run.Ended():
		now.State = project.StateFinished
	case now.State == project.StateAsking && d.Gate == nil:
		now.State = project.StateRunning
	}

	answer := fields{
		"run":        d.Run.ID,
		"command":    d.Run.Line,
		"state":      now.State.String(),
		"status":     d.Run.Status,
		"step":       d.Run.Place,
		"steps":      d.Steps[max(0, len(d.Steps)-maxSteps):],
		"started":    d.Run.Started,
		"log":        logURI(d.Run.ID),
		"transcript": transcriptURI(d.Run.ID),
	}

	var documents []string
	for _, file := range documentsOf(c.project, d.Run.ID) {
		documents = append(documents, documentURI(d.Run.ID, file))
	}
	if documents != nil {
		answer["documents"] = documents
	}
	if len(d.Told) > 0 {
		answer["messages"] = d.Told
	}
	if left := len(d.Steps) - maxSteps; left > 0 {
		answer["steps_before"] = left
	}
	if d.Run.Cost > 0 {
		answer["cost_usd"] = d.Run.Cost
	}

	if now.State == project.StateFinished {
		ret, err := c.project.Wait(ctx, run, nil) // it is over, so this reads only
		if err != nil {
			return nil, err
		}
		answer["return"] = ret
	}

	if why := d.Run.WaitReason(); why != "" {
		answer["waits_for"] = why
	}

	answer["next"] = c.nextAdvice(now, d, answer)
	return answer, nil
}

// nextAdvice says what to call or to tell the user now.
func (c *call) nextAdvice(now project.RunState, d project.RunDetail, answer fields) string {
	again := fmt.Sprintf(`call show with {"run": %q, "wait": 50}`, d.Run.ID)
	switch now.State {
	case project.StateRunning:
		return again
	case project.StateAsking:
		answer["question"] = questionOf(*d.Gate)
		return "show the question to the user, who answers it by 'tercet approve " + d.Run.ID +
			"' or 'tercet reject " + d.Run.ID + "'; then " + again
	case project.StateWaiting:
		if now.Answer != "" {
			answer["answered"] = now.Answer
		}
		return "tell the user that the run goes on by '" + d.Resume + "'"
	case project.StateFinished:
		if d.Reopen != "" {
			return "tell the user; to " + d.ReopenDoes + ": " + d.Reopen
		}
		if d.Next != "" {
			return d.Next
		}
	}
	return "tell the user what came of it"
}

// questionOf is an open question as a client sees it.
func questionOf(g formats.Gate) fields {
	out := fields{
		"question": g.Question,
		"step":     g.Step,
		"choices":  g.Choices,
	}
	if len(g.Show) > 0 {
		out["shown"] = g.Show
	}
	if len(g.Evidence) > 0 {
		out["evidence"] = g.Evidence
	}
	if until := g.Until(); !until.IsZero() {
		out["until"] = until
	}
	return out
}

// cancelRun ends a run.
func cancelRun(ctx context.Context, c *call, in runInput) (fields, error) {
	if err := c.mayCommand(); err != nil {
		return nil, err
	}
	r, err := c.find(in.Run)
	if err == nil {
		r, err = c.project.Cancel(ctx, r.ID, project.Options{})
	}
	if err != nil {
		return nil, err
	}
	return c.runAnswer(ctx, c.project.Monitor(), r.ID)
}

// tellInput is a message to a run.
type tellInput struct {
	Run  string `json:"run" jsonschema:"the name of the run or its beginning"`
	Text string `json:"text" jsonschema:"what the next worker should know, at most 16384 bytes"`
}

// tellRun leaves a message for the next worker of a run.
func tellRun(_ context.Context, c *call, in tellInput) (fields, error) {
	if err := c.mayCommand(); err != nil {
		return nil, err
	}
	r, err := c.find(in.Run)
	if err != nil {
		return nil, err
	}
	r, m, err := c.project.Tell(r.ID, in.Text, channel)
	if err != nil {
		return nil, err
	}

	answer := fields{
		"run":     r.ID,
		"message": m,
		"when":    "the next worker that starts gets it",
		"next":    fmt.Sprintf(`call show with {"run": %q, "wait": 50}`, r.ID),
	}
	if !c.project.AtWork(r.ID) {
		answer["when"] = "its next worker gets it when the run goes on"
		answer["next"] = "tell the user that the run goes on by 'tercet resume " + r.ID + "'"
	}
	return answer, nil
}
