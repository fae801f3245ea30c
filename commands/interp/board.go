package interp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
)

// Board stores what the steps of a run post, topic by topic. The version of a topic is the number
// of its postings; postings never change. A run's board is its journal, so that postings are
// durable, sealed, and there again after a resume.
type Board interface {
	// Publish adds a posting of the step to a topic and gives the new version. It fails unless the
	// topic still has the version after; AnyVersion always fits.
	Publish(step, topic string, after int, p formats.Posting) (version int, err error)
	// Since gives the postings of a topic after a version, oldest first.
	Since(topic string, version int) []formats.Posting
	// Topics gives the names of the topics that have postings, sorted.
	Topics() []string
}

// AnyVersion publishes at any version of a topic.
const AnyVersion = -1

// NewBoard makes a Board that journals each posting before any step can read it.
func NewBoard(write func(formats.Entry) error) Board {
	return newBoard(write)
}

func newBoard(write func(formats.Entry) error) *board {
	return &board{write: write, topics: map[string][]formats.Posting{}}
}

type board struct {
	write  func(formats.Entry) error
	topics map[string][]formats.Posting
}

func (b *board) Publish(step, topic string, after int, p formats.Posting) (int, error) {
	return b.publish(b.write, step, topic, after, p)
}

// publish is Publish by way of the journal cursor of the sequence that posts.
func (b *board) publish(
	write func(formats.Entry) error,
	step, topic string,
	after int,
	p formats.Posting,
) (int, error) {
	now := len(b.topics[topic])
	if after != AnyVersion && after != now {
		return now, formats.Fail(formats.CodePrecondition,
			"read what came since, and publish again",
			"expected topic '%s' at version %d, got %d", topic, after, now)
	}
	posted := formats.Posted{Version: now + 1, Posting: p}
	err := write(formats.Entry{
		Type: formats.EntryPosted,
		Step: step,
		Key:  topic,
		Data: posted,
	})
	if err != nil {
		return now, err
	}
	b.topics[topic] = append(b.topics[topic], p)
	return now + 1, nil
}

func (b *board) Since(topic string, version int) []formats.Posting {
	all := b.topics[topic]
	return slices.Clone(all[min(max(0, version), len(all)):])
}

func (b *board) Topics() []string {
	return slices.Sorted(maps.Keys(b.topics))
}

// post publishes the result of a step on its board. It is called in the order of the file, so that
// the board does not depend on which worker was faster.
func (tr transition) post() error {
	s := tr.step
	r := s.run
	res := tr.result
	topic := s.info.Terms.Board
	if s.info.Call == nil && !s.info.Kind().Judges { // the steps in it post
		return nil
	}
	if topic == "" || res.outcome == formats.OutcomeSkipped {
		return nil
	}
	round := 1
	for _, p := range r.board.Since(topic, 0) {
		if p.By == s.info.ID {
			round++
		}
	}
	posting := formats.Posting{
		By:        s.info.ID,
		Round:     round,
		Summary:   res.ret.Summary,
		Issues:    nonNil(res.ret.Issues),
		Artifacts: nonNil(res.ret.Artifacts),
	}
	_, err := r.board.publish(
		s.frame.journal.append, s.journalPath(), topic, AnyVersion, posting)
	return err
}

// boardValues is $board.
func (r *run) boardValues() map[string]any {
	out := map[string]any{}
	for _, topic := range r.board.Topics() {
		out[topic] = r.board.Since(topic, 0)
	}
	return out
}

// boardPrompt is a board as text for a prompt.
func (r *run) boardPrompt(topic string) []string {
	list := r.board.Since(topic, 0)
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Board '%s', oldest first:\n", topic)
	for _, p := range list {
		// no line may pass as a posting
		in := func(text string) string {
			return strings.ReplaceAll(text, "\n", "\n    ")
		}
		fmt.Fprintf(&b, "\n- %s, round %d: %s\n", p.By, p.Round, in(p.Summary))
		for _, issue := range p.Issues {
			fmt.Fprintf(&b, "  - [%s] %s\n", issue.Level, in(issue.Description))
		}
	}
	return []string{strings.TrimRight(b.String(), "\n")}
}
