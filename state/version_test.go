package state_test

import (
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state"
)

// TestNewerVersion: of a file of a newer version every writer and reader says so, and no byte of
// the workspace changes.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"state.json", "archive/state.json"} {
		w := newWorkspace(t)

		n := w.add("one", "two")[0]
		w.force(n, formats.Abandoned)
		w.do(state.ArchiveTasks{Tasks: []int{n}})
		w.write(file, strings.Replace(w.read(file), `"version": "1"`, `"version": "3"`, 1))

		want := w.files()
		newer := func(what string, err error) {
			t.Helper()
			if err == nil || formats.CodeOf(err) != formats.CodeInvalidState ||
				!strings.Contains(err.Error(), "has version 3") {
				t.Errorf("%s: %s = %v, want it refused as newer", file, what, err)
			}
		}

		_, err := w.try(state.UnarchiveTasks{Tasks: []int{n}})
		newer("unarchive", err)
		_, err = w.m.Try(t.Context(), state.Tx{
			Session: session,
			Ops:     []state.Op{state.UnarchiveTasks{Tasks: []int{n}}},
		})
		newer("try", err)

		if file == "state.json" {
			_, err = w.m.Restore(t.Context(), w.backup())
			newer("restore", err)
			_, err = w.m.Adopt(t.Context())
			newer("adopt", err)
			_, err = w.r.Doc(t.Context())
			newer("read", err)
		}

		_, err = w.r.Task(t.Context(), n)
		newer("task", err)

		got := w.files()
		for name, text := range want {
			if got[name] != text && !strings.HasSuffix(name, "audit.jsonl") &&
				!strings.HasSuffix(name, ".info") {
				t.Errorf("%s: %s was written", file, name)
			}
		}
	}
}

// TestErrorsVersion: a newer errors.json is not written to; of an older one a copy stays.
func TestErrorsVersion(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	store, err := state.NewErrors(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	newer := `{"version": "3", "errors": {"by_day": []}}`
	w.write("errors.json", newer)

	if err := store.Record(t.Context(), formats.Problem{Type: "x", Message: "m"}); err == nil ||
		!strings.Contains(err.Error(), "has version 3") {
		t.Errorf("Record = %v, want it refused as newer", err)
	}

	if _, err := store.List(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "has version 3") {
		t.Errorf("List = %v, want it refused as newer", err)
	}

	if w.read("errors.json") != newer {
		t.Error("errors.json was written")
	}

	old := `{"version": "1", "errors": [{"id": "err_1"}]}`
	w.write("errors.json", old)

	if err := store.Record(t.Context(), formats.Problem{Type: "x", Message: "m"}); err != nil {
		t.Fatal(err)
	}

	list, err := store.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Message != "m" || w.read("errors.json.v1") != old {
		t.Errorf("List = %v, %v, want the new one alone, and the old file beside it", list, err)
	}
}
