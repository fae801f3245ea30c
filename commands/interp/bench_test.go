package interp_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/trace"
)

func valuesOf(tb testing.TB, p *compile.Program, line string) argspec.Values {
	tb.Helper()
	v, err := argspec.Bind("x", p.Args, line, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// bigState is a state with many tasks that is read, not made, at each snapshot.
func (w *world) bigState(tasks int) {
	list := make([]any, tasks)
	for i := range list {
		list[i] = map[string]any{
			"number":    i + 1,
			"title":     fmt.Sprintf("Task %d", i+1),
			"status":    "not_started",
			"artifacts": []any{map[string]any{"type": "plan", "path": "p.md"}},
		}
	}

	doc := map[string]any{"tasks": list}
	w.cfg.State = reader{func() any {
		w.snapshots++
		return doc
	}}
}

// TestStateIsReadOnDemand: expressions that do not read $state do not load it, and one step loads
// it once.
func TestStateIsReadOnDemand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	w.run(
		t.Context(),
		file(
			"arguments: [{name: k, type: integer}]\n",
			"load: {v: $args.k}",
			"A: set: {x: $args.k, y: $run.id}",
			"B: when: $steps.a.x == null\nreturn: \"${{ $y }}\"",
		),
		"",
	)
	if w.snapshots != 0 {
		t.Errorf("%d snapshots, want none", w.snapshots)
	}

	w.run(
		t.Context(),
		file(
			"", "",
			"A: set: {x: $state.tasks | length, y: $state.tasks | length}",
			"B: set: {z: $state.tasks | length}",
			"C: set: {z: 1}",
		),
		"",
	)
	if w.snapshots != 2 {
		t.Errorf("%d snapshots, want one for each step that reads the state", w.snapshots)
	}
}

// TestBigStateIsNotCopied: a step that reads one member of a big state costs no memory in the order
// of its size.
func TestBigStateIsNotCopied(t *testing.T) { //nolint:paralleltest // it counts what the whole process allocates
	w := newWorld(t)
	w.bigState(20_000)

	p := w.program(file(
		"", "",
		"A: foreach: '[range(100)]'",
		">B: set: {x: '$state.tasks[3].title'}",
	))
	w.runProgram(t.Context(), p, "")

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if ret := w.runProgram(t.Context(), p, ""); ret.Status != formats.StatusCompleted {
		t.Fatalf("Run = %s", describeReturn(ret))
	}

	runtime.ReadMemStats(&after)

	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf(
			"100 steps allocated %d bytes over a state of 20,000 tasks, want far less than a "+
				"copy each",
			used,
		)
	}
}

func BenchmarkSteps(b *testing.B) {
	for name, block := range map[string]string{
		"set":       ">B: set: {x: $index + 1}",
		"state":     ">B: set: {x: '$state.tasks[3].title'}",
		"delegate":  ">B: delegate: worker\nwith: {i: $index}",
		"artifacts": ">B: when: ($run.artifacts | length) >= 0\ndelegate: maker",
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			w.bigState(10_000)
			w.cfg.Agents = delegator{answers}

			w.cfg.Journal = appender{append: func(formats.Entry) error {
				return nil
			}}
			w.cfg.Limits = formats.Limits{}

			p := w.program(file("", "", "A: foreach: '[range(100)]'", block))
			v := valuesOf(b, p, "")

			b.ReportAllocs()
			for b.Loop() {
				w.events = w.events[:0]

				runner, err := interp.New(w.cfg)
				if err != nil {
					b.Fatal(err)
				}
				ret, err := runner.Run(b.Context(), p, v, formats.CommandDepth())
				if err != nil || ret.Status != formats.StatusCompleted {
					b.Fatal(ret, err)
				}
			}
		})
	}
}

func answers(_ context.Context, r formats.Request) (formats.Return, error) {
	if r.Agent == "maker" {
		return made(formats.ArtifactPlan, r.Step+".md"), nil
	}
	return ok("done"), nil
}

// TestALoopIsHeldOnce: what a loop shows of its elements is one value in all lists that have them,
// so that a run of some thousand steps stays small.
func TestALoopIsHeldOnce(t *testing.T) { //nolint:paralleltest // it looks at what the whole process holds
	w := newWorld(t)

	w.cfg.Journal = appender{append: func(formats.Entry) error { return nil }}
	w.cfg.Trace = trace.Discard{} // a test keeps its events, a run does not

	var held []uint64
	w.cfg.Approve = approver{approve: func(formats.Gate) (formats.Decision, error) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		held = append(held, m.HeapAlloc)
		return formats.Decision{Answer: "approve"}, nil
	}}

	const n = 1000

	p := w.program(file(
		"limits: {steps: 2000}\n",
		"",
		"A: gate: Begin?",
		fmt.Sprintf("B: foreach: '[range(%d)]'", n),
		">C: check: 1 == 1",
		"D: gate: Go on?",
	))

	ret := w.runProgram(t.Context(), p, "")
	if ret.Status != formats.StatusCompleted || len(held) != 2 {
		t.Fatalf("Run = %s with %d gates", describeReturn(ret), len(held))
	}

	if each := (int64(held[1]) - int64(held[0])) / n; each > 2500 {
		t.Errorf("%d bytes are held for each element, want at most 2,500", each)
	}
}
