package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tercet/formats"
	"tercet/state"
	"tercet/state/exchange"
)

func classes(m *exchange.Import) string {
	var out []string
	for _, f := range m.Findings {
		if f.Class == exchange.DamageNote {
			continue
		}
		word := string(f.Class)
		if f.Mended {
			word += "(mended)"
		}
		out = append(out, fmt.Sprintf("%s@%d:%d", word, f.Pos.Line, f.Pos.Col))
	}
	return strings.Join(out, " ")
}

func TestImportDamage(t *testing.T) {
	t.Parallel()

	one := `{"number": 1, "title": "a", "status": "planned"}`
	for _, tt := range []struct {
		name, src, plain, repaired string
		tasks                      int // with repair
	}{
		{"whole", `{"tasks": [` + one + `]}`, "", "", 1},
		{
			"truncated",
			`{"tasks": [` + one + `, {"number": 2, "ti`,
			"truncated@1:79",
			"truncated(mended)@1:79",
			1,
		},
		{
			"truncated in a list",
			"{\"tasks\": [\n" + one + ",\n",
			"truncated@2:50",
			"truncated(mended)@2:50",
			1,
		},
		{
			"truncated stream",
			one + "\n" + `{"number": 2, "ti`,
			"truncated@2:18",
			"truncated(mended)@2:18",
			1,
		},
		{
			"truncated before a task", `{"tasks": [{"number": 1, "artifacts": [{"path": "x"}], `,
			"truncated@1:55", "truncated@1:55", 0,
		},
		{
			"truncated behind the tasks",
			`{"tasks": [` + one + `], "tail": {"a": [{}, `,
			"truncated@1:81",
			"truncated(mended)@1:81",
			1,
		},
		{
			"stream",
			one + "\n" + `{"number": 2, "title": "b", "status": "done"}`,
			"object_stream@2:1",
			"object_stream(mended)@2:1",
			2,
		},
		{
			"document and stream",
			`{"tasks": [` + one + "]}\n" + `{"number": 2, "title": "b", "status": "done"}`,
			"object_stream@2:1",
			"object_stream(mended)@2:1",
			2,
		},
		{
			"two documents", `{"tasks": []} {"tasks": []}`,
			"object_stream@1:15 wrong_document@1:15",
			"object_stream(mended)@1:15 wrong_document@1:15", 0,
		},
		{
			"trailing comma",
			`{"tasks": [` + one + `,]}`,
			"trailing_comma@1:60",
			"trailing_comma(mended)@1:60",
			1,
		},
		{
			"trailing comma in an object",
			`{"tasks": [{"number": 1, "title": "a", "status": "planned", }],}`,
			"trailing_comma@1:59 trailing_comma@1:63",
			"trailing_comma(mended)@1:59 trailing_comma(mended)@1:63", 1,
		},
		{
			"comma in a text", `{"tasks": [{"number": 1, "title": "a,]", "status": "planned"}]}`,
			"", "", 1,
		},
		{
			"duplicate key",
			`{"tasks": [{"number": 1, "title": "a", "title": "b", "status": "planned"}]}`,
			"duplicate_key@1:40", "duplicate_key(mended)@1:40", 1,
		},
		{
			"duplicate task",
			`{"tasks": [` + one + `, {"number": 1, "title": "other", "status": "planned"}]}`,
			"duplicate_task@1:62",
			"duplicate_task(mended)@1:62",
			1,
		},
		{"the same task twice", `{"tasks": [` + one + `, ` + one + `]}`, "", "", 1},
		{
			"conflict", "{\"tasks\": [\n<<<<<<< HEAD\n=======\n>>>>>>> x\n]}",
			"conflict_markers@2:1", "conflict_markers@2:1", 0,
		},
		{
			"wrong document", `{"name": "x", "scripts": {}}`, "wrong_document@1:1",
			"wrong_document@1:1", 0,
		},
		{"wrong value", `[1, 2]`, "wrong_document@1:1", "wrong_document@1:1", 0},
		{"empty", "", "wrong_document@1:1", "wrong_document@1:1", 0},
		{"no JSON", `{"tasks": nope}`, "syntax@1:11", "syntax@1:11", 0},
		{"line break in a text", "{\"tasks\": [\"a\nb\"]}", "syntax@1:14", "syntax@1:14", 0},
		{
			"unknown status", `{"tasks": [{"number": 1, "title": "a", "status": "plannd"}]}`,
			"value@1:50", "value@1:50", 0,
		},
		{"no number", `{"tasks": [{"title": "a"}]}`, "value@1:12", "value@1:12", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m := exchange.Read("x.json", []byte(tt.src), exchange.Options{})
			// of which one comes along
			refused := tt.plain != "" && !strings.HasPrefix(tt.plain, "duplicate_task")
			if got := classes(m); got != tt.plain || (m.Err() != nil) != refused {
				t.Errorf("ReadImport = %s, %v; want %s", got, m.Err(), tt.plain)
			}

			m = exchange.Read("x.json", []byte(tt.src), exchange.Options{Repair: true})
			if got := classes(m); got != tt.repaired || len(m.Tasks()) != tt.tasks {
				t.Errorf("ReadImport with repair = %s, %d tasks; want %s, %d tasks",
					got, len(m.Tasks()), tt.repaired, tt.tasks)
			}
		})
	}
}

