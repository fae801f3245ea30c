package query_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tercet/internal/query"
	"tercet/internal/testkit"
)

// tasksState and projectsState are the two shapes of state, with what is found in them in the wild.
const (
	tasksState = `{
  "version": "1", "lineage": "4f0c2b0e", "serial": 412, "next_number": 9, "odd key": {"b": 1, "a": [1, 2]},
  "tasks": [
    {"number": 1, "title": "Set up the tree", "slug": "set_up_the_tree", "status": "completed", "language": "go", "priority": "high",
     "effort": "1h", "description": "first\nsecond", "dependencies": [], "parent": null, "created": "2026-01-05T10:00:00Z",
     "artifacts": [{"type": "report", "path": "specs/1/report.md"}, {"type": "plan", "path": "specs/1/plan.md", "summary": "s"}],
     "lease": null, "mixed": 5, "rate": 0.5, "flag": true},
    {"number": 2, "title": "Write docs", "slug": "write_docs", "status": "planned", "priority": "high", "effort": null,
     "dependencies": [1], "parent": 1, "created": "2026-01-05T11:00:00Z", "artifacts": [], "lease": null, "mixed": "m", "rate": 1, "flag": false},
    {"number": 3, "title": "Write more docs", "slug": "write_more_docs", "status": "completed", "priority": "low", "effort": "2h",
     "dependencies": [1, 2], "parent": 1, "created": "2026-01-06T10:00:00Z",
     "artifacts": [{"type": "plan", "path": "specs/3/plan.md"}], "lease": {"session_id": "sess_1", "host": "h"}, "mixed": {"b": 1, "a": {"b": 1}}, "rate": 1.5},
    {"slug": "caf\u00e9", "status": "blocked", "number": 4, "title": "tab\tand \"quote\"", "dependencies": [3], "blocked_reason": "wait",
     "parent": null, "created": "2026-01-07T10:00:00Z", "artifacts": [], "mixed": [1, {"z": 1, "a": 2}], "rate": -3, "flag": null},
    {"number": 5, "title": "emoji \ud83d\ude00", "slug": "emoji", "status": "not_started", "dependencies": [], "created": "2026-01-08T10:00:00Z",
     "artifacts": [], "mixed": null, "rate": 0, "big": 4503599627370496},
    {"number": 6, "title": "schöne Grüße 世界", "slug": "gruesse", "status": "completed", "priority": "high", "effort": "2h", "dependencies": [5, 1],
     "created": "2026-01-08T10:00:01Z", "artifacts": [{"type": "report", "path": "specs/6/a b.md"}], "mixed": true, "rate": 2.25},
    {"number": 7, "title": "", "slug": "", "status": "completed", "dependencies": [6], "created": "", "artifacts": [], "lease": null, "mixed": false},
    {"number": 8, "title": "a/b \\ <>&' \u2028 \u007f", "slug": "b", "status": "planned", "dependencies": [4, 7], "created": "2026-01-09T10:00:00Z",
     "artifacts": [{"type": "plan", "path": "p1"}, {"type": "plan", "path": "p2"}], "mixed": "x y", "parent": 2}
  ]
}`
	projectsState = `{
  "_schema_version": "1.1.0", "next_project_number": 5, "version": "2", "serial": 7,
  "active_projects": [
    {"project_number": 1, "project_name": "alpha", "status": "completed", "artifacts": [], "phase_counts": {"done": 2, "all": 2}},
    {"project_number": 2, "project_name": "beta", "status": "planning", "title": "Beta",
     "artifacts": [{"type": "report", "path": "specs/2/r.md"}, {"type": "plan", "path": "specs/2/p.md"}], "phase_counts": {"done": 1, "all": 3}},
    {"project_number": 4, "project_name": "gamma", "status": "completed", "artifacts": [{"type": "plan", "path": "specs/4/p.md"}], "phase_counts": {"done": 0, "all": 1}}
  ],
  "completed_projects": [{"project_number": 3, "project_name": "old", "completed": "2026-01-01"}],
  "repository_health": {"todo_count": 3, "last_assessed": "2026-01-02T00:00:00Z"}
}`
)

