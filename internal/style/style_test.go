package style_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/style"
)

var tasks = formats.Table{
	Columns: []string{"number", "title", "status", "next_step"},
	Rows: [][]string{
		{"1", "Fix the parser", "planned", ""},
		{
			"12",
			"数える: count the words of every page that the index has, also of those in other " +
				"languages",
			"blocked", "",
		},
		{"3", "tab\there\x1b[31m", "completed", ""},
	},
}

const at40 = `NUMBER  TITLE                  STATUS
1       Fix the parser         planned
12      数える: count the wo…  blocked
3       tab<U+0009>here<U+00…  completed
`

const at80 = `NUMBER  TITLE                                                          STATUS
1       Fix the parser                                                 planned
12      数える: count the words of every page that the index has, al…  blocked
3       tab<U+0009>here<U+001B>[31m                                    completed
`

const at200 = `NUMBER  TITLE                                                                                       STATUS     NEXT STEP
1       Fix the parser                                                                              planned
12      数える: count the words of every page that the index has, also of those in other languages  blocked
3       tab<U+0009>here<U+001B>[31m                                                                 completed
`

// bare takes the paint off.
func bare(s string) string {
	return regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(s, "")
}

func TestTable(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{40: at40, 80: at80, 200: at200, 0: at200} {
		for _, s := range []style.Sheet{{UTF8: true}, {UTF8: true, Colour: true}} {
			got := s.Table(tasks, columns)
			if diff := cmp.Diff(want, bare(got)); diff != "" {
				t.Errorf("%d columns, %+v (-want +got):\n%s", columns, s, diff)
			}
			if (got != bare(got)) != s.Colour {
				t.Errorf("%+v paints: %q", s, got)
			}
		}
	}

	coloured := style.Sheet{Colour: true}
	if got := coloured.Table(tasks, 40); !strings.Contains(got, "\x1b[31mblocked\x1b[0m") ||
		!strings.Contains(got, "\x1b[1mNUMBER\x1b[0m") ||
		!strings.Contains(got, "数える: count the ...") {
		t.Errorf("colours, or the ellipsis of ASCII, are missing: %q", got)
	}
	want := "1\tFix the parser\tplanned\t\n12\t" + tasks.Rows[1][1] +
		"\tblocked\t\n3\ttab<U+0009>here<U+001B>[31m\tcompleted\t\n"
	if got := (style.Sheet{}).Tabbed(tasks); got != want {
		t.Errorf("Tabbed = %q, want %q", got, want)
	}
	got := coloured.Tabbed(tasks)
	if bare(got) != want || !strings.Contains(got, "\x1b[32mcompleted\x1b[0m") {
		t.Errorf("Tabbed in colour = %q", got)
	}
	if got := coloured.Table(formats.Table{Columns: []string{"a"}}, 40); got != "" {
		t.Errorf("a table without rows = %q, want nothing", got)
	}
}

// TestStacked: what cannot be read in columns stands row by row, and no cell that can be typed is
// cut.
func TestStacked(t *testing.T) {
	t.Parallel()
	tab := formats.Table{
		Columns: []string{"what", "id", "about", "status", "next"},
		Rows: [][]string{
			{
				"run", "rtoy7nfbqt", "/ship: Ship it with all that has come meanwhile?",
				"waits for an answer", "tercet approve rtoy7nfbqt",
			},
			{"task", "1", "Fix it", "planned", ""},
		},
	}
	want := "run  rtoy7nfbqt\n  /ship: Ship it with all that has come…\n  waits for an answer\n" +
		"  tercet approve rtoy7nfbqt\ntask  1  Fix it  planned\n"
	if diff := cmp.Diff(want, style.Sheet{UTF8: true}.Table(tab, 40)); diff != "" {
		t.Errorf("40 columns (-want +got):\n%s", diff)
	}
	got := (style.Sheet{Colour: true}).Table(tab, 40)
	if !strings.Contains(got, "\x1b[33mwaits for an answer\x1b[0m") {
		t.Errorf("no colour in %q", got)
	}
	paths := formats.Table{
		Columns: []string{"document", "path", "summary"},
		Rows: [][]string{
			{
				"report",
				".tercet/specs/001_fix_the_parser/reports/research-001.md",
				"what there is of it, and what there is not",
			},
		},
	}
	for columns, want := range map[int]string{
		40: "report\n  .tercet/specs/001_fix_the_parser/reports/research-001.md\n" +
			"  what there is of it, and what there i…\n",
		100: "DOCUMENT  PATH                                                      SUMMARY\n" +
			"report    .tercet/specs/001_fix_the_parser/reports/research-001.md  what there is " +
			"of it, and what t…\n",
	} {
		if diff := cmp.Diff(want, style.Sheet{UTF8: true}.Table(paths, columns)); diff != "" {
			t.Errorf("paths on %d columns (-want +got):\n%s", columns, diff)
		}
	}

	for columns := 20; columns < 200; columns++ {
		for line := range strings.Lines(style.Sheet{UTF8: true}.Table(tab, columns)) {
			if w := style.Width(strings.TrimSuffix(line, "\n")); w > columns {
				t.Fatalf("a line of %d columns on %d: %q", w, columns, line)
			}
		}
	}
}

// TestLooks: every status of a task and every outcome but those that say nothing yet has a look.
func TestLooks(t *testing.T) {
	t.Parallel()
	for _, s := range formats.TaskStatuses() {
		if style.LookOf(s.String()) == style.Plain && s != formats.NotStarted {
			t.Errorf("status %s has no look", s)
		}
	}
	for _, o := range formats.Outcomes() {
		if style.LookOf(o.String()) == style.Plain {
			t.Errorf("outcome %s has no look", o)
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for mark, want := range map[string]string{"▶": ">", "✓": "ok", "✗": "x", "…": "..."} {
		if got := (style.Sheet{}).Mark(mark); got != want {
			t.Errorf("Mark(%s) = %s, want %s", mark, got, want)
		}
		if got := (style.Sheet{UTF8: true}).Mark(mark); got != mark {
			t.Errorf("Mark(%s) = %s", mark, got)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	patch := "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n same\n" +
		"-old\n+new\n--- x\ndiff --git a/b b/b\nnew file mode 100644\n--- /dev/null"
	want := "\x1b[1mdiff --git a/a b/a\x1b[0m\n\x1b[1mindex 1..2 100644\x1b[0m\n" +
		"\x1b[1m--- a/a\x1b[0m\n\x1b[1m+++ b/a\x1b[0m\n\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n same\n" +
		"\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n\x1b[31m--- x\x1b[0m\n" +
		"\x1b[1mdiff --git a/b b/b\x1b[0m\n\x1b[1mnew file mode 100644\x1b[0m\n" +
		"\x1b[1m--- /dev/null\x1b[0m"
	if diff := cmp.Diff(want, style.Sheet{Colour: true}.Diff(patch)); diff != "" {
		t.Errorf("Diff (-want +got):\n%s", diff)
	}
	if got := (style.Sheet{}).Diff(patch); got != patch {
		t.Errorf("Diff without colour = %q", got)
	}
}
