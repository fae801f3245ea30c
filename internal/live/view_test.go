package live_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/live"
	"tercet/internal/style"
	"tercet/internal/trace"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var fancy = live.Style{Sheet: style.Sheet{UTF8: true}}

// tape makes events of one run, each some seconds after noon.
type tape []trace.Event

func (t *tape) at(
	seconds float64,
	k trace.Kind,
	step, name, outcome string,
	attrs map[string]any,
) *trace.Event {
	*t = append(*t, trace.Event{
		Time:    noon.Add(time.Duration(seconds * float64(time.Second))),
		Run:     "r1",
		Kind:    k,
		Step:    step,
		Name:    name,
		Outcome: outcome,
		ToDepth: 1,
		Attrs:   attrs,
	})
	return &(*t)[len(*t)-1]
}

type attrs = map[string]any

// implementing is a run of two phases, one of which is refused once, up to some second.
func implementing() tape {
	var t tape
	t.at(0, trace.Run, "", "/implement", "", attrs{"limits": formats.Budget{
		Tokens: 50000,
		Cost:   2,
	}}).Message = "/implement 196"
	t.at(0, trace.Step, "open", "Delegate to git-workflow-manager to open a worktree", "", nil)
	t.at(
		.5, trace.Step, "open", "Delegate to git-workflow-manager to open a worktree", "completed",
		nil,
	)
	t.at(.5, trace.Step, "phases", "For each phase that is not completed", "", nil)
	t.at(.5, trace.Pass, "phases[0]", "phase", "", attrs{
		"number": 1,
		"of":     2,
		"steps":  2,
	}).Message = "Accept ranges"
	t.at(.5, trace.Step, "phases[0]/code", "Delegate to implementer subagent", "", nil)
	t.at(1, trace.Agent, "phases[0]/code", "implementer", "", attrs{"runner": "claude"})
	t.at(9, trace.Agent, "phases[0]/code", "implementer", "", attrs{
		"runner": "claude",
		"tokens": 9000,
		"did":    "edit",
		"tool":   "Edit",
		"on":     "pages/pages.go",
	})
	t.at(20, trace.Delegate, "phases[0]/code", "implementer", "completed", attrs{
		"runner":   "claude",
		"tokens":   12300,
		"cost_usd": .42,
	})
	t.at(21, trace.Step, "phases[0]/code", "Delegate to implementer subagent", "completed", nil)
	t.at(21, trace.Step, "phases[0]/review", "Delegate to reviewers in parallel", "", nil)
	for _, who := range []string{"correctness", "security"} {
		t.at(21, trace.Step, "phases[0]/review/"+who, who, "", nil)
		t.at(22, trace.Agent, "phases[0]/review/"+
			who, "reviewer", "",
			attrs{"runner": "codex", "did": "run", "tool": "shell", "on": "go test ./..."})
	}

	issues := []formats.Issue{{
		Level:       "error",
		Description: "the last page is lost",
		Files:       []string{"pages/pages.go"},
		Line:        31,
	}}
	t.at(33, trace.Step, "phases[0]/review/correctness", "correctness", "rejected", attrs{
		"issues": issues,
	})
	t.at(34, trace.Step, "phases[0]/review/security", "security", "approved", nil)
	t.at(34, trace.Step, "phases[0]/review", "Delegate to reviewers in parallel", "rejected", attrs{
		"issues": issues,
	})
	t.at(34, trace.Round, "phases[0]/review", "", "", attrs{"number": 2, "of": 3}).Message = "code"
	t.at(34, trace.Step, "phases[0]/code", "Delegate to implementer subagent", "", nil)
	t.at(35, trace.Agent, "phases[0]/code", "implementer", "", attrs{
		"runner": "claude",
		"tokens": 800,
		"did":    "edit",
		"tool":   "Edit",
		"on":     "pages/pages.go",
	})
	return t
}

