package subagents_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/subagents"
)

// metered is a runner that measures.
type metered func(formats.Request) (formats.Return, subagents.Measured, error)

func (metered) Run(context.Context, formats.Request) (formats.Return, error) {
	panic("Run of a runner that measures")
}

func (f metered) RunMetered(
	_ context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	return f(r)
}

func TestOnlyWhatWasMeasuredIsStamped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var budgets []formats.Budget
	agent := metered(func(r formats.Request) (formats.Return, subagents.Measured, error) {
		budgets = append(budgets, r.Budget)
		m := subagents.Measured{
			Runner: "claude",
			Model:  "m-1",
			Tokens: formats.Tokens{
				Input:  100,
				Cached: 40,
				Output: 10,
			},
			Cost:    0.25,
			Prompt:  "abc",
			Sandbox: "namespace",
			Attempts: []formats.RunnerAttempt{
				{Runner: "codex", Code: formats.CodeToolUnavailable},
				{Runner: "claude"},
			},
		}
		if len(r.Repair) == 0 {
			return formats.Return{}, m, &subagents.ReturnError{
				Agent:    r.Agent,
				Raw:      []byte("hm"),
				Problems: []string{"expected a return, got hm"},
			}
		}

		m.Attempts = nil
		return formats.Return{
			Status:  formats.StatusCompleted,
			Summary: "did it",
			Metadata: formats.Metadata{
				Model:    "best-of-all",
				Tokens:   formats.Tokens{Output: 1},
				Cost:     1e-9,
				Sandbox:  "container",
				Runner:   "other",
				Attempts: []formats.RunnerAttempt{{Runner: "x"}},
			},
		}, m, nil
	})
	info := formats.AgentInfo{Name: "worker", NoArtifacts: true}
	if err := w.Set.Add(subagents.Definition{Info: info, File: "worker.md"}, agent); err != nil {
		t.Fatal(err)
	}
	r := request("worker", "work")
	r.Budget = formats.Budget{Tokens: 150, Cost: 1}
	ret, err := w.Delegate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	d := cmp.Diff([]formats.Budget{{Tokens: 150, Cost: 1}, {Tokens: 40, Cost: 0.75}}, budgets)
	if d != "" {
		t.Errorf("budgets of the two calls (-want +got)\n%s", d)
	}
	got := ret.Metadata
	want := formats.Metadata{
		Session:  r.Session,
		Run:      r.Run,
		Agent:    "worker",
		Depth:    2,
		Path:     []string{"router", "/plan", "worker"},
		Duration: got.Duration,
		Runner:   "claude",
		Model:    "m-1",
		Tokens: formats.Tokens{
			Input:  200,
			Cached: 80,
			Output: 20,
		},
		Cost:    0.5,
		Prompt:  "abc",
		Sandbox: "namespace",
		Attempts: []formats.RunnerAttempt{
			{Runner: "codex", Code: formats.CodeToolUnavailable},
			{Runner: "claude"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("metadata (-want +got)\n%s", d)
	}
	if len(ret.Warnings) > 0 { // only what a text claims is told: this agent is a Go value
		t.Errorf("warnings = %q, want none", ret.Warnings)
	}
	at := w.events[len(w.events)-1].Attrs
	if at["tokens"] != int64(220) || at["cost_usd"] != 0.5 || at["runner"] != "claude" ||
		at["attempts"] == nil {
		t.Errorf("event = %v, want tokens 220, cost 0.5, runner claude and the attempts", at)
	}
}

func TestUsedUpBudgetStaysABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var last formats.Budget
	agent := metered(func(r formats.Request) (formats.Return, subagents.Measured, error) {
		last = r.Budget
		used := subagents.Measured{
			Tokens: formats.Tokens{Input: 500},
			Cost:   9,
		}
		return formats.Return{}, used, &subagents.ReturnError{
			Agent:    r.Agent,
			Problems: []string{"expected a return, got nothing"},
		}
	})
	if err := w.Set.Add(
		subagents.Definition{
			Info: formats.AgentInfo{Name: "worker", NoArtifacts: true},
			File: "worker.md",
		},
		agent,
	); err != nil {
		t.Fatal(err)
	}
	r := request("worker", "work")
	r.Budget = formats.Budget{Tokens: 150, Cost: 1}
	ret, err := w.Delegate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if last.Tokens != 1 || last.Cost <= 0 || last.Cost > 0.001 {
		t.Errorf("budget of the repair round = %+v, want the smallest that is still a bound", last)
	}
	if ret.Class != formats.ClassInvalidReturn || ret.Metadata.Cost != 18 {
		t.Errorf("Delegate = %s with cost %v, want invalid_return and 18",
			ret.Class, ret.Metadata.Cost)
	}
}

// TestSecondsOfTheBudget: a worker is stopped at the end of the time that was reserved for it,
// however long it may work, and a repair round has what is left.
func TestSecondsOfTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	agent := subagents.Func(func(ctx context.Context, _ formats.Request) (formats.Return, error) {
		<-ctx.Done()
		return formats.Return{}, ctx.Err()
	})
	if err := w.Set.Add(
		subagents.Definition{
			Info: formats.AgentInfo{Name: "worker", NoArtifacts: true},
			File: "worker.md",
		},
		agent,
	); err != nil {
		t.Fatal(err)
	}
	r := request("worker", "work")
	r.Timeout.Total = time.Hour
	r.Budget = formats.Budget{Seconds: 0.05}
	ret, err := w.Delegate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if ret.Class != formats.ClassTimeout ||
		!strings.Contains(ret.Errors[0].Message, "the time of the run was over") {
		t.Errorf("Delegate = %s %+v, want a timeout of the run", ret.Class, ret.Errors)
	}
	if ret.Metadata.Duration < 0 {
		t.Errorf("duration %v, want what was measured", ret.Metadata.Duration)
	}
}
