package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"weak"

	"tercet/formats"
	"tercet/internal/journal"
)

// again writes entries as one process would, and gives the ledger of the next one with the records
// there are.
func again(
	t *testing.T,
	stay bool,
	list ...formats.Entry,
) (*journal.Ledger, func() []journal.Record) {
	t.Helper()
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		at = at.Add(time.Second)
		return at
	}
	open := func() (*os.Root, error) { return os.OpenRoot(dir) }
	records := func() []journal.Record {
		data, err := os.ReadFile(filepath.Join(dir, journal.Name))
		if err != nil {
			t.Fatal(err)
		}
		out, err := journal.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	w := journal.New(open, journal.Options{Clock: clock})
	for _, e := range list {
		if err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}

	t.Cleanup(func() { w.Close() })
	return journal.NewLedger(w, records(), map[string]any{"user": "U"}, stay), records
}

func scheduled(step string) formats.Entry {
	return formats.Entry{Type: formats.EntryStepScheduled, Step: step}
}

func ended(step, status string) formats.Entry {
	return formats.Entry{
		Type: formats.EntryStepFinished,
		Step: step,
		Data: map[string]any{"status": status, "issues": nil},
	}
}

// TestLedger: what was made before is found and not written twice; who goes on is written before
// the first new entry.
func TestLedger(t *testing.T) {
	t.Parallel()
	l, records := again(t, false, scheduled("a#1"), ended("a#1", "completed"),
		formats.Entry{
			Type:    formats.EntryDelegationResult,
			Step:    "b#1",
			Attempt: 1,
			Key:     "k",
			Data:    map[string]any{"status": "completed", "n": 1},
		},
		scheduled("b#1.1/x#1"), ended("b#1.1/x#1", "completed"))
	for _, e := range []formats.Entry{scheduled("a#1"), ended("a#1", "completed")} {
		if old, err := l.Append(t.Context(), e, true); !old || err != nil {
			t.Fatalf("Append(%v) = %v, %v, want it to be old", e, old, err)
		}
	}

	if _, ok := l.Recall(formats.Entry{
		Type:    formats.EntryDelegationResult,
		Step:    "b#1",
		Attempt: 2,
		Key:     "k",
	}); ok {
		t.Error("Recall of another attempt finds something")
	}
	data, ok := l.Recall(formats.Entry{
		Type:    formats.EntryDelegationResult,
		Step:    "b#1",
		Attempt: 1,
		Key:     "k",
	})
	if !ok || string(data) != `{"n":1,"status":"completed"}` {
		t.Errorf("Recall = %s, %v", data, ok)
	}
	// What the steps of the call did is in its result, so that nothing is left.
	if err := l.Live(true); err != nil {
		t.Errorf("Live = %v", err)
	}
	if old, err := l.Append(t.Context(), scheduled("c#1"), true); old || err != nil {
		t.Errorf("Append of a new entry = %v, %v", old, err)
	}
	var types []string
	for _, r := range records()[5:] {
		types = append(types, string(r.Type)+" "+r.Step)
	}

	if got := strings.Join(types, ", "); got != "resumed , step_scheduled c#1" {
		t.Errorf("new lines = %s", got)
	}
}

// TestUnwrittenEnd: a run whose end could not be written is not over, so that its lock stays and it
// can be resumed.
func TestUnwrittenEnd(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, full := range []error{nil, syscall.ENOSPC} {
		w := journal.New(
			func() (*os.Root, error) { return root, full },
			journal.Options{Clock: time.Now},
		)
		t.Cleanup(func() { w.Close() })
		l := journal.NewLedger(w, nil, nil, false)
		_, err := l.Append(
			t.Context(),
			formats.Entry{Type: formats.EntryRunFinished, Data: map[string]any{"status": "failed"}},
			true,
		)
		if (err != nil) != (full != nil) || l.Finished() != (full == nil) ||
			full != nil && !strings.Contains(formats.HelpOf(err), "room") {
			t.Errorf("Append = %v with help %q where opening gives %v, over %v",
				err, formats.HelpOf(err), full, l.Finished())
		}
	}
}