// TestSalvage cuts files everywhere: what is taken over with repair are whole tasks of the whole
// file, and all that stand whole before the cut.
func TestSalvage(t *testing.T) {
	t.Parallel()

	pretty := file("\n" + `    {"number": 1, "title": "a, [b] {c}", "status": "planned", "artifacts": [{"path": "x.go", "type": "implementation"}, {"path": "y.go", "type": "implementation"}]},
    {"number": 2, "title": "\"}]", "status": "planned", "x": {"deep": [{"er": 1}]}},
    {"number": 3, "title": "c", "status": "not_started"}` + "\n  ")
	stream := `{"number": 1, "title": "a", "status": "planned", "x": {"number": 7}}` + "\n" +
		`{"number": 2, "title": "b", "status": "planned"}`

	for name, src := range map[string]string{
		"state":    pretty,
		"projects": projects,
		"stream":   stream,
	} {
		whole := exchange.Read("x.json", []byte(src), exchange.Options{Repair: true})
		if err := whole.Err(); err != nil {
			t.Fatal(err)
		}

		want := map[int]formats.Task{}
		for _, task := range whole.Tasks() {
			want[task.Number] = task
		}

		best := 0
		for cut := range len(src) {
			m := exchange.Read("x.json", []byte(src[:cut]), exchange.Options{Repair: true})
			if m.Err() != nil {
				if best > 0 {
					t.Errorf("%s, cut at %d: %v, and %d tasks are whole", name, cut, m.Err(), best)
				}
				continue
			}

			for _, task := range m.Tasks() {
				if diff := cmp.Diff(want[task.Number], task); diff != "" {
					t.Fatalf("%s, cut at %d: task %d (-want +got):\n%s",
						name, cut, task.Number, diff)
				}
			}

			if got := len(m.Tasks()); got < best {
				t.Errorf("%s, cut at %d: %d tasks, want %d", name, cut, got, best)
			} else {
				best = got
			}
		}

		if best < len(want)-1 {
			t.Errorf("%s: at most %d tasks were taken over, want %d", name, best, len(want)-1)
		}
	}
}

const projects = `{
  "next_project_number": 40,
  "active_projects": [
    {"project_number": 12, "project_name": "fix_the_parser", "status": "in_progress", "language": "lean4", "priority": "High", "blocking_reason": "waits",
     "dependencies": ["11", "none"], "artifacts": ["specs/012_fix/reports/research-001.md", "/abs/x.md"], "created": "2026-01-01", "x_custom": {"a": 1.50}},
    {"project_number": "13", "project_name": "Second Thing", "title": "The second", "status": "superseded", "parent_task": 12, "last_updated": "2026-01-02"},
    {"project_number": 14, "status": "planning", "artifacts": [{"type": "research", "path": "specs/r.md"}], "description": "first line\nmore", "planning_completed": "2026-01-03"}
  ],
  "completed_projects": [{"project_number": 11, "project_name": "done_one"}]
}`

