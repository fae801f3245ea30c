package interp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// used is a return of a worker that used so much.
func used(tokens int64, usd float64) []formats.Return {
	return []formats.Return{{
		Status:   formats.StatusCompleted,
		Summary:  "done",
		Metadata: formats.Metadata{Tokens: formats.Tokens{Input: tokens - 1, Output: 1}, Cost: usd},
	}}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	three := "- {id: a, delegate: worker}\n- {id: b, delegate: worker}\n- {id: c, delegate: worker}"
	beside := "- id: p\n  parallel:\n    a: {delegate: worker}\n    b: {delegate: worker}\n" +
		"    c: {delegate: worker}\n- {id: d, delegate: worker}"
	tests := map[string]struct {
		front, do string
		by        map[string][]formats.Return
		shares    string // step: tokens, dollars, spawns that the worker may use
		end       string
		total     formats.Metadata
	}{
		"no limit": {
			do:     three,
			by:     map[string][]formats.Return{"a": used(10, 0.5), "b": used(5, 0)},
			shares: "a: 0 0 0, b: 0 0 0, c: 0 0 0",
			end:    "completed",
			total: formats.Metadata{
				Tokens: formats.Tokens{Input: 13, Output: 2},
				Cost:   0.5,
				Spawns: 3,
			},
		},
		"tokens are drawn and the unspent ones are there for the next": {
			front:  "limits: {tokens: 100}\n",
			do:     three,
			by:     map[string][]formats.Return{"a": used(30, 0), "b": used(60, 0)},
			shares: "a: 100 0 0, b: 70 0 0, c: 10 0 0",
			end:    "completed",
			total:  formats.Metadata{Tokens: formats.Tokens{Input: 88, Output: 2}, Spawns: 3},
		},
		"the worker after the last token is not started": {
			front:  "limits: {tokens: 100}\n",
			do:     three,
			by:     map[string][]formats.Return{"a": used(30, 0), "b": used(75, 0)},
			shares: "a: 100 0 0, b: 70 0 0",
			end:    "failed LIMIT: x.md:15:5: step c: the run may use 100 tokens and has used 105",
			total:  formats.Metadata{Tokens: formats.Tokens{Input: 103, Output: 2}, Spawns: 2},
		},
		"nor the one after the last cent": {
			front:  "limits: {cost: 1.5}\n",
			do:     three,
			by:     map[string][]formats.Return{"a": used(1, 1), "b": used(1, 0.5)},
			shares: "a: 0 1.5 0, b: 0 0.5 0",
			end: "failed LIMIT: x.md:15:5: step c: the run may use 1.5 US dollars and has " +
				"used 1.5",
			total: formats.Metadata{
				Tokens: formats.Tokens{Output: 2},
				Cost:   1.5,
				Spawns: 2,
			},
		},
		"workers side by side share in the order of the file": {
			front: "limits: {tokens: 100, cost: 3, spawns: 6}\n",
			do:    beside,
			by: map[string][]formats.Return{
				"a": used(10, 0.5),
				"b": used(5, 0),
				"c": used(20, 1),
			},
			shares: "a: 34 1 1, b: 33 1 1, c: 33 1 1, d: 65 1.5 2",
			end:    "completed",
			total: formats.Metadata{
				Tokens: formats.Tokens{Input: 32, Output: 3},
				Cost:   1.5,
				Spawns: 4,
			},
		},
		"a workflow's workers are drawn from the share of its caller": {
			front: "limits: {spawns: 3}\n",
			do:    three,
			by: map[string][]formats.Return{"a": {{
				Status:   formats.StatusCompleted,
				Summary:  "done",
				Metadata: formats.Metadata{Spawns: 2},
			}}},
			shares: "a: 0 0 2",
			end:    "failed LIMIT: x.md:14:5: step b: the run reached its limit of 3 spawns",
			total:  formats.Metadata{Spawns: 3},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.play(tt.by)
			ret := w.run(t.Context(), flow(tt.front, "", tt.do), "")
			shares := map[string]string{}
			for _, r := range p.reqs {
				id := r.Step[strings.LastIndexByte(r.Step, '/')+1:]
				shares[id] = fmt.Sprintf("%s: %d %.4g %d",
					id, r.Budget.Tokens, r.Budget.Cost, r.Budget.Spawns)
			}

			var got []string
			for _, id := range []string{"a", "b", "c", "d"} {
				if s, ok := shares[id]; ok {
					got = append(got, s)
				}
			}

			if d := cmp.Diff(tt.shares, strings.Join(got, ", ")); d != "" {
				t.Errorf("shares (-want +got):\n%s", d)
			}
			end := string(ret.Status)
			if len(ret.Errors) > 0 {
				end += " " + string(ret.Errors[0].Code) + ": " + ret.Errors[0].Message
			}
			if end != tt.end {
				t.Errorf("end = %q, want %q", end, tt.end)
			}
			for _, r := range p.reqs {
				if s := r.Budget.Seconds; s <= 0 || s > formats.DefaultRunDuration.Seconds() {
					t.Errorf("%s may use %v seconds, want what is left of two hours", r.Step, s)
				}
			}

			total := formats.Metadata{
				Tokens: ret.Metadata.Tokens,
				Cost:   ret.Metadata.Cost,
				Spawns: ret.Metadata.Spawns,
			}
			if d := cmp.Diff(tt.total, total); d != "" {
				t.Errorf("total (-want +got):\n%s", d)
			}
		})
	}
}