// oddStates are valid, and seldom.
func oddStates() []string {
	return []string{
		``,
		` `,
		`null`,
		`[]`,
		`{}`,
		`1`,
		`"x"`,
		`true `,
		`{"tasks":null}`,
		`{"tasks":[]}`,
		`{"tasks":{}}`,
		`{"tasks":7,"serial":null}`,
		`{"tasks":{"b":{"number":3,"title":"b"},"a":{"title":"a","number":1,"dependencies":[]}}}`,
		`[{"number":3,"title":"x"},{"number":4}]`,
		`{"tasks":[[{"number":3}]]}`,
		`{"tasks":[[]]}`,
		`{"tasks":[{}]}`,
		`{"tasks":[1,null,"x",[{"number":3}],true,{"number":3,"title":"t"}],"serial":412}`,
		`{"tasks":[{"number":3,"title":"a"}],"serial":1,"tasks":[{"number":3,"title":"b"},` +
			`{"number":1}]}`,
		`{"serial":1,"serial":2,"tasks":[{"number":1,"number":3,"title":"last",` +
			`"title":"counts","status":"planned","status":"completed"}]}`,
		`{"t\u0061sks":[{"n\u0075mber":3,"title":"escaped keys",` +
			`"st\u0061tus":"c\u006fmpleted"}],"s\u0065rial":5}`,
		`{"tasks":[{"number":3,"n\u0075mber":4,"title":"both"}]}`,
		`{"tasks":[{"number":12345678901234567890,"big":12345678901234567890123,"rate":1.0,"title":"big"},{"number":3.0,"title":"float","rate":1e0},
		  {"number":3e0,"title":"exp"},{"number":-3,"title":"neg"},{"number":9007199254740993,"title":"2^53+1","rate":1E+2,"mixed":-0},{"number":-0,"rate":0.10,"mixed":1e400},
		  {"number":"3","title":"text","mixed":-1e-400}]}`,
		`{"tasks":[{"number":3,"title":null,"status":{"completed":1},"dependencies":null,` +
			`"artifacts":null,"mixed":[[]]},{"number":[3],"status":["completed"],` +
			`"title":["a"],"dependencies":{"a":1},"artifacts":{"z":{"path":"p",` +
			`"type":"plan"},"a":{"type":"x"}}}]}`,
		`{"tasks":[{"number":3,"title":"a"}]} {"tasks":[{"number":4}],"serial":412}` + "\n" +
			`{"serial":3}`,
		`{"tasks":[{"number":3}]}{"tasks":[{"number":3}]}[1]`,
		`1 2 3`,
		`{"serial":1} null {"serial":{"z":1,"a":2}}`,
		`{"tasks":[{"z":{"y":[{"x":1,"w":2}]},"number":3,"title":"kept order","a":1}]}`,
		`{"":{"":1},"tasks":[{"":2,"number":3}]}`,
		`{"tasks":[{"number":3,"lease":{"session_id":"sess_1","session_id":"sess_2"},` +
			`"lease":{"a":1}}]}`,
		strings.Repeat("[", 600) + strings.Repeat("]", 600),
		`{"tasks":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		`{"a":` + strings.Repeat(`{"a":`, 700) + "1" + strings.Repeat("}", 701),
	}
}

// brokenStates are not JSON; the error must be the same.
func brokenStates() []string {
	whole := strings.ReplaceAll(tasksState, "\n", "")
	out := []string{
		`{"tasks":[{"number":3,}]}`,
		`{"tasks":[{"number":3}],}`,
		`{"tasks":[{"number":3},]}`,
		`{"tasks":[,]}`,
		`{,}`,
		`{"tasks" [1]}`,
		`{"tasks":}`,
		`{"tasks":[{"number":3} {"number":4}]}`,
		`{"tasks":[{"number":3}]`,
		`{"tasks":[{"number":3}]}}`,
		`{"tasks":[{"number":3}]} x`,
		`{"tasks":[{"number":3}]}` + "\x00",
		`{"tasks":[{"number":03}]}`,
		`{"tasks":[{"number":3.}]}`,
		`{"tasks":[{"number":.3}]}`,
		`{"tasks":[{"number":+3}]}`,
		`{"tasks":[{"number":3e}]}`,
		`{"tasks":[{"number":-}]}`,
		`{"tasks":[{"number":3x}]}`,
		`{"tasks":[{"number":1-2}]}`,
		`{"tasks":[nul]}`,
		`{"tasks":[nulll]}`,
		`{"tasks":[null1]}`,
		`{"tasks":[True]}`,
		`{"tasks":[NaN]}`,
		`{"tasks":['a']}`,
		`{tasks:[]}`,
		`{"a":1 /* c */}`,
		"{\"tasks\":[{\"number\":3,\"title\":\"a\nb\"}]}",
		"{\"tasks\":[{\"number\":3,\"title\":\"a\x01b\"}]}",
		"{\"tasks\":[{\"number\":3,\"title\":\"a\xffb\"}]}",
		"{\"tasks\":[{\"number\":3,\"title\":\"\xc3\"}]}",
		"{\"tasks\":[{\"number\":3,\"ti\xfftle\":\"a\"}]}",
		"{\"tasks\":[{\"number\":3,\"title\":\"\xed\xa0\x80\"}]}",
		"{\"tasks\":[{\"number\":3,\"title\":\"\xf4\x90\x80\x80 some more text\"}]}",
		`{"tasks":[{"number":3,"title":"\x"}]}`,
		`{"tasks":[{"number":3,"title":"\u12g4"}]}`,
		`{"tasks":[{"number":3,"title":"\ud800"}]}`,
		`{"tasks":[{"number":3,"title":"\udc00"}]}`,
		`{"tasks":[{"number":3,"title":"\ud800\u0041"}]}`,
		`{"tasks":[{"number":3,"title":"\u12"}]}`,
		`{"tasks":[{"number":3,"title":"\`,
		`{"tasks":[{"number":3,"title":"abc`,
		`{"tasks":[{"number":3,"title"`,
		`{"tasks":[{"number":3,"title":`,
		`{"tasks":[{"number":3,1:2}]}`,
		"{\"tasks\":[\n<<<<<<< HEAD\n{\"number\":3}\n=======\n{\"number\":4}\n>>>>>>> b\n]}",
		"\xef\xbb\xbf \xef\xbb\xbf{}",
		" \xef\xbb\xbf{}",
		`{"tasks":[{"number":3}]} {"tasks":`,
		`{"serial":1} {"serial":2} ]`,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		`{"tasks":[{"number":3,"x":` + strings.Repeat("[", 400) + `}]}`,
		"\x1b",
		`{"tasks":[{"number":3}]}` + "\xff",
	}
	for i := 7; i < len(whole); i += 171 {
		out = append(out, whole[:i])
	}

	return out
}

// layouts gives the same document written in many ways.
func layouts(tb testing.TB, src string) []string {
	tb.Helper()

	var compact, pretty, tabs bytes.Buffer
	for _, err := range []error{
		json.Compact(&compact, []byte(src)),
		json.Indent(&pretty, []byte(src), "", "  "),
		json.Indent(&tabs, []byte(src), "\t", "\t"),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}

	lines := strings.NewReplacer(
		`:[{`, ": [\n{", `},{"number`, "},\n{\"number", `}]}`, "}\n]\n}\n",
	).Replace(compact.String())

	return []string{
		pretty.String() + "\n",
		src,
		compact.String(),
		tabs.String(),
		lines,
		strings.ReplaceAll(pretty.String(), "\n", "\r\n"),
		"\xef\xbb\xbf" + compact.String(),
		strings.NewReplacer(`":`, "\"  \t:\r\n ", `,"`, " ,  \"").Replace(compact.String()),
		"\n\n \t" + compact.String() + " \r\n\n",
	}
}

// large repeats the tasks so that the state is read in several pieces.
func large(tb testing.TB) string {
	tb.Helper()

	var doc struct{ Tasks []json.RawMessage }
	if err := json.Unmarshal([]byte(tasksState), &doc); err != nil {
		tb.Fatal(err)
	}

	var out strings.Builder
	out.WriteString("{\"serial\": 412,\n\"before\": [" + strings.Repeat(`{"a": [1, "x"]}, `, 3000) +
		"0],\n\"tasks\": [\n")

	for i := range 1500 {
		fmt.Fprintf(&out, "%s,\n", doc.Tasks[i%len(doc.Tasks)])
	}

	fmt.Fprintf(&out, "{\"number\": 3, \"title\": \"%s\"}\n],\n\"version\": \"1\"}\n",
		strings.Repeat("long ", 100_000))

	return out.String()
}

// filter is a line of the corpus.
type filter struct {
	src  string
	mark string // what jq does otherwise
}

func corpus(tb testing.TB) []filter {
	tb.Helper()

	text, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		tb.Fatal(err)
	}

	var out []filter
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}

		f := filter{src: line}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			if mark, src, ok := strings.Cut(rest, "] "); ok && jqDifferences()[mark] != "" {
				f = filter{src: src, mark: mark}
			}
		}

		out = append(out, f)
	}

	return out
}

// answer is what a run leaves.
type answer struct {
	out  string
	exit int
	err  string
}

func (a answer) String() string {
	return fmt.Sprintf("exit %d, error %q, output\n%.2000s", a.exit, a.err, a.out)
}

// TestCorpus: every way to answer a query gives the same bytes, exit code and message, for every
// filter and every input.
func TestCorpus(t *testing.T) {
	t.Parallel()
	filters := corpus(t)
	if len(filters) < 300 {
		t.Fatalf("corpus has %d filters, want at least 300", len(filters))
	}
	written := append(layouts(t, tasksState), layouts(t, projectsState)...)
	odd := oddStates()
	broken := brokenStates()
	big := large(t)
	fast := 0
	for i, f := range filters {
		if !testkit.Deep() && i%6 != 0 {
			continue
		}
		// Each filter meets a part of the inputs, and each of these every kind of filter.
		some := []string{tasksState, projectsState}
		for k := i % 2; k < len(odd); k += 2 {
			some = append(some, odd[k])
		}
		for k := i % 8; k < len(written); k += 8 {
			some = append(some, written[k])
		}
		for k := i % 16; k < len(broken); k += 16 {
			some = append(some, broken[k])
		}
		if different(t, f.src, query.CLIRequest{Compact: i%2 == 0}, some) {
			fast++
		}
		if i%32 == 0 {
			different(t, f.src, query.CLIRequest{Compact: true}, []string{big, big[:len(big)-9]})
		}
	}

	if fast < len(filters)/2 && testkit.Deep() {
		t.Errorf("%d of %d filters were answered the fast way, want at least half of them",
			fast, len(filters))
	}
	t.Logf("%d of %d filters, %d inputs", fast, len(filters), len(written)+len(odd)+len(broken))
}

// TestRandomFilters does the same with filters that nobody thought of.
func TestRandomFilters(t *testing.T) {
	t.Parallel()
	inputs := append([]string{tasksState, layouts(t, tasksState)[0]}, oddStates()...)
	fast := 0
	filters := 120
	if !testkit.Deep() {
		filters = 60
	}
	for seed := range uint64(filters) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		if different(
			t,
			randomFilter(rnd),
			query.CLIRequest{
				Compact:    seed%2 == 0,
				Raw:        seed%3 == 0,
				ExitStatus: seed%5 == 0,
			},
			inputs,
		) {
			fast++
		}
	}

	if fast < filters/2 {
		t.Errorf("%d of %d filters were answered the fast way, want at least half of them",
			fast, filters)
	}
}