// ended goes on to the end of the run.
func (t tape) ended() tape {
	t.at(60, trace.Delegate, "phases[0]/code", "implementer", "completed", attrs{
		"runner":   "claude",
		"tokens":   2000,
		"cost_usd": .1,
	})
	t.at(61, trace.Step, "phases[0]/code", "Delegate to implementer subagent", "completed", nil)
	t.at(62, trace.Delegate, "phases[0]/commit", "git-workflow-manager", "completed", attrs{
		"runner":  "builtin",
		"changed": []live.Changed{{"pages/pages.go", 3, 1}},
	})
	t.at(63, trace.Step, "phases", "For each phase that is not completed", "completed", nil)
	t.at(64, trace.Run, "", "/implement", "completed", attrs{
		"artifacts": []formats.Artifact{{
			Type: "plan",
			Path: ".tercet/specs/196_x/plans/implementation-001.md",
		}},
	}).Duration = 64 * time.Second
	return t
}

// TestPhases: what a flow shows when a phase begins and ends, in both languages; one that fails is
// not complete.
func TestPhases(t *testing.T) {
	t.Parallel()
	var events tape
	events.at(0, trace.Run, "", "/ship", "", nil)
	events.at(0, trace.Step, "spec", "Delegate to spec-designer", "", attrs{
		"phase":  1,
		"phases": 3,
		"agent":  "spec-designer",
	})
	events.at(2, trace.Step, "spec", "Delegate to spec-designer", "approved", attrs{
		"artifacts": []formats.Artifact{
			{Type: "documentation", Path: "docs/SPEC.md"},
			{Type: "documentation", Path: "docs/UI_SPEC\x1b.md"},
		},
	}).Message = "three requirements"
	events.at(3, trace.Step, "code", "Delegate to developer", "", attrs{
		"phase":  2,
		"phases": 2,
		"agent":  "developer",
	})
	events.at(5, trace.Step, "code", "Delegate to developer", "failed", nil).Message = "no compiler"
	events.at(6, trace.Step, "save", "Delegate to git-workflow-manager", "", nil)
	events.at(
		8, trace.Step, "save", "Delegate to git-workflow-manager", "completed", nil,
	).Message = "committed"
	for language, want := range map[string][]string{
		"en": {
			"  ▶ Phase 1/3: launching spec-designer", "  ✓ Delegate to spec-designer  2.0s",
			"    Phase 1 complete: spec-designer", "    Generated artifacts: docs/SPEC.md,",
			"    docs/UI_SPEC<U+001B>.md", "    Summary: three requirements",
			"  ▶ Phase 2/2: launching developer", "  ✗ Delegate to developer: failed  2.0s",
			"  ✓ Delegate to git-workflow-manager  2.0s",
		},
		"ja": {
			"  ▶ Phase 1/3: spec-designer を起動します", "  ✓ Delegate to spec-designer  2.0s",
			"    Phase 1 完了: spec-designer", "    生成された成果物: docs/SPEC.md,",
			"    docs/UI_SPEC<U+001B>.md", "    内容サマリー: three requirements",
			"  ▶ Phase 2/2: developer を起動します", "  ✗ Delegate to developer: failed  2.0s",
			"  ✓ Delegate to git-workflow-manager  2.0s",
		},
	} {
		var v live.View
		var got []string
		for _, e := range events {
			v.Apply(e)
			got = append(got, v.Finished(44, live.Style{Sheet: fancy.Sheet, Language: language})...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in %s\n%s, want\n%s",
				language, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func shown(events tape, width int, now time.Time, s live.Style) string {
	var v live.View
	for _, e := range events {
		v.Apply(e)
	}
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"news", v.Finished(width, s)},
		{"present", v.Running(width, 10, now, s)},
		{"lines", v.Lines(width, now, s)},
		{"alive", []string{v.Heartbeat(now, s)}},
	} {
		fmt.Fprintf(&b, "-- %s --\n%s\n", part.title, strings.Join(part.lines, "\n"))
	}
	return b.String()
}

func TestDrawing(t *testing.T) {
	t.Parallel()
	now := noon.Add(42 * time.Second)
	for name, c := range map[string]struct {
		events tape
		width  int
		style  live.Style
	}{
		"present-40":  {implementing(), 40, fancy},
		"present-80":  {implementing(), 80, fancy},
		"present-200": {implementing(), 200, fancy},
		"ascii-80":    {implementing(), 80, live.Style{}},
		"ended-80": {implementing().ended(), 80, live.Style{
			Sheet: style.Sheet{UTF8: true, Colour: true},
			Link: func(p string) string {
				return "file://box/" + p
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shown(c.events, c.width, now, c.style)
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("drawn\n%s\nwant (%v)\n%s", got, err, want)
			}
		})
	}
}

// TestFileDrawsTheSame: events that were written to trace.jsonl and read again draw what those of
// the process do.
func TestFileDrawsTheSame(t *testing.T) {
	t.Parallel()
	var again tape
	for _, e := range implementing().ended() {
		read, err := trace.Decode(trace.Encode(e))
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, read)
	}
	want := shown(implementing().ended(), 80, noon, live.Style{})
	got := shown(again, 80, noon, live.Style{})
	if got != want {
		t.Errorf("from a file\n%s\nwant\n%s", got, want)
	}
}

// TestHostileEvents: whatever events say and in whatever order they come, no line is too wide or
// holds what a terminal obeys, and what is kept has a bound.
func TestHostileEvents(t *testing.T) {
	t.Parallel()
	nasty := "\x1b[2J日本語\r\n\x07\u202e" + strings.Repeat("wide 語", 20)
	events := tape{}
	events.at(0, trace.Step, "each", nasty, "", nil)
	for i := range 1000 {
		place := fmt.Sprintf("each[%d]", i)
		events.at(0, trace.Pass, place, "file", "", attrs{
			"number":  i + 1,
			"of":      1000,
			"steps":   1,
			"abreast": true,
		}).Message = nasty
		events.at(1, trace.Step, place+"/one", nasty, "", nil)
		events.at(2, trace.Agent, place+
			"/one", nasty, "",
			attrs{"tokens": -5, "runner": 7, "tool": nasty, "on": nasty, "said": nasty})
		events.at(3, trace.Gate, place+"/one", nasty, "", nil).Message = "asked"
	}

	events.at(4, trace.Step, "each[3]/one", nasty, nasty, attrs{
		"issues": []formats.Issue{{Description: nasty}},
	})
	events.at(4, trace.Step, strings.Repeat("deep/", 5000), nasty, "", nil)
	events.at(1, trace.Step, "", nasty, "failed", attrs{"issues": "none"})
	for _, width := range []int{0, 40, 80, 200} {
		for line := range strings.SplitSeq(shown(events, width, noon, fancy), "\n") {
			if !strings.HasPrefix(line, "  ▶ still running") && !strings.HasPrefix(line, "-- ") &&
				style.Width(line) > max(width, 20) {
				t.Fatalf("at %d columns a line takes %d: %s", width, style.Width(line), line)
			}
			if strings.ContainsAny(line, "\x1b\r\x07\u202e") {
				t.Fatalf("a line holds what a terminal obeys: %q", line)
			}
		}
	}

	var v live.View
	for _, e := range events {
		v.Apply(e)
	}
	got := v.Running(80, 10, noon, live.Style{})
	if len(got) > 10 || !strings.Contains(strings.Join(got, "\n"), "more") {
		t.Errorf("of a thousand %d lines are shown, want at most 10 and how many more:\n%s",
			len(got), strings.Join(got, "\n"))
	}
}

// TestKeptIsBounded: of steps that are over, only the last stay.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	var v live.View
	for i := range 3000 {
		for _, outcome := range []string{"", "completed"} {
			v.Apply(trace.Event{
				Run:     "r",
				Kind:    trace.Step,
				Step:    fmt.Sprint("s", i),
				Name:    "S",
				Outcome: outcome,
				Time:    noon,
			})
		}
		v.Finished(80, live.Style{})
	}
	got := v.Lines(80, noon, live.Style{})
	if len(got) != 202 || !strings.Contains(got[1], "2800 earlier steps") {
		t.Errorf("%d lines, the second is %q, want 202 and 2800 earlier steps", len(got), got[1])
	}
}

