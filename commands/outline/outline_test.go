package outline_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/subagents"
)

const source = "---\ncommand: work\ndescription: ways back & <odd> characters\narguments:\n" +
	"  - {name: task_number, type: task, required: true}\nduring: planning\n---\n" + `
## Argument Parsing

` + "```yaml args\nload:\n  small: $state.tasks | length < 3\n```" + `

## Workflow Execution

### Step 1: Plan it <now> & "here"

` +
	"```yaml step\nid: plan\ndelegate: planner\nwith: {task: $task}\ntimeout: 10m\n" +
	"retry: {max: 1}\n```" + `

### Step 2: For each of three

` + "```yaml step\nid: loop\nforeach: '[1, 2, 3]'\nas: n\n```" + `

#### Step 2.1: Research

` + "```yaml step\nid: research\ndelegate: researcher\nwith: {task: $task}\ntimeout: 5m\n```" + `

#### Step 2.2: Check

` +
	"```yaml step\nid: small\nwhen: $small\ncheck: $n < 3\n" +
	"on: {rejected: [{redo: [research], max: 2, if: $n > 1}, gate]}\n```" + `

### Step 3: Ask

` +
	"```yaml step\nid: ask\ngate: \"Is the plan of ${{ $task.number }} good?\"\n" +
	"choices: {approve: next, again: {redo: [plan]}, reject: fail}\n```" + `

### Step 4: Done

` + "```yaml step\nstatus: planned\n```\n"

