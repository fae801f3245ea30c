package commands_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/subagents"
)

// allMutations makes TestMutations try every mutation instead of a sample; -missed lists those that
// pass unseen.
var (
	allMutations = flag.Bool("all-mutations", false, "try every mutation of the shipped commands")
	showMissed   = flag.Bool(
		"missed",
		false,
		"list the mutations that nothing reports, and those reported elsewhere",
	)
)

// mutant is a command file with one slip of the pen.
type mutant struct {
	kind string
	file string
	line int // on which the slip is
	what string
	src  []byte
}

// mutator makes the slips of one kind that a line offers, each as the line with the slip. Lines of
// blocks and of the frontmatter are told apart from prose by in.
type mutator struct {
	kind   string
	mutate func(in taskLine, line string) []string
}

// taskLine says where a line stands.
type taskLine struct {
	yaml  bool // inside a block or the frontmatter
	fence bool // opens a block of the format
	ends  bool // ends it, or opens or ends the frontmatter
	args  []string
	ids   []string
}

// slip swaps two neighbouring letters of a word, or drops the last but one: what a hand does.
func slip(word string) string {
	for i := len(word) / 2; i+1 < len(word); i++ {
		if word[i] != word[i+1] {
			return word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
		}
	}
	return word[:len(word)-1]
}

// each gives the line once for every match of the pattern, with the match changed; nothing for a
// change that changes nothing.
func each(
	re, line string,
	change func(match []string) string,
	where ...func(before string) bool,
) []string {
	var out []string
	pattern := regexp.MustCompile(re)
	for _, at := range pattern.FindAllStringSubmatchIndex(line, -1) {
		if slices.ContainsFunc(where, func(ok func(string) bool) bool {
			return !ok(line[:at[0]])
		}) {
			continue
		}
		var groups []string
		for i := 0; i < len(at); i += 2 {
			groups = append(groups, line[at[i]:at[i+1]])
		}
		if next := line[:at[0]] + change(groups) + line[at[1]:]; next != line {
			out = append(out, next)
		}
	}
	return out
}

// unquoted tells whether what follows stands outside of quotes: a colon in a sentence is no key's.
func unquoted(before string) bool {
	return strings.Count(before, `"`)%2 == 0 && strings.Count(before, "'")%2 == 0
}

// drop gives the line once for each of the characters, without it.
func drop(chars string) func(taskLine, string) []string {
	return func(in taskLine, line string) []string {
		if !in.yaml {
			return nil
		}
		var out []string
		for i := range len(line) {
			if strings.IndexByte(chars, line[i]) >= 0 {
				out = append(out, line[:i]+line[i+1:])
			}
		}
		return out
	}
}

// named misspells the names of a list where they stand behind a prefix.
func named(prefix string, list func(taskLine) []string) func(taskLine, string) []string {
	return func(in taskLine, line string) []string {
		if !in.yaml {
			return nil
		}
		var out []string
		for _, name := range list(in) {
			out = append(
				out,
				each(prefix+`(`+regexp.QuoteMeta(name)+`)\b`, line, func(m []string) string {
					return strings.TrimSuffix(m[0], m[1]) + slip(m[1])
				})...,
			)
		}
		return out
	}
}

func mutators() []mutator {
	return []mutator{
		{"misspelt key", func(in taskLine, line string) []string {
			if !in.yaml {
				return nil
			}
			return each(
				`(^|[ {-])([a-z_]{3,})(\??: )`,
				line,
				func(m []string) string { return m[1] + slip(m[2]) + m[3] },
				unquoted,
			)
		}},
		{"lost colon", func(in taskLine, line string) []string {
			if !in.yaml {
				return nil
			}
			return each(
				`([a-z_?]): `,
				line,
				func(m []string) string { return m[1] + " " },
				unquoted,
			)
		}},
		{"lost quote", drop(`"'`)},
		{"lost brace", drop("{}")},
		{"lost bracket", drop("[]")},
		{"bad indent", func(in taskLine, line string) []string {
			if !in.yaml || strings.TrimSpace(line) == "" {
				return nil
			}
			out := []string{" " + line}
			if strings.HasPrefix(line, " ") {
				out = append(out, line[1:])
			}
			return out
		}},
		{"tab", func(in taskLine, line string) []string {
			switch {
			case !in.yaml || strings.TrimSpace(line) == "":
				return nil
			case strings.HasPrefix(line, "  "):
				return []string{"\t" + line[2:]}
			}
			return []string{"\t" + line}
		}},
		{"doubled line", func(in taskLine, line string) []string {
			if !in.yaml || strings.TrimSpace(line) == "" {
				return nil
			}
			return []string{line + "\n" + line}
		}},
		{"wrong fence", func(in taskLine, line string) []string {
			switch {
			case in.ends:
				return []string{line[1:], ""}
			case !in.fence:
				return nil
			}
			return []string{
				line[1:],
				strings.Replace(line, "yaml ", "yaml", 1),
				strings.Replace(line, "yaml ", "yml ", 1),
				"  " + line,
				"```" + slip(line[3:7]) + line[7:],
				line[:len(line)-1],
				"```yaml",
			}
		}},
		{"misspelt variable", func(in taskLine, line string) []string {
			if !in.yaml {
				return nil
			}
			return each(`\$([a-zA-Z_]{3,})`, line, func(m []string) string {
				return "$" + slip(m[1])
			})
		}},
		{
			"misspelt step",
			named(`(?:\$steps\.|redo: \[|rollback: \[)`, func(in taskLine) []string {
				return in.ids
			}),
		},
		{"misspelt argument", named(`\$args\.`, func(in taskLine) []string {
			return in.args
		})},
		{"misspelt agent", func(in taskLine, line string) []string {
			if !in.yaml {
				return nil
			}
			return each(`((?:delegate|fallback): )([a-z-]{3,})`, line, func(m []string) string {
				return m[1] + slip(m[2])
			})
		}},
	}
}

