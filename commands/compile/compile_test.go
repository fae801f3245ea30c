package compile_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

func TestLibraryCompiles(t *testing.T) {
	t.Parallel()
	env := shipped(t)
	for name, src := range read(t, "../library/*.md") {
		p, found := try(t, env, name, src)
		if len(found) > 0 {
			t.Errorf("Compile(%s) = %v, want no finding", name, found)
		}
		if p == nil {
			continue
		}
		if p.Name == "" || len(p.Hash()) != 64 || p.File.Name != name {
			t.Errorf("Compile(%s) = name %q, file %q, hash %q", name, p.Name, p.File.Name, p.Hash())
		}
	}
}

// TestSpecification: the examples of the specification compile as they stand.
func TestSpecification(t *testing.T) {
	t.Parallel()
	env := shipped(t)

	const sync = "status-sync-manager {operation: update_status, "

	for name, want := range map[string]string{
		"testdata/spec/plan.md": `arg task_number task
arg research_report path
during planning: ` + sync + `task_number: $task.number, status: planning, reason: $run.command}
back: ` + sync + `back: true}
allow not_started researched
plan: planner {task: $task, research_report: $args.research_report} timeout 30m0s retry 2 [transient] 2s *2 <60s
validate_plan_format: check plan on rejected -> redo [plan] max 2
delegate_to_status_sync_manager_to_updat: ` + sync + `task_number: $task.number, status: planned} link
return_plan_artifact_to_orchestrator: return Plan created: ${{$steps.plan.artifacts[0].path}}
`,
		"testdata/spec/todo.md": `arg dry_run boolean
arg status enum
load done
stop_when_there_is_nothing_to_archive: when (($done | length) == 0) return No tasks to archive.
show_the_tasks_and_stop_on_a_dry_run: when ($args.dry_run) table $done [number title status] return ${{$done | length}} tasks would be archived.
ask_before_archiving_more_than_five_task: when (($done | length) > 5) gate Archive ${{$done | length}} tasks? [approve -> next] [reject -> return Nothing archived.]
delegate_to_status_sync_manager_to_archi: status-sync-manager {operation: archive_tasks, task_numbers: $done | map(.number)}
return: return Archived ${{$done | length}} tasks.
`,
		"testdata/plain/plan.md": `arg task_number integer min 1
arg research_report string
during planning: ` + sync + `task_number: $task.number, status: planning, reason: $run.command}
back: ` + sync + `back: true}
allow not_started researched planned revised partial blocked
delegate_to_planner_subagent: planner {args: $args, task: $task, research_report: $args.research_report}
validate_plan_format: check plan on rejected -> redo [delegate_to_planner_subagent] max 1
delegate_to_status_sync_manager_to_updat: ` + sync + `task_number: $task.number, status: planned} link
return_plan_artifact_to_orchestrator: return Plan created: ${{$steps.delegate_to_planner_subagent.artifacts[0].path}}
`,
	} {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		p, found := try(t, env, name, src)
		if p == nil || len(found) > 0 {
			t.Errorf("Compile(%s) = %v, want a program", name, found)
			continue
		}

		if diff := cmp.Diff(want, dump(p)); diff != "" {
			t.Errorf("Compile(%s) (-want +got):\n%s", name, diff)
		}
	}
}

const head = "---\ncommand: x\ndescription: A test\n%s---\n\n%s## Workflow Execution\n\n"

// file makes a command file: frontmatter lines, the args block, and the steps, each "title: block".
func file(front, args string, steps ...string) string {
	if args != "" {
		args = "## Argument Parsing\n\n```yaml args\n" + args + "\n```\n\n"
	}

	out := strings.Replace(strings.Replace(head, "%s", front, 1), "%s", args, 1)

	for i, s := range steps {
		title, block, _ := strings.Cut(s, ": ")
		number := string(rune('1' + i))
		level := "### Step " + number
		if rest, ok := strings.CutPrefix(title, ">"); ok {
			title = rest
			level = "#### Step 1." + number
		}

		if title == "!" {
			out += "## Error Handling\n\n### Tidy\n\n```yaml step\n" + block + "\n```\n\n"
			continue
		}

		out += level + ": " + title + "\n\n```yaml step\n" + block + "\n```\n\n"
	}

	return out
}

