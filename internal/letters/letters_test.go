package letters_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/letters"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// box is that of a run in a project of its own, with what it tells.
func box(tb testing.TB) (letters.Box, string, *[]string) {
	tb.Helper()
	dir := tb.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := root.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := os.MkdirAll(filepath.Join(dir, "runs/r1"), 0o700); err != nil {
		tb.Fatal(err)
	}
	var told []string
	return letters.Box{
		Root: root,
		Dir:  "runs/r1",
		Run:  "r1",
		Key:  []byte("key"),
		Tell: func(line string) { told = append(told, line) },
	}, filepath.Join(dir, "runs/r1"), &told
}

func gate() formats.Gate {
	return formats.Gate{
		ID:      "GATE",
		Opened:  noon,
		Digest:  "digest",
		Choices: []formats.Choice{{Label: "yes"}, {Label: "no"}},
	}
}

func by(who, what string) formats.Decision {
	return formats.Decision{
		Answer: what,
		By:     who,
		Person: true,
		At:     noon.Add(time.Minute),
	}
}

func answers(tb testing.TB, b letters.Box, g formats.Gate) []formats.Decision {
	tb.Helper()
	list, err := b.Answers(g)
	if err != nil {
		tb.Fatalf("Answers = %v", err)
	}
	return list
}

