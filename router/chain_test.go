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
		"/plan && /nothing ; /tmp":               {"/plan && /nothing ; /tmp"},
		"/plan a&& /todo; /todo &&/todo":         {"/plan a&& /todo; /todo &&/todo"},
		`/plan "a && /todo" ; /todo 'x ; /plan'`: {`/plan "a && /todo"`, `; /todo 'x ; /plan'`},
		"/plan It's so && /todo":                 {"/plan It's so", "&& /todo"},
		`/plan "open && /todo`:                   {`/plan "open`, "&& /todo"},
		"/plan && && /todo ":                     {"/plan &&", "&& /todo"},
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
		{router.Line{Words: []string{"/plan", "&&", "/tmp"}}, ""},
		{router.Line{Words: []string{"/plan"}}, ""},
		{router.Line{Words: []string{}}, ""},
		{router.Line{Raw: "/plan 1 && /todo"}, "&& /todo"},
		{router.Line{Raw: "/plan 1 | /todo"}, "| /todo"},
		{router.Line{Raw: "/plan '1 | /todo'"}, ""},
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
