package router_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/trace"
	"tercet/router"
)

func tree(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, f := range files {
		out[f] = &fstest.MapFile{Data: []byte("never read")}
	}
	return out
}

func library() router.Source {
	return router.Source{
		Name: "library",
		FS: tree(
			"plan.md", "research.md", "review.md", "revise.md", "task.md", "todo.md", "errors.md",
			"help.md",
		),
	}
}

func scan(tb testing.TB, aliases map[string]string, sources ...router.Source) *router.Table {
	tb.Helper()
	table, err := router.Scan(router.Names{Aliases: aliases}, sources...)
	if err != nil {
		tb.Fatalf("Scan = %v, want no error", err)
	}
	return table
}

func names(table *router.Table) []string {
	var out []string
	for _, e := range table.Commands() {
		out = append(out, e.Name+" "+e.Source+":"+e.File)
	}
	return out
}

// foldersOnly has nothing but Open, and that refuses whatever is no folder.
type foldersOnly struct {
	under  fstest.MapFS
	opened *[]string
}

func (f foldersOnly) Open(name string) (fs.File, error) {
	info, err := f.under.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		*f.opened = append(*f.opened, name)
		return nil, errors.New("a router does not open files")
	}
	return f.under.Open(name)
}

func TestScanAndRouteOpenNoFile(t *testing.T) {
	t.Parallel()
	under := tree("plan.md", "git/commit.md", "git/sub/push.md")
	under["link.md"] = &fstest.MapFile{Data: []byte("plan.md"), Mode: fs.ModeSymlink}
	var opened []string
	table := scan(t, nil, router.Source{
		Name: "project",
		FS:   foldersOnly{under: under, opened: &opened},
	})
	for _, line := range []string{"/plan 1", "/git:commit", "/git/sub/push x", "/nothing"} {
		_, err := table.Route(router.Line{Raw: line})
		if line != "/nothing" && err != nil {
			t.Errorf("Route(%q) = %v, want no error", line, err)
		}
	}
	if len(opened) > 0 {
		t.Errorf("opened %q, want no file", opened)
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", router.MaxFolders)
	tests := []struct {
		name    string
		sources []router.Source
		want    []string
	}{
		{"nothing", nil, nil},
		{
			"no such root",
			[]router.Source{{Name: "project", FS: os.DirFS(filepath.Join(t.TempDir(), "absent"))}},
			nil,
		},
		{
			"names",
			[]router.Source{{
				Name: "p",
				FS: tree(
					"b.md", "a.md", "README.md", "a b.md", "c.txt", "md", ".md", "d.md/e.md",
					"1x.md", "x_y.md", "git/commit.md", "Git/push.md",
				),
			}},
			[]string{"a p:a.md", "b p:b.md", "git:commit p:git/commit.md"},
		},
		{
			"hidden",
			[]router.Source{{Name: "p", FS: tree(".a.md", ".git/b.md", "a/.c/d.md", "a/e.md")}},
			[]string{"a:e p:a/e.md"},
		},
		{
			"deep",
			[]router.Source{{Name: "p", FS: tree(deep+"in.md", deep+"d/out.md")}},
			[]string{strings.Repeat("d:", router.MaxFolders) + "in p:" + deep + "in.md"},
		},
		{
			"precedence",
			[]router.Source{
				{Name: "project", FS: tree("plan.md", "x.md")},
				{Name: "library", FS: tree("plan.md", "todo.md")},
			},
			[]string{"plan project:plan.md", "todo library:todo.md", "x project:x.md"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, names(scan(t, nil, tt.sources...))); diff != "" {
				t.Errorf("commands differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.md")
	for _, file := range []string{outside, filepath.Join(dir, "real.md")} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for link, to := range map[string]string{
		"linked.md":   "real.md",
		"loop":        ".",
		"out.md":      outside,
		"dangling.md": "absent",
		"folder.md":   ".",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	want := []string{"linked p:linked.md", "real p:real.md"}
	diff := cmp.Diff(want, names(scan(t, nil, router.Source{Name: "p", FS: root.FS()})))
	if diff != "" {
		t.Errorf("commands differ (-want +got):\n%s", diff)
	}
}

type broken struct{ fs.FS }

func (b broken) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "sub" {
		return nil, fs.ErrPermission
	}
	return fs.ReadDir(b.FS, name)
}

func TestScanErrors(t *testing.T) {
	t.Parallel()
	many := fstest.MapFS{}
	for i := range router.MaxFiles + 1 {
		many[fmt.Sprintf("f%d.txt", i)] = &fstest.MapFile{}
	}

	for _, tt := range []struct {
		aliases map[string]string
		fsys    fs.FS
		want    string
		code    formats.Code
	}{
		{nil, broken{tree("sub/a.md")}, "commands of p: sub: permission denied", formats.CodeIO},
		{
			nil, many, "commands of p: .: expected at most 10000 files and folders, got more",
			formats.CodeIO,
		},
		{
			map[string]string{"p": "not a name"},
			tree("plan.md"),
			`expected slash names as alias, got "p" for "not a name"`,
			formats.CodeConfig,
		},
		{
			map[string]string{"": "plan"},
			tree("plan.md"),
			`expected slash names as alias, got "" for "plan"`,
			formats.CodeConfig,
		},
	} {
		_, err := router.Scan(
			router.Names{Aliases: tt.aliases},
			router.Source{Name: "p", FS: tt.fsys},
		)
		if err == nil || err.Error() != tt.want || formats.CodeOf(err) != tt.code {
			t.Errorf("Scan = %v (%s), want %s (%s)", err, formats.CodeOf(err), tt.want, tt.code)
		}
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	project := router.Source{Name: "project", FS: tree("plan.md", "git/commit.md")}
	table := scan(
		t,
		map[string]string{
			"p":     "plan",
			"/gc":   "/git/commit",
			"todo":  "review",
			"pp":    "p",
			"stale": "gone",
		},
		project,
		library(),
	)
	plan := router.Route{
		Name:    "plan",
		File:    "plan.md",
		Source:  "project",
		Shadows: []string{"library/plan.md"},
	}
	commit := router.Route{
		Name:   "git:commit",
		File:   "git/commit.md",
		Source: "project",
	}
	with := func(r router.Route, raw string, words ...string) router.Route {
		r.Raw = raw
		r.Words = words
		return r
	}
	tests := []struct {
		line router.Line
		want router.Route
	}{
		{router.Line{Raw: "/plan"}, plan},
		{router.Line{Raw: "  /plan  196 \"a b\" \n"}, with(plan, `196 "a b"`)},
		{router.Line{Raw: "/plan\t196"}, with(plan, "196")},
		{router.Line{Raw: "/plan\u3000196"}, with(plan, "196")},
		{router.Line{Raw: "/plan --help"}, with(plan, "--help")},
		{router.Line{Raw: "/plan ?"}, with(plan, "?")},
		{router.Line{Words: []string{"/plan"}}, plan},
		{
			router.Line{Raw: "ignored", Words: []string{"/plan", "196", "a b"}},
			with(plan, "", "196", "a b"),
		},
		{router.Line{Raw: "/git:commit -m x"}, with(commit, "-m x")},
		{router.Line{Raw: "/git/commit"}, commit},
		{router.Line{Raw: "/gc"}, commit},
		{router.Line{Raw: "/p 1"}, with(plan, "1")},
		{router.Line{Raw: "/todo"}, router.Route{
			Name:    "review",
			File:    "review.md",
			Source:  "library",
			Shadows: []string{"library/todo.md"},
		}},
		{router.Line{Raw: "/review"}, router.Route{
			Name:   "review",
			File:   "review.md",
			Source: "library",
		}},
	}
	for _, tt := range tests {
		got, err := table.Route(tt.line)
		if err != nil {
			t.Errorf("Route(%+v) = %v, want no error", tt.line, err)
			continue
		}
		if tt.line.Words != nil && got.Words == nil {
			t.Errorf("Route(%+v).Words = nil, want words", tt.line)
		}
		if len(got.Words) == 0 {
			got.Words = nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Route(%+v) differs (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestRouteErrors(t *testing.T) {
	t.Parallel()
	table := scan(
		t,
		map[string]string{"pp": "p", "p": "plan"},
		router.Source{Name: "p", FS: tree("git/commit.md", "clean.md")},
		library(),
	)
	for line, want := range map[string]string{
		"/plna 196":  "unknown command '/plna'; did you mean /plan?",
		"/pla":       "unknown command '/pla'; did you mean /plan?",
		"/res":       "unknown command '/res'; did you mean /research?",
		"/Plan":      "unknown command '/Plan'; did you mean /plan?",
		"/reviwe":    "unknown command '/reviwe'; did you mean /revise or /review?",
		"/commit":    "unknown command '/commit'; did you mean /git:commit?",
		"/git/comit": "unknown command '/git/comit'; did you mean /git:commit?",
		"/zzzzz":     "unknown command '/zzzzz'; /help lists the commands",
		"/pp":        "unknown command '/pp'; did you mean /p?",
		"/tmp/x.md":  "unknown command '/tmp/x.md'; /help lists the commands",
		"/\x1b[31m":  "unknown command '/\uFFFD[31m'; /help lists the commands",
		"//plan":     "unknown command '//plan'; did you mean /plan?",
		"":           "expected a slash command, got an empty line; /help lists the commands",
		" \t":        "expected a slash command, got an empty line; /help lists the commands",
		"/":          "commands start with '/', got '/'; /help lists the commands",
		"/ plan":     "commands start with '/', got '/ plan'; /help lists the commands",
		"plan 196":   "commands start with '/', got 'plan 196'; did you mean /plan?",
		"git:commit": "commands start with '/', got 'git:commit'; did you mean /git:commit?",
		"fix the parser": "commands start with '/', got 'fix the parser'; did you mean /task " +
			"\"…\"?",
		"what": "commands start with '/', got 'what'; /help lists the commands",
		"a\nb": "commands start with '/', got 'a\uFFFDb'; did you mean /task \"…\"?",
	} {
		_, err := table.Route(router.Line{Raw: line})
		if err == nil {
			t.Errorf("Route(%q) = nil, want an error", line)
			continue
		}
		if got := err.Error() + "; " + formats.HelpOf(err); got != want {
			t.Errorf("Route(%q) = %s, want %s", line, got, want)
		}
		if code := formats.CodeOf(err); code != formats.CodeUsage {
			t.Errorf("code of Route(%q) = %s, want USAGE", line, code)
		}
	}

	if _, err := table.Route(router.Line{Words: []string{}}); err == nil {
		t.Error("Route of no words = nil, want an error")
	}
}

func TestRouteAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	table := scan(t, nil, router.Source{Name: "p", FS: tree("git/commit.md")}, library())
	lines := []router.Line{
		{Raw: "/plan 196 report.md"},
		{Words: []string{"/git/commit", "x"}},
		{Raw: " /git:commit "},
	}
	got := testing.AllocsPerRun(100, func() {
		for _, l := range lines {
			if _, err := table.Route(l); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got != 0 {
		t.Errorf("allocations of Route = %v, want 0", got)
	}
}

type runner func(context.Context, formats.Invocation) (formats.Return, error)

func (r runner) RunCommand(ctx context.Context, in formats.Invocation) (formats.Return, error) {
	return r(ctx, in)
}

func TestHandle(t *testing.T) {
	t.Parallel()
	var got formats.Invocation
	var events []trace.Event
	table := scan(t, nil, router.Source{Name: "project", FS: tree("plan.md")}, library())
	line := router.Line{Words: []string{"/plan", "196", `a "b`}}
	route, err := table.Route(line)
	if err != nil {
		t.Fatal(err)
	}
	o := &router.Orchestrator{
		Runner: runner(func(_ context.Context, in formats.Invocation) (formats.Return, error) {
			got = in
			return formats.Return{Status: formats.StatusPartial, Summary: "as it came"}, nil
		}),
		Trace:  trace.Func(func(e trace.Event) { events = append(events, e) }),
		NewRun: func() (string, string) { return "sess_1_abcdef", "r1" },
	}
	ret, err := o.Handle(t.Context(), line, route, true)
	if err != nil {
		t.Fatalf("Handle = %v, want no error", err)
	}
	diff := cmp.Diff(formats.Return{Status: formats.StatusPartial, Summary: "as it came"}, ret)
	if diff != "" {
		t.Errorf("return differs (-want +got):\n%s", diff)
	}
	if got.Depth.Int() != 1 {
		t.Errorf("depth = %d, want 1", got.Depth.Int())
	}
	got.Depth = formats.Depth{}
	want := formats.Invocation{
		Name:    "plan",
		File:    "plan.md",
		Source:  "project",
		Words:   []string{"196", `a "b`},
		Session: "sess_1_abcdef",
		Run:     "r1",
		Path:    []string{"router", "/plan"},
		Line:    `/plan 196 "a \"b"`,
		DryRun:  true,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(formats.Depth{})); diff != "" {
		t.Errorf("invocation differs (-want +got):\n%s", diff)
	}
	wantEvents := []trace.Event{
		{
			Run:       "r1",
			Kind:      trace.Route,
			Name:      "plan",
			FromDepth: 0,
			ToDepth:   1,
			Path:      []string{"router", "/plan"},
			Outcome:   "routed",
			Attrs: map[string]any{
				"line":       want.Line,
				"file":       "plan.md",
				"source":     "project",
				"session_id": "sess_1_abcdef",
				"shadows":    []string{"library/plan.md"},
			},
		},
	}
	if diff := cmp.Diff(wantEvents, events); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

func TestHandleGivesErrorsOfTheRunner(t *testing.T) {
	t.Parallel()
	o := &router.Orchestrator{
		Runner: runner(func(context.Context, formats.Invocation) (formats.Return, error) {
			return formats.Return{}, fs.ErrPermission
		}),
		Trace:  trace.Discard{},
		NewRun: func() (string, string) { return "s", "r" },
	}
	_, err := o.Handle(t.Context(), router.Line{Raw: "/plan"}, router.Route{Name: "plan"}, false)
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Handle = %v, want %v", err, fs.ErrPermission)
	}
	o.Trace = nil
	_, err = o.Handle(t.Context(), router.Line{Raw: "/plan"}, router.Route{Name: "plan"}, false)
	if formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Handle without a trace = %v, want an error of code BUG", err)
	}
}

func FuzzRoute(f *testing.F) {
	for _, seed := range []string{
		"/plan 196", "/git/commit", "/git:commit x", "plan", "/", "", "/\xff", "/plna",
		"\u3000/plan\u30001", "/a:b:c/d",
	} {
		f.Add(seed)
	}

	table := scan(
		f,
		map[string]string{"p": "plan"},
		router.Source{Name: "p", FS: tree("git/commit.md")},
		library(),
	)
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := table.Route(router.Line{Raw: raw})
		if err != nil {
			if formats.CodeOf(err) != formats.CodeUsage ||
				strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("Route(%q) = %q with code %s, want one line with code USAGE",
					raw, err, formats.CodeOf(err))
			}
			return
		}
		if !strings.HasPrefix(strings.TrimSpace(raw), "/") ||
			!strings.HasSuffix(strings.TrimSpace(raw), r.Raw) || r.File == "" {
			t.Fatalf("Route(%q) = %+v, want a rest that ends the line", raw, r)
		}
		again, err := table.Route(router.Line{Raw: "/" + r.Name + " " + r.Raw})
		if err != nil || again.File != r.File || again.Raw != r.Raw {
			t.Fatalf("Route of the canonical name = %+v, %v, want %+v", again, err, r)
		}
	})
}

func BenchmarkRoute(b *testing.B) {
	table := scan(b, nil, library())
	line := router.Line{Raw: "/plan 196 report.md"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Route(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRouteUnknown(b *testing.B) {
	table := scan(b, nil, library())
	line := router.Line{Raw: "/plna 196"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Route(line); err == nil {
			b.Fatal("found")
		}
	}
}
