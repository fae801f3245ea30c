package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
)

// TestEveryByte: a journal of which any byte is another is refused, with the line of that byte or
// the one behind it, which holds its hash; the last line too, which a crash might have torn.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := []byte("the person's")
	at := filepath.Join(dir, filepath.FromSlash(journal.Folder), "r1")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	w := journal.New(opener(at), journal.Options{Clock: clock(), Key: key})
	for _, e := range []formats.Entry{
		{
			Type: formats.EntryRunStarted,
			Data: formats.Started{Format: formats.JournalFormat, Line: "/x"},
		},
		{Type: formats.EntryStepScheduled, Step: "a#1"},
		{Type: formats.EntryRunFinished, Data: map[string]any{"status": "completed"}},
	} {
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
	check := func() error {
		records, err := journal.LoadComplete(root, "r1")
		if err == nil {
			err = journal.VerifyKey(records, key)
		}
		return err
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	data := content(t, at)
	line := 1
	for i, b := range data {
		for _, other := range []byte{b ^ 1, '\n'} {
			if other == b || other == '\n' && i%16 > 0 {
				continue
			}
			data[i] = other
			if err := os.WriteFile(filepath.Join(at, journal.Name), data, 0o600); err != nil {
				t.Fatal(err)
			}
			err := check()
			if err == nil ||
				!strings.HasPrefix(err.Error(), "journal.jsonl:"+string(rune('0'+line))+":1: ") {
				t.Fatalf(
					"byte %d of line %d is %q instead of %q: %v, want it refused with its line",
					i, line, other, b, err,
				)
			}
		}
		data[i] = b
		if b == '\n' {
			line++
		}
	}
}

// TestRound: a line with several tasks is over when each is done; until then the newest run of a
// task counts, and a run of an older round, or of another line, does not.
func TestRound(t *testing.T) {
	t.Parallel()
	run := func(id string, task int, round, status string) journal.Run {
		return journal.Run{
			ID:     id,
			Task:   task,
			Status: status,
			Begun:  formats.Started{Among: &formats.Among{Line: "/plan 1-2", Round: round}},
		}
	}
	alone := journal.Run{
		ID:     "r9",
		Task:   1,
		Status: "completed",
	}
	other := journal.Run{
		ID:     "r8",
		Task:   1,
		Status: "completed",
		Begun:  formats.Started{Among: &formats.Among{Line: "/plan 1-3", Round: "r8"}},
	}
	for name, tt := range map[string]struct {
		list  []journal.Run // newest first
		round string
		done  string
	}{
		"nothing":            {nil, "", ""},
		"others":             {[]journal.Run{alone, other}, "", ""},
		"killed between two": {[]journal.Run{run("r1", 1, "r1", "completed")}, "r1", "r1"},
		"one failed": {
			[]journal.Run{run("r2", 2, "r1", "failed"), run("r1", 1, "r1", "approved")},
			"r1",
			"r1",
		},
		"one is open": {
			[]journal.Run{alone, run("r2", 2, "r1", journal.Open), run("r1", 1, "r1", "completed")},
			"r1",
			"r1",
		},
		"failed, then done": {
			[]journal.Run{run("r3", 1, "r1", "completed"), run("r1", 1, "r1", "failed")},
			"r1",
			"r3",
		},
		"done, then failed": {
			[]journal.Run{run("r3", 1, "r1", "failed"), run("r1", 1, "r1", "completed")},
			"r1",
			"",
		},
		"all done": {
			[]journal.Run{run("r2", 2, "r1", "completed"), run("r1", 1, "r1", "completed")},
			"",
			"",
		},
		"done in another round": {
			[]journal.Run{run("r3", 2, "r3", "failed"), run("r1", 1, "r1", "completed")},
			"r3",
			"",
		},
	} {
		round, done := journal.UnfinishedRound(tt.list, "/plan 1-2", []int{1, 2})
		if round != tt.round || done[1].ID != tt.done || done[2].ID != "" {
			t.Errorf("%s: Round() = %q, %v, want %q and %q for task 1",
				name, round, done, tt.round, tt.done)
		}
	}
}
