package argspec_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/style"
)

func lit(v any) *syntax.Value {
	return &syntax.Value{Lit: v}
}

func arg(name string, kind argspec.Type) syntax.Argument {
	return syntax.Argument{Name: syntax.Word{Text: name}, Type: syntax.Word{Text: string(kind)}}
}

// with changes a copy of an argument.
func with(a syntax.Argument, change func(*syntax.Argument)) syntax.Argument {
	change(&a)
	return a
}

func required(a syntax.Argument) syntax.Argument {
	a.Required = true
	return a
}

func flag(a syntax.Argument) syntax.Argument {
	a.Flag = true
	return a
}

func specs(tb testing.TB, args ...syntax.Argument) []argspec.Spec {
	tb.Helper()
	out, found := argspec.Specs(args)
	if len(found) > 0 {
		tb.Fatalf("Specs: %v", found)
	}
	return out
}

func planSpecs(tb testing.TB) []argspec.Spec {
	tb.Helper()
	return specs(
		tb,
		required(arg("task_number", argspec.Task)),
		arg("research_report", argspec.Path),
	)
}

func taskSpecs(tb testing.TB) []argspec.Spec {
	tb.Helper()
	return specs(tb,
		required(arg("text", argspec.Text)),
		flag(with(arg("priority", argspec.Enum), func(a *syntax.Argument) {
			a.Values = []string{"low", "high"}
			a.Short = "p"
		})),
		flag(arg("dry_run", argspec.Boolean)))
}

func manySpecs(tb testing.TB) []argspec.Spec {
	tb.Helper()
	return specs(tb,
		required(arg("tasks", argspec.Tasks)),
		flag(with(arg("from", argspec.Integer), func(a *syntax.Argument) {
			a.Default = lit(0)
			a.Min = new(0.0)
			a.Max = new(9.0)
			a.Short = "f"
		})),
		flag(arg("ratio", argspec.Number)),
		flag(with(arg(
			"wait",
			argspec.Duration,
		), func(a *syntax.Argument) { a.Default = lit("30m") })),
		flag(with(arg("label", argspec.String), func(a *syntax.Argument) {
			a.Repeat = true
		})),
		flag(arg("data", argspec.JSON)),
		flag(with(arg(
			"publish",
			argspec.Boolean,
		), func(a *syntax.Argument) { a.Default = lit(true) })),
	)
}

