package interp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// used is a return of a worker that used so much.
func used(tokens int64, usd float64) []formats.Return {
	return []formats.Return{{Status: formats.StatusCompleted, Summary: "done", Metadata: formats.Metadata{Tokens: formats.Tokens{Input: tokens - 1, Output: 1}, Cost: usd}}}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	three := "- {id: a, delegate: worker}\n- {id: b, delegate: worker}\n- {id: c, delegate: worker}"
	beside := "- id: p\n  parallel:\n    a: {delegate: worker}\n    b: {delegate: worker}\n    c: {delegate: worker}\n- {id: d, delegate: worker}"
	tests := map[string]struct {
		front, do string
		by        map[string][]formats.Return
		shares    string // step: tokens, dollars, spawns that the worker may use
		end       string
		total     formats.Metadata
	}{
		"no limit": {
			do: three, by: map[string][]formats.Return{"a": used(10, 0.5), "b": used(5, 0)},
			shares: "a: 0 0 0, b: 0 0 0, c: 0 0 0", end: "completed",
			total: formats.Metadata{Tokens: formats.Tokens{Input: 13, Output: 2}, Cost: 0.5, Spawns: 3},
		},
		"tokens are drawn and the unspent ones are there for the next": {
			front: "limits: {tokens: 100}\n", do: three, by: map[string][]formats.Return{"a": used(30, 0), "b": used(60, 0)},
			shares: "a: 100 0 0, b: 70 0 0, c: 10 0 0", end: "completed",
			total: formats.Metadata{Tokens: formats.Tokens{Input: 88, Output: 2}, Spawns: 3},
		},
		"the worker after the last token is not started": {
			front: "limits: {tokens: 100}\n", do: three, by: map[string][]formats.Return{"a": used(30, 0), "b": used(75, 0)},
			shares: "a: 100 0 0, b: 70 0 0", end: "failed LIMIT: x.md:15:5: step c: the run may use 100 tokens and has used 105",
			total: formats.Metadata{Tokens: formats.Tokens{Input: 103, Output: 2}, Spawns: 2},
		},
		"nor the one after the last cent": {
			front: "limits: {cost: 1.5}\n", do: three, by: map[string][]formats.Return{"a": used(1, 1), "b": used(1, 0.5)},
			shares: "a: 0 1.5 0, b: 0 0.5 0", end: "failed LIMIT: x.md:15:5: step c: the run may use 1.5 US dollars and has used 1.5",
			total: formats.Metadata{Tokens: formats.Tokens{Output: 2}, Cost: 1.5, Spawns: 2},
		},
		"workers side by side share in the order of the file": {
			front: "limits: {tokens: 100, cost: 3, spawns: 6}\n", do: beside, by: map[string][]formats.Return{"a": used(10, 0.5), "b": used(5, 0), "c": used(20, 1)},
			shares: "a: 34 1 1, b: 33 1 1, c: 33 1 1, d: 65 1.5 2", end: "completed",
			total: formats.Metadata{Tokens: formats.Tokens{Input: 32, Output: 3}, Cost: 1.5, Spawns: 4},
		},
		"a workflow's workers are drawn from the share of its caller": {
			front: "limits: {spawns: 3}\n", do: three,
			by:     map[string][]formats.Return{"a": {{Status: formats.StatusCompleted, Summary: "done", Metadata: formats.Metadata{Spawns: 2}}}},
			shares: "a: 0 0 2", end: "failed LIMIT: x.md:14:5: step b: the run reached its limit of 3 spawns",
			total: formats.Metadata{Spawns: 3},
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
				shares[id] = fmt.Sprintf("%s: %d %.4g %d", id, r.Budget.Tokens, r.Budget.Cost, r.Budget.Spawns)
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
			total := formats.Metadata{Tokens: ret.Metadata.Tokens, Cost: ret.Metadata.Cost, Spawns: ret.Metadata.Spawns}
			if d := cmp.Diff(tt.total, total); d != "" {
				t.Errorf("total (-want +got):\n%s", d)
			}
		})
	}
}
