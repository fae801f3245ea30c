package interp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden journals anew")

// goldenFile holds journals of runs of every shape, as whole runs and as runs that were killed and
// taken up again. Their hashes are left out: they are made of the rest.
const goldenFile = "testdata/journals.gz"

type golden struct{ Shape, Journal string }

const goldens = 200

// look holds the records of a run against what comes out now. Nothing is done.
func (m *machine) look(
	prog *compile.Program,
	shape func(w *world),
	records []journal.Record,
) error {
	m.t.Helper()

	w := newWorld(m.t)
	shape(w)
	led := journal.NewLedger(journal.New(nil, journal.Options{}), records, nil, false)

	p := &process{machine: m, led: led}
	w.cfg.Clock = m.time()
	w.cfg.Journal = p
	w.cfg.Discard = nil

	w.cfg.Verify = func(r formats.Request, ret formats.Return) error {
		if now := formats.Sum([]byte(prompt(r))); r.Agent != "flow" && now != ret.Metadata.Told {
			return &formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState, "",
				"journal.jsonl:1:1: %s was told another thing, now %q", r.At, prompt(r))}
		}
		return nil
	}

	w.cfg.Agents = delegator{func(ctx context.Context, r formats.Request) (formats.Return, error) {
		if r.Agent == "flow" {
			return p.nested(ctx, w, r)
		}
		m.t.Errorf("%s of %s is called", r.Agent, r.At)
		return formats.Return{}, errBroken
	}}

	w.cfg.Approve = approver{approve: func(g formats.Gate) (formats.Decision, error) {
		m.t.Errorf("%s is asked", g.Question)
		return formats.Decision{}, errBroken
	}}

	_, err := w.goOn(m.t.Context(), prog, "7")
	if err != nil && !errors.As(err, new(*formats.EndError)) {
		return err
	}

	return led.Unreached()
}

// TestGoldenJournals: the journals of an earlier build come out as they stand there: every decision
// is made as it was, and every worker is told what it was told.
func TestGoldenJournals(t *testing.T) {
	t.Parallel()
	all := shapes()
	if *update {
		writeGoldens(t)
	}

	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}

	var list []golden
	if err := json.NewDecoder(z).Decode(&list); err != nil || len(list) != goldens {
		t.Fatalf("%d journals, %v, want %d", len(list), err, goldens)
	}

	ended := 0
	changed := 0
	progs := map[string]*compile.Program{}
	for i, g := range list {
		if !testkit.Deep() && i%10 != 0 { // it is slow under the race detector
			continue
		}

		s, ok := all[g.Shape]
		if !ok {
			t.Fatalf("journal %d is of shape %q, which is gone: go test -update", i, g.Shape)
		}
		records, err := journal.Read([]byte(chained(g.Journal)))
		if err != nil {
			t.Fatal(err)
		}

		m := newMachine(t)
		prog := progs[g.Shape]
		if prog == nil {
			prog = newWorld(t).program(s.src)
			progs[g.Shape] = prog
		}

		if err := m.look(prog, s.play, records); err != nil {
			t.Errorf("journal %d (%s): %s", i, g.Shape, err)
		}
		if journal.Finished(records) {
			ended++
		}

		// And one in which an answer was another is told apart, with its line.
		at := slices.IndexFunc(records, func(r journal.Record) bool {
			return r.Type == formats.EntryStepFinished
		})
		if at < 0 || i%5 > 0 {
			continue
		}

		raw, ok := records[at].Data.(json.RawMessage)
		if !ok {
			t.Fatal("no data")
		}

		records[at].Data = json.RawMessage(bytes.Replace(
			raw,
			[]byte(`"status":"`),
			[]byte(`"status":"x`),
			1,
		))
		changed++

		err = m.look(prog, s.play, records)
		if !errors.As(err, new(*formats.DivergedError)) ||
			!strings.Contains(err.Error(), "journal.jsonl:") {
			t.Errorf("journal %d (%s) with another outcome in line %d: %v, want a difference",
				i, g.Shape, at+1, err)
		}
	}

	if testkit.Deep() && (ended < goldens/3 || ended > goldens*9/10 || changed < goldens/10) {
		t.Errorf("%d of %d runs have ended, %d were changed: both kinds are wanted",
			ended, len(list), changed)
	}
}

// writeGoldens makes the journals: of each shape whole runs, and such as were killed once or again
// and again.
func writeGoldens(t *testing.T) {
	t.Helper()
	all := shapes()
	names := slices.Sorted(maps.Keys(all))
	var list []golden
	for i := range goldens {
		name := names[i%len(names)]
		seed := i / len(names)
		s := all[name]
		prog := newWorld(t).program(s.src)
		m := newMachine(t)
		for n := range seed % 4 { // killed so often, always a bit later
			if p, _ := m.play(prog, s.play, 2+seed+3*n, seed%2 == 0); !p.dead || over(t, p) {
				break
			}
		}
		records, err := journal.Read([]byte(m.text()))
		if (seed%3 != 2 || seed%4 == 0) && (err != nil || !journal.Finished(records)) {
			m.play(prog, s.play, 0, false)
		}
		list = append(list, golden{name, hashes.ReplaceAllString(m.text(), "$1")})
	}

	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		err = json.NewEncoder(z).Encode(list)
	}
	if err = errors.Join(err, z.Close(), os.MkdirAll("testdata", 0o755)); err == nil {
		err = os.WriteFile(goldenFile, out.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var hashes = regexp.MustCompile(`("prev_sha":")[0-9a-f]*|,"sha":"[0-9a-f]{64}"(?:})`)

// chained gives a journal its hashes.
func chained(text string) string {
	var out strings.Builder
	prev := ""
	for line := range strings.Lines(text) {
		line = strings.Replace(
			strings.TrimRight(line, "\n"),
			`"prev_sha":"`,
			`"prev_sha":"`+prev,
			1,
		)

		sum := sha256.Sum256([]byte(line))
		prev = hex.EncodeToString(sum[:])
		out.WriteString(line + `,"sha":"` + prev + "\"}\n")
	}
	return out.String()
}