// TestSeveralRuns: each line of one of several runs says whose it is; what another process left is
// not shown as running.
func TestSeveralRuns(t *testing.T) {
	t.Parallel()
	v := live.View{Parts: map[string]string{"a": "task 1: ", "b": "task 2: "}}
	for _, run := range []string{"a", "b"} {
		v.Apply(trace.Event{
			Run:     run,
			Kind:    trace.Run,
			Name:    "/plan",
			ToDepth: 1,
			Time:    noon,
		})
		v.Apply(trace.Event{
			Run:  run,
			Kind: trace.Step,
			Step: "plan",
			Name: "Plan",
			Time: noon,
		})
	}

	v.Apply(trace.Event{
		Run:     "a",
		Kind:    trace.Run,
		Name:    "/plan",
		ToDepth: 1,
		Time:    noon,
	}) // it goes on in another process
	v.Apply(trace.Event{
		Run:     "b",
		Kind:    trace.Run,
		Name:    "/sub",
		ToDepth: 2,
		Outcome: "completed",
		Time:    noon,
	})
	got := strings.Join(v.Running(80, 10, noon, live.Style{}), "\n")
	if got != "  | task 2: Plan  0.0s" {
		t.Errorf("present is %q", got)
	}
	v.Apply(trace.Event{
		Run:     "b",
		Kind:    trace.Step,
		Step:    "plan",
		Name:    "Plan",
		Outcome: "completed",
		Time:    noon,
	})
	if got := strings.Join(v.Finished(80, live.Style{}), "\n"); got != "  ok task 2: Plan" {
		t.Errorf("news are %q", got)
	}
}

