package router_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/router"
)

func TestChain(t *testing.T) {
	t.Parallel()
	table := scan(t, map[string]string{"p": "plan"}, library())
	for line, want := range map[string][]string{
		"/plan 1":                                {"/plan 1"},
		"/plan 1 && /todo":                       {"/plan 1", "&& /todo"},
		"/plan 1 ; /p 2 && /todo --x":            {"/plan 1", "; /p 2", "&& /todo --x"},
		"/plan a && b ; c | d":                   {"/plan a && b ; c | d"},
		"/plan it && /nothing ; /tmp":            {"/plan it && /nothing ; /tmp"},
		"/plan 1 && /usr/bin":                    {"/plan 1 && /usr/bin"},
		"/plan a&& /todo; /todo &&/todo":         {"/plan a&& /todo; /todo &&/todo"},
		`/plan "a && /todo" ; /todo 'x ; /plan'`: {`/plan "a && /todo"`, `; /todo 'x ; /plan'`},
		"/plan It's so && /todo":                 {"/plan It's so", "&& /todo"},
		`/plan "open && /todo`:                   {`/plan "open`, "&& /todo"},
		"/plan && && /todo ":                     {"/plan &&", "&& /todo"},
		"/plan 1 so that a | cat works":          {"/plan 1 so that a | cat works"},
		"/task ps | grep x fails":                {"/task ps | grep x fails"},
		"/plan 1 '| cat'":                        {"/plan 1 '| cat'"},
		"/plan 1 |cat":                           {"/plan 1 |cat"},
		"/plan 1 |":                              {"/plan 1 |"},
		"/plan \u3000&& /todo":                   {"/plan", "&& /todo"},
	} {
		parts, err := table.Chain(line)
		var got []string
		for _, p := range parts {
			got = append(got, strings.TrimSpace(p.Sign+" "+p.Line))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Chain(%q): %v; parts differ (-want +got):\n%s", line, err, diff)
		}
	}

	_, err := table.Chain("/plan 1 | /todo")
	if err == nil || !strings.Contains(err.Error(), "'| /todo'") {
		t.Errorf("Chain with a pipe = %v, want it refused by name", err)
	}
	if _, err := table.Chain(`/plan "1 | /todo"`); err != nil {
		t.Errorf("Chain with a pipe in quotes = %v", err)
	}
}

// TestChainRefuses: what a shell would send to a program or a file is refused, unless it may be
// text, and so is a misspelt command.
func TestChainRefuses(t *testing.T) {
	t.Parallel()
	table := scan(t, map[string]string{"p": "plan"}, library())
	for line, want := range map[string]string{
		"/plan 1 | cat":               "'/plan 1 | cat'",
		"/todo | less -R":             "'/todo | less -R'",
		"/plan 1,3-5 --force >> x.md": "'/plan 1,3-5 --force >> x.md'",
		"/p 1 > out.txt":              "'/p 1 > out.txt'",
		"/plan 1 && /toddo":           "unknown command '/toddo'",
		"/plan 1 ; /plna 2":           "unknown command '/plna'",
		"/plan 1 && /nothing":         "unknown command '/nothing'",
		"/todo --all ; /x 2":          "unknown command '/x'",
		"/plan 1 && /todo | wc -l":    "'/todo | wc -l'",
	} {
		_, err := table.Chain(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Chain(%q) = %v, want it refused with %s", line, err, want)
		}
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	table := scan(t, nil, library())
	for _, tt := range []struct {
		line router.Line
		want string // empty: it may run
	}{
		{router.Line{Words: []string{"/plan", "1", "&&", "/todo"}}, "&& /todo"},
		{router.Line{Words: []string{"/plan", ";", "/todo"}}, "; /todo"},
		{router.Line{Words: []string{"/plan", "|", "/todo"}}, "| /todo"},
		{router.Line{Words: []string{"/plan", "a && /todo"}}, ""},
		{router.Line{Words: []string{"/plan", "it", "&&", "/tmp"}}, ""},
		{router.Line{Words: []string{"/plan", "1", "&&", "/tmp"}}, "/tmp"},
		{router.Line{Words: []string{"/plan"}}, ""},
		{router.Line{Words: []string{}}, ""},
		{router.Line{Raw: "/plan 1 && /todo"}, "&& /todo"},
		{router.Line{Raw: "/plan 1 | /todo"}, "| /todo"},
		{router.Line{Raw: "/plan '1 | /todo'"}, ""},
		{router.Line{Raw: "/plan 1 | cat"}, "| cat"},
		{router.Line{Words: []string{"/plan", "1", "&&", "/toddo"}}, "/toddo"},
		{router.Line{Words: []string{"/plan", "1", "|", "cat"}}, ""},
	} {
		err := table.CheckSingle(tt.line)
		if (err == nil) != (tt.want == "") ||
			err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Alone(%+v) = %v, want %q", tt.line, err, tt.want)
		}
	}
}

func FuzzChain(f *testing.F) {
	for _, seed := range []string{
		"/plan 1 && /todo", "/plan 'x | /todo", "/plan \xff ; /todo", " ; /todo", "/todo | /plan",
		"\u2003",
	} {
		f.Add(seed)
	}
	table, err := router.Scan(router.Names{}, library())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		parts, err := table.Chain(line)
		if err != nil {
			return
		}
		for i, p := range parts {
			if i > 0 && (p.Sign != "&&" && p.Sign != ";" || !strings.HasPrefix(p.Line, "/")) ||
				!strings.Contains(line, p.Line) {
				t.Fatalf("Chain(%q) = %+v", line, parts)
			}
		}
	})
}
