package project

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"time"

	"tercet/formats"
	"tercet/subagents/agentcli"
)

// BoardPostings are what a worker sees on the board of its step.
type BoardPostings = agentcli.BoardAnswer

// PublishOnBoard puts a text on the board of the step for which this process works. It is for a
// worker of a run, while it works.
func (h *Host) PublishOnBoard(ctx context.Context, text string) (BoardPostings, error) {
	return h.askBoard(ctx, agentcli.BoardAsk{Publish: &text})
}

// BoardSince gives what stands on that board after the first n postings.
func (h *Host) BoardSince(ctx context.Context, n int) (BoardPostings, error) {
	return h.askBoard(ctx, agentcli.BoardAsk{Since: &n})
}

// How long the run may take to answer, and how often its answer is looked for.
const (
	boardPatience = 30 * time.Second
	boardInterval = 20 * time.Millisecond
)

func (h *Host) askBoard(ctx context.Context, ask agentcli.BoardAsk) (BoardPostings, error) {
	dir := h.Env(agentcli.BoardEnv)
	if dir == "" {
		return BoardPostings{}, formats.Fail(formats.CodePrecondition,
			"add 'board: TOPIC' to the step; 'tercet show RUN' shows the boards of a run",
			"expected to be called by a worker of a step with a board, while it works")
	}

	taken, err := agentcli.AskBoard(dir, h.Env(agentcli.BoardSealEnv), rand.Text(), ask)
	if errors.Is(err, fs.ErrNotExist) {
		return BoardPostings{}, formats.Fail(formats.CodePrecondition,
			"return what is left to say", "the call of this worker is over: its board is closed")
	}
	if err != nil {
		return BoardPostings{}, formats.OnFile("ask the board in", dir, err)
	}

	for waited := time.Duration(0); waited < boardPatience; waited += boardInterval {
		a, ok, err := taken()
		switch {
		case err != nil:
			return a, formats.OnFile("read the answer of the board in", dir, err)
		case ok && a.Error != nil:
			return a, formats.Fail(a.Error.Code, a.Error.Recommendation, "%s", a.Error.Message)
		case ok:
			return a, nil
		}
		if err := h.Clock.Sleep(ctx, boardInterval); err != nil {
			return a, err
		}
	}
	return BoardPostings{}, formats.Fail(formats.CodeTimeout, "return what is left to say",
		"the run gave no answer within %s", boardPatience)
}
