package commands_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/testkit"
)

// The most that a file may cost. On an idle machine a second; a loaded one is given five, and
// memory is counted exactly.
const (
	// what grows with the square of its input takes longer, a slow machine does not
	hostileTime   = time.Minute
	hostileMemory = 256 << 20
	hostileSize   = 250 << 10
)

// withAnswers repeats a piece up to the size of a file that is still read.
func withAnswers(piece string) string {
	return strings.Repeat(piece, hostileSize/len(piece))
}

// TestHostile: any file is read or refused in bounded time and memory, and a refused one says why
// and where.
//
// The race detector empties the pools of the libraries at random, so the figures are taken where it
// is not.
func TestHostile(t *testing.T) { //nolint:paralleltest // it measures time and memory
	testkit.OnlyDeep(t, "measures time and memory")
	head := "---\ncommand: page\ndescription: An example\n---\n\n## Workflow Execution\n\n"
	step := func(body string) string {
		return head + "### Step 1: A\n\n```yaml step\n" + body + "\n```\n"
	}
	front := func(body string) string {
		return "---\ncommand: page\ndescription: An example\n" + body + "\n---\n" + head[45:]
	}
	env := shippedSet(t)
	for _, tc := range []struct{ name, src, code string }{ //nolint:paralleltest // one after the other, for the figures
		{"too large", strings.Repeat("x", 100<<20), "E002"},
		{"no end of line", withAnswers("x"), "E017"},
		{"empty", "", "E017"},
		{"links", head + withAnswers("[a]("), ""},
		{"links with brackets", head + withAnswers("[a](<b"), ""},
		{"emphasis", head + withAnswers("*a_ "), ""},
		{"definitions", head + withAnswers("[a]: b\n"), ""},
		{"quotes", head + strings.Repeat("> ", 50_000) + withAnswers("a\n")[:100_000], "E201"},
		{"lists", head + strings.Repeat("- ", 50_000) + "a", "E201"},
		{"staircase of lists", head + staircase(300), "E201"},
		{
			"table of many columns",
			head + strings.Repeat("|a", 20_000) + "\n" + strings.Repeat("|-", 20_000) + "\n" +
				withAnswers("|b\n")[:100_000],
			"",
		},
		{"fences", head + withAnswers("```yaml step\n"), "E202"},
		{"steps", head + withAnswers("### Step 1: A\n\n```yaml step\nset: {a: 1}\n```\n"), "E116"},
		{
			"steps of one title",
			head + numbered("### Step %d: A\n\n```yaml step\nset: {a: 1}\n```\n"),
			"",
		},
		{"sentences of one kind", head + numbered("Step %d: Delegate to nobody\n"), "E164"},
		{"sentences", head + withAnswers("Step 1: x\n"), "E210"},
		{"tags", head + withAnswers("<a>\n"), "W210"},
		{"backticks", head + withAnswers("` `` "), ""},
		{
			"deep flow",
			step("set: {a: " + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "}"),
			"E229",
		},
		{"deep blocks", front(stairs(500)), "E229"},
		{"open brackets", step("set: " + withAnswers("[")), ""},
		{"aliases", front("a: &a [x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]"), "E222"},
		{"keys", step(keyed(20_000)), "E108"},
		{"the same key", step(withAnswers("a: 1\n")), "E221"},
		{"quotes in YAML", step("return: " + withAnswers(`"`)), ""},
		{"one long text", step("return: \"" + withAnswers("${{ $args.x }}") + "\""), "E006"},
		{"open expressions", step("return: \"" + withAnswers("${{") + "\""), "E207"},
		{"long expression", step("when: '" + withAnswers("1 + ") + "1'\nreturn: x"), ""},
		{
			"deep expression",
			step("when: '" + strings.Repeat("(", 60_000) + "1" + strings.Repeat(")", 60_000) +
				"'\nreturn: x"),
			"",
		},
		{"many expressions", step("set:\n" + exprs(8_000)), "E006"},
		{"as many expressions as may be", step("set:\n" + exprs(1_999)), ""},
		{
			"misspelt steps, as many as may be",
			step("set:\n" + strings.ReplaceAll(exprs(1_999), "1 + 1", "$steps.nobody.status")),
			"E120",
		},
		{
			"misspelt steps",
			step("set:\n" + strings.ReplaceAll(exprs(8_000), "1 + 1", "$steps.nobody.status")),
			"E006",
		},
		{"carriage returns", head + withAnswers("\r\n\t"), ""},
		{"not UTF-8", head + withAnswers("\xff"), "E003"},
		{"zeros", withAnswers("\x00"), "E003"},
		{"wide runes", step("return: \"" + withAnswers("𐍈") + "\""), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			list := said(t, env, tc.src)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			memory := after.TotalAlloc - before.TotalAlloc
			if took > hostileTime || memory > hostileMemory {
				t.Errorf("%d bytes took %v and %d MB, want at most %v and %d MB",
					len(tc.src), took, memory>>20, hostileTime, hostileMemory>>20)
			}
			t.Logf("%v, %d MB, %d findings", took.Round(time.Millisecond), memory>>20, len(list))
			if tc.code == "" {
				return
			}
			for _, d := range list {
				if d.Code == tc.code && !d.Pos.IsZero() && d.Message != "" {
					return
				}
			}
			t.Errorf("findings = %.300v, want %s with a place", list, tc.code)
		})
	}
}

func said(t *testing.T, env compile.Env, src string) []formats.Diagnostic {
	t.Helper()
	f := syntax.Read("page.md", []byte(src))
	_, err := compile.Compile(f, env)
	if err == nil {
		return f.Found
	}
	var d *formats.Diagnostics
	if !errors.As(err, &d) {
		t.Fatalf("%T: %v", err, err)
	}
	return d.List
}

func staircase(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

func stairs(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func keyed(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

func exprs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  v%d: 1 + 1\n", i)
	}
	return b.String()
}

// numbered repeats a piece with a number in it up to the size of a file that is still read.
func numbered(piece string) string {
	var b strings.Builder
	for n := 1; b.Len() < hostileSize-2*len(piece); n++ {
		fmt.Fprintf(&b, piece, n)
	}
	return b.String()
}
