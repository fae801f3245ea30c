package git_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/git"
)

func TestParse(t *testing.T) {
	t.Parallel()
	date := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name  string
		parse func(string) (any, error)
		in    string
		want  any // nil: it is not understood
	}{
		{
			"log",
			parser(git.ParseLog),
			"/h1\x00h\x002024-01-02T03:04:05Z\x00subject\x00",
			[]git.Commit{{Hash: "h1", Short: "h", Date: date, Subject: "subject"}},
		},
		{
			"log, empty subject",
			parser(git.ParseLog),
			"/h1\x00h\x002024-01-02T03:04:05Z\x00\x00",
			[]git.Commit{{Hash: "h1", Short: "h", Date: date}},
		},
		{
			"log, files", parser(git.ParseLog),
			"/h1\x00h\x002024-01-02T03:04:05Z\x00s\x00\n" +
				"a.go\x00b/c d\x00/h2\x00h\x002024-01-02T03:04:05Z\x00\x00",
			[]git.Commit{
				{
					Hash:    "h1",
					Short:   "h",
					Date:    date,
					Subject: "s",
					Files:   []string{"a.go", "b/c d"},
				},
				{Hash: "h2", Short: "h", Date: date},
			},
		},
		{"log, no mark", parser(git.ParseLog), "h1\x00h\x002024-01-02T03:04:05Z\x00s\x00", nil},
		{"log, short", parser(git.ParseLog), "/h1\x00h\x00", nil},
		{"log, date", parser(git.ParseLog), "/h1\x00h\x00yesterday\x00s\x00", nil},
		{
			"status",
			parser(git.ParseStatus),
			" M a b\x00R  to\x00from\x00?? x\ny\x00",
			[]git.Entry{
				{Code: " M", Path: "a b"},
				{Code: "R ", Path: "to", Orig: "from"},
				{Code: "??", Path: "x\ny"},
			},
		},
		{"status, no origin", parser(git.ParseStatus), "R  to\x00", nil},
		{"status, short", parser(git.ParseStatus), "M a\x00", nil},
		{
			"numstat",
			parser(git.ParseNumstat),
			"1\t2\ta\tb\x00-\t-\tbin\x00",
			[]git.Stat{{Path: "a\tb", Added: 1, Deleted: 2}, {Path: "bin"}},
		},
		{"numstat, no path", parser(git.ParseNumstat), "1\t2\t\x00", nil},
		{"numstat, no number", parser(git.ParseNumstat), "1\tx\ta\x00", nil},
		{
			"worktrees", parser(git.ParseWorktrees),
			"worktree /a\x00HEAD h\x00branch refs/heads/x/y\x00\x00worktree /b c\x00HEAD " +
				"i\x00detached\x00locked why\x00prunable gone\x00\x00worktree /d\x00bare\x00\x00",
			[]git.Worktree{
				{Path: "/a", Head: "h", Branch: "x/y"},
				{Path: "/b c", Head: "i"},
				{Path: "/d", Bare: true},
			},
		},
		{"worktrees, no start", parser(git.ParseWorktrees), "HEAD h\x00", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.parse(tt.in)
			if bad := isOdd(err); bad != (tt.want == nil) {
				t.Fatalf("parse(%q) = %v, want an error: %v", tt.in, err, tt.want == nil)
			}
			if d := cmp.Diff(tt.want, got); tt.want != nil && d != "" {
				t.Errorf("parse(%q) (-want +got)\n%s", tt.in, d)
			}
		})
	}
}

func parser[T any](f func([]byte) ([]T, error)) func(string) (any, error) {
	return func(in string) (any, error) { return f([]byte(in)) }
}

func TestNeutral(t *testing.T) {
	t.Parallel()
	got := git.Neutral([]string{
		"filter.a=b.clean", "filter.a=b.smudge", "filter.x.y.process", "merge.ff", "merge.m.name",
		"merge.m.driver", "filter",
	})
	want := []string{
		"filter.a=b.clean", "", "filter.a=b.smudge", "", "filter.a=b.process", "",
		"filter.a=b.required", "false", "filter.x.y.clean", "", "filter.x.y.smudge", "",
		"filter.x.y.process", "", "filter.x.y.required", "false", "merge.m.driver",
		"git merge-file --quiet --marker-size=%L %A %O %B",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Neutral() (-want +got)\n%s", d)
	}
}

func TestCheckBranch(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"main", "task/196-add_ranges", "tercet/wip/1-r", "ü", "a.b"} {
		if err := git.CheckBranch(good); err != nil {
			t.Errorf("CheckBranch(%q) = %v, want nil", good, err)
		}
	}

	for _, bad := range []string{
		"",
		"-f",
		"a b",
		"a..b",
		"a~1",
		"a^",
		"a:b",
		"a?",
		"a*",
		"a[",
		`a\b`,
		"a@{1}",
		"@",
		"HEAD",
		"/a",
		"a/",
		"a//b",
		"a.",
		".a",
		"a/.b",
		"a.lock",
		"a.lock/b",
		"a\nb",
		"a\x7fb",
		"refs/heads/a",
		strings.Repeat("a", 300),
	} {
		if err := git.CheckBranch(bad); !isNameError(err) {
			t.Errorf("CheckBranch(%q) = %v, want that the name is refused", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "\x00", "h1\x00h\x002024-01-02T03:04:05Z\x00s\x00", " M a\x00R  to\x00from\x00",
		"1\t2\ta\x00-\t-\tb\x00", "worktree /a\x00HEAD h\x00branch refs/heads/x\x00\x00",
		"filter.a.b.clean\x00merge.x.driver\x00",
	} {
		f.Add([]byte(s))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := git.ParseLog(b); err != nil && l != nil {
			t.Errorf("ParseLog(%q) = %v beside %v", b, l, err)
		}
		entries, err := git.ParseStatus(b)
		for _, e := range entries {
			if err != nil || len(e.Code) != 2 || e.Path == "" || strings.ContainsRune(e.Path, 0) {
				t.Errorf("ParseStatus(%q) = %+v, %v", b, e, err)
			}
		}
		stats, err := git.ParseNumstat(b)
		for _, s := range stats {
			if err != nil || s.Path == "" || s.Added < 0 || s.Deleted < 0 {
				t.Errorf("ParseNumstat(%q) = %+v, %v", b, s, err)
			}
		}
		if l, err := git.ParseWorktrees(b); err != nil && l != nil {
			t.Errorf("ParseWorktrees(%q) = %v beside %v", b, l, err)
		}
		if pairs := git.Neutral(strings.Split(string(b), "\x00")); len(pairs)%2 != 0 {
			t.Errorf("Neutral(%q) = %q, want pairs", b, pairs)
		}
		err = git.CheckBranch(string(b))
		if err == nil && (b[0] == '-' || strings.ContainsAny(string(b), " \n~^:")) {
			t.Errorf("CheckBranch(%q) = nil, want an error", b)
		}
	})
}

// isOdd tells whether an error says that what git printed is not understood.
func isOdd(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "output of git ")
}