// TestTimeLeft: a loop says how long it will take once two of its passes are over.
func TestTimeLeft(t *testing.T) {
	t.Parallel()
	var v live.View
	now := noon
	v.Apply(trace.Event{
		Run:  "r",
		Kind: trace.Step,
		Step: "each",
		Name: "Each",
		Time: now,
	})
	for i, seconds := range []int{60, 120, 30} {
		v.Apply(trace.Event{
			Run:  "r",
			Kind: trace.Pass,
			Step: fmt.Sprintf("each[%d]", i),
			Name: "phase",
			Time: now,
			Attrs: attrs{
				"number": i + 1,
				"of":     4,
				"steps":  3,
			},
		})
		now = now.Add(time.Duration(seconds) * time.Second)
	}

	got := v.Finished(80, live.Style{})
	if got[len(got)-1] != "    > phase 3/4  about 2m00s to 4m00s left" ||
		strings.Contains(got[len(got)-2], "left") {
		t.Errorf("heads are %q", got)
	}
}

// TestTimeWaitingForTheUserDoesNotCount: the wait for the user is no time of the step, nor of what
// is around it, unless others went on meanwhile.
func TestTimeWaitingForTheUserDoesNotCount(t *testing.T) {
	t.Parallel()
	for beside, want := range map[bool]string{
		false: "Each  4.0s\n    ok Ask  2.0s\n",
		true:  "Each  14s\n    ok Ask  2.0s\n",
	} {
		var all tape
		all.at(0, trace.Step, "each", "Each", "", nil)
		all.at(0, trace.Pass, "each[0]", "word", "", attrs{"number": 1, "of": 1, "steps": 1})
		all.at(0, trace.Step, "each[0]/ask", "Ask", "", nil)
		if beside {
			all.at(0, trace.Step, "each[0]/work", "Work", "", nil)
		}
		all.at(1, trace.Gate, "each#1[0]/ask#1", "Go on?", "", nil).Message = "asked"
		all.at(
			11, trace.Gate, "each#1[0]/ask#1", "Go on?", "approve", nil,
		).Message = "answered by ann"
		all.at(12, trace.Step, "each[0]/ask", "Ask", "completed", nil)
		all.at(14, trace.Step, "each", "Each", "completed", nil)
		got := shown(all, 80, noon, live.Style{})
		if !strings.Contains(strings.ReplaceAll(got, "word 1/1: ", ""), want) {
			t.Errorf("beside %t: drawn\n%s\nwant %q", beside, got, want)
		}
	}
}

// TestGoesOn: what another process began keeps its elements when a resumed run tells them again,
// and its time begins anew.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	var all tape
	element := func() {
		all.at(0, trace.Pass, "each[0]", "word", "", attrs{
			"number": 1,
			"of":     2,
			"steps":  2,
		}).Message = "one"
	}
	all.at(0, trace.Run, "", "/x", "", nil)
	all.at(0, trace.Step, "each", "Each", "", nil)
	element()
	all.at(0, trace.Step, "each[0]/work", "Work", "", nil)
	all.at(1, trace.Step, "each[0]/work", "Work", "completed", nil)
	all.at(1, trace.Step, "each[0]/look", "Look", "", nil)
	all.at(100, trace.Run, "", "/x", "", nil)
	element()
	all[len(all)-1].Time = noon.Add(100 * time.Second)
	all.at(102, trace.Step, "each[0]/look", "Look", "completed", nil)
	want := "> Each\n    > word 1/2 one\n      ok Work  1.0s\n      ok Look  2.0s\n"
	var v live.View
	for _, e := range all {
		v.Apply(e)
	}

	if got := strings.Join(v.Finished(80, live.Style{}), "\n") + "\n"; got != "  "+want {
		t.Errorf("news are\n%s\nwant\n  %s", got, want)
	}
	got := strings.Join(v.Lines(80, noon.Add(103*time.Second), live.Style{}), "\n")
	if !strings.Contains(got, "- word 1/2 one  3.0s\n      ok Work  1.0s\n      ok Look  2.0s") {
		t.Errorf("drawn\n%s", got)
	}
}

