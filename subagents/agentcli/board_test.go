package agentcli //nolint:testpackage // it answers as the run does

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tercet/formats"
)

// wall is a board in memory.
type wall struct{ texts []string }

func (w *wall) Publish(text string) error {
	w.texts = append(w.texts, text)
	return nil
}

func (w *wall) Since(n int) (list []formats.Posting, all int) {
	for _, text := range w.texts {
		list = append(list, formats.Posting{Summary: text})
	}
	return list[min(n, len(list)):], len(list)
}

// TestDesk: asks are answered while the worker works, those from its last moment included; what is
// put in their place is removed and gets no answer, and no file outside of the folder is touched.
func TestDesk(t *testing.T) {
	t.Parallel()

	out := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}

	b, err := newBox(out)
	if err != nil {
		t.Fatal(err)
	}

	w := &wall{}
	d, err := b.serveBoard(w)
	if err != nil {
		t.Fatal(err)
	}

	secret := filepath.Join(out, "secret")
	if err := os.WriteFile(secret, []byte(`{"publish": "secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, link := range []string{"ask-link.json", "answer-one.json"} {
		if err := os.Symlink(secret, filepath.Join(d.dir, link)); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Join(d.dir, "ask-folder.json/in/it"), 0o700); err != nil {
		t.Fatal(err)
	}

	text := "hello"
	if _, err := AskBoard(d.dir, d.key, "one", BoardAsk{Publish: &text}); err != nil {
		t.Fatal(err)
	}

	n := 0
	taken, err := AskBoard(d.dir, d.key, "two", BoardAsk{Since: &n})
	if err != nil {
		t.Fatal(err)
	}

	forged := []byte(`{"publish": "forged"}`)
	for name, content := range map[string][]byte{
		"ask-none.json":  forged,
		"ask-other.json": seal("another key", "ask-other.json", forged),
		"ask-moved.json": seal(d.key, "ask-one.json", forged),
	} {
		if err := os.WriteFile(filepath.Join(d.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	d.close()

	again := seal(d.key, "ask-one.json", []byte(`{"publish": "hello"}`)) // it was answered
	if err := os.WriteFile(filepath.Join(d.dir, "ask-one.json"), again, 0o600); err != nil {
		t.Fatal(err)
	}

	d.root, err = os.OpenRoot(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	d.answerAll()

	a, ok, err := taken()
	if err != nil || !ok || a.Error != nil || a.All > 1 {
		t.Errorf("the answer is %+v, %v, %v", a, ok, err)
	}

	if len(w.texts) != 1 || w.texts[0] != text {
		t.Errorf("the board has %q", w.texts)
	}

	if kept, err := os.ReadFile(secret); err != nil || string(kept) != `{"publish": "secret"}` {
		t.Errorf("the file behind the link is %q, %v", kept, err)
	}

	left, err := filepath.Glob(filepath.Join(d.dir, "ask-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}

	if err := errors.Join(d.root.Close(), b.close()); err != nil {
		t.Error(err)
	}

	if _, err := AskBoard(d.dir, d.key, "late", BoardAsk{Since: &n}); err == nil {
		t.Error("a board was asked after the end of the call")
	}
}

// FuzzBoardAsk: whatever a worker writes is one ask, or an error with its reason.
func FuzzBoardAsk(f *testing.F) {
	for _, seed := range []string{
		`{"publish": "hello"}`, `{"since": 3}`, `{"since": -1}`, `{}`,
		`{"publish": "a", "since": 0}`, `{"publish": null}`, `[1]`, `{"publish": "a"} {}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &wall{texts: []string{"first"}}
		d := &boardServer{board: w}
		a := d.answer(data)

		ask, err := parseAsk(data)
		switch {
		case err != nil:
			if a.Error == nil || a.Error.Code != formats.CodeUsage || len(w.texts) != 1 {
				t.Fatalf("%q: %+v, the board has %q", data, a, w.texts)
			}
		case ask.Publish != nil:
			if a.Error != nil || len(w.texts) != 2 || a.All != 2 {
				t.Fatalf("%q: %+v, the board has %q", data, a, w.texts)
			}
		case *ask.Since < 0 || a.Error != nil || len(w.texts) != 1:
			t.Fatalf("%q: %+v", data, a)
		}
	})
}

// TestBoardCommands: a worker that may run some commands only may use its live board too, and no
// other command of tercet.
func TestBoardCommands(t *testing.T) {
	t.Parallel()

	c := &CLI{Driver: Claude(), Tercet: "'/a b/tercet'"}
	c.Definition.Info.Tools = []string{"read", "shell"}
	c.Definition.Info.Commands = []string{"git diff *"}

	r := formats.Request{Terms: formats.Terms{Live: true}}
	want := []string{
		"git diff *", "'/a b/tercet' board since *", "'/a b/tercet' board publish *",
	}
	if got := c.grants(r).Commands; !slices.Equal(got, want) {
		t.Errorf("a live board: got %q, want %q", got, want)
	}

	r.Terms.Live = false
	if got := c.grants(r).Commands; !slices.Equal(got, want[:1]) {
		t.Errorf("no live board: got %q, want %q", got, want[:1])
	}

	c.Definition.Info.Commands = nil
	r.Terms.Live = true
	if got := c.grants(r).Commands; got != nil {
		t.Errorf("every command: got %q, want all of them", got)
	}
}