func TestImportProjects(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	m := exchange.Read("specs/state.json", []byte(projects), exchange.Options{})
	if err := m.Err(); err != nil || m.Shape != exchange.ShapeProjects {
		t.Fatalf("ReadImport = %s, %v", m.Shape, err)
	}

	res := w.do(state.ImportTasks{From: m})
	if diff := cmp.Diff([]int{11, 12, 13, 14}, sorted(res.Numbers)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}

	parent := 12
	want := []formats.Task{
		{
			Number:       11,
			Title:        "done one",
			Slug:         "done_one",
			Status:       formats.Completed,
			Dependencies: []int{},
			Artifacts:    []formats.Artifact{},
		},
		{
			Number:       12,
			Title:        "fix the parser",
			Slug:         "fix_the_parser",
			Status:       formats.Partial,
			Language:     "lean",
			Priority:     "high",
			Dependencies: []int{11},
			Created:      "2026-01-01",
			Artifacts: []formats.Artifact{{
				Type: formats.ArtifactReport,
				Path: "specs/012_fix/reports/research-001.md",
			}},
			BlockedReason: "waits",
		},
		{
			Number:       13,
			Title:        "The second",
			Slug:         "the_second",
			Status:       formats.Abandoned,
			Dependencies: []int{},
			Parent:       &parent,
			Updated:      "2026-01-02",
			Artifacts:    []formats.Artifact{},
		},
		{
			Number:       14,
			Title:        "first line",
			Slug:         "first_line",
			Status:       formats.Researched,
			Description:  "first line\nmore",
			Dependencies: []int{},
			Artifacts:    []formats.Artifact{{Type: formats.ArtifactReport, Path: "specs/r.md"}},
		},
	}

	doc, err := w.r.Doc(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, doc.Tasks); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}

	got := w.read("state.json")
	if doc.NextNumber != 40 || !strings.Contains(got, "1.50") ||
		!strings.Contains(got, `"planning_completed": "2026-01-03"`) {
		t.Errorf("next number %d, or a member of others is lost:\n%s", doc.NextNumber, got)
	}

	if res := w.do(state.ImportTasks{From: m}); res.Changed {
		t.Error("the same import again changed something")
	}

	w.healthy()
	// Numbers that are taken refuse the whole import, or get new ones.
	clash := exchange.Read(
		"x.json",
		[]byte(
			`{"tasks": [{"number": 12, "title": "other", "status": "planned"}, `+
				`{"number": 50, "title": "n", "status": "planned", "dependencies": [12], `+
				`"parent": 12}]}`,
		),
		exchange.Options{},
	)

	_, err = w.try(state.ImportTasks{From: clash})
	if err == nil || !strings.Contains(err.Error(), "other tasks with the numbers 12") {
		t.Errorf("import of a number that is taken = %v, want it refused", err)
	}

	w.do(state.ImportTasks{From: clash, Fresh: true})
	if got := w.stored(50); got.Dependencies[0] != 51 || *got.Parent != 51 ||
		w.stored(51).Title != "other" {
		t.Errorf("task 50 = %+v, want references to 51", got)
	}

	lost := `{"tasks": [{"number": 60, "title": "x", "status": "planned", ` +
		`"dependencies": [77, 12], "parent": 78}]}`

	_, err = w.try(state.ImportTasks{From: exchange.Read(
		"x.json",
		[]byte(lost),
		exchange.Options{Strict: true},
	)})
	if err == nil {
		t.Error("a strict import that depends on a task that is nowhere is accepted")
	}

	w.do(state.ImportTasks{From: exchange.Read("x.json", []byte(lost), exchange.Options{})})
	notes := "depends on task 77, which does not exist\nis part of task 78, which does not exist"

	if got := w.stored(60); len(got.Dependencies) != 1 || got.Parent != nil || got.Notes != notes {
		t.Errorf("task 60 = %+v, want the references in its notes", got)
	}

	w.healthy()
}

