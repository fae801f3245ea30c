package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

var boardVerbs = []verb{
	{
		use:   "publish TEXT",
		short: "put a text on the board of the step that this worker works for",
		args:  some,
		make:  boardPublish,
	},
	{
		use:   "since [N]",
		short: "print what stands on that board after the first N postings",
		args:  words(0, 1),
		make:  boardSince,
	},
}

// boardPublish puts a text of a worker on its board.
func boardPublish(cmd *cobra.Command, _ *app) run {
	cmd.Long = `A worker of a step with 'board: TOPIC' calls it while it works. Steps that start later read the text on the
board, before the result of this worker. With 'board: {topic: TOPIC, live: true}' the workers beside it read it at
once, by 'tercet board since'. Each worker has the board of its own step, and no other.`
	return func(c call) error {
		h := c.app.host()
		got, err := h.PublishOnBoard(c.ctx, strings.Join(c.args, " "))
		if err != nil || c.boardDocument(got) {
			return err
		}
		c.app.term.Answer("%s", formats.Count(got.All, "posting")+" on the board")
		return nil
	}
}

// boardSince prints what a worker has not read yet.
func boardSince(cmd *cobra.Command, _ *app) run {
	cmd.Long = `Without N it prints all of the board. Each posting has its number in front: the last one is
the N of the next call. The numbers are those of this worker. On a board that is not live, others'
postings are those from before it began.`
	return func(c call) error {
		n := 0
		if len(c.args) > 0 {
			var err error
			n, err = strconv.Atoi(c.args[0])
			if err != nil || n < 0 {
				return formats.Fail(formats.CodeUsage, "0 prints all of them",
					"expected the number of the last posting that was read, got %q", c.args[0])
			}
		}

		h := c.app.host()
		got, err := h.BoardSince(c.ctx, n)
		if err != nil || c.boardDocument(got) {
			return err
		}

		first := got.All - len(got.Postings)
		for i, p := range got.Postings {
			text := strings.ReplaceAll(p.Summary, "\n", "\n    ") // no line may pass as a posting
			c.app.term.Answer("%s", plain.Passage(fmt.Sprintf("%d %s: %s", first+i+1, p.By, text)))
		}
		return nil
	}
}

// boardDocument prints the postings with --json.
func (c call) boardDocument(got project.BoardPostings) bool {
	return c.app.answerJSON("tercet.board/1", fields{"all": got.All, "postings": got.Postings})
}