// different reports every input for which the ways differ. It tells whether one was answered the
// fast way.
func different(t *testing.T, src string, req query.CLIRequest, inputs []string) (fast bool) {
	t.Helper()
	req.Filter = src
	req.Statuses = corpusStatuses()
	if req.Args == nil {
		req.Args = corpusArgs()
	}
	r, _, err := query.NewReady(req)
	if err != nil {
		return false // no way to run it
	}
	if strings.Contains(src, "now") {
		return false
	}

	for i, in := range inputs {
		run := func(whole bool, input query.Input) answer {
			out, exit, quick, err := r.Run(t.Context(), whole, input)
			fast = fast || quick
			a := answer{out: out, exit: exit}
			if err != nil {
				a.err = err.Error()
			}
			return a
		}
		want := run(true, query.Input{Name: "in", Data: []byte(in)})
		input := query.Input{Name: "in", Data: []byte(in)}
		if i%2 == 0 {
			input = query.Input{Name: "in", File: strings.NewReader(in)}
		}
		if got := run(false, input); got != want {
			t.Errorf("%s on %.300q\ngot %s\nwant %s", src, in, got, want)
		}
	}

	return fast
}

// corpusArgs are the variables that the filters may use.
func corpusArgs() []query.Arg {
	return []query.Arg{
		{Name: "n", Kind: query.ArgJSON, Data: []byte("3")},
		{Name: "s", Data: []byte("completed")},
		{Name: "f", Kind: query.ArgJSON, Data: []byte("3.0")},
		{Name: "o", Kind: query.ArgJSON, Data: []byte(`{"number":3}`)},
		{Name: "none", Kind: query.ArgJSON, Data: []byte("null")},
	}
}