// reserved lists what the journal holds as reserved.
func (w *world) reserved() []formats.Budget {
	var out []formats.Budget
	for _, e := range w.entries {
		if e.Type == formats.EntryBudgetReserved {
			var b formats.Budget
			data, err := json.Marshal(e.Data)
			if err = errors.Join(err, json.Unmarshal(data, &b)); err != nil {
				w.tb.Fatal(err)
			}
			out = append(out, b)
		}
	}
	return out
}

// TestSecondsAreDrawn: each worker gets what is left of the time of the run, workers side by side
// the same.
func TestSecondsAreDrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)

		p := w.play(nil)
		p.during = func(formats.Request) { <-time.After(10 * time.Minute) }

		ret := w.run(
			t.Context(),
			flow(
				"limits: {duration: 1h}\n",
				"",
				"- {id: a, delegate: worker}\n- id: p\n  parallel:\n    b: {delegate: worker}\n"+
					"    c: {delegate: worker}\n- {id: d, delegate: worker}",
			),
			"",
		)

		if ret.Status != formats.StatusCompleted {
			t.Fatalf("run = %+v", ret.Errors)
		}

		got := map[string]float64{}
		for _, r := range p.reqs {
			got[r.Step[strings.LastIndexByte(r.Step, '/')+1:]] = r.Budget.Seconds
		}

		d := cmp.Diff(map[string]float64{"a": 3600, "b": 3000, "c": 3000, "d": 2400}, got)
		if d != "" {
			t.Errorf("seconds (-want +got)\n%s", d)
		}
	})
}

// TestReservedBeforeTheStart: what a worker may use is in the journal before it starts, so that it
// counts also where the run ends with it.
func TestReservedBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.play(map[string][]formats.Return{"a": used(30, 0.5)})

	var before []int
	p.during = func(formats.Request) {
		before = append(before, len(w.reserved()))
	}

	w.run(
		t.Context(),
		flow(
			"limits: {tokens: 100, cost: 2, spawns: 4}\n",
			"",
			"- {id: a, delegate: worker}\n- {id: b, delegate: worker}",
		),
		"",
	)

	if d := cmp.Diff([]int{1, 2}, before); d != "" {
		t.Errorf("reservations on record when the workers start (-want +got)\n%s", d)
	}

	want := []formats.Budget{{Tokens: 100, Cost: 2, Spawns: 3}, {Tokens: 70, Cost: 1.5, Spawns: 2}}
	got := w.reserved()
	for i := range got {
		got[i].Seconds = 0
	}

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("reservations (-want +got)\n%s", d)
	}
	// Without a bound there is nothing to reserve but time, which stands in the record of the
	// delegation.
	free := newWorld(t)
	free.play(nil)
	free.run(t.Context(), flow("", "", "- {id: a, delegate: worker}"), "")
	if n := len(free.reserved()); n != 0 {
		t.Errorf("%d reservations without a bound, want none", n)
	}
}