func sorted(list []int) []int {
	set := map[int]bool{}
	for _, n := range list {
		set[n] = true
	}

	var out []int
	for n := range 100 {
		if set[n] {
			out = append(out, n)
		}
	}

	return out
}

// TestExportImport holds that what is exported comes in as it was, in both shapes.
func TestExportImport(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := quickWorkspace(rt)
		texts := rapid.SampledFrom([]string{
			"a", "Über \"x\" \\ y", "b (c, high)", "\U0001f600 <b>", "one\ttwo",
		})
		plain := rapid.SampledFrom([]string{"a", "Über \"x\"", "b (c)", "\U0001f600 <b>", "done"})
		for i := range rapid.IntRange(1, 5).Draw(rt, "tasks") {
			n := state.NewTask{
				Title:       plain.Draw(rt, "title"),
				Description: texts.Draw(rt, "description"),
				Language:    rapid.SampledFrom([]string{"", "go", "lean"}).Draw(rt, "language"),
				Priority:    rapid.SampledFrom([]string{"low", "high"}).Draw(rt, "priority"),
				Effort:      rapid.SampledFrom([]string{"", "2h"}).Draw(rt, "effort"),
			}
			if i > 0 && rapid.Bool().Draw(rt, "depends") {
				n.Dependencies = []int{1}
				n.Parent = i
			}
			w.do(state.CreateTasks{Tasks: []state.NewTask{n}})
			to := rapid.SampledFrom(formats.TaskStatuses()).Draw(rt, "status")
			if to != formats.NotStarted {
				_, err := w.m.Apply(rt.Context(), state.Tx{
					Session: session,
					Force:   true,
					Ops: []state.Op{
						state.UpdateStatus{
							Tasks:  []int{i + 1},
							To:     to,
							Reason: texts.Draw(rt, "reason"),
						},
						state.LinkArtifacts{
							Task: i + 1,
							Artifacts: []formats.Artifact{{
								Type:    formats.ArtifactReport,
								Path:    "a/b.md",
								Summary: texts.Draw(rt, "summary"),
							}},
						},
					},
				})
				if err != nil {
					rt.Fatal(err)
				}
			}
		}

		if rapid.Bool().Draw(rt, "theirs") {
			w.write("state.json", strings.Replace(
				w.read("state.json"),
				`"title"`,
				`"x_theirs": [1.0, 1e400], "title"`,
				1,
			))
		}

		before, err := w.r.Doc(rt.Context())
		if err != nil {
			rt.Fatal(err)
		}

		for _, shape := range []string{exchange.ShapeTercet, exchange.ShapeProjects} {
			out, err := w.r.Export(rt.Context(), shape, false)
			if err != nil {
				rt.Fatal(err)
			}
			if !json.Valid(out) {
				rt.Fatalf("%s is no JSON: %s", shape, out)
			}

			to := quickWorkspace(rt)
			m := exchange.Read("x.json", out, exchange.Options{})
			if m.Err() != nil || m.Shape != shape {
				rt.Fatalf("ReadImport of %s = %s, %v", shape, m.Shape, m.Err())
			}

			to.do(state.ImportTasks{From: m})
			after, err := to.r.Doc(rt.Context())
			if err != nil {
				rt.Fatal(err)
			}
			diff := cmp.Diff(before.Tasks, after.Tasks)
			if diff != "" || before.NextNumber != after.NextNumber {
				rt.Fatalf("%s, next %d and %d (-want +got):\n%s",
					shape, before.NextNumber, after.NextNumber, diff)
			}

			if strings.Contains(
				w.read("state.json"),
				"1e400",
			) != strings.Contains(to.read("state.json"), "1e400") {
				rt.Fatalf("%s: a member of others is lost", shape)
			}
		}
	})
}

