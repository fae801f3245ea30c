package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/formats"
	"tercet/internal/journal"
)

func opener(dir string) func() (*os.Root, error) {
	return func() (*os.Root, error) { return os.OpenRoot(dir) }
}

func clock() func() time.Time {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

func entries() []formats.Entry {
	return []formats.Entry{
		{Type: formats.EntryRunStarted, Data: map[string]any{"args": []string{"196"}, "depth": 1}},
		{Type: formats.EntryStepScheduled, Step: "phases[2]/commit#1", Attempt: 2, Key: "k1"},
		{
			Type: formats.EntryDelegationResult,
			Step: "plan",
			Data: struct {
				Sum json.Number `json:"sum"`
				Ok  bool        `json:"ok"`
			}{"1.50", true},
		},
		{Type: formats.EntryRunFinished, Data: "done <ok> \x1b\n"},
	}
}

func write(tb testing.TB, dir string, list ...formats.Entry) []byte {
	tb.Helper()
	w := journal.New(opener(dir), journal.Options{Clock: clock()})
	for _, e := range list {
		if err := w.Append(tb.Context(), e); err != nil {
			tb.Fatalf("Append(%v) = %v, want no error", e, err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatalf("Close = %v, want no error", err)
	}
	return content(tb, dir)
}

func content(tb testing.TB, dir string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, journal.Name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := write(t, dir, entries()...)
	got, err := journal.Read(data)
	if err != nil {
		t.Fatalf("Read = %v, want no error", err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := []journal.Record{
		{
			Seq:  1,
			Time: noon.Add(time.Second),
			Entry: formats.Entry{
				Type: "run_started",
				Data: json.RawMessage(`{"args":["196"],"depth":1}`),
			},
		},
		{
			Seq:  2,
			Time: noon.Add(2 * time.Second),
			Entry: formats.Entry{
				Type:    "step_scheduled",
				Step:    "phases[2]/commit#1",
				Attempt: 2,
				Key:     "k1",
			},
		},
		{
			Seq:  3,
			Time: noon.Add(3 * time.Second),
			Entry: formats.Entry{
				Type: "delegation_result",
				Step: "plan",
				Data: json.RawMessage(`{"sum":1.50,"ok":true}`),
			},
		},
		{
			Seq:  4,
			Time: noon.Add(4 * time.Second),
			Entry: formats.Entry{
				Type: "run_finished",
				Data: json.RawMessage(`"done <ok> \u001b\n"`),
			},
		},
	}
	diff := cmp.Diff(want, got, cmpopts.IgnoreFields(journal.Record{}, "Prev", "SHA"))
	if diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
	for i, r := range got {
		if i > 0 && r.Prev != got[i-1].SHA || i == 0 && r.Prev != "" || len(r.SHA) != 64 {
			t.Errorf("record %d: prev %q, sha %q do not chain", i+1, r.Prev, r.SHA)
		}
	}

	if bytes.ContainsAny(bytes.ReplaceAll(data, []byte("\n"), nil), "\x1b\r\t") {
		t.Errorf("journal %q holds control characters", data)
	}
	info, err := os.Stat(filepath.Join(dir, journal.Name))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}
}

func TestVouched(t *testing.T) {
	t.Parallel()
	key := []byte("the person's")
	dir := t.TempDir()
	for i, mine := range [][]byte{key, key, nil, []byte("a worker's"), key} {
		w := journal.New(opener(dir), journal.Options{Clock: clock(), Key: mine})
		if err := w.Append(t.Context(), entries()[1]); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		records, err := journal.Read(content(t, dir))
		if err != nil || len(records) != i+1 {
			t.Fatalf("Read = %d records, %v, want %d whole ones whoever wrote them",
				len(records), err, i+1)
		}
		err = journal.VerifyKey(records, key)
		switch {
		case i < 2 && err != nil:
			t.Errorf("%d lines of one's own: %v, want no error", i+1, err)
		case i >= 2 &&
			(formats.CodeOf(err) != formats.CodeDenied ||
				!strings.Contains(err.Error(), "journal.jsonl:3:1: ")):
			t.Errorf("a line without the key: %v, want DENIED with line 3", err)
		}
		if err := journal.VerifyKey(records, nil); err != nil {
			t.Errorf("without a key: %v, want no error", err)
		}
	}

	moved := content(t, dir)[bytes.IndexByte(content(t, dir), '\n')+1:]
	if _, err := journal.Read(moved); err == nil {
		t.Error("a journal without its first line is read, want an error")
	}
}

func TestNothingIsMadeBeforeTheFirstAppend(t *testing.T) {
	t.Parallel()
	opened := 0
	dir := t.TempDir()
	w := journal.New(func() (*os.Root, error) {
		opened++
		return os.OpenRoot(dir)
	}, journal.Options{Clock: clock(), Sync: true})
	bad := formats.Entry{Type: formats.EntryRunStarted, Data: func() {}}
	if err := w.Append(t.Context(), bad); formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Append of a function = %v, want an error of code BUG", err)
	}
	if opened != 0 {
		t.Errorf("opened %d times before the first entry, want 0", opened)
	}
	for range 2 {
		if err := w.Append(t.Context(), entries()[0]); err != nil {
			t.Fatalf("Append = %v, want no error", err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close = %v, want no error", err)
	}
	if opened != 1 {
		t.Errorf("opened %d times, want 1", opened)
	}
	if err := w.Append(t.Context(), entries()[0]); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append after Close = %v, want %v", err, fs.ErrClosed)
	}
	err := journal.New(opener(dir), journal.Options{}).Append(t.Context(), entries()[0])
	if formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Append without a clock = %v, want an error of code BUG", err)
	}
}

func TestErrorsOfTheDiskStay(t *testing.T) {
	t.Parallel()
	calls := 0
	w := journal.New(func() (*os.Root, error) {
		calls++
		return nil, fs.ErrPermission
	}, journal.Options{Clock: clock()})
	for range 2 {
		err := w.Append(t.Context(), entries()[0])
		if !errors.Is(err, fs.ErrPermission) || formats.CodeOf(err) != formats.CodeIO {
			t.Errorf("Append = %v (%s), want %v (IO)", err, formats.CodeOf(err), fs.ErrPermission)
		}
	}

	if calls != 1 {
		t.Errorf("open was called %d times, want 1", calls)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, journal.Name), 0o700); err != nil {
		t.Fatal(err)
	}
	err := journal.New(opener(dir), journal.Options{Clock: clock()}).Append(
		t.Context(),
		entries()[0],
	)
	if formats.CodeOf(err) != formats.CodeIO {
		t.Errorf("Append to a folder = %v, want an error of code IO", err)
	}
}

func TestEveryPrefixIsReadable(t *testing.T) {
	t.Parallel()
	data := write(t, t.TempDir(), entries()...)
	for n := range len(data) + 1 {
		records, err := journal.Read(data[:n])
		if err != nil {
			t.Fatalf("Read of %d bytes = %v, want no error", n, err)
		}
		if want := bytes.Count(data[:n], []byte("\n")); len(records) != want {
			t.Fatalf("Read of %d bytes gives %d records, want %d", n, len(records), want)
		}
	}
	for _, tail := range []string{"\x00\x00\x00", "garbage\n", `{"seq":5}` + "\n"} {
		records, err := journal.Read(append(bytes.Clone(data), tail...))
		if err != nil || len(records) != 4 {
			t.Errorf("Read with tail %q = %d records, %v, want 4", tail, len(records), err)
		}
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	data := write(t, t.TempDir(), entries()...)
	lines := bytes.SplitAfter(data, []byte("\n"))
	other := bytes.SplitAfter(
		write(t, t.TempDir(), formats.Entry{Type: "x"}, formats.Entry{Type: "y"}),
		[]byte("\n"),
	)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"changed": {
			bytes.Replace(data, []byte("196"), []byte("197"), 1),
			"journal.jsonl:1:1: line does not match its hash",
		},
		"first gone": {join(lines[1:]...), "journal.jsonl:1:1: expected seq 1, got 2"},
		"middle gone": {
			join(lines[0], lines[2], lines[3]),
			"journal.jsonl:2:1: expected seq 2, got 3",
		},
		"twice":     {join(lines[0], lines[0]), "journal.jsonl:2:1: expected seq 2, got 1"},
		"another's": {join(lines[0], other[1]), `journal.jsonl:2:1: expected prev_sha "`},
		"empty line": {
			join(lines[0], []byte("\n"), lines[1]),
			"journal.jsonl:2:1: line does not match its hash",
		},
	} {
		_, err := journal.Read(tt.data)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) ||
			formats.CodeOf(err) != formats.CodeInvalidState {
			t.Errorf("%s: Read = %v, want %s", name, err, tt.want)
		}
	}
}

func TestAppendContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := write(t, dir, entries()[:2]...)
	file := filepath.Join(dir, journal.Name)
	if err := os.WriteFile(file, append(bytes.Clone(data), data[:20]...), 0o600); err != nil {
		t.Fatal(err)
	}
	after := write(t, dir, entries()[2])
	if !bytes.HasPrefix(after, data) {
		t.Errorf("the lines before have changed:\n%s", after)
	}
	records, err := journal.Read(after)
	if err != nil || len(records) != 3 || records[2].Seq != 3 {
		t.Errorf("Read = %d records, %v, want 3", len(records), err)
	}
	damaged := bytes.Replace(after, []byte("196"), []byte("197"), 1)
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	err = journal.New(opener(dir), journal.Options{Clock: clock()}).Append(
		t.Context(),
		entries()[3],
	)
	if formats.CodeOf(err) != formats.CodeInvalidState {
		t.Errorf("Append to a damaged journal = %v, want an error of code INVALID_STATE", err)
	}
	if !bytes.Equal(content(t, dir), damaged) {
		t.Error("a damaged journal was written to")
	}
}