func TestBind(t *testing.T) {
	t.Parallel()
	plan := planSpecs(t)
	task := taskSpecs(t)
	many := manySpecs(t)
	rest := specs(
		t,
		arg("first", argspec.String),
		with(arg("others", argspec.String), func(a *syntax.Argument) {
			a.Repeat = true
		}),
	)
	kinds := specs(t, flag(with(arg("kind", argspec.Enum), func(a *syntax.Argument) {
		a.Values = []string{"a", "b"}
		a.Repeat = true
	})))
	paths := specs(
		t,
		flag(arg("report", argspec.Path)),
		with(arg("text", argspec.Text), func(a *syntax.Argument) {
			a.Path = &syntax.Word{Text: "report"}
		}),
		flag(arg("dry_run", argspec.Boolean)),
	)
	all := specs(
		t,
		with(arg("tasks", argspec.Tasks), func(a *syntax.Argument) {
			a.Values = []string{"all"}
		}),
	)
	defaults := map[string]any{
		"from":    0,
		"ratio":   nil,
		"wait":    1800,
		"label":   []any{},
		"data":    nil,
		"publish": true,
	}
	over := func(changes map[string]any) map[string]any {
		out := maps.Clone(defaults)
		maps.Copy(out, changes)
		return out
	}
	tests := []struct {
		name  string
		specs []argspec.Spec
		raw   string
		words []string
		want  map[string]any
	}{
		{
			"positional",
			plan,
			"196",
			nil,
			map[string]any{"task_number": 196, "research_report": nil},
		},
		{
			"both", plan,
			" 196  ./docs//r.md ",
			nil,
			map[string]any{"task_number": 196, "research_report": "docs/r.md"},
		},
		{
			"by name",
			plan,
			"--task-number 196 r.md",
			nil,
			map[string]any{"task_number": 196, "research_report": "r.md"},
		},
		{
			"by name with =",
			plan,
			"--research_report=r.md 7",
			nil,
			map[string]any{"task_number": 7, "research_report": "r.md"},
		},
		{
			"of a shell",
			plan,
			"",
			[]string{"196", "a b.md"},
			map[string]any{"task_number": 196, "research_report": "a b.md"},
		},
		{
			"after --",
			plan,
			"196 -- r.md",
			nil,
			map[string]any{"task_number": 196, "research_report": "r.md"},
		},

		{
			"prose",
			task,
			"Fix the user's \"parser\" # now",
			nil,
			map[string]any{
				"text":     "Fix the user's \"parser\" # now",
				"priority": nil,
				"dry_run":  false,
			},
		},
		{
			"a list item of a shell",
			task,
			"",
			[]string{"- [ ] Fix it"},
			map[string]any{"text": "- [ ] Fix it", "priority": nil, "dry_run": false},
		},
		{
			"prose up to a flag",
			task,
			"Fix --all of it  --priority high",
			nil,
			map[string]any{"text": "Fix --all of it", "priority": "high", "dry_run": false},
		},
		{
			"prose after a flag",
			task,
			"-p low Fix it",
			nil,
			map[string]any{"text": "Fix it", "priority": "low", "dry_run": false},
		},
		{
			"quoted prose",
			task,
			`"Fix --priority" --dry-run`,
			nil,
			map[string]any{"text": "Fix --priority", "priority": nil, "dry_run": true},
		},
		{
			"prose after --",
			task,
			`-- --dry-run breaks`,
			nil,
			map[string]any{"text": "--dry-run breaks", "priority": nil, "dry_run": false},
		},
		{
			"prose of lines",
			task,
			"Title\n\n- item\n--no-dry-run",
			nil,
			map[string]any{"text": "Title\n\n- item", "priority": nil, "dry_run": false},
		},
		{
			"prose with an open quote inside",
			task,
			`say="hello`,
			nil,
			map[string]any{"text": `say="hello`, "priority": nil, "dry_run": false},
		},
		{
			"prose by name",
			task,
			`--text "Fix it"`,
			nil,
			map[string]any{"text": "Fix it", "priority": nil, "dry_run": false},
		},
		{
			"prose of a shell",
			task,
			"",
			[]string{"Fix", `the "x y"`, "--priority=high"},
			map[string]any{"text": `Fix the "x y"`, "priority": "high", "dry_run": false},
		},
		{
			"one word of a shell",
			task,
			"",
			[]string{"Fix --dry-run"},
			map[string]any{"text": "Fix --dry-run", "priority": nil, "dry_run": false},
		},
		{
			"shell after --",
			task,
			"",
			[]string{"--", "--dry-run", "breaks"},
			map[string]any{"text": "--dry-run breaks", "priority": nil, "dry_run": false},
		},
		{
			"dash", task, "- x", nil,
			map[string]any{"text": "- x", "priority": nil, "dry_run": false},
		},

		{
			"a text that names a file",
			paths,
			"old.md --dry-run",
			nil,
			map[string]any{"report": "old.md", "text": nil, "dry_run": true},
		},
		{
			"a text that begins with the name of a file",
			paths,
			"old.md is wrong",
			nil,
			map[string]any{"report": nil, "text": "old.md is wrong", "dry_run": false},
		},
		{
			"a text that names a second file",
			paths,
			"",
			[]string{"--report", "old.md", "new.md"},
			map[string]any{"report": "old.md", "text": "new.md", "dry_run": false},
		},

		{"list of tasks", many, "3, 5-7", nil, over(map[string]any{"tasks": []any{3, 5, 6, 7}})},
		{
			"list of a shell",
			many,
			"",
			[]string{"3", ",5-7,", "9"},
			over(map[string]any{"tasks": []any{3, 5, 6, 7, 9}}),
		},
		{
			"list by name",
			many,
			"--tasks=3, 5 --from 2",
			nil,
			over(map[string]any{"tasks": []any{3, 5}, "from": 2}),
		},
		{"quoted list", many, `"3, 5"`, nil, over(map[string]any{"tasks": []any{3, 5}})},
		{"numbers", many, "1 -f 9 --ratio -2.5e1 --wait=1h30m", nil, over(map[string]any{
			"tasks": []any{1},
			"from":  9,
			"ratio": -25.0,
			"wait":  5400,
		})},
		{
			"repeated with commas",
			kinds,
			"--kind b,a --kind=b",
			nil,
			map[string]any{"kind": []any{"b", "a", "b"}},
		},
		{
			"repeated",
			many,
			"1 --label a --label=b",
			nil,
			over(map[string]any{"tasks": []any{1}, "label": []any{"a", "b"}}),
		},
		{
			"quoted value like a flag",
			many,
			`1 --label "--x"`,
			nil,
			over(map[string]any{"tasks": []any{1}, "label": []any{"--x"}}),
		},
		{
			"json", many,
			`1 --data '{"a": [1.0, null]}'`,
			nil,
			over(map[string]any{
				"tasks": []any{1},
				"data":  map[string]any{"a": []any{json.Number("1.0"), nil}},
			}),
		},
		{
			"not", many,
			"1 --no-publish",
			nil,
			over(map[string]any{"tasks": []any{1}, "publish": false}),
		},
		{
			"= false",
			many,
			"1 --publish=false",
			nil,
			over(map[string]any{"tasks": []any{1}, "publish": false}),
		},

		{"the rest", rest, "a b c", nil, map[string]any{"first": "a", "others": []any{"b", "c"}}},
		{
			"quoted words like flags",
			rest,
			`"-x" "--first=y" -.5`,
			nil,
			map[string]any{"first": "-x", "others": []any{"--first=y", "-.5"}},
		},
		{"nothing", rest, "", nil, map[string]any{"first": nil, "others": []any{}}},
		{"no words", rest, "ignored", []string{}, map[string]any{"first": nil, "others": []any{}}},
		{"all", all, "all", nil, map[string]any{"tasks": "all"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values, err := argspec.Bind("cmd", tt.specs, tt.raw, tt.words)
			if err != nil {
				t.Fatalf("Bind(%q, %q) = %v, want no error", tt.raw, tt.words, err)
			}
			got := values.Map()
			delete(got, argspec.RawName)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Bind(%q, %q) differs (-want +got):\n%s", tt.raw, tt.words, diff)
			}
		})
	}
}

