//go:build unix

package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tercet/formats"
	"tercet/state"
)

// TestMissingState: a workspace whose state.json is gone is damaged, not new. Nothing is given
// twice.
func TestMissingState(t *testing.T) {
	t.Parallel()

	lost := func(t *testing.T) *workspace {
		t.Helper()
		w := newWorkspace(t)
		w.add("one", "two")
		w.add("three")
		if err := os.Remove(w.path("state.json")); err != nil {
			t.Fatal(err)
		}
		return w
	}

	t.Run("is said", func(t *testing.T) {
		t.Parallel()
		w := lost(t)

		_, reading := w.r.Doc(t.Context())
		_, writing := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "four"}}})

		for what, err := range map[string]error{
			"reading": reading,
			"writing": writing,
			"init":    w.m.Init(t.Context(), state.InitOptions{}),
		} {
			help := formats.HelpOf(err)
			if formats.CodeOf(err) != formats.CodeInvalidState ||
				!strings.Contains(help, "tercet state restore") {
				t.Errorf("%s = %v, %q; want INVALID_STATE that names the restore", what, err, help)
			}
		}
	})

	t.Run("restored", func(t *testing.T) {
		t.Parallel()
		w := lost(t)

		serial, ok := w.m.NewestBackup()
		res, err := w.m.Restore(t.Context(), serial)
		if err != nil || !ok || len(res.Warnings) > 0 || w.stored(3).Title != "three" {
			t.Errorf("Restore(%d) = %+v, %v; want all three tasks", serial, res, err)
		}
		w.healthy()
	})

	t.Run("anew", func(t *testing.T) {
		t.Parallel()
		w := lost(t)

		if err := w.m.Init(t.Context(), state.InitOptions{Anew: true}); err != nil {
			t.Fatal(err)
		}

		if n := w.add("four"); n[0] != 4 || w.serial() != 4 {
			t.Errorf("number %d, serial %d; want 4 and 4, behind those that were given",
				n[0], w.serial())
		}

		w.healthy()
	})
}

// TestTruncated: the restore that the message names brings back what was acknowledged last; another
// one tells what it loses.
func TestTruncated(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("one")
	w.add("two")
	w.write("state.json", w.read("state.json")[:40])

	_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "three"}}})
	if help := formats.HelpOf(err); !strings.Contains(help, "tercet state restore 2") {
		t.Fatalf("Apply = %v, %q; want the restore of serial 2", err, help)
	}

	if _, err := w.m.Restore(t.Context(), 2); err != nil || w.stored(2).Title != "two" {
		t.Errorf("Restore(2) = %v; want the last acknowledged write", err)
	}

	res, err := w.m.Restore(t.Context(), 1)
	all := strings.Join(res.Warnings, "\n")
	if err != nil ||
		!strings.Contains(all, "the write of serial 2 is not in it: create_tasks of task 2") {
		t.Errorf("Restore(1) = %q, %v; want the write of serial 2 named", all, err)
	}

	w.healthy()
}

// TestHighNumbers: what verify takes, a write takes, and the write after it.
func TestHighNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		serial string
		bad    bool
	}{{"9007199254740991", true}, {"4503599627370497", true}, {"4503599627370496", false}} {
		w := newWorkspace(t)
		w.write(
			"state.json",
			strings.Replace(w.read("state.json"), `"serial": 0`, `"serial": `+tt.serial, 1),
		)
		found, err := w.r.Verify(t.Context())
		refused := err == nil && len(found) > 0 && found[0].Severity == formats.SeverityError
		if refused != tt.bad {
			t.Errorf("Verify with serial %s = %v, %v; want it refused: %v",
				tt.serial, found, err, tt.bad)
		}
		for range 2 {
			_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
			if tt.bad && formats.CodeOf(err) != formats.CodeInvalidState || !tt.bad && err != nil {
				t.Errorf("Apply with serial %s = %v; want it refused: %v", tt.serial, err, tt.bad)
			}
		}
	}
}

// TestFIFO: a named pipe in the place of a file is refused, and nobody waits for its other end.
func TestFIFO(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"state.json", "audit.jsonl", "archive/state.json", "TODO.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)

			w.add("one")
			err := errors.Join(
				os.RemoveAll(w.path(name)),
				os.MkdirAll(filepath.Dir(w.path(name)), 0o755),
			)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(w.path(name), 0o600); err != nil {
				t.Fatal(err)
			}

			done := make(chan struct{})
			go func() {
				defer close(done)
				_, reading := w.r.Doc(t.Context())
				w.r.Notice(t.Context())
				_, verifying := w.r.Verify(t.Context())
				res, writing := w.try(state.UpdateMetadata{
					Task:   1,
					Fields: map[string]any{"dependencies": []int{9}},
				})
				if writing == nil && name != "TODO.md" ||
					name == "state.json" && (reading == nil || verifying == nil) {
					t.Errorf("reading %v, verifying %v, writing %+v, %v; want refusals",
						reading, verifying, res, writing)
				}
			}()

			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("it still waits")
			}
		})
	}
}

// TestControlCharacters: none reaches the state, whatever the door.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("one")

	set := func(key string) state.Op {
		return state.UpdateMetadata{Task: 1, Fields: map[string]any{key: "ab\x1b[A"}}
	}

	for name, op := range map[string]state.Op{
		"title":       state.CreateTasks{Tasks: []state.NewTask{{Title: "ab\x1b[A"}}},
		"effort":      state.CreateTasks{Tasks: []state.NewTask{{Title: "a", Effort: "ab\x1b[A"}}},
		"set title":   set("title"),
		"description": set("description"),
		"priority":    set("priority"),
		"reason": state.UpdateStatus{
			Tasks:  []int{1},
			To:     formats.OnHold,
			Reason: "ab\x1b[A",
		},
	} {
		_, err := w.try(op)
		if formats.CodeOf(err) != formats.CodeValidationFailed ||
			!strings.Contains(err.Error(), "got U+001B in line 1, column 3") {
			t.Errorf("%s = %v, want the character and its column", name, err)
		}
	}

	w.do(state.UpdateMetadata{Task: 1, Fields: map[string]any{"description": "two\n\tlines"}})
}
