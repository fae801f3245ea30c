package compile_test

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/testkit"
)

// allBreaks makes TestNoFollowingErrors try every break instead of every fourth.
var allBreaks = flag.Bool("all-breaks", false, "break every line of the right files")

// judged gives what is said of a file, of its form and of its meaning, as lines.
func judged(t *testing.T, env compile.Env, name string, src []byte) []string {
	t.Helper()

	p, err := compile.Compile(syntax.Read(name, src), env)
	list := &formats.Diagnostics{}

	switch {
	case err == nil:
		list.List = p.Warnings
	case p != nil:
		t.Errorf("a program beside the error %v", err)
	case !errors.As(err, &list):
		t.Fatalf("Compile(%s) = %T, want *formats.Diagnostics", name, err)
	}

	if !slices.IsSortedFunc(list.List, func(a, b formats.Diagnostic) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Col - b.Pos.Col
	}) {
		t.Errorf("findings are not sorted: %v", list.List)
	}

	return linesOf(list.List)
}

func linesOf(list []formats.Diagnostic) []string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%d:%d %s: %s", d.Pos.Line, d.Pos.Col, d.Code, d.Message))
	}
	return out
}

// TestAllErrorsInOnePass: what is wrong in form and what is wrong in meaning is reported together,
// in the order of the file.
func TestAllErrorsInOnePass(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		src  string
		want []string
	}{
		"a key in one step, a name in another": {
			file(
				"", "",
				"A: delegate: plannr",
				"B: {id: b, status: planned, timout: 3m}",
				"C: return: $args.nobody",
			),
			[]string{"E164", "E108", "E302"},
		},
		"a block that is no YAML": {
			file(
				"", "",
				"A: {delegate: planner",
				"B: delegate: plannr\nwith: {args: $args}",
				"C: return: $steps.nowhere.summary",
			),
			[]string{"E2", "E164", "E120"},
		},
		"a broken block hides nothing of the frontmatter": {
			file("limits: {steps: 0}\n", "", "A: {delegate: planner", "B: return: done"),
			[]string{"E016", "E2"},
		},
		"a broken frontmatter hides nothing of the steps": {
			file("limitz: {steps: 1}\n", "", "A: delegate: plannr", "B: return: $args.nobody"),
			[]string{"E010", "E164", "E302"},
		},
		"in one block": {
			file("", "", "A: delegate: plannr\nretyr: 2\nwhen: 1 +", "B: return: done"),
			[]string{"E164", "E108", "E300"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judged(t, shipped(t), "x.md", []byte(tc.src))
			ok := len(got) == len(tc.want)
			for i := range got {
				_, code, _ := strings.Cut(got[i], " ")
				ok = ok && strings.HasPrefix(code, tc.want[i])
			}
			if !ok {
				t.Errorf("findings = %s\nwant %v of\n%s", strings.Join(got, "\n"), tc.want, tc.src)
			}
		})
	}
}

