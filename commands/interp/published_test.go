package interp_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
)

// talk publishes what step it is, and then waits until it has read what the other one published,
// or the process was killed.
func talk(p *process, r formats.Request) {
	if r.Terms.Board == nil || r.Terms.Board.Publish("I am "+r.Step) != nil {
		return
	}
	for {
		list, _ := r.Terms.Board.Since(0)
		heard := slices.ContainsFunc(list, func(p formats.Posting) bool {
			return p.Published && p.Summary != "I am "+r.Step
		})
		p.mu.Lock()
		over := heard || p.dead
		p.mu.Unlock()
		if over {
			return
		}
		runtime.Gosched()
	}
}

// TestPublishedAtEveryLine kills a run before and behind each line of its journal and resumes it.
// What was published is never lost, each worker hears the other one, and the board has the
// publications of a step before its result, in the order of the file.
func TestPublishedAtEveryLine(t *testing.T) {
	t.Parallel()

	prog := newWorld(t).program(file(
		during,
		"",
		"P: id: p\nparallel: {x: {delegate: worker}, y: {delegate: second}}\n"+
			"board: {topic: talk, live: true}",
		"J: id: j\ndelegate: judge",
	))

	shape := func(w *world) {
		for _, name := range []string{"worker", "second"} {
			w.agents[name] = func(_ context.Context, r formats.Request) (formats.Return, error) {
				return ok("done " + r.Step), nil
			}
		}
	}

	begin := func() *machine {
		m := newMachine(t)
		m.atWork = talk
		return m
	}

	all, ret := begin().play(prog, shape, 0, false)
	if got := describeReturn(ret); !strings.HasPrefix(got, "completed") {
		t.Fatal(got)
	}

	for n := 1; n <= all.lines; n++ {
		for _, after := range []bool{false, true} {
			m := begin()
			m.play(prog, shape, n, after)
			_, ret := m.play(prog, shape, 0, false)

			where := fmt.Sprintf("killed at line %d (behind it: %v)", n, after)

			if got := describeReturn(ret); !strings.HasPrefix(got, "completed") {
				t.Errorf("%s: %s\n%s", where, got, m.text())
				continue
			}

			records, err := journal.Read([]byte(m.text()))
			if err != nil {
				t.Fatal(err)
			}

			published := 0
			for _, r := range records {
				if r.Type == formats.EntryPublished {
					published++
				}
			}

			var board []string
			for _, p := range journal.Topics(records)[0].Postings {
				board = append(board, p.Summary)
			}

			order := strings.Join(slices.Compact(board), ", ")
			if len(board) != published+2 ||
				!strings.HasPrefix(order, "I am p/x, done p/x, I am p/y, done p/y") {
				t.Errorf("%s: %d published, the board has %q\n%s", where, published, board, m.text())
			}
		}
	}
}

// TestPublishedBounds: a worker can say so much, and no more; what it said is kept.
func TestPublishedBounds(t *testing.T) {
	t.Parallel()

	prog := newWorld(t).program(file(during, "", "W: id: w\ndelegate: worker\nboard: talk"))
	m := newMachine(t)

	var last error
	m.atWork = func(_ *process, r formats.Request) {
		for i := 0; last == nil; i++ {
			last = r.Terms.Board.Publish(fmt.Sprint("text ", i))
		}
	}

	m.play(prog, func(*world) {}, 0, false)
	if formats.CodeOf(last) != formats.CodeLimit {
		t.Errorf("one too many gives %v", last)
	}

	records, err := journal.Read([]byte(m.text()))
	if err != nil {
		t.Fatal(err)
	}

	topics := journal.Topics(records)
	if len(topics) != 1 || len(topics[0].Postings) != formats.MaxPublications+1 {
		t.Errorf("the board has %v", topics)
	}
}