func corpusStatuses() *query.Statuses {
	return &query.Statuses{
		Waiting: []string{"not_started", "researched", "planned", "revised", "partial"},
		Done:    "completed",
	}
}

// jqDifferences are the marks of the corpus, each with its reason.
func jqDifferences() map[string]string {
	return map[string]string{
		"order":        "objects that the filter makes print sorted by key",
		"keys":         "the keys of an object are gone through in order",
		"jq 1.7":       "jq 1.6 does not know it, or does it otherwise",
		"string index": "a string has characters by index",
		"reverse null": "null cannot be reversed",
		"ltrimstr":     "only a string has a start to be cut off",
		"ready":        "it is a function of tercet",
		"name":         "the name is that of the file",
	}
}

// TestCorpusLikeJQ runs the corpus over both shapes of state with the jq that is installed: every
// twelfth filter, and all of them if TERCET_CORPUS is all, since a start of jq takes longer than
// the rest.
func TestCorpusLikeJQ(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "starts jq some hundred times")

	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}

	version := jqVersion(t, jq)

	for i, f := range corpus(t) {
		if i%12 != 0 && os.Getenv("TERCET_CORPUS") != "all" {
			continue
		}
		if f.mark != "" && f.mark != "order" && (f.mark != "jq 1.7" || version < "jq-1.7") {
			continue
		}

		req := query.CLIRequest{
			Filter:  f.src,
			Compact: true,
			Args:    corpusArgs(),
			Sort:    f.mark == "order",
		}

		r, _, err := query.NewReady(req)
		if err != nil {
			continue
		}

		for _, input := range []string{tasksState, projectsState} {
			got, exit, _, _ := r.Run(t.Context(), false, query.Input{
				Name: "in",
				Data: []byte(input),
			})

			args := []string{
				"-c", f.src, "--argjson", "n", "3", "--arg", "s", "completed", "--argjson", "f",
				"3.0", "--argjson", "o", `{"number":3}`, "--argjson", "none", "null",
			}
			if req.Sort {
				args = append(args, "-S")
			}

			cmd := exec.CommandContext(t.Context(), jq, args...)
			cmd.Stdin = strings.NewReader(input)
			want, err := cmd.Output()
			wantExit := cmd.ProcessState.ExitCode()

			if strings.Contains(string(stderrOf(err)), "ONIGURUMA") {
				continue // this jq has no regular expressions
			}

			if got != string(want) || exit != wantExit {
				t.Errorf("%s: exit %d\n%.600s\njq: exit %d, %v\n%.600s",
					f.src, exit, got, wantExit, err, want)
			}
		}
	}
}

