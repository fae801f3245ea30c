package interp

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
)

// liveBoards are what workers published at live steps, by topic, in the order of arrival. Only
// workers read it: what the run decides by is in its board, in the order of the file.
type liveBoards struct {
	mu     sync.Mutex
	topics map[string][]livePost
}

// livePost is one publication of a worker of the step with the path.
type livePost struct {
	path    string
	posting formats.Posting
	posted  bool // it stands on the board of the run
}

// markPosted marks what the workers of a step published: later workers find it on the board.
func (l *liveBoards) markPosted(topic, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range l.topics[topic] {
		if p.path == path {
			l.topics[topic][i].posted = true
		}
	}
}

// workerBoard is the board of a step as one call of its worker sees it. Nil is none.
type workerBoard struct {
	shared  *liveBoards
	journal *runJournal
	mask    func(string) string
	entry   formats.Entry // without data
	topic   string
	by      string
	round   int
	live    bool
	before  []formats.Posting // that stood there when the call began
	skip    map[int]bool      // of the live postings: those among them

	mu    sync.Mutex
	texts []string
}

// attachBoard is the board of the call; nil for what is no worker, or has none.
func (c call) attachBoard(req *formats.Request) *workerBoard {
	s := c.step
	topic := s.info.Terms.Board
	if topic == "" || !c.isWorker() || c.to.Info.Workflow || c.question != "" {
		return nil
	}
	b := &workerBoard{
		shared:  s.run.liveBoards,
		journal: &s.run.journal,
		mask:    s.run.cfg.Mask,
		entry: formats.Entry{
			Type:    formats.EntryPublished,
			Step:    req.At,
			Attempt: req.Attempt,
			Key:     req.Txn,
		},
		topic: topic,
		by:    s.info.ID,
		round: s.run.board.nextRound(topic, s.info.ID),
		live:  s.info.Terms.Live,
	}
	req.Terms.Board = b
	return b
}

// open takes what stands on the board when the call begins, and what the call published in earlier
// processes of the run.
func (b *workerBoard) open(r *run) error {
	if b == nil {
		return nil
	}
	b.before = slices.Clone(r.board[b.topic])
	b.skip = map[int]bool{}
	b.shared.mu.Lock()
	for i, p := range b.shared.topics[b.topic] {
		b.skip[i] = p.posted
	}
	b.shared.mu.Unlock()

	if !b.live { // of an earlier attempt
		for _, text := range r.pendingPublications[b.entry.Step] {
			b.before = append(b.before, publishedPosting(b.by, b.round, text))
		}
	}

	for {
		var was formats.Published
		data, more := r.journal.store.Recall(b.entry)
		if err := read(data, &was); !more || err != nil {
			return err
		}
		b.show(was.Text)
	}
}

// close keeps what the call published until its step is posted.
func (b *workerBoard) close(r *run) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r.pendingPublications[b.entry.Step] = append(r.pendingPublications[b.entry.Step], b.texts...)
}

// show adds a publication that the journal has.
func (b *workerBoard) show(text string) {
	b.texts = append(b.texts, text)
	if !b.live {
		return
	}
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	b.shared.topics[b.topic] = append(b.shared.topics[b.topic], livePost{
		path:    b.entry.Step,
		posting: publishedPosting(b.by, b.round, text),
	})
}

// Publish implements formats.Board. The journal has the text before anybody sees it.
func (b *workerBoard) Publish(text string) error {
	if err := checkPublished(text); err != nil {
		return err
	}

	if b.mask != nil {
		text = b.mask(text)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.texts) >= formats.MaxPublications {
		return formats.Fail(formats.CodeLimit, "put the rest into your return",
			"expected at most %d publications of one worker", formats.MaxPublications)
	}
	entry := b.entry
	entry.Data = formats.Published{Text: text}
	if err := b.journal.write(entry); err != nil {
		return err
	}
	b.show(text)
	return nil
}

// Since implements formats.Board.
func (b *workerBoard) Since(n int) (list []formats.Posting, all int) {
	list = slices.Clone(b.before)
	if b.live {
		b.shared.mu.Lock()
		for i, p := range b.shared.topics[b.topic] {
			if !b.skip[i] {
				list = append(list, p.posting)
			}
		}
		b.shared.mu.Unlock()
	} else {
		b.mu.Lock()
		for _, text := range b.texts {
			list = append(list, publishedPosting(b.by, b.round, text))
		}
		b.mu.Unlock()
	}

	all = len(list)
	return list[min(max(0, n), all):], all
}

// publishedPosting is a text of a worker as a posting.
func publishedPosting(by string, round int, text string) formats.Posting {
	return formats.Posting{
		By:        by,
		Round:     round,
		Summary:   text,
		Issues:    []formats.Issue{},
		Artifacts: []formats.Artifact{},
		Published: true,
	}
}

// checkPublished refuses what is no text for a board.
func checkPublished(text string) error {
	isControl := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
	switch {
	case strings.TrimSpace(text) == "":
		return formats.Fail(formats.CodeUsage, "write what the others should know",
			"expected a text, got an empty one")
	case len(text) > formats.MaxPublished:
		return formats.Fail(formats.CodeUsage, "put the rest into a file, and name the file",
			"expected a text of at most %d bytes, got %d", formats.MaxPublished, len(text))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		return formats.Fail(formats.CodeUsage, "remove them",
			"expected a text in UTF-8 without control characters, got others")
	}
	return nil
}

// usesLiveBoard tells whether the call's worker can run what reads and writes a live board.
func (c call) usesLiveBoard() bool {
	info := c.to.Info
	return c.step.info.Terms.Live && c.isWorker() && !info.Workflow && c.question == "" &&
		(slices.Contains(info.Tools, "shell") || slices.Contains(info.Runner, "exec"))
}