func TestAppendBoundsDepth(t *testing.T) {
	t.Parallel()
	nest := func(depth int) any {
		var v any = "x"
		for range depth {
			v = []any{v}
		}
		return v
	}
	dir := t.TempDir()
	w := journal.New(opener(dir), journal.Options{Clock: clock()})
	deepest := 0
	for depth := 1; depth < 100; depth++ {
		if err := w.Append(t.Context(), formats.Entry{Type: "x", Data: nest(depth)}); err == nil {
			deepest = depth
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	records, err := journal.Read(content(t, dir))
	if err != nil || len(records) != deepest || deepest < 32 {
		t.Errorf("Read after entries up to depth %d = %d records, %v, want them all",
			deepest, len(records), err)
	}
}

func TestAppendIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := journal.New(opener(dir), journal.Options{Clock: func() time.Time {
		return at
	}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := w.Append(t.Context(), entries()[1]); err != nil {
					t.Errorf("Append = %v", err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if records, err := journal.Read(content(t, dir)); err != nil || len(records) != 160 {
		t.Errorf("Read = %d records, %v, want 160", len(records), err)
	}
}

func FuzzReadJournal(f *testing.F) {
	data := write(f, f.TempDir(), entries()...)
	f.Add(data)
	f.Add(data[:len(data)-5])
	f.Add(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	f.Add([]byte("{}\n{}\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := journal.Read(data)
		switch {
		case err != nil:
			place, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), journal.Name+":"), ":")
			line, bad := strconv.Atoi(place)
			if bad != nil || line < 1 || line > bytes.Count(data, []byte("\n")) ||
				formats.CodeOf(err) != formats.CodeInvalidState {
				t.Fatalf("Read(%q) = %v, want INVALID_STATE with a line that is there", data, err)
			}
		case len(records) > bytes.Count(data, []byte("\n")):
			t.Fatalf("Read(%q) gives %d records, more than lines", data, len(records))
		}
		journal.NewTasks("r1", records).View()
	})
}

func BenchmarkAppend(b *testing.B) {
	w := journal.New(opener(b.TempDir()), journal.Options{Clock: clock()})
	e := entries()[0]
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
