package syntax_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/commands/syntax"
)

// unplaced leaves out what an expression knows of the places inside of it.
var unplaced = cmpopts.IgnoreUnexported(syntax.Expr{})

func parse(t *testing.T, name string) *syntax.File {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := syntax.Parse(name, src)
	if err != nil {
		t.Fatalf("Parse(%s): %v", name, err)
	}
	for _, w := range file.Found {
		if !strings.HasPrefix(name, "testdata/flows/") ||
			w.Code != syntax.CodeUnsaid && w.Code != syntax.CodeExpands {
			t.Errorf("Parse(%s) warns: %v", name, w)
		}
	}
	return file
}

func pos(line, col int) syntax.Pos {
	return syntax.Pos{Line: line, Col: col}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	f := parse(t, "testdata/ok/plan.md")
	front := syntax.Front{
		Pos:         pos(1, 1),
		Command:     syntax.Word{Pos: pos(2, 10), Text: "plan"},
		Description: syntax.Word{Pos: pos(3, 14), Text: "Create implementation plan for a task"},
		Arguments: []syntax.Argument{
			{
				Pos:      pos(5, 5),
				Name:     syntax.Word{Pos: pos(5, 12), Text: "task_number"},
				Type:     syntax.Word{Pos: pos(5, 31), Text: "task"},
				Required: true,
			},
			{
				Pos:  pos(6, 5),
				Name: syntax.Word{Pos: pos(6, 12), Text: "research_report"},
				Type: syntax.Word{Pos: pos(6, 35), Text: "path"},
			},
		},
		During: &syntax.During{
			Pos:    pos(7, 9),
			Status: syntax.Word{Pos: pos(7, 9), Text: "planning"},
		},
	}
	if diff := cmp.Diff(front, f.Front, unplaced); diff != "" {
		t.Errorf("front (-want +got):\n%s", diff)
	}
	args := syntax.Args{
		Pos: pos(19, 1),
		Allow: []syntax.Word{
			{Pos: pos(19, 9), Text: "not_started"},
			{Pos: pos(19, 22), Text: "researched"},
		},
	}
	if diff := cmp.Diff(args, f.Args, unplaced); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	jq := func(line, col int, src string) *syntax.Value {
		return &syntax.Value{
			Pos:  pos(line, col),
			End:  pos(line, col+len(src)),
			Kind: syntax.Jq,
			Expr: &syntax.Expr{Pos: pos(line, col), Src: src},
		}
	}
	steps := []*syntax.Step{
		{
			Pos:    pos(28, 1),
			Block:  pos(33, 1),
			Number: "1",
			Title:  "Delegate to planner subagent",
			ID:     syntax.Word{Pos: pos(33, 5), Text: "plan"},
			Action: &syntax.Delegate{
				Pos:   pos(34, 11),
				Agent: syntax.Word{Pos: pos(34, 11), Text: "planner"},
			},
			With: []syntax.Field{
				{Key: syntax.Word{Pos: pos(35, 8), Text: "task"}, Value: jq(35, 14, "$task")},
				{
					Key:   syntax.Word{Pos: pos(35, 21), Text: "research_report"},
					Value: jq(35, 38, "$args.research_report"),
				},
			},
			Timeout: &syntax.Timeout{Pos: pos(36, 10), Total: 1800},
			Retry: &syntax.Retry{
				Pos:     pos(37, 8),
				Max:     2,
				Backoff: 2,
				Factor:  2,
				Cap:     60,
				On:      []syntax.Word{{Pos: pos(37, 22), Text: "transient"}},
			},
		},
		{
			Pos:    pos(40, 1),
			Block:  pos(43, 1),
			Number: "2",
			Title:  "Validate plan format",
			Action: &syntax.Check{
				Pos:      pos(43, 8),
				Document: &syntax.Word{Pos: pos(43, 19), Text: "plan"},
			},
			On: []syntax.Rule{{
				Status: syntax.Word{Pos: pos(44, 6), Text: "rejected"},
				Targets: []*syntax.Target{
					{
						Pos:   pos(44, 16),
						End:   pos(44, 38),
						Kind:  syntax.ToRedo,
						Max:   2,
						Steps: []syntax.Word{{Pos: pos(44, 24), Text: "plan"}},
					},
				},
			}},
		},
		{
			Pos:    pos(47, 1),
			Block:  pos(50, 1),
			Number: "3",
			Title:  "Delegate to status-sync-manager to update task status",
			Action: &syntax.Status{
				Pos: pos(50, 9),
				To: &syntax.Value{
					Pos: pos(50, 9),
					End: pos(50, 16),
					Lit: "planned",
				},
			},
		},
		{
			Pos:    pos(53, 1),
			Block:  pos(56, 1),
			Number: "4",
			Title:  "Return plan artifact to orchestrator",
			Return: &syntax.Return{
				Pos: pos(56, 9),
				Message: &syntax.Text{
					Pos: pos(56, 20),
					Parts: []syntax.Part{
						{Lit: "Plan created: "},
						{Expr: &syntax.Expr{
							Pos: pos(56, 38),
							Src: "$steps.plan.artifacts[0].path",
						}},
					},
				},
				NextSteps: &syntax.Text{
					Pos: pos(56, 86),
					Parts: []syntax.Part{
						{Lit: "/implement "},
						{Expr: &syntax.Expr{Pos: pos(56, 101), Src: "$task.number"}},
					},
				},
			},
		},
	}
	if diff := cmp.Diff(steps, f.Steps, unplaced); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if !f.Literate || f.Sentences != nil || f.Errors != nil {
		t.Errorf("Literate = %v, Sentences = %v, Errors = %v", f.Literate, f.Sentences, f.Errors)
	}
	if !strings.HasPrefix(f.Prose, "\nInput: `$ARGUMENTS`") ||
		!strings.HasSuffix(f.Prose, "</workflow_execution>\n") {
		t.Errorf("Prose = %q", f.Prose)
	}
}