func jqVersion(t *testing.T, jq string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), jq, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// FuzzWays makes filters of pieces and inputs by hand of the fuzzer; all ways must agree.
func FuzzWays(f *testing.F) {
	for i, in := range append(oddStates(), brokenStates()[:30]...) {
		if len(in) < 2000 {
			f.Add(uint64(i), in)
		}
	}

	f.Add(uint64(99), tasksState)
	lines := corpus(f)

	f.Fuzz(func(t *testing.T, seed uint64, in string) {
		rnd := rand.New(rand.NewPCG(seed, 1))

		src := lines[rnd.IntN(len(lines))].src
		if rnd.IntN(2) == 0 {
			src = randomFilter(rnd)
		}

		different(t, src, query.CLIRequest{
			Compact:    rnd.IntN(2) == 0,
			Raw:        rnd.IntN(3) == 0,
			ExitStatus: rnd.IntN(3) == 0,
		}, []string{in})
	})
}

// randomFilter makes a filter of pieces that mean something to the fast way.
func randomFilter(rnd *rand.Rand) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	field := func() string {
		return pick(
			".number", ".title", ".status", ".mixed", ".dependencies", ".artifacts", ".lease", ".a",
			`.["slug"]`, ".number?", ".lease.session_id",
		)
	}
	scalar := func() string {
		return pick(
			"3", "1", "-3", "0", `"completed"`, `"a"`, "null", "true", "false", "9007199254740993",
			"$n", "$s", "$f", "$none", "1.5",
		)
	}
	var cond func(depth int) string
	cond = func(depth int) string {
		if depth > 0 && rnd.IntN(3) == 0 {
			return "(" + cond(depth-1) + pick(" and ", " or ", " | not | . == ", ", ") +
				cond(depth-1) + ")"
		}

		switch rnd.IntN(7) {
		case 0:
			return field()
		case 1:
			return "(" + field() + " | not)"
		case 2:
			return "(" + field() + " | IN(" + scalar() + ", " + scalar() + "))"
		case 3:
			return "(" + field() + " | " + pick("startswith", "endswith", "contains", "test") +
				`("a"))`
		case 4:
			return `has("number")`
		case 5:
			return scalar() + pick(" == ", " < ", " != ", " >= ") + field()
		}
		return field() + pick(" == ", " != ", " < ", " <= ", " > ", " >= ") + scalar()
	}
	if rnd.IntN(5) == 0 {
		array := pick(".tasks", ".tasks", ".active_projects", ".tasks[0].artifacts", ".")
		begin := pick(
			array+" | group_by("+field()+")",
			"["+array+"[] | "+field()+"] | group_by(.)",
			array+" | map("+field()+") | group_by(.)",
			"["+array+"[]"+field()+"] | group_by(.)",
			"reduce "+array+"[] as $t ({}; .[$t"+field()+"] += 1)",
		)
		return begin + pick(
			"",
			" | length",
			" | map(length)",
			" | map([.[0], length])",
			" | map("+pick(".[0]", "first", "last")+field()+"?)",
			" | .[0]",
			" | . as $g | [$g[][0]?]",
			", .serial",
			" | map(select("+cond(1)+"?))",
		)
	}

	array := pick(
		".tasks", ".tasks", ".tasks", ".active_projects", ".", ".tasks?", ".tasks[1:]",
		"(.tasks, .active_projects)",
	)
	stages := []string{array + pick("[]", "[]?", " | .[]", "[0]", "")}
	for range rnd.IntN(4) {
		stages = append(stages, pick(
			"select("+cond(2)+")",
			"select("+cond(1)+")",
			field(),
			"map(select("+cond(1)+"))",
			"["+field()+", "+field()+"]",
			"{n: "+field()+", m: "+field()+"}",
			"map("+field()+")",
			"sort_by("+field()+")",
			"group_by("+field()+")",
			"group_by(.)",
			"length",
			"type",
			"first",
			"last",
			".[0]",
			"(select("+cond(1)+"), "+field()+")",
			"(select("+cond(1)+") // "+field()+")",
			"try "+field(),
			field()+"?",
			"if "+cond(1)+" then "+field()+" else . end",
			"any("+cond(1)+")",
			"tojson",
			"keys?",
			".[]?",
			"values",
			"not",
			field()+" as $y | select("+cond(1)+") | $y",
		))
	}

	src := strings.Join(stages, " | ")
	switch rnd.IntN(6) {
	case 0:
		src = "[" + src + "] | " +
			pick("length", ".[0]", "map(type)", "first", "add", "unique", ".")
	case 1:
		src = "first(" + src + ")"
	case 2:
		src = "(" + src + "), (.tasks | " + pick("length", "type", ".[0]?", "map("+field()+")") +
			")"
	case 3:
		src = "reduce (" + src + ") as $t (0; . + 1)"
	}

	return src
}