// real has what files of the other system have: aliases, members of its own at every level, empty
// and absent values.
const real = `{
  "_schema_version": "1.1.0",
  "_last_updated": "2026-01-08T12:00:00Z",
  "version": "2.4",
  "next_project_number": 30,
  "active_projects": [
    {"project_number": 20, "project_name": "fix_the_parser", "type": "feature", "phase": "planning", "status": "planned", "priority": "High",
     "language": "lean4", "created": "2026-01-02", "created_at": "2026-01-02T01:00:00Z", "last_updated": "2026-01-03T00:00:00Z",
     "estimated_effort": "2h", "estimated_hours": 2.50, "plan_path": "specs/020/plans/implementation-001.md", "plan_metadata": {"phases": 3, "x": [1, null]},
     "blocking_reason": null, "blocked_on": "", "dependencies": [], "parent_task": null, "session_id": null,
     "artifacts": [{"type": "plan", "path": "specs/020/plans/implementation-001.md", "summary": "three phases", "title": "A", "lines": 120}, "/abs/report.md"]},
    {"project_number": 21, "project_name": "no_words", "status": "blocked", "blocked_by": "a library", "depends_on": [20]}
  ],
  "completed_projects": [{"project_number": 11, "project_name": "done_one", "completed": "2025-12-31", "artifacts": {"summary": "specs/011/summary.md"}}],
  "repository_health": {"sorry_count": 6, "status": "good", "n": 1.0},
  "maintenance_operations": [{"date": "2026-01-01"}]
}`

// TestExportGivesEverythingBack holds that a file of the other system loses no member on its way in
// and out.
func TestExportGivesEverythingBack(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	res := w.do(state.ImportTasks{From: exchange.Read(
		"state.json",
		[]byte(real),
		exchange.Options{},
	)})
	w.do(state.ArchiveTasks{Tasks: res.PutAway()})
	out, err := w.r.Export(t.Context(), exchange.ShapeProjects, false)
	if err != nil {
		t.Fatal(err)
	}
	var from, to map[string]any
	if err := errors.Join(
		json.Unmarshal([]byte(real), &from),
		json.Unmarshal(out, &to),
	); err != nil {
		t.Fatal(err)
	}
	for key, v := range from {
		list, ok := v.([]any)
		if ok && strings.HasSuffix(key, "_projects") {
			for i := range list {
				for name, was := range list[i].(map[string]any) {
					is, kept := to[key].([]any)[i].(map[string]any)[name]
					// put into our words
					same := cmp.Equal(was, is) || name == "priority" || name == "language" ||
						name == "artifacts"
					if !kept || !same {
						t.Errorf("%s[%d].%s = %v, want %v", key, i, name, is, was)
					}
				}
			}
			continue
		}
		if diff := cmp.Diff(v, to[key]); diff != "" {
			t.Errorf("%s (-was +is):\n%s", key, diff)
		}
	}

	for _, part := range []string{"120", "/abs/report.md", "2.50", "specs/011/summary.md"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%s is lost", part)
		}
	}

	if res := w.do(state.ImportTasks{From: exchange.Read(
		"state.json",
		[]byte(strings.Replace(real, "1.1.0", "1.2.0", 1)),
		exchange.Options{},
	)}); res.Changed ||
		!strings.Contains(
			strings.Join(res.Warnings, "\n"),
			`member "_schema_version" of the file is left out`,
		) {
		t.Errorf("the import of a file with another member = %+v, want a warning", res)
	}
	// What is no longer so is not told by another name.
	w.do(state.UpdateStatus{Tasks: []int{21}, To: formats.Implementing})
	out, err = w.r.Export(t.Context(), exchange.ShapeProjects, false)
	if err != nil || !strings.Contains(string(out), `"blocked_by": null`) {
		t.Errorf("Export = %v, want blocked_by null:\n%s", err, out)
	}
	w.healthy()
}