func TestPlainForm(t *testing.T) {
	t.Parallel()
	f := parse(t, "testdata/plain/plan.md")
	w := func(line, col int, text string) syntax.Word {
		return syntax.Word{Pos: pos(line, col), Text: text}
	}
	sentences := []*syntax.Sentence{
		{Pos: pos(16, 3), Kind: syntax.SayExtract, Name: w(16, 11, "task_number")},
		{Pos: pos(17, 3), Kind: syntax.SayPositive, Name: w(17, 12, "task_number")},
		{
			Pos:   pos(18, 3),
			Kind:  syntax.SayExtract,
			Name:  w(18, 20, "research_report"),
			Index: 1,
			Opt:   true,
		},
		{Pos: pos(19, 3), Kind: syntax.SayLoadTask},
	}
	if diff := cmp.Diff(sentences, f.Sentences, unplaced); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
	step := func(line int, number, title string, say syntax.Sentence) *syntax.Step {
		say.Pos = pos(line, 11)
		return &syntax.Step{
			Pos:      pos(line, 3),
			Number:   number,
			Title:    title,
			Sentence: &say,
		}
	}
	steps := []*syntax.Step{
		step(25, "1", "Validate task exists and is ready for planning", syntax.Sentence{
			Kind: syntax.SayTaskReady,
			Verb: w(25, 49, "planning"),
		}),
		step(26, "2", "Delegate to planner subagent", syntax.Sentence{
			Kind: syntax.SayDelegate,
			Name: w(26, 23, "planner"),
		}),
		step(27, "3", "Validate plan format", syntax.Sentence{
			Kind: syntax.SayValidateFormat,
			Name: w(27, 20, "plan"),
		}),
		step(28, "4", "Delegate to status-sync-manager to update task status", syntax.Sentence{
			Kind: syntax.SayUpdateStatus,
			Name: w(28, 23, "status-sync-manager"),
		}),
		step(29, "5", "Return plan artifact to orchestrator", syntax.Sentence{
			Kind: syntax.SayReturn,
			Rest: "plan artifact",
		}),
	}
	if diff := cmp.Diff(steps, f.Steps, unplaced); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if f.Literate {
		t.Error("the plain form is taken for the literate one")
	}
}