// mutants makes every mutant of a file.
func mutants(t *testing.T, name string, src []byte) []mutant {
	t.Helper()
	file, err := syntax.Parse(name, src)
	if err != nil {
		t.Fatal(err)
	}
	var in taskLine
	for _, a := range file.Front.Arguments {
		in.args = append(in.args, a.Name.Text)
	}

	syntax.Walk(file, func(n any) bool {
		if s, ok := n.(*syntax.Step); ok && s.ID.Text != "" {
			in.ids = append(in.ids, s.ID.Text)
		}
		return true
	})
	var out []mutant
	lines := strings.Split(string(src), "\n")
	front := 0
	for i, line := range lines {
		switch {
		case front < 2 && line == "---":
			front++
			in.yaml = front == 1
			in.ends = true
		case strings.HasPrefix(line, "```yaml "):
			in.fence = true
		case strings.HasPrefix(line, "```"):
			in.yaml = false
			in.ends = true
		}
		for _, m := range mutators() {
			for _, next := range m.mutate(in, line) {
				changed := slices.Clone(lines)
				changed[i] = next
				out = append(out, mutant{
					m.kind, name,
					i + 1,
					next,
					[]byte(strings.Join(changed, "\n")),
				})
			}
		}
		if in.fence {
			in.fence = false
			in.yaml = true
		}
		in.ends = false
	}

	return out
}

func shippedSet(tb testing.TB) *subagents.Set {
	tb.Helper()
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// findings gives everything that is said of a file.
func findings(t *testing.T, env compile.Env, name string, src []byte) []formats.Diagnostic {
	t.Helper()
	prog, err := compile.Compile(syntax.Read(name, src), env)
	if err == nil {
		return prog.Warnings
	}
	list, ok := errors.AsType[*formats.Diagnostics](err)
	if !ok {
		t.Fatalf("%s: %T, want *formats.Diagnostics", name, err)
	}
	return list.List
}

// The part of all mutations that must be reported, and of those the part that must be reported
// within a line of the slip.
const (
	wantReported = 0.95
	wantLine     = 0.95
	sample       = 700
)

// TestMutations makes single slips in the shipped commands and counts which are reported, and
// where.
func TestMutations(t *testing.T) {
	t.Parallel()
	library, err := commands.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(library, "*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []mutant
	for _, name := range files {
		src, err := fs.ReadFile(library, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mutants(t, name, src)...)
	}

	total := len(all)
	if !*allMutations {
		random := rand.New(rand.NewPCG(3, 1))
		random.Shuffle(len(all), func(i, j int) {
			all[i], all[j] = all[j], all[i]
		})
		all = all[:min(sample, len(all))]
		if !testkit.Deep() {
			all = all[:len(all)/4]
		}
	}
	env := shippedSet(t)
	type tally struct{ made, reported, near int }
	kinds := map[string]*tally{}
	sum := tally{}
	for _, m := range all {
		k := kinds[m.kind]
		if k == nil {
			k = &tally{}
			kinds[m.kind] = k
		}
		k.made++
		list := findings(t, env, m.file, m.src)
		if len(list) == 0 {
			if *showMissed {
				t.Logf("missed: %s: %s:%d: %s", m.kind, m.file, m.line, m.what)
			}
			continue
		}
		k.reported++
		if slices.ContainsFunc(list, func(d formats.Diagnostic) bool {
			return max(d.Pos.Line-m.line, m.line-d.Pos.Line) <= 1
		}) {
			k.near++
		} else if *showMissed {
			t.Logf("elsewhere: %s: %s:%d: %s -> %v", m.kind, m.file, m.line, m.what, list[0])
		}
	}

	var table bytes.Buffer
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[kind]
		fmt.Fprintf(&table, "%-18s %5d made %5d reported %5d within a line\n",
			kind, k.made, k.reported, k.near)
		sum.made = sum.made + k.made
		sum.reported = sum.reported + k.reported
		sum.near = sum.near + k.near
	}

	reported := float64(sum.reported) / float64(sum.made)
	near := float64(sum.near) / float64(sum.reported)
	t.Logf("%d of %d mutations of %d commands: %.1f %% reported, of those %.1f %% within a line\n"+
		"%s",
		sum.made, total, len(files), 100*reported, 100*near, &table)
	if reported < wantReported || near < wantLine {
		t.Errorf(
			"%.1f %% of mutations reported, %.1f %% of those within a line; want at least %.0f "+
				"%% and %.0f %%",
			100*reported, 100*near, 100*wantReported, 100*wantLine,
		)
	}
}
