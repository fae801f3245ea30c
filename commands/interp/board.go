package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// board is what the steps of a run posted, by topic, oldest first. The version of a topic is the
// number of its postings. The journal has all of them, so that they are there again after a resume.
type board map[string][]formats.Posting

// add journals a posting of a step before any step can read it.
func (b board) add(journal *cursor, step, topic string, p formats.Posting) error {
	err := journal.append(formats.Entry{
		Type: formats.EntryPosted,
		Step: step,
		Key:  topic,
		Data: formats.Posted{Version: len(b[topic]) + 1, Posting: p},
	})
	if err == nil {
		b[topic] = append(b[topic], p)
	}
	return err
}

// post publishes the result of a step on its board. It is called in the order of the file, so that
// the board does not depend on which worker was faster.
func (tr transition) post() error {
	s := tr.step
	r := s.run
	res := tr.result
	topic := s.info.Terms.Board
	if s.info.Call == nil && !s.info.Step.Kind().Judges { // the steps in it post
		return nil
	}
	if topic == "" || res.outcome == formats.OutcomeSkipped {
		return nil
	}

	path := s.journalPath()
	round := r.board.nextRound(topic, s.info.ID)
	for _, text := range r.pendingPublications[path] {
		err := r.board.add(s.frame.journal, path, topic, publishedPosting(s.info.ID, round, text))
		if err != nil {
			return err
		}
	}

	delete(r.pendingPublications, path)
	r.liveBoards.markPosted(topic, path)
	posting := formats.Posting{
		By:        s.info.ID,
		Round:     round,
		Summary:   res.ret.Summary,
		Issues:    nonNil(res.ret.Issues),
		Artifacts: nonNil(res.ret.Artifacts),
	}
	return r.board.add(s.frame.journal, path, topic, posting)
}

// nextRound is the number of the next result of a step on a topic.
func (b board) nextRound(topic, by string) int {
	n := 1
	for _, p := range b[topic] {
		if p.By == by && !p.Published {
			n++
		}
	}
	return n
}

// promptText is a topic as text for a prompt.
func (b board) promptText(topic string) []string {
	list := b[topic]
	if len(list) == 0 {
		return nil
	}

	var text strings.Builder
	fmt.Fprintf(&text, "Board '%s', oldest first:\n", topic)
	for _, p := range list {
		// no line may pass as a posting
		indent := func(said string) string {
			return strings.ReplaceAll(said, "\n", "\n    ")
		}
		fmt.Fprintf(&text, "\n- %s, round %d: %s\n", p.By, p.Round, indent(p.Summary))
		for _, issue := range p.Issues {
			fmt.Fprintf(&text, "  - [%s] %s\n", issue.Level, indent(issue.Description))
		}
	}
	return []string{strings.TrimRight(text.String(), "\n")}
}