// TestExamples parses the examples of the specification and the shipped commands, with either line
// end.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.md")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		plain := parse(t, name)
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(
			name,
			append([]byte("\ufeff"), bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n"))...),
		)
		if err != nil {
			t.Errorf("Parse(%s) with CRLF: %v", name, err)
			continue
		}
		f.Src = plain.Src
		if diff := cmp.Diff(plain, f, unplaced); diff != "" {
			t.Errorf("%s with CRLF and byte order mark (-without +with):\n%s", name, diff)
		}
	}
}

// command wraps lines of a block into a command file; the first line of the block is line 10.
func command(block string) []byte {
	return []byte(
		"---\ncommand: x\ndescription: x\n---\n\n## Workflow Execution\n### Step 1: Do\n\n" +
			"```yaml step\n" + block + "\n```\n",
	)
}

// exprs lists every expression below a value with its place.
func exprs(f *syntax.File) string {
	var out []string
	add := func(e *syntax.Expr) {
		if e != nil {
			out = append(out, fmt.Sprintf("%d:%d %s", e.Pos.Line, e.Pos.Col, e.Src))
		}
	}
	text := func(t *syntax.Text) {
		if t == nil {
			return
		}
		for _, p := range t.Parts {
			if p.Expr == nil {
				out = append(out, fmt.Sprintf("%q", p.Lit))
			}
			add(p.Expr)
		}
		if t.Whole {
			out = append(out, "whole")
		}
	}
	for _, s := range f.Steps {
		add(s.When)
		if s.Table != nil {
			add(s.Table.Rows)
		}
		if s.Return != nil {
			text(s.Return.Message)
		}
		if a, ok := s.Action.(*syntax.Check); ok {
			add(a.Expr)
			text(a.Else)
		}
	}

	return strings.Join(out, "; ")
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, block, want string }{
		{"plain", "check: $a > 1", "10:8 $a > 1"},
		{"bare without a variable", "check: true", "10:8 true"},
		{"single quotes", "check: '$a == \"it''s\"'", `10:9 $a == "it's"`},
		{"double quotes", `check: "$a == \"b\""`, `10:9 $a == "b"`},
		{"block scalar", "check: |\n  $a\n  | length", "11:3 $a\n| length\n"},
		{"folded", "when: >-\n    $a\n    and $b\nreturn: x", `11:5 $a and $b; "x"`},
		{
			"flow",
			"table: $a.b\ncolumns: [x, y]\nreturn: {message: $a.c}",
			"10:8 $a.b; 12:19 $a.c; whole",
		},
		{"text", "return: a ${{ $b }} c ${{$d}}", `"a "; 10:15 $b; " c "; 10:26 $d`},
		{"text in quotes", `return: "é ${{ $b | \"x\" }}"`, `"é "; 10:17 $b | "x"`},
		{
			"braces inside",
			`return: 'x ${{ {a: {b: 1}} | "}}" }}'`,
			`"x "; 10:16 {a: {b: 1}} | "}}"`,
		},
		{
			"interpolation inside",
			`return: 'x ${{ "\("}}" + "\(1)")" }}y'`,
			`"x "; 10:16 "\("}}" + "\(1)")"; "y"`,
		},
		{"whole", "return: ${{ $a }}", "10:13 $a; whole"},
		{"whole in quotes", `return: "${{ $a }}"`, "10:14 $a; whole"},
		{"whole in a block scalar", "return: |\n  ${{ $a }}\n", "11:7 $a; whole"},
		{"two are not whole", "return: ${{ $a }}${{ $b }}", "10:13 $a; 10:22 $b"},
		{"space makes it a text", "return: '${{ $a }} '", `10:14 $a; whole`},
		{"no expression", "return: costs 5", `"costs 5"`},
		{"number", "return: 5", `"5"`},
		{"else", "check: false\nelse: no ${{ $a }}", `10:8 false; "no "; 11:14 $a`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := syntax.Parse("x.md", command(tt.block))
			if err != nil {
				t.Fatalf("Parse of %q: %v", tt.block, err)
			}
			if got := exprs(f); got != tt.want {
				t.Errorf("expressions of %q = %s, want %s", tt.block, got, tt.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	f, err := syntax.Parse("x.md", command(
		"delegate: a\nwith: {n: 1, f: 1.5, t: true, z: null, s: on, j: $x, e: '${{ $y }}', "+
			"l: [a, {k: $z}]}\ntimeout: {total: 1h30m, idle: 90s}\nretry: 3",
	))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(v *syntax.Value) string
	walk = func(v *syntax.Value) string {
		switch v.Kind {
		case syntax.Jq:
			return "jq " + v.Expr.Src
		case syntax.Template:
			return fmt.Sprintf("text %d whole=%v", len(v.Text.Parts), v.Text.Whole)
		case syntax.Map:
			return "map " + v.Fields[0].Key.Text + " " + walk(v.Fields[0].Value)
		case syntax.List:
			out := "list"
			for _, item := range v.Items {
				out += " (" + walk(item) + ")"
			}
			return out
		case syntax.Literal:
		}
		return fmt.Sprintf("%T %v", v.Lit, v.Lit)
	}
	s := f.Steps[0]
	for _, field := range s.With {
		got = append(got, field.Key.Text+": "+walk(field.Value))
	}

	want := []string{
		"n: int 1", "f: float64 1.5", "t: bool true", "z: <nil> <nil>", "s: string on", "j: jq $x",
		"e: text 1 whole=true", "l: list (string a) (map k jq $z)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if s.Timeout.Total != 5400 || s.Timeout.Idle != 90 || s.Retry.Max != 3 {
		t.Errorf("timeout = %v, retry = %v", s.Timeout, s.Retry)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	f := parse(t, "testdata/ok/loop.md")
	var got []string
	var walk func(steps []*syntax.Step, indent string)
	walk = func(steps []*syntax.Step, indent string) {
		for _, s := range steps {
			got = append(got, fmt.Sprintf("%s%s %T %s", indent, s.Number, s.Action, s.Title))
			walk(s.Body, indent+" ")
		}
	}
	walk(f.Steps, "")
	walk(f.Errors, "! ")
	want := []string{
		"1 *syntax.Foreach For each phase", " 1.1 *syntax.Delegate Do it",
		" 1.2 *syntax.Foreach For each file", "  1.2.1 *syntax.Fail Never",
		" 1.3 *syntax.Set Count", "2 *syntax.Foreach For each task", "3 *syntax.Gate Ask",
		"4 <nil> Return the list", "!  *syntax.Status Put it back", "! 1 *syntax.Status Again",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	loop, ok := f.Steps[0].Action.(*syntax.Foreach)
	if !ok || loop.As.Text != "phase" || loop.In.Src != "$phases" || loop.Merge == nil ||
		loop.Merge.Src != "true" {
		t.Errorf("first loop = %+v", loop)
	}
	short, ok := f.Steps[1].Action.(*syntax.Foreach)
	if !ok || short.Delegate == nil || short.Delegate.Agent.Text != "reviewer" {
		t.Errorf("second loop = %+v", short)
	}
	gate, ok := f.Steps[2].Action.(*syntax.Gate)
	if !ok || len(gate.Show) != 2 || len(gate.Choices) != 3 || gate.Auto == nil ||
		gate.Auto.Text != "yes" ||
		gate.Choices[1].Target.Kind != syntax.ToReturn ||
		gate.Choices[2].Target.Kind != syntax.ToRedo {
		t.Errorf("gate = %+v", gate)
	}
	if f.Errors[0].Always == nil || f.Errors[0].Always.Text != "failed" {
		t.Errorf("always = %v", f.Errors[0].Always)
	}
	say := f.Steps[3].Sentence
	if say == nil || say.Kind != syntax.SayReturn || say.Pos != pos(say.Pos.Line, 13) {
		t.Errorf("sentence = %+v", say)
	}
}

// shape prints a step with what stands below it.
func shape(s *syntax.Step) string {
	out := strings.TrimPrefix(fmt.Sprintf("%T", s.Action), "*syntax.")
	if s.ID.Text != "" {
		out = s.ID.Text + " " + out
	}
	below := s.Body
	if len(below) == 0 {
		return out
	}
	var parts []string
	for _, b := range below {
		parts = append(parts, shape(b))
	}
	return out + " (" + strings.Join(parts, ", ") + ")"
}

func TestNested(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, want string }{
		{
			"consensus",
			"rounds Until (panel Parallel (architect Delegate, security Delegate, user " +
				"Delegate), supervisor Delegate); <nil>",
		},
		{"revise", "Group (reviser Delegate, <nil>); replan Delegate; Check; Status; <nil>"},
		{
			"review-loop",
			"code Delegate; review Parallel (correctness Delegate, security Delegate, tests " +
				"Delegate, gatekeeper Check); Publish; <nil>",
		},
		{
			"operations-flow",
			"Group (Check, infra Delegate, db Delegate, observe Delegate, plan Delegate, Check, " +
				"<nil>); between probe Delegate",
		},
		{
			"doc-flow",
			"write Foreach (author Delegate, approval Gate); Group (Check, Delegate, Check, <nil>)",
		},
	}
	for _, tt := range tests {
		f := parse(t, "testdata/flows/"+tt.name+".md")
		var got []string
		for _, s := range f.Steps {
			got = append(got, shape(s))
		}
		for _, s := range f.Between {
			got = append(got, "between "+shape(s))
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("steps of %s = %s, want %s", tt.name, text, tt.want)
		}
	}
}

func TestFlowDetails(t *testing.T) {
	t.Parallel()
	f := parse(t, "testdata/flows/delivery-flow.md")
	d := f.Defaults
	if d == nil || len(d.With) != 6 || d.Timeout.Total != 3600 || len(d.On) != 3 ||
		d.On[0].Targets[0].Kind != syntax.ToAsk || len(d.On[0].Targets[0].Agents) != 4 {
		t.Errorf("Defaults = %+v", d)
	}
	if len(f.Front.Tiers) != 4 || f.Front.Tiers[1].Text != "Light" {
		t.Errorf("Tiers = %v", f.Front.Tiers)
	}
	phases := f.Steps[1].Body
	if ux := phases[2]; ux.Tier == nil || !ux.Tier.OrLater || ux.Tier.Names[0].Text != "Light" {
		t.Errorf("tier of ux = %+v", ux.Tier)
	}
	rules := phases[9].On[0].Targets
	if len(rules) != 2 || rules[0].If == nil || rules[0].Kind != syntax.ToRollback ||
		rules[0].Steps[1].Text != "code" {
		t.Errorf("rules of test = %+v", rules)
	}
	if a := f.Between[0].After; a == nil || a.Each || len(a.IDs) != 4 {
		t.Errorf("after = %+v", a)
	}
	if a := f.Between[2].After; a == nil || !a.Each {
		t.Errorf("after = %+v", a)
	}
	discovery := parse(t, "testdata/flows/discovery-flow.md")
	blocked := discovery.Steps[0].Body[7].On[0].Targets[0]
	if blocked.Kind != syntax.ToGate || blocked.Gate == nil || len(blocked.Gate.Choices) != 3 ||
		blocked.Gate.Auto.Text != "Roll back to interviewer" || blocked.If == nil {
		t.Errorf("gate in a rule = %+v", blocked)
	}
	author := parse(t, "testdata/flows/doc-flow.md").Steps[0].Body[0]
	if d, ok := author.Action.(*syntax.Delegate); !ok || d.Pick == nil || len(d.Among) != 6 {
		t.Errorf("delegate of doc-flow = %+v", author.Action)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	tests := []struct{ block, want string }{
		{"delegat: planner", "did you mean 'delegate'?"},
		{"return: x\nparallle: {}", "did you mean 'parallel'?"},
		{"return: {mesage: x}", "did you mean 'message'?"},
		{"delegate: a\non: {rejected: nex}", "did you mean 'next'?"},
		{"delegate: a\nretry: {max: 1, on: [transientt]}", "did you mean 'transient'?"},
	}
	for _, tt := range tests {
		list := findings(t, "x.md", command(tt.block))
		if len(list) != 1 || list[0].Help != tt.want {
			t.Errorf("findings of %q = %v, want one with the help %q", tt.block, list, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.md", "testdata/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		lines := bytes.Count(src, []byte("\n")) + 1
		for _, d := range findings(t, "x.md", src) {
			if d.Pos.Line < 1 || d.Pos.Col < 1 || d.Pos.Line > lines+1 || d.Message == "" ||
				d.File != "x.md" {
				t.Errorf("finding without place: %#v", d)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("testdata/ok/todo.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := syntax.Parse("todo.md", src); err != nil {
			b.Fatal(err)
		}
	}
}