func TestBindFaults(t *testing.T) {
	t.Parallel()
	plan := planSpecs(t)
	task := taskSpecs(t)
	many := manySpecs(t)
	word := specs(
		t,
		arg("word", argspec.String),
		with(arg(
			"code",
			argspec.String,
		), func(a *syntax.Argument) {
			a.Pattern = &syntax.Word{Text: "^[a-z]+$"}
		}),
	)
	tests := []struct {
		name  string
		specs []argspec.Spec
		raw   string
		words []string
		want  string // message, shown line, carets
	}{
		{
			"not a number", plan, "abc", nil,
			"/cmd: expected task number for <task_number>, got \"abc\"\n/cmd abc\n     ^^^",
		},
		{"missing", plan, "", nil, "/cmd: missing <task_number>\n/cmd\n     ^"},
		{
			"missing after", word, "a b c", nil,
			"/cmd: unexpected argument \"c\"\n/cmd a b c\n         ^",
		},
		{
			"zero", plan, "0", nil,
			"/cmd: expected task number of at least 1 for <task_number>, got \"0\"\n/cmd 0\n     ^",
		},
		{
			"negative", plan, "-5", nil,
			"/cmd: expected task number of at least 1 for <task_number>, got \"-5\"\n/cmd -5\n" +
				"     ^^",
		},
		{
			"too large", plan, "99999999999999999999", nil,
			"/cmd: expected task number for <task_number>, got \"99999999999999999999\"\n" +
				"/cmd 99999999999999999999\n     ^^^^^^^^^^^^^^^^^^^^",
		},
		{
			"range backwards", plan, "107-105", nil,
			"/cmd: expected task number, or a list of at most 1000 tasks such as 3, 5-7, for " +
				"<task_number>, got \"107-105\"\n/cmd 107-105\n     ^^^^^^^",
		},
		{
			"outside", plan, "1 ../x", nil,
			"/cmd: expected path inside the project for [research_report], got \"../x\"\n" +
				"/cmd 1 ../x\n       ^^^^",
		},
		{
			"outside in the middle", plan, "1 a/../../x", nil,
			"/cmd: expected path inside the project for [research_report], got \"a/../../x\"\n" +
				"/cmd 1 a/../../x\n       ^^^^^^^^^",
		},
		{
			"absolute", plan, "1 /etc/passwd", nil,
			"/cmd: expected path inside the project for [research_report], got \"/etc/passwd\"\n" +
				"/cmd 1 /etc/passwd\n       ^^^^^^^^^^^",
		},
		{
			"dash path", plan, "1 -- -rf", nil,
			"/cmd: expected path inside the project for [research_report], got \"-rf\"\n" +
				"/cmd 1 -- -rf\n          ^^^",
		},
		{
			"NUL", plan, "",
			[]string{"1", "a\x00b"},
			"/cmd: expected path inside the project for [research_report], got \"a\\x00b\"\n" +
				"/cmd 1 a\uFFFDb\n       ^^^",
		},
		{
			"twice", plan, "1 --task-number 2", nil,
			"/cmd: expected <task_number> once, got it again\n/cmd 1 --task-number 2\n" +
				"                     ^",
		},
		{
			"wide", plan, "任務 x", nil,
			"/cmd: expected task number for <task_number>, got \"任務\"\n/cmd 任務 x\n     ^^^^",
		},
		{
			"after wide", plan, "1 日本.md x", nil,
			"/cmd: unexpected argument \"x\"\n/cmd 1 日本.md x\n               ^",
		},
		{
			"tabs", plan, "1\tr.md\tx", nil,
			"/cmd: unexpected argument \"x\"\n/cmd 1    r.md    x\n                  ^",
		},
		{
			"unclosed", plan, `1 "r.md`, nil,
			"/cmd: missing closing quote for \"\n/cmd 1 \"r.md\n       ^",
		},
		{
			"unclosed curly", plan, `1 “r.md"`, nil,
			"/cmd: missing closing quote for “\n/cmd 1 “r.md\"\n       ^",
		},
		{
			"line of lines", task, "a\nb --priority hihg\nc", nil,
			"/cmd: expected one of low, high for --priority, got \"hihg\"\nb --priority hihg\n" +
				"             ^^^^",
		},
		{
			"shell",
			plan,
			"",
			[]string{"1", "b c", "d e"},
			"/cmd: unexpected argument \"d e\"\n/cmd 1 \"b c\" \"d e\"\n             ^^^^^",
		},

		{
			"unknown flag", task, "--dry-rum x", nil,
			"/cmd: unknown flag --dry-rum\n/cmd --dry-rum x\n     ^^^^^^^^^",
		},
		{"unknown letter", task, "-z x", nil, "/cmd: unknown flag -z\n/cmd -z x\n     ^^"},
		{
			"empty text", task, `""`, nil,
			"/cmd: expected text for <text>, got \"\"\n/cmd \"\"\n     ^^",
		},
		{
			"text, then more", task, `"a" b`, nil,
			"/cmd: unexpected argument \"b\"\n/cmd \"a\" b\n         ^",
		},
		{
			"not with a value", task, "x --no-dry-run=true", nil,
			"/cmd: expected --no-dry-run alone for --dry-run, got \"true\"\n" +
				"/cmd x --no-dry-run=true\n                    ^^^^",
		},
		{
			"not a boolean", task, "x --dry-run=yes", nil,
			"/cmd: expected true or false for --dry-run, got \"yes\"\n/cmd x --dry-run=yes\n" +
				"                 ^^^",
		},
		{
			"value missing at the end", task, "x --priority", nil,
			"/cmd: missing value for --priority\n/cmd x --priority\n                  ^",
		},
		{
			"value missing before a flag", task, "x --priority --dry-run", nil,
			"/cmd: missing value for --priority\n/cmd x --priority --dry-run\n                  ^",
		},

		{
			"bounds", many, "1 --from 10", nil,
			"/cmd: expected integer from 0 to 9 for --from, got \"10\"\n/cmd 1 --from 10\n" +
				"              ^^",
		},
		{
			"hexadecimal", many, "1 --ratio 0x10", nil,
			"/cmd: expected number for --ratio, got \"0x10\"\n/cmd 1 --ratio 0x10\n" +
				"               ^^^^",
		},
		{
			"infinite", many, "1 --ratio 1e999", nil,
			"/cmd: expected number for --ratio, got \"1e999\"\n/cmd 1 --ratio 1e999\n" +
				"               ^^^^^",
		},
		{
			"duration", many, "1 --wait 5", nil,
			"/cmd: expected duration such as 30m or 2h for --wait, got \"5\"\n/cmd 1 --wait 5\n" +
				"              ^",
		},
		{
			"json", many, `1 --data {}{}`, nil,
			"/cmd: expected one JSON text for --data, got \"{}{}\"\n/cmd 1 --data {}{}\n" +
				"              ^^^^",
		},
		{
			"tasks", many, "3, x", nil,
			"/cmd: expected task numbers such as 3, 5-7 for <tasks>, got \"3,x\"\n/cmd 3, x\n" +
				"     ^^^^",
		},
		{
			"pattern", word, "a B1", nil,
			"/cmd: expected text matching ^[a-z]+$ for [code], got \"B1\"\n/cmd a B1\n       ^^",
		},
		{"bytes", word, "\xff", nil, "/cmd: expected UTF-8, got other bytes\n/cmd\n     ^"},
		{
			"size", word,
			strings.Repeat("x", argspec.MaxRaw+1),
			nil,
			"/cmd: expected at most 131072 bytes of arguments, got 131073\n/cmd\n     ^",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := argspec.Bind("cmd", tt.specs, tt.raw, tt.words)
			var e *argspec.UsageError
			if !errors.As(err, &e) {
				t.Fatalf("Bind(%q, %q) = %v, want *UsageError", tt.raw, tt.words, err)
			}
			if diff := cmp.Diff(tt.want, e.Error()+"\n"+e.Shown()+"\n"+e.Caret()); diff != "" {
				t.Errorf("Bind(%q, %q) differs (-want +got):\n%s", tt.raw, tt.words, diff)
			}
			if formats.CodeOf(err) != formats.CodeUsage {
				t.Errorf("CodeOf(%v) = %s, want USAGE", err, formats.CodeOf(err))
			}
		})
	}
}

