package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/trace"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 14, 0, 0, 5e6, time.FixedZone("east", 2*60*60))
	tests := []struct {
		name string
		in   trace.Event
		want string
	}{
		{"bare", trace.Event{Kind: trace.Route}, `{"kind":"route","from_depth":0,"to_depth":0}`},
		{
			"whole",
			trace.Event{
				Time:      noon,
				Run:       "r1",
				Kind:      trace.Delegate,
				Name:      "planner",
				Step:      "plan",
				FromDepth: 1,
				ToDepth:   2,
				Path:      []string{"router", "/plan", "planner"},
				Duration:  1500 * time.Millisecond,
				Outcome:   "completed",
				Message:   "a <b> & \x1b[1m\nc",
				Attrs:     map[string]any{"z": 1, "a": "x"},
			},
			`{"time":"2026-03-01T12:00:00.005Z","run":"r1","kind":"delegate","name":"planner","step_path":"plan","from_depth":1,` +
				`"to_depth":2,"delegation_path":["router","/plan","planner"],"duration_seconds":1.5,"outcome":"completed",` +
				`"message":"a <b> & \u001b[1m\nc","attrs":{"a":"x","z":1}}`,
		},
		{
			"attribute without a JSON form",
			trace.Event{Kind: trace.State, Attrs: map[string]any{"f": func() {}}},
			`{"kind":"state","from_depth":0,"to_depth":0,"attrs":{"unencodable":"json: unsupported type: func()"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, string(trace.Encode(tt.in))); diff != "" {
				t.Errorf("Encode(%v) differs (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

type buffer struct {
	bytes.Buffer
	closed int
	fail   error
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.fail != nil {
		return 0, b.fail
	}
	return b.Buffer.Write(p)
}

func (b *buffer) Close() error {
	b.closed++
	return nil
}

func opener(b *buffer) func() (io.WriteCloser, error) {
	return func() (io.WriteCloser, error) { return b, nil }
}

func names(t *testing.T, lines string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(lines) {
		var r struct{ Name string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line %q is not JSON: %v", line, err)
		}
		out = append(out, r.Name)
	}
	return out
}

// line is an event as a File takes it.
func line(e trace.Event) []byte {
	return append(trace.Encode(e), '\n')
}

func TestFileKeepsThenAppends(t *testing.T) {
	t.Parallel()
	var f trace.File
	f.Add(line(trace.Event{Name: "early"}))
	err := f.Open(func() (io.WriteCloser, error) {
		return nil, io.ErrNoProgress
	})
	if !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("Open with a failing opener = %v, want %v", err, io.ErrNoProgress)
	}
	var out buffer
	if err := f.Open(opener(&out)); err != nil {
		t.Fatalf("Open = %v, want nil", err)
	}
	f.Add(line(trace.Event{Name: "late"}))
	var other buffer
	if err := f.Open(opener(&other)); err != nil {
		t.Fatalf("second Open = %v, want nil", err)
	}
	f.Add(line(trace.Event{Name: "later"}))
	if err := f.Close(); err != nil {
		t.Fatalf("Close = %v, want nil", err)
	}
	if err := f.Close(); err != nil {
		t.Fatalf("second Close = %v, want nil", err)
	}
	f.Add(line(trace.Event{Name: "after the end"}))
	if diff := cmp.Diff([]string{"early", "late", "later"}, names(t, out.String())); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
	if out.closed != 1 || other.Len() != 0 {
		t.Errorf("closed, bytes of the other writer = %d, %d, want 1, 0", out.closed, other.Len())
	}
}

func TestFileBoundsWhatItKeeps(t *testing.T) {
	t.Parallel()
	var f trace.File
	for range 3 {
		f.Add(line(trace.Event{Message: strings.Repeat("x", trace.MaxHeld/2-100)}))
	}
	var out buffer
	if err := f.Open(opener(&out)); err != nil {
		t.Fatal(err)
	}
	if got := len(names(t, out.String())); got != 2 {
		t.Errorf("lines = %d, want 2", got)
	}
}

func TestFileReportsTheFirstError(t *testing.T) {
	t.Parallel()
	var f trace.File
	out := &buffer{}
	if err := f.Open(opener(out)); err != nil {
		t.Fatal(err)
	}
	out.fail = io.ErrShortWrite
	f.Add(line(trace.Event{Name: "lost"}))
	out.fail = nil
	f.Add(line(trace.Event{Name: "also lost"}))
	if err := f.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close = %v, want %v", err, io.ErrShortWrite)
	}
	if out.Len() != 0 {
		t.Errorf("written after the error: %q, want nothing", out.String())
	}
}

func TestFileIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var f trace.File
	var out buffer
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				f.Add(line(trace.Event{Name: "x"}))
			}
		})
	}
	if err := f.Open(opener(&out)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := len(names(t, out.String())); got != 400 {
		t.Errorf("lines = %d, want 400", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"step","duration_seconds":1.5,"attrs":{"a":[1]}}`))
	f.Add([]byte(`{"kind":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := trace.Decode(line)
		if err != nil {
			return
		}
		again, err := trace.Decode(trace.Encode(e))
		diff := cmp.Diff(e.Attrs, again.Attrs)
		if err != nil || diff != "" && len(e.Attrs) > 0 || e.Step != again.Step ||
			e.Outcome != again.Outcome {
			t.Errorf("Decode(Encode(%+v)) = %+v, %v", e, again, err)
		}
	})
}

func TestLinesLeaveOutWhatIsNone(t *testing.T) {
	t.Parallel()
	one := trace.Encode(trace.Event{Kind: trace.Step, Name: "a"})
	got := slices.Collect(trace.Lines([]byte("{\n" + string(one) + "\n\x00\n" + string(one))))
	if len(got) != 2 || got[0].Name != "a" || got[1].Kind != trace.Step {
		t.Errorf("Lines = %+v, want the two events", got)
	}
}