func checkCommand(tb testing.TB) *compile.Program {
	tb.Helper()
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		tb.Fatal(err)
	}
	f, err := syntax.Parse("work.md", []byte(source))
	if err != nil {
		tb.Fatal(err)
	}
	p, err := compile.Compile(f, set)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestOf(t *testing.T) {
	t.Parallel()
	o := outline.Of(checkCommand(t))
	var got []string
	o.Walk(func(n *outline.Node) {
		line := n.Info.ID + ": " + n.Kind + " " + n.Does
		for _, w := range n.Ways {
			line += " | " + w.String()
		}
		got = append(got, line)
	})
	want := []string{
		"plan: delegate planner",
		"loop: foreach $n of [1, 2, 3]",
		"research: delegate researcher",
		"small: check $n < 3 | rejected if $n > 1 → redo research (max 2) | rejected → gate",
		"ask: gate Is the plan of ${{ $task.number }} good? | again → redo plan | reject → fail",
		"done: status planned",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Of (-want +got):\n%s", diff)
	}
	diff := cmp.Diff([]string{"planner", "researcher", "status-sync-manager"}, o.Agents())
	if diff != "" {
		t.Errorf("Agents (-want +got):\n%s", diff)
	}
	diff = cmp.Diff(
		[]string{
			"plan: when blocked",
			"small: when rejected",
			"ask: Is the plan of ${{ $task.number }} good?",
		},
		o.Gates(func(agent string) outline.Facts { return outline.Facts{} }),
	)
	if diff != "" {
		t.Errorf("Gates (-want +got):\n%s", diff)
	}
	asks := func(agent string) outline.Facts {
		return map[string]outline.Facts{"planner": {Asks: "whether it may"}}[agent]
	}
	if got := o.Gates(asks); !slices.Contains(got, "plan: whether it may") {
		t.Errorf("Gates = %q, want what the planner asks", got)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	got := outline.EffectsOf(checkCommand(t))
	want := outline.Effects{
		Reads:  []string{"$state.tasks", "$task", "$task.number"},
		Writes: []string{"artifacts of the task", "status planned", "status planning"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("EffectsOf (-want +got):\n%s", diff)
	}
}

// TestPage: the page names what a person looks for, with the values of a line where there is one.
func TestPage(t *testing.T) {
	t.Parallel()
	p := outline.PageOf(checkCommand(t), func(string) outline.Facts {
		return outline.Facts{}
	})
	p.Prompt = []string{"what another tool would run"}
	bare := p.Text()
	for _, want := range []string{
		"ways back & <odd> characters\nfile: work.md\n", "  task_number        task, required\n",
		"\nwhat another tool would run\n", "\nthe task is planning while it runs\n",
		"loads: $small\n", "  plan                    delegate planner\n", "        when $small\n",
		"\ngates: plan: when blocked\n",
		"\nwrites: artifacts of the task, status planned, status planning\n", "\nlimits: ",
	} {
		if !strings.Contains(bare, want) {
			t.Errorf("Text() has no %q:\n%s", want, bare)
		}
	}

	if p.Text() != bare {
		t.Error("Text() differs when it is asked again")
	}
	values, err := argspec.Bind("work", p.Args, "7", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Line = "/work 7"
	p.Values = values
	if !strings.Contains(p.Text(), "  task_number        7\n") {
		t.Errorf("Text() of a line has not its value:\n%s", p.Text())
	}
	if got := p.Tiered(); !strings.HasPrefix(got, "without tiers:\n  plan ") {
		t.Errorf("Tiered() = %s", got)
	}
	rec := p.Record()
	if rec["line"] != "/work 7" || rec["command"] != "work" || rec["gates"] == nil ||
		rec["program"] == nil {
		t.Errorf("Record() = %v", rec)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	inner := checkCommand(t)
	facts := map[string]outline.Facts{
		"researcher":          {Program: inner, Cost: 0.5},
		"planner":             {Cost: 0.25},
		"status-sync-manager": {Free: true},
	}
	got := outline.BoundOf(
		checkCommand(t),
		func(agent string) outline.Facts { return facts[agent] },
		argspec.Values{},
	)
	worst := got.Worst
	got.Worst = outline.Worst{}
	want := outline.Bound{
		// Two attempts, three times again by the gate; the status at the end, the preflight and
		// what takes it back.
		Cost: outline.Cost{
			Calls:   2*4 + 1 + 2,
			Workers: 2 * 4,
			Time:    80 * time.Minute,
			Dollars: 8 * 0.25,
		},
		Depth: formats.MaxDepth,
		// two of its own and the plan that is blocked, and the same of the researcher's steps
		Gates: 6,
		// Once, and twice again.
		Each: []outline.EachBound{{
			Loop: "loop",
			Item: "n",
			Cost: outline.Cost{
				Calls:   3,
				Workers: 3,
				Time:    15 * time.Minute,
				Dollars: 3 * 0.5,
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("BoundOf (-want +got):\n%s", diff)
	}
	// The plan eight times; three times a thousand elements, each with what the steps of the
	// researcher do, which calls researchers as often: its own limit bounds what all of that costs.
	if worst.Cost == nil || *worst.Cost != 8*0.25+3*1000*0.5 || worst.Agents < 8+3*1000*2 ||
		worst.Time != 2*time.Hour || worst.Depth != formats.MaxDepth {
		t.Errorf("Worst = %+v", worst)
	}
	facts["planner"] = outline.Facts{}
	open := outline.BoundOf(
		inner,
		func(agent string) outline.Facts { return facts[agent] },
		argspec.Values{},
	).Worst
	if open.Cost != nil || !slices.Equal(open.Unpriced, []string{"planner"}) {
		t.Errorf("Worst = %+v, want no bound because of planner", open)
	}
	limited := *inner
	limited.Limits.Cost = 3
	limited.Limits.Spawns = 7
	limited.Limits.Duration = time.Minute
	low := outline.BoundOf(
		&limited,
		func(agent string) outline.Facts { return facts[agent] },
		argspec.Values{},
	).Worst
	if low.Cost == nil || *low.Cost != 3 || low.Agents != 7 || low.Time != time.Minute ||
		low.Unpriced != nil {
		t.Errorf("Worst = %+v, want the limits of the file", low)
	}
	said := got.Each[0].String()
	if want := "for each $n of loop: 3 calls of workers, 15m"; said != want {
		t.Errorf("String() = %q, want %q", said, want)
	}
}

func TestCompiled(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(outline.Compiled(checkCommand(t)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name string
		Ops  []struct {
			ID string
			Do map[string]any
			On []struct {
				Outcome string
				Targets []struct {
					Kind string
					Redo []string
					If   map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "work" || len(got.Ops) != 4 || got.Ops[0].Do["kind"] != "delegate" ||
		got.Ops[0].Do["agent"] != "planner" {
		t.Errorf("Compiled = %.300s", text)
	}
	with, ok := got.Ops[0].Do["with"].(map[string]any)
	if !ok ||
		cmp.Diff(with["task"], map[string]any{"jq": "$task", "line": 23.0, "col": 14.0}) != "" {
		t.Errorf("with = %v, want the expression with its place", got.Ops[0].Do["with"])
	}
}

// TestDraw: every step is in every drawing, and the same program gives the same bytes.
func TestDraw(t *testing.T) {
	t.Parallel()
	p := checkCommand(t)
	for _, f := range []string{"dot", "mermaid"} {
		text, ok := outline.Of(p).Draw(f)
		again, _ := outline.Of(p).Draw(f)
		if !ok || again != text {
			t.Errorf("Draw(%s) gives other bytes the second time", f)
		}
		for _, word := range []string{
			"Plan it", "For each of three", "Research", "planner", "foreach", "planned",
		} {
			if !strings.Contains(text, word) {
				t.Errorf("Draw(%s) lacks %q", f, word)
			}
		}
	}
	if _, ok := outline.Of(p).Draw("png"); ok {
		t.Error("Draw(png) is known")
	}
}
