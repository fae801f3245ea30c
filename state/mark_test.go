package state_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state"
)

// TestGuard: what others than the writers do to the state while a worker runs is found, left as it
// is, and holds up every write until a person has decided.
func TestGuard(t *testing.T) {
	t.Parallel()
	edit := func(w *workspace) {
		w.write(
			"state.json",
			strings.Replace(w.read("state.json"), `"title": "b"`, `"title": "Mine"`, 1),
		)
	}
	remove := func(name string) func(w *workspace) {
		return func(w *workspace) {
			if err := os.RemoveAll(w.path(name)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	// forge edits the state and appends the line that a writer without the key would append: its
	// chain is right.
	forge := func(w *workspace) {
		before := w.read("state.json")
		edit(w)
		now := w.read("state.json")

		log := strings.TrimSuffix(w.read("audit.jsonl"), "\n")
		last := log[strings.LastIndexByte(log, '\n')+1:]
		var line map[string]any
		if err := json.Unmarshal([]byte(last), &line); err != nil {
			w.t.Fatal(err)
		}

		line["pre"] = sum(before)
		line["post"] = sum(now)
		line["prev"] = sum(last)

		raw, err := json.Marshal(line)
		if err != nil {
			w.t.Fatal(err)
		}

		w.write("audit.jsonl", log+"\n"+string(raw)+"\n")
	}
	tests := []struct {
		name   string
		change func(w *workspace)
		what   string // what Guard says; empty: nothing
		tasks  int    // after Restore
	}{
		{"nothing", func(*workspace) {}, "", 2},
		{"a writer", func(w *workspace) { w.add("c") }, "", 3},
		{"a plan's writer that rotates", func(w *workspace) {
			w.rotated()
		}, "", 42},
		{"an edit that another writer took over", func(w *workspace) {
			edit(w)
			w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "c"}}})
		}, "", 3},
		{"an edit", edit, "state.json was changed", 2},
		{"an edit after a writer", func(w *workspace) {
			w.add("c")
			edit(w)
		}, "state.json was changed", 3},
		{"no JSON", func(w *workspace) {
			w.write("state.json", "{")
		}, "state.json was changed", 2},
		{"removed", remove("state.json"), "state.json was changed", 2},
		{"an edit with a forged line", forge, "audit.jsonl got a line", 2},
		{"a forged line after a writer", func(w *workspace) {
			w.add("c")
			forge(w)
		}, "audit.jsonl got a line", 3},
		{"the log removed", remove("audit.jsonl"), "audit.jsonl was rewritten", 2},
		{"the log cut", func(w *workspace) {
			log := w.read("audit.jsonl")
			w.write("audit.jsonl", log[:strings.IndexByte(log, '\n')+1])
		}, "audit.jsonl was rewritten", 2},
		{"a backup removed", remove("backups/state-0.json"), "a backup was removed", 2},
		{"a link out of the project", func(w *workspace) {
			remove("state.json")(w)
			if err := os.Symlink("/etc/hostname", w.path("state.json")); err != nil {
				w.t.Fatal(err)
			}
		}, "state.json was changed", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.sealed()
			w.add("a", "b")

			mark, err := w.m.Mark()
			if err != nil {
				t.Fatal(err)
			}

			tt.change(w)
			left, err := os.ReadFile(w.path("state.json"))
			if err != nil && tt.name != "removed" {
				t.Fatal(err)
			}

			_, err = w.m.Guard(t.Context(), mark)
			if (err == nil) != (tt.what == "") ||
				err != nil &&
					(formats.CodeOf(err) != formats.CodeDenied || err.Error() != tt.what) {
				t.Fatalf("Guard = %v, want %q", err, tt.what)
			}

			if now, err := os.ReadFile(w.path("state.json")); string(now) != string(left) {
				t.Errorf("Guard left %s, %v; before it stood %s", now, err, left)
			}
			if tt.what == "" {
				w.healthy()
				return
			}

			if _, err = w.m.Guard(t.Context(), mark); formats.CodeOf(err) != formats.CodeDenied {
				t.Errorf("the second look = %v, want the finding again", err)
			}
			_, err = w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "later"}}})
			if err == nil {
				t.Errorf("Apply after it = %v, want a refusal", err)
			}
			serial, ok := w.m.NewestBackup()
			if !ok {
				t.Fatal("no backup is left")
			}
			if tt.name == "a link out of the project" {
				remove("state.json")(w)
			}
			if _, err := w.m.Restore(t.Context(), serial); err != nil {
				t.Fatal(err)
			}
			n := strings.Count(w.read("state.json"), `"title"`)
			if n != tt.tasks || strings.Contains(w.read("state.json"), "Mine") {
				t.Errorf("restored %s, want %d tasks as they were", w.read("state.json"), tt.tasks)
			}
			w.add("later")
		})
	}
}