// breaks are ways to make a part of a file unreadable; each gives the lines anew, nil where it does
// not apply.
func breaks() map[string]func(lines []string, i int) []string {
	put := func(lines []string, i int, text ...string) []string {
		return slices.Concat(lines[:i], text, lines[i:])
	}

	opens := func(line string) bool {
		return strings.HasPrefix(line, "```yaml ")
	}

	return map[string]func(lines []string, i int) []string{
		"an unknown key": func(lines []string, i int) []string {
			if !opens(lines[i]) {
				return nil
			}
			return put(lines, i+1, "zzzzz: 1")
		},
		"no YAML": func(lines []string, i int) []string {
			if !opens(lines[i]) {
				return nil
			}
			return put(lines, i+1, "zzzzz: [")
		},
		"a text": func(lines []string, i int) []string {
			if !opens(lines[i]) {
				return nil
			}
			return put(lines, i+1, "zzzzz")
		},
		"another fence": func(lines []string, i int) []string {
			if !opens(lines[i]) {
				return nil
			}
			return put(
				slices.Delete(slices.Clone(lines), i, i+1),
				i,
				strings.Replace(lines[i], "yaml ", "yml ", 1),
			)
		},
		"no second word": func(lines []string, i int) []string {
			if !opens(lines[i]) {
				return nil
			}
			return put(slices.Delete(slices.Clone(lines), i, i+1), i, "```yaml")
		},
		"two backticks": func(lines []string, i int) []string {
			if !opens(lines[i]) {
				return nil
			}
			return put(slices.Delete(slices.Clone(lines), i, i+1), i, lines[i][1:])
		},
		"no end": func(lines []string, i int) []string {
			if lines[i] != "```" {
				return nil
			}
			return slices.Delete(slices.Clone(lines), i, i+1)
		},
		"a heading that is none": func(lines []string, i int) []string {
			if !strings.HasPrefix(lines[i], "### Step") {
				return nil
			}
			return put(
				slices.Delete(slices.Clone(lines), i, i+1),
				i,
				strings.Replace(lines[i], "Step ", "Stp ", 1),
			)
		},
		"a sentence that is none": func(lines []string, i int) []string {
			if !strings.HasPrefix(lines[i], "  Step ") {
				return nil
			}
			return put(
				slices.Delete(slices.Clone(lines), i, i+1),
				i,
				strings.Replace(lines[i], ": ", ": Please ", 1),
			)
		},
		"a key without a value": func(lines []string, i int) []string {
			key, _, ok := strings.Cut(lines[i], ": ")
			if !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
				return nil
			}
			return put(slices.Delete(slices.Clone(lines), i, i+1), i, key+":")
		},
		"another type": func(lines []string, i int) []string {
			key, _, ok := strings.Cut(lines[i], ": ")
			if !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
				return nil
			}
			return put(slices.Delete(slices.Clone(lines), i, i+1), i, key+": [[1]]")
		},
		"no frontmatter": func(lines []string, i int) []string {
			if i > 0 {
				return nil
			}
			end := slices.Index(lines[1:], "---") + 2
			return lines[end:]
		},
		"an open frontmatter": func(lines []string, i int) []string {
			if i > 0 {
				return nil
			}
			end := slices.Index(lines[1:], "---") + 1
			return slices.Delete(slices.Clone(lines), end, end+1)
		},
		"a broken frontmatter": func(lines []string, i int) []string {
			if i > 0 {
				return nil
			}
			return put(lines, 1, "zzzzz: [")
		},
		"a section twice": func(lines []string, i int) []string {
			if lines[i] != "## Workflow Execution" {
				return nil
			}
			return put(
				lines, i, "## Workflow Execution", "", "### Step 1: End", "", "```yaml step",
				"fail: no", "```", "",
			)
		},
		"no workflow": func(lines []string, i int) []string {
			if lines[i] != "## Workflow Execution" {
				return nil
			}
			return put(slices.Delete(slices.Clone(lines), i, i+1), i, "## Workflow")
		},
	}
}

// TestNoFollowingErrors: a part of a right file that cannot be read is reported, and nothing that
// follows from it.
func TestNoFollowingErrors(t *testing.T) {
	t.Parallel()
	env := shipped(t)
	files := map[string][]byte{}
	for _, pattern := range []string{
		"../library/*.md", "../syntax/testdata/ok/*.md", "../syntax/testdata/flows/*.md",
		"../syntax/testdata/plain/*.md", "testdata/plain/*.md", "testdata/spec/*.md",
	} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(more) == 0 {
			continue
		}
		for name, src := range read(t, pattern) {
			if p, err := compile.Compile(syntax.Read(name, src), env); err == nil && p != nil {
				files[name] = src
			}
		}
	}

	if len(files) < 15 {
		t.Fatalf("only %d right files", len(files))
	}
	made := 0
	every := 4
	if !testkit.Deep() {
		every = 24
	}
	for name, src := range files {
		lines := strings.Split(string(src), "\n")
		before := judged(t, env, name, src)
		for what, change := range breaks() {
			for i := range lines {
				next := change(lines, i)
				if next == nil || !*allBreaks && (i*7+len(what)+len(name))%every != 0 {
					continue
				}
				broken := []byte(strings.Join(next, "\n"))
				form := syntax.Read(name, broken)
				if len(form.Unread) == 0 {
					continue
				}
				made++
				want := linesOf(form.Found)
				got := judged(t, env, name, broken)
				extra := slices.DeleteFunc(slices.Clone(got), func(s string) bool {
					return slices.Contains(want, s) ||
						slices.ContainsFunc(before, func(b string) bool {
							return strings.Contains(b, s[strings.Index(s, " "):])
						})
				})
				if len(extra) > 0 {
					t.Errorf("%s:%d: %s: findings that follow (-form +all):\n%s",
						name, i+1, what, cmp.Diff(want, got))
				}
			}
		}
	}

	t.Logf("%d breaks of %d files", made, len(files))
}