// TestTheFirstWins: of many who answer at once one is kept, and each other is told whose it is.
func TestTheFirstWins(t *testing.T) {
	t.Parallel()
	b, dir, _ := box(t)
	if list := answers(t, b, gate()); list != nil {
		t.Errorf("Answers of none = %v", list)
	}
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			errs[i] = b.Answer(gate(), by(fmt.Sprint("p", i), "yes"))
		})
	}

	all.Wait()
	list := answers(t, b, gate())
	if len(list) != 1 {
		t.Fatalf("Answers = %v, want one", list)
	}
	for i, err := range errs {
		taken, ok := errors.AsType[*letters.TakenError](err)
		first := fmt.Sprint("p", i) == list[0].By
		if first != (err == nil) ||
			!first &&
				(!ok || taken.First.By != list[0].By ||
					formats.CodeOf(err) != formats.CodePrecondition) {
			t.Errorf("Answer of p%d = %v, the first was %s", i, err, list[0].By)
		}
	}

	if diff := cmp.Diff(by(list[0].By, "yes"), list[0]); diff != "" {
		t.Error(diff)
	}
	files, err := os.ReadDir(filepath.Join(dir, "answers"))
	if err != nil || len(files) != 1 || files[0].Name() != "GATE.json" {
		t.Errorf("files = %v, %v", files, err)
	}
	info, err := files[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

// TestTakenIsTold: who comes second reads what the first one did.
func TestTakenIsTold(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, a := range map[string]letters.Answer{
		`ann answered "yes" at 2026-01-02 03:04:05`: {
			By:     "ann",
			Choice: "yes",
			At:     at,
		},
		`ann changed plan.md at 2026-01-02 03:04:05, and the run has not asked again yet`: {
			By:     "ann",
			Edited: "plan.md",
			At:     at,
		},
	} {
		if got := (&letters.TakenError{First: a}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestEachOnce: where a gate needs several, each has one answer, and they come in the order in
// which they were given.
func TestEachOnce(t *testing.T) {
	t.Parallel()
	b, _, _ := box(t)
	g := gate()
	g.Quorum = 2
	later := by("ann", "no")
	later.At = later.At.Add(time.Second)
	for _, d := range []formats.Decision{later, by("bob", "yes"), by("a/../b", "yes")} {
		if err := b.Answer(g, d); err != nil {
			t.Fatal(err)
		}
	}
	err := b.Answer(g, by("ann", "yes"))
	if taken, ok := errors.AsType[*letters.TakenError](err); !ok || taken.First.Choice != "no" {
		t.Errorf("a second answer = %v", err)
	}
	var who []string
	for _, d := range answers(t, b, g) {
		who = append(who, d.By)
	}
	if got := strings.Join(who, " "); got != "a/../b bob ann" {
		t.Errorf("answers of %s", got)
	}
}

// TestWhatIsNoAnswer: a file that is no answer to the open gate counts for nothing, is moved aside
// as it is, and told once.
func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	change := func(key, value string) func(*testing.T, letters.Box, string) {
		return func(t *testing.T, b letters.Box, file string) {
			t.Helper()
			if err := b.Answer(gate(), by("ann", "yes")); err != nil {
				t.Fatal(err)
			}
			var m map[string]any
			data, err := os.ReadFile(file)
			if err = errors.Join(err, json.Unmarshal(data, &m)); err != nil {
				t.Fatal(err)
			}
			m[key] = value
			data, err = json.Marshal(m)
			if err = errors.Join(err, os.WriteFile(file, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := func(s string) func(*testing.T, letters.Box, string) {
		return func(t *testing.T, _ letters.Box, file string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sealed := func(g formats.Gate, d formats.Decision, key string) func(
		*testing.T,
		letters.Box,
		string,
	) {
		return func(t *testing.T, b letters.Box, _ string) {
			t.Helper()
			b.Key = []byte(key)
			if err := b.Answer(g, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := by("ann", "yes")
	late := by("ann", "yes")
	old.At = noon.Add(-time.Second)
	late.At = noon.Add(2 * time.Hour)
	other := gate()
	other.Digest = "another"
	for name, c := range map[string]struct {
		make func(*testing.T, letters.Box, string)
		want string
	}{
		"nothing":         {text(""), "EOF"},
		"no JSON":         {text("{"), "unexpected EOF"},
		"another type":    {text(`{"by": 1}`), "cannot unmarshal number"},
		"an unknown key":  {text(`{"why": "so"}`), `unknown field "why"`},
		"two":             {text("{}\n{}"), "something stands after it"},
		"no UTF-8":        {text("{\"by\": \"\xff\"}"), "no UTF-8"},
		"too large":       {text(strings.Repeat(" ", 140000)), "too large"},
		"an empty object": {text("{}"), "it is not the answer that its name says"},
		"another choice":  {change("choice", "no"), "it was not sealed with your key"},
		"another person":  {change("by", "bob"), "it was not sealed with your key"},
		"another note":    {change("note", "more"), "it was not sealed with your key"},
		"another digest":  {change("digest", "x"), "it was not sealed with your key"},
		"another time": {
			change("at", "2026-03-01T12:01:01Z"),
			"it was not sealed with your key",
		},
		"another run":  {change("run", "r2"), "it is not the answer that its name says"},
		"another gate": {change("gate", "ELSE"), "it is not the answer that its name says"},
		"another schema": {
			change("schema", "tercet.answer/2"),
			"it is not the answer that its name says",
		},
		"no seal": {change("mac", ""), "it was not sealed with your key"},
		"another key": {
			sealed(gate(), by("ann", "yes"), "else"),
			"it was not sealed with your key",
		},
		"to something else": {
			sealed(other, by("ann", "yes"), "key"),
			"it answers what was not shown",
		},
		"older": {sealed(gate(), old, "key"), "it is older than the question"},
		"too late": {
			sealed(gate(), late, "key"),
			"it came when the time of the gate was over",
		},
		"no choice": {
			sealed(gate(), by("ann", "maybe"), "key"),
			`"maybe" is no choice of the gate`,
		},
		"nobody's": {sealed(gate(), by("", "yes"), "key"), "it names no user"},
		"a folder": {func(t *testing.T, _ letters.Box, file string) {
			t.Helper()
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "it is no plain file"},
		"a link": {func(t *testing.T, _ letters.Box, file string) {
			t.Helper()
			if err := os.Symlink("/dev/zero", file); err != nil {
				t.Fatal(err)
			}
		}, "it is no plain file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, dir, told := box(t)
			if err := os.MkdirAll(filepath.Join(dir, "answers"), 0o700); err != nil {
				t.Fatal(err)
			}
			c.make(t, b, filepath.Join(dir, "answers/GATE.json"))
			g := gate()
			g.Timeout = &formats.GateTimeout{After: 3600, Choose: "no"}
			for range 2 {
				if list := answers(t, b, g); len(list) > 0 {
					t.Errorf("Answers = %v, want none", list)
				}
			}

			if len(*told) != 1 ||
				!strings.Contains(
					(*told)[0],
					"runs/r1/answers/GATE.json was set aside as "+
						"runs/r1/aside/answers-GATE.json.1: ",
				) || !strings.Contains((*told)[0], c.want) {
				t.Errorf("told %q, want %q once", *told, c.want)
			}
			if _, err := os.Lstat(filepath.Join(dir, "aside/answers-GATE.json.1")); err != nil {
				t.Error(err)
			}
			if err := b.Answer(g, by("ann", "yes")); err != nil {
				t.Errorf("an answer behind it = %v", err)
			}
			if list := answers(t, b, g); len(list) != 1 {
				t.Errorf("Answers = %v, want the one", list)
			}
		})
	}
	// What answered another gate stays; what lies there under another name does not.
	b, dir, told := box(t)
	if err := b.Answer(gate(), by("ann", "yes")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"OTHER.json", "note.txt", "GATE.json.tmp-1-0123456789abcdef"} {
		err := os.WriteFile(filepath.Join(dir, "answers", name), []byte("{}"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}

	next := gate()
	next.ID = "NEXT"
	if list := answers(t, b, next); len(list) > 0 || len(*told) != 2 {
		t.Errorf("Answers = %v, told %q", list, *told)
	}
	if list := answers(t, b, gate()); len(list) != 1 {
		t.Errorf("Answers = %v, want the one", list)
	}
	b.Key = nil
	if err := b.Answer(next, by("ann", "yes")); formats.CodeOf(err) != formats.CodeConfig {
		t.Errorf("an answer without a key = %v", err)
	}
	b.Key = []byte("key")
	long := by("ann", "yes")
	long.Note = strings.Repeat("x", letters.MaxNote+1)
	if err := b.Answer(next, long); formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("a long note = %v", err)
	}
}

// TestOrders: an order is read once, by the process that it was given to; one lies there at a time.
func TestOrders(t *testing.T) {
	t.Parallel()
	b, dir, told := box(t)
	file := filepath.Join(dir, "control.json")
	none := func(since time.Time) {
		t.Helper()
		if o, ok, err := b.Take(since); ok || err != nil {
			t.Errorf("Take = %v, %v, want none", o, err)
		}
	}
	give := func(o letters.Order) {
		t.Helper()
		if err := b.Give(o); err != nil {
			t.Fatal(err)
		}
	}
	none(noon)
	give(letters.Order{
		Do: letters.Pause,
		By: "ann",
		At: noon,
	})
	if err := b.Give(letters.Order{Do: letters.Cancel, By: "bob", At: noon}); !errors.Is(
		err,
		fs.ErrExist,
	) {
		t.Errorf("a second order = %v", err)
	}
	o, ok, err := b.Take(noon)
	if !ok || err != nil || o.Do != letters.Pause || o.By != "ann" {
		t.Errorf("Take = %+v, %v, %v", o, ok, err)
	}
	none(noon)
	give(letters.Order{
		Do: letters.Cancel,
		By: "ann",
		At: noon,
	})
	none(noon.Add(time.Second)) // it was for the process before
	give(letters.Order{
		Do: "stop",
		By: "ann",
		At: noon,
	})
	none(noon)
	give(letters.Order{Do: letters.Pause, At: noon})
	none(noon)
	other := b
	other.Key = []byte("else")
	err = other.Give(letters.Order{
		Do: letters.Pause,
		By: "ann",
		At: noon,
	})
	if err != nil {
		t.Fatal(err)
	}
	none(noon)
	if err := os.WriteFile(file, []byte("pause"), 0o600); err != nil {
		t.Fatal(err)
	}
	none(noon)
	want := []string{
		"older than the process", "no order to this run", "no order to this run",
		"it was not sealed with your key", "invalid character",
	}
	for i, line := range *told {
		if len(*told) != len(want) || !strings.Contains(line, want[i]) ||
			!strings.Contains(line, fmt.Sprintf("aside/control.json.%d: ", i+1)) {
			t.Errorf("told %q, want %q", *told, want)
		}
	}

	give(letters.Order{
		Do: letters.Pause,
		By: "ann",
		At: noon,
	})
	if err := errors.Join(b.Withdraw(), b.Withdraw()); err != nil {
		t.Errorf("Withdraw = %v", err)
	}
	none(noon)
	b.Key = nil
	err = b.Give(letters.Order{
		Do: letters.Pause,
		By: "ann",
		At: noon,
	})
	if formats.CodeOf(err) != formats.CodeConfig {
		t.Errorf("an order without a key = %v", err)
	}
}

// FuzzLetters: whatever lies in the box, nothing of it counts that was not sealed, and it is moved
// aside, not lost.
func FuzzLetters(f *testing.F) {
	b, dir, _ := box(f)
	err := errors.Join(b.Answer(gate(), by("ann", "yes")), b.Give(letters.Order{
		Do: letters.Pause,
		By: "ann",
		At: noon,
	}))
	if err != nil {
		f.Fatal(err)
	}
	err = b.Leave(formats.Message{ID: "M", By: "ann", At: noon, Text: "use the old one"})
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"answers/GATE.json", "control.json", "messages/M.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}

	f.Add([]byte("{}"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, dir, told := box(t)
		b.Key = []byte("another key")
		for _, name := range []string{"answers", "messages"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"answers/GATE.json", "control.json", "messages/M.json"} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list, err := b.Answers(gate())
		o, ok, oerr := b.Take(noon)
		messages, merr := b.Messages()
		if err := errors.Join(err, oerr, merr); err != nil || len(list) > 0 || ok ||
			len(messages) > 0 || len(*told) != 3 {
			t.Fatalf("%q: Answers = %v; Take = %v; Messages = %v; %v; told %q",
				data, list, o, messages, err, *told)
		}
		for _, name := range []string{
			"answers-GATE.json.1", "control.json.1", "messages-M.json.1",
		} {
			kept, err := os.ReadFile(filepath.Join(dir, "aside", name))
			if err != nil || string(kept) != string(data) {
				t.Fatalf("%s = %q, %v, want %q", name, kept, err, data)
			}
		}
	})
}

// TestMessages holds the order of messages, their bounds, and what is none.
func TestMessages(t *testing.T) {
	t.Parallel()
	b, dir, told := box(t)
	for i, text := range []string{"first", "second <&>\n\ttab"} {
		m := formats.Message{
			ID:   fmt.Sprint("ID", 9-i),
			By:   "me",
			At:   noon.Add(time.Duration(i) * time.Second),
			Text: text,
		}
		if err := b.Leave(m); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.Messages()
	if err != nil || len(list) != 2 || list[0].Text != "first" || list[1].ID != "ID8" {
		t.Fatalf("got %+v, %v", list, err)
	}

	bad := map[string]string{
		"":                            "empty",
		" \n":                         "empty",
		"a\x00b":                      "U+0000",
		"a\x1b[2J":                    "U+001B",
		"a\u0085":                     "U+0085",
		"\xff":                        "UTF-8",
		strings.Repeat("x", 1+16<<10): "16384 bytes",
	}
	for text, want := range bad {
		err := b.Leave(formats.Message{ID: "X", By: "me", At: noon, Text: text})
		if formats.CodeOf(err) != formats.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
	// the largest text of what JSON escapes most still is a letter
	largest := formats.Message{ID: "L", By: "me", At: noon, Text: strings.Repeat("<", 16<<10)}
	if err := b.Leave(largest); err != nil {
		t.Fatal(err)
	}

	// a copy under another name, a changed text and what is no JSON do not count
	folder := filepath.Join(dir, "messages")
	data, err := os.ReadFile(filepath.Join(folder, "ID9.json"))
	if err != nil {
		t.Fatal(err)
	}
	forged := map[string]string{
		"copy.json": string(data),
		"ID7.json": strings.Replace(
			strings.Replace(string(data), "first", "other", 1), "ID9", "ID7", 1),
		"none.json": "{",
	}
	for name, text := range forged {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err = b.Messages()
	if err != nil || len(list) != 3 || len(*told) != 3 {
		t.Fatalf("got %d messages, told %q, %v", len(list), *told, err)
	}

	removed, err := b.Remove("ID9")
	if err != nil || !removed {
		t.Fatal(removed, err)
	}
	removed, err = b.Remove("ID9")
	if err != nil || removed {
		t.Fatal(removed, err)
	}
	for i := range 14 {
		m := formats.Message{ID: fmt.Sprint("M", i), By: "me", At: noon, Text: "x"}
		if err := b.Leave(m); err != nil {
			t.Fatal(err)
		}
	}
	err = b.Leave(formats.Message{ID: "more", By: "me", At: noon, Text: "x"})
	if formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("got %v for one more than there is room for", err)
	}
}