func TestUsageErrorHelp(t *testing.T) {
	t.Parallel()
	task := taskSpecs(t)
	for raw, want := range map[string]string{
		"--dry-rum x":       "did you mean --dry-run?",
		"--DRY_RUN x":       "write -- before words that begin with a dash",
		"x --priority hihg": "did you mean high?",
		"":                  "see /task --help",
	} {
		_, err := argspec.Bind("/task", task, raw, nil)
		if got := formats.HelpOf(err); got != want {
			t.Errorf("help of /task %s = %q, want %q", raw, got, want)
		}
		var e *argspec.UsageError
		if errors.As(err, &e) &&
			e.Usage() != "usage: /task <text> [--priority low|high] [--dry-run]" {
			t.Errorf("usage of /task %s = %q", raw, e.Usage())
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]argspec.Spec{
		"/cmd <task_number> [research_report]": planSpecs(t),
		"/cmd <tasks> [--from N] [--ratio N] [--wait DURATION] [--label TEXT]... [--data JSON] " +
			"[--publish]": manySpecs(t),
		"/cmd [files]... --name TEXT": specs(
			t,
			required(flag(arg("name", argspec.String))),
			with(arg("files", argspec.Path), func(a *syntax.Argument) {
				a.Repeat = true
			}),
		),
		"/cmd": nil,
	} {
		if got := argspec.Usage("cmd", list); got != want {
			t.Errorf("Usage = %q, want %q", got, want)
		}
	}
}

func TestValuesTask(t *testing.T) {
	t.Parallel()
	plan := planSpecs(t)
	plain := specs(t, arg("depth", argspec.Integer), arg("task_number", argspec.Integer))
	none := specs(t, arg("depth", argspec.Integer))
	for _, tt := range []struct {
		specs  []argspec.Spec
		raw    string
		number int
		ok     bool
		span   []int
	}{
		{plan, "196", 196, true, nil},
		{plan, "105-107", 105, true, []int{105, 106, 107}},
		{plan, "105-105", 105, true, []int{105}},
		{plan, "107, 5-6,5 docs/r.md", 107, true, []int{107, 5, 6}},
		{plain, "4 12", 12, true, nil},
		{plain, "4", 0, false, nil},
		{none, "4", 0, false, nil},
	} {
		v, err := argspec.Bind("cmd", tt.specs, tt.raw, nil)
		if err != nil {
			t.Errorf("Bind(%q) = %v", tt.raw, err)
			continue
		}
		number, ok := v.Task()
		if number != tt.number || ok != tt.ok || !slices.Equal(v.Tasks(), tt.span) {
			t.Errorf("Task(), Tasks() of %q = %d, %v, %v, want %d, %v, %v",
				tt.raw, number, ok, v.Tasks(), tt.number, tt.ok, tt.span)
		}
	}
}

// TestLine: the line of one task of a list is the one that a person would type for it.
func TestLine(t *testing.T) {
	t.Parallel()
	plan := planSpecs(t)
	revise := specs(t, required(arg("task_number", argspec.Task)), arg("text", argspec.Text))
	for _, tt := range []struct {
		specs []argspec.Spec
		raw   string
		words []string
		want  any
	}{
		{plan, " 105-107  docs/r.md ", nil, "106  docs/r.md"},
		{plan, "105, 106,107", nil, "106"},
		{plan, "--parallel 2 105-107 docs/r.md", nil, "106 docs/r.md"},
		{plan, "105-107 --parallel=2 --yes docs/r.md", nil, "106 --yes docs/r.md"},
		{plan, `--task-number="105-107" docs/r.md`, nil, "--task-number=106 docs/r.md"},
		{revise, "105,106 say 105,106 twice", nil, "106 say 105,106 twice"},
		{
			plan, "",
			[]string{"105-107", "docs/a b.md", "--parallel", "3"},
			[]string{"106", "docs/a b.md"},
		},
		{plan, "", []string{"105,", "106,", "107"}, []string{"106"}},
		{plan, "", []string{"105, 106", "--parallel=2"}, []string{"106"}},
		{
			plan, "",
			[]string{"--task-number=105, 106", "docs/r.md"},
			[]string{"--task-number=106", "docs/r.md"},
		},
		{
			plan, "",
			[]string{"--task-number=105,", "106", "docs/r.md"},
			[]string{"--task-number=106", "docs/r.md"},
		},
	} {
		v, err := argspec.Bind("cmd", tt.specs, tt.raw, tt.words)
		if err != nil {
			t.Errorf("Bind(%q, %q) = %v", tt.raw, tt.words, err)
			continue
		}
		raw, words := v.Line("106")
		got := any(raw)
		if words != nil {
			got = words
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Line(106) of %q, %q (-want +got):\n%s", tt.raw, tt.words, diff)
		}
	}

	for line, want := range map[string]string{
		"/plan 5-7 --parallel 2":       "/plan 5-7",
		"/plan --parallel=2 5-7 --yes": "/plan 5-7",
		"/plan  5-7":                   "/plan  5-7",
	} {
		if got := argspec.StripEngineFlags(line); got != want {
			t.Errorf("Bare(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestValuesAreImmutable(t *testing.T) {
	t.Parallel()
	v, err := argspec.Bind("cmd", manySpecs(t), `1 --data '{"a": [1]}' --label x`, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := v.Map()
	m := v.Map()
	m["data"].(map[string]any)["a"].([]any)[0] = "changed"
	m["label"].([]any)[0] = "changed"
	m["from"] = 7
	got, ok := v.Get("data")
	if !ok {
		t.Fatal("Get(data) = nothing, want a value")
	}
	got.(map[string]any)["b"] = true
	if diff := cmp.Diff(want, v.Map()); diff != "" {
		t.Errorf("Map() changed (-want +got):\n%s", diff)
	}
	if v.Raw != `1 --data '{"a": [1]}' --label x` || want[argspec.RawName] != v.Raw {
		t.Errorf("Raw = %q and %q, want the line", v.Raw, want[argspec.RawName])
	}
	if v.Given("from") || !v.Given("data") {
		t.Errorf("Given(from), Given(data) = %v, %v, want false, true",
			v.Given("from"), v.Given("data"))
	}
	if _, ok := v.Get("ratio"); ok {
		t.Error("Get(ratio) is there, want nothing")
	}
	diff := cmp.Diff(
		[]string{"_raw", "data", "from", "label", "publish", "ratio", "tasks", "wait"},
		slices.Sorted(maps.Keys(v.Map())),
	)
	if diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

func FuzzBind(f *testing.F) {
	for _, seed := range []string{
		"196 r.md", "--task-number=5", "3, 5-7 --from 2", `"a b" --priority high`,
		"Fix the user's parser --dry-run", "-p", "--", "-- -x", "--data '{}' x",
		"a\nb\t日本 --no-dry-run=1", "\xff", "105-107", "7,9 --parallel 2 r.md", "--task-number=5-6,",
	} {
		f.Add(seed)
	}
	lists := [][]argspec.Spec{planSpecs(f), taskSpecs(f), manySpecs(f)}
	f.Fuzz(func(t *testing.T, raw string) {
		words := strings.Fields(raw)
		for _, list := range lists {
			bindOne(t, list, raw, nil)
			bindOne(t, list, "", words)
		}
	})
}

// lineOfOne holds the line of one task of a list against the whole: all but the task is the same.
func lineOfOne(t *testing.T, list []argspec.Spec, v argspec.Values, n int) {
	t.Helper()
	raw, words := v.Line(strconv.Itoa(n))
	one, err := argspec.Bind("cmd", list, raw, words)
	if err != nil {
		t.Fatalf("Bind(%q, %q) of task %d of %q = %v", raw, words, n, v.Raw, err)
	}
	got := one.Map()
	want := v.Map()
	name := argspec.TaskName(list)
	if got[name] != n || one.Tasks() != nil && len(one.Tasks()) != 1 {
		t.Fatalf("Line(%d) of %q names %v and %v", n, v.Raw, got[name], one.Tasks())
	}
	for _, m := range []map[string]any{got, want} {
		delete(m, name)
		delete(m, argspec.RawName)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Line(%d) of %q is %q, %q (-want +got):\n%s", n, v.Raw, raw, words, diff)
	}
}

func bindOne(t *testing.T, list []argspec.Spec, raw string, words []string) {
	t.Helper()
	v, err := argspec.Bind("cmd", list, raw, words)
	if err == nil {
		m := v.Map()
		if len(m) != len(list)+1 {
			t.Fatalf("Bind(%q): %d members, want %d", raw, len(m), len(list)+1)
		}
		for _, n := range v.Tasks() {
			lineOfOne(t, list, v, n)
		}
		return
	}
	var e *argspec.UsageError
	if !errors.As(err, &e) {
		t.Fatalf("Bind(%q) = %v, want *UsageError", raw, err)
	}
	if strings.ContainsAny(e.Error(), "\n\r\x1b") || strings.ContainsAny(e.Shown(), "\n\t\x1b") {
		t.Fatalf("Bind(%q): message %q or line %q holds control characters",
			raw, e.Error(), e.Shown())
	}
	caret := e.Caret()
	if strings.Trim(caret, " ") == "" || len(caret) > style.Width(e.Shown())+2 {
		t.Fatalf("Bind(%q): caret %q does not stand under %q", raw, caret, e.Shown())
	}
}

func BenchmarkBind(b *testing.B) {
	list := planSpecs(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := argspec.Bind("plan", list, "196 docs/report.md", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFlagsOfTheEngine(t *testing.T) {
	t.Parallel()
	plan := planSpecs(t)
	task := taskSpecs(t)
	own := specs(
		t,
		arg("task_number", argspec.Integer),
		with(arg("json", argspec.Boolean), func(a *syntax.Argument) {
			a.Flag = true
		}),
	)
	for _, tt := range []struct {
		specs []argspec.Spec
		raw   string
		words []string
		want  []string
		fails string
	}{
		{plan, "196 --json -q", nil, []string{"--json", "-q"}, ""},
		{
			plan,
			"--dry-run 196 --runner offline",
			nil,
			[]string{"--dry-run", "--runner=offline"},
			"",
		},
		{plan, "", []string{"196", "--runner=a b", "-vv"}, []string{"--runner=a b", "-vv"}, ""},
		{task, "-- --json breaks", nil, nil, ""},
		{task, "Fix the --json flag --yes", nil, nil, ""},
		{task, "--yes Fix it", nil, []string{"--yes"}, ""},
		{own, "--json 3", nil, nil, ""},
		{plan, "196 --runner", nil, nil, "missing value for --runner"},
		{plan, "196 --color never", nil, nil, "--color stands before the command"},
		{plan, "196 -C x", nil, nil, "-C stands before the command"},
		{plan, "196 --trust=x", nil, nil, "--trust stands before the command"},
		{plan, "196 --dryrun", nil, nil, "unknown flag --dryrun"},
	} {
		v, err := argspec.Bind("cmd", tt.specs, tt.raw, tt.words)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("Bind(%q) = %v, want %s", tt.raw, err, tt.fails)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, v.Engine); diff != "" || err != nil {
			t.Errorf("Bind(%q, %q): %v; flags of the engine differ (-want +got):\n%s",
				tt.raw, tt.words, err, diff)
		}
	}

	_, err := argspec.Bind("cmd", plan, "196 --dryrun", nil)
	use := (&argspec.UsageError{})
	if !errors.As(err, &use) || use.Help() != "did you mean --dry-run?" {
		t.Errorf("help of --dryrun = %v", err)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	const text = "/review [N] [--only go|node]  Reviews the changes of a task or of the " +
		"checkout\nshort\nnobreakingofwordsthatarelongerthanallofit"
	want := "/review [N] [--only go|node]  Reviews the changes of\n" +
		"                              a task or of the\n                              checkout\n" +
		"short\nnobreakingofwordsthatarelongerthanallofit"
	if diff := cmp.Diff(want, style.Wrap(text, 52)); diff != "" {
		t.Errorf("Wrap differs (-want +got):\n%s", diff)
	}
	for line := range strings.SplitSeq(style.Wrap(text, 60), "\n") {
		if style.Width(line) > 60 {
			t.Errorf("line %q is wider than 60", line)
		}
	}
	const narrow = "/review [N]                        Reviews the changes\n" +
		"                                   of a task or of the checkout"
	want = "/review [N]\n    Reviews the changes\n    of a task or of the\n    checkout"
	if diff := cmp.Diff(want, style.Wrap(narrow, 24)); diff != "" {
		t.Errorf("Wrap on a narrow screen differs (-want +got):\n%s", diff)
	}
	if got := style.Wrap(text, 200); got != text {
		t.Errorf("Wrap(200) = %q, want it as it is", got)
	}
}

func TestAssignments(t *testing.T) {
	t.Parallel()
	got, err := argspec.Assignments([]string{"title=a=b", "dependencies=3, 5-6", "parent=7"})
	want := map[string]any{
		"title":        "a=b",
		"dependencies": []any{3, 5, 6},
		"parent":       7,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Assignments: %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"title", "=x", "parent=x", "dependencies=y"} {
		if _, err := argspec.Assignments([]string{bad}); err == nil {
			t.Errorf("Assignments(%q) = nil, want an error", bad)
		}
	}
}
