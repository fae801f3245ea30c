package journal_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
)

// followed has entries of each kind that a Follower looks at.
func followed() []formats.Entry {
	gate := func(id string) formats.Gate {
		return formats.Gate{ID: id, Question: "Ship it?", Quorum: 2}
	}
	return []formats.Entry{
		{
			Type: formats.EntryRunStarted,
			Data: formats.Started{Format: formats.JournalFormat, Line: "/x"},
		},
		{Type: formats.EntryStepScheduled, Step: "a#1"},
		{
			Type: formats.EntryDelegationStarted,
			Step: "a#1",
			Data: map[string]any{"agent": "writer"},
		},
		{Type: formats.EntryDelegationResult, Step: "a#1", Data: formats.Return{
			Artifacts: []formats.Artifact{{Path: "a.md"}},
			Metadata: formats.Metadata{
				Model:  "m",
				Cost:   0.5,
				Tokens: formats.Tokens{Input: 3, Output: 4},
			},
		}},
		{
			Type: formats.EntryStepFinished,
			Step: "a#1",
			Data: map[string]any{"status": "completed", "summary": "done"},
		},
		{Type: formats.EntryStepScheduled, Step: "b#1"},
		{Type: formats.EntryGateOpened, Step: "b#1", Key: "g1", Data: gate("g1")},
		{Type: formats.EntryGateRefused, Step: "b#1", Key: "g1", Data: map[string]any{}},
		{Type: formats.EntryGateOpened, Step: "b#1", Key: "g2", Data: gate("g2")},
		{
			Type: formats.EntryGateVoted,
			Step: "b#1",
			Key:  "g2",
			Data: formats.Decision{Answer: "yes", By: "ann"},
		},
		{Type: formats.EntryStopped, Data: map[string]any{}},
		{Type: formats.EntrySuspended, Data: formats.Suspended{}},
		{
			Type: formats.EntryWentBack,
			Step: "b#1",
			Data: map[string]any{"by": "ann"},
		},
		{Type: formats.EntryStepScheduled, Step: "b#1"},
		{Type: formats.EntryRunFinished, Data: map[string]any{"status": "completed"}},
	}
}

// TestFollower: a journal that grows by any pieces is summarized as a whole one is.
func TestFollower(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(journal.Folder), "r1")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	key := []byte("the person's")
	w := journal.New(opener(at), journal.Options{Clock: clock(), Key: key})
	for _, e := range followed() {
		if err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	data := content(t, at)
	file := filepath.Join(at, journal.Name)
	rng := rand.New(rand.NewPCG(5, 1)) //nolint:gosec // cuts of a test
	f := journal.NewFollower(root, "r1", key)
	clone := f.Clone() // of an earlier cut, which goes on by itself
	for cut := 0; cut < len(data); {
		cut = min(cut+1+rng.IntN(400), len(data))
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Poll(); err != nil {
			t.Fatalf("%d bytes: %v", cut, err)
		}
		records, err := journal.Read(data[:cut])
		if err != nil {
			t.Fatal(err)
		}
		open, answered := f.Gates()
		wantOpen, wantAnswered := journal.Gates(records)
		if f.Seq() != len(records) || !reflect.DeepEqual(f.Steps(), journal.Steps(records)) ||
			!reflect.DeepEqual(open, wantOpen) || !reflect.DeepEqual(answered, wantAnswered) {
			t.Fatalf("%d bytes: %d records, steps %+v, gate %+v, want %d, %+v, %+v", cut,
				f.Seq(), f.Steps(), open, len(records), journal.Steps(records), wantOpen)
		}
		if _, err := clone.Poll(); err != nil {
			t.Fatalf("%d bytes, cloned: %v", cut, err)
		}
		if clone.Seq() != f.Seq() || !reflect.DeepEqual(clone.Steps(), f.Steps()) {
			t.Fatalf("%d bytes, cloned: steps %+v, want %+v", cut, clone.Steps(), f.Steps())
		}
		for _, step := range []string{"a#1", "b#1", "none"} {
			checkRecords(t, clone, records, step)
		}
		if rng.IntN(3) == 0 {
			clone = f.Clone()
		}
	}
	changed := bytes.Replace(data, []byte("writer"), []byte("wroter"), 1)
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := f.Records("a#1"); err == nil {
		t.Errorf("records of a line that was changed = %+v, want an error", list)
	}

	for name, file := range map[string][]byte{
		"damaged":     bytes.Replace(data, []byte("Ship"), []byte("Shop"), 1),
		"without key": data,
	} {
		if err := os.WriteFile(filepath.Join(at, journal.Name), file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.NewFollower(root, "r1", []byte("other")).Poll(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// checkRecords compares the records of a step with those of the whole journal.
func checkRecords(t *testing.T, f *journal.Follower, all []journal.Record, step string) {
	t.Helper()
	got, err := f.Records(step)
	if err != nil {
		t.Fatalf("records of %s: %v", step, err)
	}
	var want []journal.Record
	for _, r := range all {
		if r.Step == step {
			r.SHA = ""
			r.MAC = ""
			want = append(want, r)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("records of %s = %+v, want %+v", step, got, want)
	}
}