// TestLedgerDiverges: what comes out otherwise, or does not come at all, stops with its line, and
// nothing is written.
func TestLedgerDiverges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		e    formats.Entry
		want string
	}{
		"another outcome": {
			ended("a#1", "rejected"),
			`journal.jsonl:1:1: step_finished of step 'a#1' was {"issues":null,"status":"completed"} and comes out as {"issues":null,"status":"rejected"}`,
		},
		"another step": {
			scheduled("z#1"),
			"journal.jsonl:1:1: step_finished of step 'a#1' was made here, and now " +
				"step_scheduled of step 'z#1' comes",
		},
	} {
		l, records := again(t, false, ended("a#1", "completed"), scheduled("b#1"))
		_, err := l.Append(t.Context(), c.e, true)
		diverged, ok := errors.AsType[*formats.DivergedError](err)
		if !ok || diverged.Error() != c.want || formats.CodeOf(err) != formats.CodeInvalidState {
			t.Errorf("%s: Append = %v, want %s", name, err, c.want)
		}
		if n := len(records()); n != 2 {
			t.Errorf("%s: %d lines, want the 2 of before", name, n)
		}
	}

	l, _ := again(t, false, ended("a#1", "completed"), scheduled("b#1"))
	if _, err := l.Append(t.Context(), scheduled("z#1"), false); err != nil {
		t.Errorf("Append beside others = %v: they may come yet", err)
	}
}

// TestLedgerStopped: behind the point at which a run was stopped nothing new is done but what
// follows a stop. A stop that nothing came of is taken back, unless the run is to end.
func TestLedgerStopped(t *testing.T) {
	t.Parallel()
	stop := formats.Entry{
		Type: formats.EntryStopped,
		Data: map[string]any{"code": "CANCELLED", "message": "interrupted"},
	}
	for name, c := range map[string]struct {
		list  []formats.Entry
		stay  bool
		stops bool
	}{
		"it was handled":     {[]formats.Entry{stop, scheduled("error_handling/e#1")}, false, true},
		"nothing came of it": {[]formats.Entry{stop}, false, false},
		"it is to end":       {[]formats.Entry{stop}, true, true},
	} {
		l, _ := again(t, c.stay, append([]formats.Entry{scheduled("a#1")}, c.list...)...)
		if _, err := l.Append(t.Context(), scheduled("a#1"), true); err != nil {
			t.Fatal(err)
		}
		err := l.Live(true)
		stopped, ok := errors.AsType[*formats.StoppedError](err)
		if ok != c.stops || ok && stopped.Error() != "interrupted" {
			t.Errorf("%s: Live = %v, want a stop: %v", name, err, c.stops)
		}
		if c.stops {
			if old, err := l.Append(t.Context(), stop, true); !old || err != nil {
				t.Errorf("%s: Append of the stop = %v, %v", name, old, err)
			}
		}
	}
}

// TestBegun: a journal of another form is refused, not guessed at.
func TestBegun(t *testing.T) {
	t.Parallel()
	_, records := again(t, false, formats.Entry{
		Type: formats.EntryRunStarted,
		Data: map[string]any{"command": "/x", "args": map[string]any{}},
	})
	_, err := journal.Started(records())
	if err == nil || !strings.Contains(err.Error(), "expected a journal of form 5, got form 0") {
		t.Errorf("Begun of an old journal = %v", err)
	}
	_, records = again(t, false, formats.Entry{
		Type: formats.EntryRunStarted,
		Data: formats.Started{Format: 9, Version: "7.1"},
	})
	const want = "journal.jsonl:1:1: journal.jsonl has version 9, and this tercet knows up to " +
		"version 5: a newer tercet wrote it (7.1)"
	_, err = journal.Started(records())
	if err == nil || err.Error() != want || formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("Begun of a newer journal = %v, want %s", err, want)
	}
}