// TestGuardAmongKills: what a write leaves that was killed before its rename, and what the next one
// takes away of it, is no change.
func TestGuardAmongKills(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.sealed()
	w.add("a", "b")
	old := w.read("state.json")
	w.add("c")
	w.write("state.json", old)

	mark, err := w.m.Mark()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := w.m.Guard(t.Context(), mark); err != nil {
		t.Errorf("Guard before the next write = %v, want nothing", err)
	}

	res := w.do(state.UpdateMetadata{Task: 1, Fields: map[string]any{"title": "a"}})
	if res.Changed {
		t.Fatalf("%+v, want a write that only cleans up", res)
	}

	if _, err := os.Stat(w.path("backups/state-2.json")); err == nil {
		t.Fatal("the copy of what did not happen is there still")
	}

	if _, err := w.m.Guard(t.Context(), mark); err != nil {
		t.Errorf("Guard = %v, want nothing", err)
	}
}

// TestAdoptAfterGuard: what a worker changed can be taken as it is.
func TestAdoptAfterGuard(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.sealed()
	w.add("a", "b")
	mark, err := w.m.Mark()
	if err != nil {
		t.Fatal(err)
	}

	w.write(
		"state.json",
		strings.Replace(w.read("state.json"), `"title": "b"`, `"title": "Mine"`, 1),
	)

	found, err := w.m.Guard(t.Context(), mark)
	if formats.CodeOf(err) != formats.CodeDenied || !strings.Contains(string(found), "Mine") {
		t.Fatalf("Guard = %s, %v", found, err)
	}

	if _, err := w.m.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}

	w.add("later")
	if title := w.stored(2).Title; title != "Mine" {
		t.Errorf("task 2 = %q, want Mine", title)
	}

	w.healthy()
}

// TestSealIsNoCondition: a log that another person, or nobody, sealed is read as it is.
func TestSealIsNoCondition(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a")
	w.sealed()
	w.add("b")

	w.cfg.Key = func(string) []byte { return []byte("another key") }
	other, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.m = other

	mark, err := w.m.Mark()
	if err != nil {
		t.Fatal(err)
	}

	w.add("c")
	if _, err := w.m.Guard(t.Context(), mark); err != nil {
		t.Errorf("Guard = %v, want nothing", err)
	}

	w.healthy()
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// sealed gives the workspace a key.
func (w *workspace) sealed() {
	w.t.Helper()
	w.cfg.Key = func(string) []byte { return []byte("a key of the person") }
	m, err := state.NewManager(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.m = m
}

// rotated writes until the log has moved.
func (w *workspace) rotated() {
	w.t.Helper()

	w.cfg.AuditLimit = 2000
	m, err := state.NewManager(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}

	for range 40 {
		_, err := m.Apply(w.t.Context(), state.Tx{Ops: []state.Op{
			state.CreateTasks{Tasks: []state.NewTask{{Title: "more"}}},
		}})
		if err != nil {
			w.t.Fatal(err)
		}
	}

	if _, err := os.Stat(w.path("audit/000002.jsonl")); err != nil {
		w.t.Fatal(err)
	}
}

// TestMarkNeedsAState: without one there is nothing to watch.
func TestMarkNeedsAState(t *testing.T) {
	t.Parallel()
	if _, err := newBare(t).Mark(); formats.CodeOf(err) != formats.CodeNoWorkspace {
		t.Errorf("Mark without a state = %v, want NO_WORKSPACE", err)
	}
}

func newBare(t *testing.T) *state.Manager {
	t.Helper()

	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })

	w := newWorkspace(t)
	cfg := w.cfg
	cfg.Root = root

	m, err := state.NewManager(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return m
}
