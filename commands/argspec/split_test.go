package argspec_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/internal/style"
)

func texts(words []argspec.Word) []string {
	var out []string
	for _, w := range words {
		out = append(out, w.Text)
	}
	return out
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		"":                                 nil,
		"  \t ":                            nil,
		"196 report.md":                    {"196", "report.md"},
		`"Fix the parser" --priority high`: {"Fix the parser", "--priority", "high"},
		"Fix the user's parser":            {"Fix", "the", "user's", "parser"},
		"196 # note":                       {"196", "#", "note"},
		"a|b a;b >f $HOME *.go ~ `x`":      {"a|b", "a;b", ">f", "$HOME", "*.go", "~", "`x`"},
		`C:\dir\f \\server\share`:          {`C:\dir\f`, `\\server\share`},
		"“smart quotes” ‘and these’":       {"smart quotes", "and these"},
		"users’ parser":                    {"users’", "parser"},
		`'it is' "it's"`:                   {"it is", "it's"},
		`--name="a b" x='c d'`:             {"--name=a b", "x=c d"},
		`\"a b\" it\'s`:                    {`"a`, `b"`, "it's"},
		`"a \"b\" \\ \n \ c"`:              {`a "b" \ \n  c`},
		`'a \' b'`:                         {"a ' b"},
		`""`:                               {""},
		`""x "a"b`:                         {"x", "ab"},
		`a"b c"`:                           {`a"b`, `c"`},
		`a\ b \`:                           {`a\`, "b", `\`},
		"任務\u3000二":                        {"任務", "二"},
		"3, 5-7":                           {"3,", "5-7"},
		"a -- --b":                         {"a", "--", "--b"},
	} {
		words, err := argspec.Split(raw)
		if err != nil {
			t.Errorf("Split(%q) = %v, want no error", raw, err)
		}
		if diff := cmp.Diff(want, texts(words)); diff != "" {
			t.Errorf("Split(%q) differs (-want +got):\n%s", raw, diff)
		}
	}
}

func TestSplitPlaces(t *testing.T) {
	t.Parallel()
	got, err := argspec.Split(` a "b c" --d="e"`)
	if err != nil {
		t.Fatal(err)
	}
	want := []argspec.Word{
		{Text: "a", Start: 1, End: 2},
		{Text: "b c", Start: 3, End: 8, Quoted: true},
		{Text: "--d=e", Start: 9, End: 16},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words differ (-want +got):\n%s", diff)
	}
}

func TestSplitUnclosed(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]argspec.UsageError{
		`a "b c`:    {Message: `missing closing quote for "`, Pos: 2, End: 3},
		`'`:         {Message: `missing closing quote for '`, Pos: 0, End: 1},
		`x “y"`:     {Message: `missing closing quote for “`, Pos: 2, End: 5},
		`--n="a`:    {Message: `missing closing quote for "`, Pos: 4, End: 5},
		`"a\"`:      {Message: `missing closing quote for "`, Pos: 0, End: 1},
		`"ok" 'a b`: {Message: `missing closing quote for '`, Pos: 5, End: 6},
	} {
		_, err := argspec.Split(raw)
		var got *argspec.UsageError
		if !errors.As(err, &got) {
			t.Errorf("Split(%q) = %v, want *UsageError", raw, err)
			continue
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("Split(%q) differs (-want +got):\n%s", raw, diff)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{nil, ""},
		{[]string{"196", "user's", "--from=3"}, "196 user's --from=3"},
		{[]string{"", "a b", `say "x"`}, `"" "a b" "say \"x\""`},
		{[]string{`C:\dir`, `C:\my dir\`}, `C:\dir "C:\\my dir\\"`},
		{[]string{"“x”", "'", `a="b"`}, `"“x”" "'" "a=\"b\""`},
	} {
		if got := argspec.Join(tt.words); got != tt.want {
			t.Errorf("Join(%q) = %s, want %s", tt.words, got, tt.want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`a "b c" 'd' “e” ‘f’ g\"h --i="j k"`, `\`, `"\`, "a\tb\u00a0c", "\xff=\"\xfe\"", `=“`,
		"Fix the user's parser", `""""`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		words, err := argspec.Split(raw)
		if err == nil {
			last := 0
			for _, w := range words {
				if w.Start < last || w.End <= w.Start || w.End > len(raw) {
					t.Fatalf("Split(%q): word %+v out of order or bounds", raw, w)
				}
				last = w.End
			}
			roundTrip(t, texts(words))
		}
		roundTrip(t, []string{raw})
		roundTrip(t, []string{"x", raw, "", raw + "y"})
	})
}

func roundTrip(t *testing.T, words []string) {
	t.Helper()
	line := argspec.Join(words)
	got, err := argspec.Split(line)
	if err != nil {
		t.Fatalf("Split(Join(%q)) = %v on %q", words, err, line)
	}
	if diff := cmp.Diff(words, texts(got)); diff != "" {
		t.Fatalf("Split(Join(%q)) differs on %q (-want +got):\n%s", words, line, diff)
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"":             0,
		"plan":         4,
		"\t":           4,
		"日本語":          6,
		"한글":           4,
		"e\u0301":      1,
		"ä€":           2,
		"a\u200bb":     2,
		"🚀":            2,
		"soft\u00adly": 6,
	} {
		if got := style.Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}
