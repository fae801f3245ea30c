package interp_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/journal"
)

// mail has the messages to the run of a machine. They outlive its processes.
type mail struct {
	m    *machine
	mu   sync.Mutex
	left []formats.Message
	got  map[string][]string // texts, by the transaction id of the worker that got them last
}

func (b *mail) leave(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := func(m formats.Message) bool { return m.Text == text }
	if !slices.ContainsFunc(b.left, known) {
		b.left = append(b.left, formats.Message{ID: text, By: "ann", Text: text})
	}
}

func (b *mail) Unread() ([]formats.Message, error) {
	data, err := os.ReadFile((&process{machine: b.m}).file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	records, err := journal.Read(data)
	told := journal.Told(records)

	b.mu.Lock()
	defer b.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(b.left), func(m formats.Message) bool {
		return slices.ContainsFunc(told, func(t journal.Message) bool { return t.ID == m.ID })
	}), err
}

func (*mail) Reads(r formats.Request) bool        { return r.Agent != "judge" }
func (*mail) Delivered(_ []formats.Message) error { return nil }
func (b *mail) shape(w *world) {
	w.cfg.Messages = interp.Messages(b)

	work := func(_ context.Context, r formats.Request) (formats.Return, error) {
		b.mu.Lock()
		b.got[r.Txn] = nil
		for _, m := range r.Facets.Messages {
			b.got[r.Txn] = append(b.got[r.Txn], m.Text)
		}
		b.mu.Unlock()
		if strings.HasPrefix(r.At, "a#") {
			b.leave("second")
		}
		return ok("done " + r.At), nil
	}

	for _, name := range []string{"worker", "second", "judge", "flow"} {
		w.agents[name] = work
	}

	w.inner = w.program(file("", "", "I: id: i\ndelegate: second"))
}

// TestToldAtEveryLine kills a run before and behind each line of its journal and resumes it. Each
// message reaches exactly one worker, and never one that cannot read.
func TestToldAtEveryLine(t *testing.T) {
	t.Parallel()

	prog := newWorld(t).program(file(
		during,
		"",
		"J: id: j\ndelegate: judge",
		"A: id: a\ndelegate: worker",
		"F: id: f\ndelegate: flow",
		"P: id: p\nparallel: {x: {delegate: worker}, y: {delegate: second}}",
	))

	whole := newMachine(t)
	b := &mail{m: whole, got: map[string][]string{}}
	b.leave("first")

	all, ret := whole.play(prog, b.shape, 0, false)
	if got := describeReturn(ret); !strings.HasPrefix(got, "completed") {
		t.Fatal(got)
	}

	for n := 1; n <= all.lines; n++ {
		for _, after := range []bool{false, true} {
			m := newMachine(t)
			b := &mail{m: m, got: map[string][]string{}}
			b.leave("first")

			m.play(prog, b.shape, n, after)
			m.play(prog, b.shape, 0, false)

			var texts []string
			for _, one := range b.got {
				texts = append(texts, one...)
			}

			slices.Sort(texts)

			if !slices.Equal(texts, []string{"first", "second"}) {
				t.Errorf("killed at line %d (behind it: %v): workers got %q\n%s",
					n, after, texts, m.text())
			}
		}
	}
}
