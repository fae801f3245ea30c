package state_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state"
)

func TestGuardTakesBackWhatNoWriterWrote(t *testing.T) {
	t.Parallel()
	edit := func(w *workspace) {
		w.write("state.json", strings.Replace(w.read("state.json"), `"title": "b"`, `"title": "Mine"`, 1))
	}
	remove := func(w *workspace) {
		if err := os.Remove(filepath.Join(w.dir, formats.Workspace, "state.json")); err != nil {
			w.t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		change  func(w *workspace)
		changed bool
		foreign string // a part of what stood there
		tasks   int
	}{
		{"nothing", func(*workspace) {}, false, "", 2},
		{"a writer", func(w *workspace) { w.add("c") }, false, "", 3},
		{"an edit", edit, true, "Mine", 2},
		{"no JSON", func(w *workspace) { w.write("state.json", "{") }, true, "{", 2},
		{"removed", remove, true, "", 2},
		{"an edit after a writer", func(w *workspace) { w.add("c"); edit(w) }, true, "Mine", 3},
		{"a link out of the project", func(w *workspace) {
			remove(w)
			if err := os.Symlink("/etc/hostname", filepath.Join(w.dir, formats.Workspace, "state.json")); err != nil {
				w.t.Fatal(err)
			}
		}, true, "", 2},
		{"an edit that another writer took over", func(w *workspace) { edit(w); w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "c"}}}) }, false, "", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.add("a", "b")
			mark, err := w.m.Mark(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tt.change(w)
			foreign, changed, err := w.m.Guard(t.Context(), mark)
			if err != nil || changed != tt.changed || changed && !strings.Contains(string(foreign), tt.foreign) {
				t.Fatalf("Guard = %q, %v, %v, want changed %v with %q", foreign, changed, err, tt.changed, tt.foreign)
			}
			if text := w.read("state.json"); tt.changed && strings.Contains(text, "Mine") {
				t.Errorf("state.json = %s", text)
			}
			if n := strings.Count(w.read("state.json"), `"title"`); n != tt.tasks {
				t.Errorf("%d tasks, want %d", n, tt.tasks)
			}
			if tt.changed {
				// The next write finds nothing from outside.
				if res := w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "later"}}}); len(res.Warnings) > 0 {
					t.Errorf("Apply after Guard warns %v", res.Warnings)
				}
			}
			w.healthy()
		})
	}
}

// TestGuardPutsNothingUnknown: where no copy of the last write is there, the file stays as it is and the error says what to do.
func TestGuardPutsNothingUnknown(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("a")
	mark, err := w.m.Mark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.add("b")
	w.write("state.json", "{}")
	if err := os.RemoveAll(w.path("backups")); err != nil {
		t.Fatal(err)
	}
	other, err := state.NewManager(w.cfg) // knows only what is on the disk
	if err != nil {
		t.Fatal(err)
	}
	_, changed, err := other.Guard(t.Context(), mark)
	if formats.CodeOf(err) != formats.CodeInvalidState || !changed || w.read("state.json") != "{}" {
		t.Errorf("Guard = %v, %v with %s, want INVALID_STATE and the file as it is", changed, err, w.read("state.json"))
	}
	if _, err := newBare(t).Mark(t.Context()); formats.CodeOf(err) != formats.CodeNoWorkspace {
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