// TestImportOneNumberTwice: the active task stays, else the newer one, else the later one.
func TestImportOneNumberTwice(t *testing.T) {
	t.Parallel()

	task := func(title, status, updated string) string {
		return fmt.Sprintf(`{"number": 7, "title": %q, "status": %q, "updated": %q}`,
			title, status, updated)
	}

	for name, tt := range map[string]struct{ src, want, why string }{
		"active first": {
			`{"tasks": [` + task("a", "planned", "2026-01-01") + ",\n" +
				task("b", "completed", "2026-02-01") + `]}`,
			"a",
			`the active one is kept: "a" in line 1`,
		},
		"active behind": {
			`{"tasks": [` + task("a", "abandoned", "2026-01-01") + ",\n" +
				task("b", "planned", "") + `]}`,
			"b",
			`the active one is kept: "b" in line 2`,
		},
		"newer first": {
			`{"tasks": [` + task("a", "planned", "2026-03-01") + ",\n" +
				task("b", "planned", "2026-01-01") + `]}`,
			"a",
			`the newer one is kept: "a"`,
		},
		"later": {
			`{"tasks": [` + task("a", "planned", "") + ",\n" + task("b", "planned", "") + `]}`,
			"b",
			`the later one is kept: "b"`,
		},
		"put away": {
			`{"active_projects": [{"project_number": 7, "title": "a", ` +
				`"status": "completed"}], "completed_projects": [{"project_number": 7, ` +
				`"title": "b", "last_updated": "2027-01-01"}]}`,
			"a", `the active one is kept: "a"`,
		},
	} {
		m := exchange.Read("x.json", []byte(tt.src), exchange.Options{Strict: true})
		err := m.Err()
		if err == nil || !strings.Contains(err.Error(), "task 7 stands twice, first in line 1") {
			t.Errorf("%s: strict ReadImport = %v, want both tasks named", name, err)
		}

		m = exchange.Read("x.json", []byte(tt.src), exchange.Options{})
		if err := m.Err(); err != nil || m.LeftOut() != 1 || m.Tasks()[0].Title != tt.want {
			t.Errorf("%s: ReadImport = %v, %d left out, %+v, want %q",
				name, err, m.LeftOut(), m.Tasks(), tt.want)
		}

		m = exchange.Read("x.json", []byte(tt.src), exchange.Options{Repair: true})
		if err := m.Err(); err != nil || len(m.Tasks()) != 1 || m.Tasks()[0].Title != tt.want {
			t.Errorf("%s: ReadImport with repair = %v, %+v, want %q", name, err, m.Tasks(), tt.want)
			continue
		}

		if f := m.Findings[len(m.Findings)-1]; !strings.Contains(f.Message, tt.why) || !f.Mended {
			t.Errorf("%s: finding = %+v, want %q", name, f, tt.why)
		}
	}
}

func TestImportTitles(t *testing.T) {
	t.Parallel()

	todo := "---\nnext: 5\n---\n# TODO\n\n### 1. Fix the *parser*: all of it\n" +
		"- **Status**: [PLANNED]\n- 30 minutes of it\n## Task 2: Second one\n" +
		"- [x] **3**: Third\n- [ ] **Task #4**: Fourth (high)\nTask 5: no heading\n" +
		"### 1. Another\n### 6.\n"

	src := `{"active_projects": [{"project_number": 1, "project_name": "fix_parser"}, {"project_number": 2, "project_name": "second"},
		{"project_number": 3, "title": "Its own"}, {"project_number": 4, "project_name": "fourth"}, {"project_number": 5, "project_name": "five_slugs"},
		{"project_number": 6, "project_name": "six"}]}`

	m := exchange.Read("x.json", []byte(src), exchange.Options{Todo: []byte(todo)})

	var got []string
	for _, task := range m.Tasks() {
		got = append(got, task.Slug+" = "+task.Title)
	}

	want := []string{
		"fix_parser = Fix the *parser*: all of it", "second = Second one", "its_own = Its own",
		"fourth = Fourth (high)", "five_slugs = five slugs", "six = six",
	}

	if diff := cmp.Diff(want, got); diff != "" || m.Err() != nil {
		t.Errorf("ReadImport = %v (-want +got):\n%s", m.Err(), diff)
	}
}

