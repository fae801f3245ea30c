package interp_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/interp"
	"tercet/formats"
)

// TestBoardStore: each posting gives its topic a version, one that knows another version is
// refused, what came since a version can be read, and nothing is there that was not written down.
func TestBoardStore(t *testing.T) {
	t.Parallel()
	var written []formats.Entry
	full := false
	b := interp.NewBoard(func(e formats.Entry) error {
		if full {
			return errors.New("no room")
		}
		written = append(written, e)
		return nil
	})
	say := func(words string) formats.Posting {
		return formats.Posting{By: "a", Summary: words}
	}
	for i, c := range []struct {
		topic, words  string
		after, want   int
		refused, full bool
	}{
		{"x", "one", interp.AnyVersion, 1, false, false},
		{"x", "two", 1, 2, false, false},
		{"x", "late", 1, 2, true, false},
		{"y", "early", 1, 0, true, false},
		{"y", "first", 0, 1, false, false},
		{"x", "lost", interp.AnyVersion, 2, true, true},
	} {
		full = c.full
		got, err := b.Publish("s#1", c.topic, c.after, say(c.words))
		if got != c.want || (err != nil) != c.refused {
			t.Errorf("%d: Publish(%s, %d) = %d, %v, want %d", i, c.topic, c.after, got, err, c.want)
		}
		if c.words == "late" &&
			(formats.CodeOf(err) != formats.CodePrecondition ||
				err.Error() != "expected topic 'x' at version 1, got 2") {
			t.Errorf("a late posting: %v", err)
		}
	}

	if diff := cmp.Diff([]string{"x", "y"}, b.Topics()); diff != "" {
		t.Errorf("Topics (-want +got):\n%s", diff)
	}
	since := func(topic string, version int) (out []string) {
		for _, p := range b.Since(topic, version) {
			out = append(out, p.Summary)
		}
		return out
	}
	diff := cmp.Diff([][]string{{"one", "two"}, {"two"}, nil, nil, {"first"}}, [][]string{
		since("x", 0), since("x", 1), since("x", 2), since("x", 9), since("y", -1),
	})
	if diff != "" {
		t.Errorf("Since (-want +got):\n%s", diff)
	}
	b.Since("x", 0)[0].Summary = "changed"
	if diff := cmp.Diff([]string{"one", "two"}, since("x", 0)); diff != "" {
		t.Errorf("what was read can be changed:\n%s", diff)
	}
	want := formats.Entry{
		Type: formats.EntryPosted,
		Step: "s#1",
		Key:  "x",
		Data: formats.Posted{Version: 2, Posting: say("two")},
	}
	if diff := cmp.Diff(want, written[1]); len(written) != 3 || diff != "" {
		t.Errorf("%d entries, the second (-want +got):\n%s", len(written), diff)
	}
}