const task = "arguments:\n  - {name: n, type: task, required: true}\n"

func TestLowering(t *testing.T) {
	t.Parallel()
	env := shipped(t)

	for name, c := range map[string]struct {
		src  string
		want []string // lines of the dump
	}{
		"during with a condition has no allow": {
			file(
				task+"during: {status: implementing, when: $go, failed: partial}\n",
				"load:\n  go: $task.number > 3",
				"A: status: completed",
			),
			[]string{
				"during implementing: status-sync-manager {operation: update_status, " +
					"task_number: $task.number, status: implementing, reason: $run.command}",
				"  when $go",
				"  failed: status-sync-manager {operation: update_status, task_number: " +
					"$task.number, status: partial, reason: $run.command}",
				"a: status-sync-manager {operation: update_status, task_number: $task.number, " +
					"status: completed} link",
			},
		},
		"allow comes from during": {
			file(task+"during: revising\n", "", "A: status: revised"),
			[]string{"allow planned revised implementing partial blocked"},
		},
		"a phase": {
			file(task, "", "A: status: {phase: 2, to: completed}"),
			[]string{
				"a: status-sync-manager {operation: set_phase, task_number: $task.number, " +
					"status: completed, phase: 2}",
			},
		},
		"another task, own artifacts": {
			file("", "", "A: status: {to: researched, task: 7, artifacts: $run.artifacts}"),
			[]string{
				"a: status-sync-manager {operation: update_status, task_number: 7, status: " +
					"researched, artifacts: $run.artifacts}",
			},
		},
		"checks that run are the gatekeeper's": {
			file(
				"", "",
				"A: check: {command: [go, test, $args._raw]}\nretry: 1",
				"B: check: {project: [build, test]}\nelse: The project is broken.",
			),
			[]string{
				"a: gatekeeper {command: [go, test, $args._raw]} retry 1 [transient timeout " +
					"invalid_return] 2s *2 <60s",
				"b: gatekeeper {project: [build, test]}",
			},
		},
		"a loop hands its keys down": {
			file(
				"", "",
				"A: id: loop\nforeach: '[1]'\nwith: {text: a, from: b, message: c}\ntimeout: 5m\n"+
					"retry: {max: 1, on: [timeout], backoff: 1s, factor: 3, cap: 9s}",
				">B: delegate: task-creator\nwith: {text: own}",
				">C: delegate: any\ntimeout: 1m\nretry: 2", ">D: set: {x: $item}",
			),
			[]string{
				"  b: task-creator {text: own, from: b} timeout 5m0s retry 1 [timeout] 1s *3 <9s",
				"  c: any {text: a, from: b, message: c} timeout 1m0s retry 2 [transient timeout " +
					"invalid_return] 2s *2 <60s",
				"  d: x = $item",
			},
		},
		"a loop with its delegate": {
			file(
				"", "",
				"A: foreach: $args | [.]\nas: arg\ndelegate: task-creator\n"+
					"with: {text: $arg._raw}\ntimeout: 2m",
			),
			[]string{
				"a: foreach arg in $args | [.] timeout 2m0s",
				"  task_creator: task-creator {text: $arg._raw} timeout 2m0s",
			},
		},
		"ids that are written win over those of titles": {
			file(
				"", "", "Go on: set: {a: 1}", "Other: id: go_on\nset: {b: 1}", "Go on: set: {c: 1}",
				"123 go: set: {d: 1}", "???: set: {e: 1}",
			),
			[]string{
				"go_on_2: a = 1", "go_on: b = 1", "go_on_3: c = 1", "go: d = 1", "step: e = 1",
			},
		},
		"targets": {
			file(
				"", "",
				"A: delegate: any",
				"B: id: b\ndelegate: any\non: {rejected: [{redo: it, max: 1}, {redo: [a, b]}], "+
					"failed: gate, timeout: {next: true}, partial: {return: Part.}, blocked: fail}",
			),
			[]string{
				"b: any {} on rejected -> redo [b] max 1 -> redo [a b] max 0 on failed -> gate " +
					"on timeout -> next on partial -> return Part. on blocked -> fail",
			},
		},
		"a gate's default, an end": {
			file("", "", "A: gate: Well?", "B: fail: No.\ncode: NOT_FOUND"),
			[]string{"a: gate Well? [approve -> next] [reject -> fail]", "b: fail No. NOT_FOUND"},
		},
		"preconditions": {
			file(
				"",
				"require:\n  - when: 1 == 2\n    else: never\n    exit: 78\n  - when: 1 == 1",
				"A: return: done",
			),
			[]string{"require 1 == 2 else never CONFIG", "require 1 == 1 else  PRECONDITION"},
		},
		"error handling": {
			file(
				"", "",
				"A: delegate: any",
				"!: always: any\nwhen: $steps.a.status == \"failed\"\ndelegate: any",
			),
			[]string{"always any", `  tidy: when ($steps.a.status == "failed") any {}`},
		},
		"a status equal to the present one is no change": {
			file(task+"during: planning\n", "", "A: status: planning", "B: status: planned"),
			[]string{
				"b: status-sync-manager {operation: update_status, task_number: $task.number, " +
					"status: planned} link",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := strings.Split(dump(compiled(t, env, c.src)), "\n")
			for _, line := range c.want {
				if !slices.Contains(got, line) {
					t.Errorf("no line %q in\n%s", line, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// TestReads: a program says of each expression what it reads, because the runner gives it nothing
// else.
func TestReads(t *testing.T) {
	t.Parallel()

	p := compiled(t, shipped(t), file(
		task, "",
		"A: set: {x: '$state.tasks | length'}",
		"B: when: $steps.a.x > 1 and $task.number > 0\nset: {y: '$steps | keys'}",
	))

	type reads struct {
		Vars, Steps []string
		All         bool
	}

	of := func(e *syntax.Expr) reads {
		all := p.Reads(e)
		return reads{all.Vars, all.Steps, all.AllSteps}
	}

	set := func(step *syntax.Step) *syntax.Expr {
		s, ok := step.Action.(*syntax.Set)
		if !ok {
			t.Fatalf("%s is a %T", step.ID.Text, step.Action)
		}
		return s.Values[0].Expr
	}

	got := []reads{of(set(p.File.Steps[0])), of(p.File.Steps[1].When), of(set(p.File.Steps[1]))}
	want := []reads{
		{Vars: []string{"$state"}},
		{Vars: []string{"$task", "$steps"}, Steps: []string{"a"}},
		{Vars: []string{"$steps"}, All: true},
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// TestPositions: a finding stands at the very token, whatever YAML does to the text around it.
func TestPositions(t *testing.T) {
	t.Parallel()
	env := shipped(t)

	for name, c := range map[string]struct {
		step string // its first line is line 10 of the file
		want string
	}{
		"plain":            {"when: 1 == $steps.nope.x", "10:19: E120"},
		"in double quotes": {`when: "\"a\" == $steps.nope.x"`, "10:24: E120"},
		"in single quotes": {`when: '"it''s" == $steps.nope.x'`, "10:26: E120"},
		"in a template": {
			"return: \"${{ $steps.nope.artifacts[0].path }}\"",
			"10:21: E120",
		},
		"a member":               {"return: ${{ $run.artefacts | length }}", "10:18: E125"},
		"a member behind a pipe": {"return: ${{ $args | .nope }}", "10:22: E302"},
		"a member in brackets":   {`return: ${{ $args["nope"] }}`, "10:20: E302"},
		"in a literal block": {
			"when: |\n  1 == 1 and\n    $steps.nope.x == 2",
			"12:12: E120",
		},
		"in a folded block": {"when: >\n  1 == 1 and\n  $steps.nope.x == 2", "12:10: E120"},
		"in a text of many lines": {
			"return: |\n  First line.\n  Then ${{ 1 +\n    $nope }} and on.",
			"13:5: E301",
		},
		"in a flow map": {
			"return: {message: a, next_steps: $steps.nope.x}",
			"10:41: E120",
		},
		"behind another character": {"when: '\"äöü\" == $steps.nope.x'", "10:27: E120"},
		"jq that does not parse":   {"when: 1 == == 2", "10:12: E300"},
		"a function":               {"when: 1 | lngth", "10:11: E300"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			src := "---\ncommand: x\ndescription: A test\n---\n## Workflow Execution\n\n" +
				"### Step 1: A\n\n```yaml step\n" + c.step + "\n"
			if !strings.HasPrefix(c.step, "return") {
				src += "set: {a: 1}\n"
			}

			_, found := try(t, env, "", []byte(src+"```\n"))

			var got []string
			for _, d := range found {
				got = append(got, strings.TrimPrefix(d.Error(), "x.md:"))
			}

			if len(got) != 1 || !strings.HasPrefix(got[0], c.want+": ") {
				t.Errorf("Compile(%q) = %q, want one finding at %s", c.step, got, c.want)
			}
		})
	}
}

// TestEnvironmentWithoutBuiltins: the subagents that keys are lowered to may be missing.
func TestEnvironmentWithoutBuiltins(t *testing.T) {
	t.Parallel()

	_, found := try(
		t,
		none{},
		"",
		[]byte(file(
			task+"during: planning\n",
			"",
			"A: check: {command: [ls]}",
			"B: status: planned",
		)),
	)

	codes := map[string]bool{}
	for _, d := range found {
		codes[d.Code+" "+d.Message] = true
	}

	for _, want := range []string{
		"E164 unknown subagent 'status-sync-manager'",
		"E164 unknown subagent 'gatekeeper'",
	} {
		if !codes[want] {
			t.Errorf("findings = %v, want %s", found, want)
		}
	}
}

type none struct{}

func (none) Agent(string) (formats.AgentInfo, bool) {
	return formats.AgentInfo{}, false
}

func (none) Names() []string {
	return nil
}

// TestLimits: what the file says stands in the program, and what it does not say is left to the
// defaults.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := compiled(t, shipped(t), file(
		"limits: {steps: 500, retries: 1, duration: 90m, tokens: 2000000, cost: 2.50}\n"+
			"env: [HOME]\nhidden: true\nexamples: [/x]\n",
		"",
		"A: return: done",
	))

	want := formats.Limits{
		Steps:    500,
		Retries:  1,
		Duration: 90 * 60e9,
		Tokens:   2_000_000,
		Cost:     2.5,
	}

	if diff := cmp.Diff(want, p.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}

	front := p.File.Front
	if len(front.Env) != 1 || front.Env[0].Text != "HOME" || !front.Hidden ||
		!slices.Equal(front.Examples, []string{"/x"}) {
		t.Errorf("env %v, hidden %v, examples %v", front.Env, front.Hidden, front.Examples)
	}
}

// TestArgumentsAreChecked: what package argspec finds stands among the findings, with the name of
// the file.
func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	_, found := try(
		t,
		shipped(t),
		"",
		[]byte(file("arguments:\n  - {name: a, type: integr}\n", "", "A: return: done")),
	)
	if len(found) != 1 || found[0].Code != argspec.CodeType || found[0].File != "x.md" {
		t.Errorf("findings = %v, want %s in x.md", found, argspec.CodeType)
	}
}

func FuzzCompile(f *testing.F) {
	env := stubbed(f)

	for _, pattern := range []string{
		"testdata/*.md", "testdata/*/*.md", "../library/*.md", "../syntax/testdata/flows/*.md",
	} {
		for _, src := range read(f, pattern) {
			f.Add(src)
		}
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		_, rest, _ := strings.Cut(string(src), "command: ") // the file is named after its command
		word, _, _ := strings.Cut(rest, "\n")
		file := syntax.Read(word+".md", src)

		p, err := compile.Compile(file, env)
		if (p == nil) == (err == nil) {
			t.Errorf("Compile = %v, %v, want a program or an error", p, err)
		}

		again, second := compile.Compile(file, env)
		if err != nil && err.Error() != second.Error() {
			t.Errorf("Compile twice = %v and %v", err, second)
		}

		if err == nil && dump(p) != dump(again) {
			t.Errorf("Compile twice gives\n%s\nand\n%s", dump(p), dump(again))
		}
	})
}

func BenchmarkParseCompile(b *testing.B) {
	env := shipped(b)

	src, err := os.ReadFile("../library/implement.md")
	if err != nil {
		b.Fatal(err)
	}

	b.ReportAllocs()
	b.SetBytes(int64(len(src)))

	for b.Loop() {
		f, err := syntax.Parse("implement.md", src)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := compile.Compile(f, env); err != nil {
			b.Fatal(err)
		}
	}
}