// TestTryWritesNothing: it says what Apply says, and leaves every file as it was.
func TestTryWritesNothing(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "one"}}})

	for name, op := range map[string]state.Op{
		"taken": state.ImportTasks{From: exchange.Read(
			"x.json",
			[]byte(`{"tasks": [{"number": 1, "title": "x", "status": "planned"}]}`),
			exchange.Options{},
		)},
		"dangling": state.ImportTasks{From: exchange.Read(
			"x.json",
			[]byte(
				`{"tasks": [{"number": 2, "title": "x", "status": "planned", `+
					`"dependencies": [9]}]}`,
			),
			exchange.Options{Strict: true},
		)},
		"loop": state.ImportTasks{From: exchange.Read("x.json", []byte(`{"tasks": [{"number": 2, "title": "x", "status": "planned", "dependencies": [3]},
			{"number": 3, "title": "x", "status": "planned", "dependencies": [2]}]}`), exchange.Options{Strict: true})},
		"good": state.ImportTasks{From: exchange.Read(
			"x.json",
			[]byte(real),
			exchange.Options{},
		)},
		"nothing": state.ImportTasks{From: exchange.Read(
			"x.json",
			[]byte(`{"tasks": []}`),
			exchange.Options{},
		)},
	} {
		before := w.files()

		try, tryErr := w.m.Try(t.Context(), state.Tx{Session: session, Ops: []state.Op{op}})
		if diff := cmp.Diff(before, w.files()); diff != "" {
			t.Errorf("%s: Try wrote (-before +after):\n%s", name, diff)
		}

		other := newWorkspace(t)
		other.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "one"}}})
		res, err := other.try(op)

		if fmt.Sprint(tryErr) != fmt.Sprint(err) || !cmp.Equal(try.Numbers, res.Numbers) ||
			!cmp.Equal(try.Warnings, res.Warnings) {
			t.Errorf("%s: Try = %v, %v, %v; Apply = %v, %v, %v",
				name, try.Numbers, try.Warnings, tryErr, res.Numbers, res.Warnings, err)
		}

		if (name == "good" || name == "nothing") != (err == nil) {
			t.Errorf("%s: Apply = %v", name, err)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(projects), true)
	f.Add([]byte(`{"tasks": [{"number": 1, "title": "a", "status": "done",},]}`), true)
	f.Add([]byte(`{"number": 1} {"number": 2}`), true)
	f.Add([]byte(`{"completed_projects": []}`), false)

	f.Add(
		[]byte(
			`{"active_projects": [{"project_number": 1, "status": "planned", `+
				`"imported_form": {}}], "imported_form": {"archive": {"order": 1}}}`,
		),
		false,
	)
	f.Add(
		[]byte(
			`{"version": "1", "tasks": [{"number": 1, "title": "a", "status": "planned", `+
				`"imported_form": {"as": 1, "keys": {}}}], "imported_form": []}`,
		),
		false,
	)
	f.Add([]byte(`{"a": "\`), false)
	f.Add([]byte("[{\"project_number\": \"7\", \"artifacts\": {\"plan\": \"x\"}}]"), false)

	f.Fuzz(func(t *testing.T, src []byte, repair bool) {
		before := string(src)

		m := exchange.Read("x.json", src, exchange.Options{Repair: repair})
		if string(src) != before {
			t.Fatal("the input was changed")
		}

		if m.Err() != nil {
			return
		}

		w := quickWorkspace(t)
		if _, err := w.try(state.ImportTasks{From: m, Fresh: true}); err != nil {
			if c := formats.CodeOf(err); c == formats.CodeBug || c == formats.CodeUnknown {
				t.Errorf("import of %q = %v", src, err)
			}
			return
		}

		w.healthy()

		for _, theirs := range []bool{false, true} {
			out, err := w.r.Export(t.Context(), exchange.ShapeProjects, theirs)
			if err != nil && formats.CodeOf(err) != formats.CodeNotFound ||
				err == nil && !json.Valid(out) {
				t.Errorf("export of %q = %v, %s", src, err, out)
			}
		}
	})
}