// TestGates: what a person has to know of a question is told, and one that waits is shown.
func TestGates(t *testing.T) {
	t.Parallel()
	var v live.View
	gate := func(message, outcome string) {
		v.Apply(trace.Event{
			Run:      "r",
			Kind:     trace.Gate,
			Step:     "g#1",
			Name:     "Go on?",
			Message:  message,
			Outcome:  outcome,
			Duration: time.Second,
		})
	}
	gate("asked", "")
	got := v.Running(80, 9, noon, live.Style{})
	if len(got) != 1 || got[0] != "  > waits for an answer: Go on?" {
		t.Errorf("present is %q", got)
	}
	gate(trace.CannotAsk, "yes")
	gate(trace.AskedAnew+"plan.md", "")
	gate(trace.InTime, "yes")
	gate("asked", "")
	gate("answered by ann", "yes")
	want := "  gate: Go on? tercet cannot ask here; takes 'yes' in 1s\n" +
		"  gate: Go on? is asked again, changed: plan.md\n" +
		"  gate: Go on? yes (no answer in time)"
	if got := strings.Join(v.Finished(80, live.Style{}), "\n"); got != want {
		t.Errorf("news are\n%s\nwant\n%s", got, want)
	}
	got = v.Running(80, 9, noon, live.Style{})
	if len(got) != 0 || v.Heartbeat(noon, live.Style{}) != "" {
		t.Errorf("present is %q, want nothing", got)
	}
}

func FuzzView(f *testing.F) {
	var all []byte
	for _, e := range implementing().ended() {
		all = append(append(all, trace.Encode(e)...), '\n')
	}

	f.Add(all, 80)
	f.Add(
		[]byte(
			`{"kind":"pass","step_path":"a[0]","attrs":{"number":-1,"of":9223372036854775807,"steps":2}}`,
		),
		3,
	)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		var v live.View
		width = max(0, min(width, 300))
		look := fancy
		var lines []string
		for line := range bytes.Lines(data) {
			if e, err := trace.Decode(line); err == nil {
				v.Apply(e)
				lines = append(lines, v.Finished(width, look)...)
			}
		}
		for _, one := range slices.Concat(
			lines,
			v.Running(width, 9, noon, look),
			v.Lines(width, noon, look),
		) {
			if style.Width(one) > max(width, 20) || strings.ContainsAny(one, "\x1b\n\r") {
				t.Fatalf("at %d columns: %q", width, one)
			}
		}
	})
}

// TestSaid: below a step stands the last sentence of its agent while it works.
func TestSaid(t *testing.T) {
	t.Parallel()
	var events tape
	events.at(0, trace.Step, "plan", "Write the plan", "", nil)
	events.at(1, trace.Agent, "plan", "planner", "", attrs{"runner": "claude", "said": "I read."})
	events.at(2, trace.Agent, "plan", "planner", "", attrs{
		"runner": "claude", "said": "I run the tests.", "did": "run", "tool": "Bash",
		"on": "make test",
	})
	var view live.View
	for _, e := range events {
		view.Apply(e)
	}
	got := strings.Join(view.Running(80, 10, noon.Add(3*time.Second), live.Style{}), "\n")
	if !strings.Contains(got, "runs make test") || strings.Contains(got, "I read.") ||
		!strings.Contains(got, "\n    | \"I run the tests.\"") {
		t.Errorf("the step is shown as\n%s", got)
	}
	events.at(4, trace.Step, "plan", "Write the plan", "completed", nil)
	view.Apply(events[len(events)-1])
	if got := view.Running(80, 10, noon.Add(5*time.Second), live.Style{}); len(got) > 0 {
		t.Errorf("a step that has ended shows %q", got)
	}
}