// TestSpent: what passes between two processes is not the run's.
func TestSpent(t *testing.T) {
	t.Parallel()
	at := func(s int, kind formats.EntryType) journal.Record {
		return journal.Record{Time: time.Unix(int64(s), 0), Entry: formats.Entry{Type: kind}}
	}
	got := journal.WorkingTime([]journal.Record{
		at(0, formats.EntryRunStarted),
		at(5, formats.EntrySuspended),
		at(1000, formats.EntryResumed),
		at(1002, formats.EntryStepFinished),
		at(1003, formats.EntryRunFinished),
		at(5000, formats.EntryReopened),
		at(5001, formats.EntryWentBack),
		at(5003, formats.EntryStepFinished),
	})
	if got != 10*time.Second {
		t.Errorf("Spent = %s, want 10s", got)
	}
}

// TestLedgerLetsGo: what an entry carried is not held once the run has taken it, whether it was
// told or compared.
func TestLedgerLetsGo(t *testing.T) {
	t.Parallel()
	all := []formats.Entry{
		ended("a#1", strings.Repeat("x", 1000)),
		{
			Type:    formats.EntryDelegationResult,
			Step:    "b#1",
			Attempt: 1,
			Data:    strings.Repeat("y", 1000),
		},
		ended("c#1", "completed"),
	}
	l, held := func() (*journal.Ledger, []weak.Pointer[byte]) {
		_, records := again(t, false, all...)
		var held []weak.Pointer[byte]
		list := records()
		for _, r := range list {
			held = append(held, weak.Make(&r.Raw()[0]))
		}
		return journal.NewLedger(journal.New(nil, journal.Options{}), list, nil, false), held
	}()
	if old, err := l.Append(t.Context(), all[0], true); !old || err != nil {
		t.Fatalf("Append = %v, %v, want it to be old", old, err)
	}
	if _, ok := l.Recall(all[1]); !ok {
		t.Fatal("the answer is not recalled")
	}
	runtime.GC()
	for i, want := range []bool{false, false, true} {
		if got := held[i].Value() != nil; got != want {
			t.Errorf("entry %d is held: %t, want %t", i+1, got, want)
		}
	}

	runtime.KeepAlive(l)
}

// TestResumable: a run is worth going on with once a step has finished or a question was asked, in
// whichever process.
func TestResumable(t *testing.T) {
	t.Parallel()
	skipped := formats.Entry{
		Type: formats.EntryStepFinished,
		Step: "a#1",
		Data: map[string]any{"status": formats.OutcomeSkipped},
	}
	finished := formats.Entry{
		Type: formats.EntryStepFinished,
		Step: "b#1",
		Data: map[string]any{"status": formats.OutcomeFailed},
	}
	asked := formats.Entry{
		Type: formats.EntryGateOpened,
		Step: "c#1",
		Data: formats.Gate{ID: "g"},
	}
	began := formats.Entry{Type: formats.EntryStepScheduled, Step: "b#1"}
	for _, tt := range []struct {
		name    string
		entries []formats.Entry
		want    bool
	}{
		{"nothing", nil, false},
		{"a step began", []formats.Entry{began}, false},
		{"a step was skipped", []formats.Entry{skipped}, false},
		{"a step has finished", []formats.Entry{skipped, began, finished}, true},
		{"a question was asked", []formats.Entry{asked}, true},
	} {
		dir := t.TempDir()
		w := journal.New(
			func() (*os.Root, error) { return os.OpenRoot(dir) },
			journal.Options{Clock: time.Now},
		)
		l := journal.NewLedger(w, nil, nil, false)
		for _, e := range tt.entries {
			if _, err := l.Append(t.Context(), e, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var records []journal.Record
		if len(tt.entries) > 0 {
			data, err := os.ReadFile(filepath.Join(dir, journal.Name))
			if err == nil {
				records, err = journal.Read(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		again := journal.NewLedger(w, records, nil, false)
		if l.Resumable() != tt.want || again.Resumable() != tt.want {
			t.Errorf("%s: Resumable = %t, and %t in the next process, want %t",
				tt.name, l.Resumable(), again.Resumable(), tt.want)
		}
	}
}
