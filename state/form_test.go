package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tercet/formats"
	"tercet/state"
	"tercet/state/exchange"
)

// theirs draws a file of the other system as it comes: any order, aliases, members that nobody
// knows, values that say nothing.
func theirs(t *rapid.T) string {
	any := func(of ...string) *rapid.Generator[string] {
		return rapid.SampledFrom(of)
	}
	number := 0
	task := func(done bool) string {
		number++
		members := []string{
			`"project_number": ` + any("%[1]d", `"%[1]d"`).Draw(t, "number"),
			`"project_name": "task_%[1]d"`,
		}
		for _, m := range []*rapid.Generator[string]{
			any(`"title": "A title"`, `"name": "Über"`, `"title": null`),
			any(
				`"status": "in_progress"`,
				`"status": "planned"`,
				`"Status": "done"`,
				`"status": "completed"`,
				`"status": "researching"`,
			),
			any(`"priority": "High"`, `"priority": 2`),
			any(`"language": "lean4"`, `"language": ""`),
			any(`"effort": "2h"`, `"estimated_effort": 2.50`),
			any(`"blocking_reason": "waits"`, `"blocked_by": null`, `"blocked_on": ""`),
			any(`"dependencies": []`, `"dependencies": "none"`, `"depends_on": ["x"]`),
			any(
				`"artifacts": []`,
				`"artifacts": {"plan": "specs/p.md"}`,
				`"artifacts": ["specs/r.md", "/abs/x.md"]`,
				`"artifacts": [{"type": "research", "path": "specs/r.md", "lines": 1.0}]`,
			),
			any(`"last_updated": "2026-01-02"`, `"updated_at": 5`),
			any(`"created": "2026-01-01"`),
			any(`"session_id": null`, `"session_id": "sess_1_abcdef"`),
			any(`"metadata": {"z": [1.0, {}], "a": null}`, `"plan_path": "specs/p.md"`),
			any(`"completed": "2026-01-03"`),
			any(`"description": "more\nlines"`),
		} {
			if rapid.Bool().Draw(t, "has") {
				members = append(members, m.Draw(t, "member"))
			}
		}

		if done {
			members = slices.DeleteFunc(members, func(m string) bool {
				return strings.Contains(m, "in_progress") || strings.Contains(m, "ing\"")
			})
		}
		return "{" +
			strings.ReplaceAll(strings.Join(rapid.Permutation(members).Draw(t, "members"), ", "),
				"%[1]d",
				fmt.Sprint(number)) + "}"
	}
	list := func(done bool) string {
		var out []string
		for range rapid.IntRange(0, 4).Draw(t, "tasks") {
			out = append(out, task(done))
		}
		return "[" + strings.Join(rapid.Permutation(out).Draw(t, "order"), ", ") + "]"
	}
	members := []string{`"active_projects": ` + list(false)}
	for _, m := range []string{
		`"completed_projects": ` + list(true),
		fmt.Sprintf(`"next_project_number": %d`, number-rapid.IntRange(-9, 1).Draw(t, "next")),
		`"repository_health": {"n": 1.0}`,
		`"task_counts": {"active": 3}`,
		`"_version": "1"`,
	} {
		if rapid.Bool().Draw(t, "has") {
			members = append(members, m)
		}
	}

	return "{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), ", ") + "}"
}

// pretty is a text as jq writes it.
func pretty(text string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		panic(text)
	}
	return b.String() + "\n"
}

// TestThereAndBack: what was imported is exported as it was, with its order and its numbers, byte
// for byte where the file was laid out by jq. A change is in its task alone.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		src := pretty(theirs(rt))
		w := quickWorkspace(rt)
		m := exchange.Read("state.json", []byte(src), exchange.Options{})
		if m.Err() != nil {
			rt.Fatalf("%v\n%s", m.Err(), src)
		}
		res := w.do(state.ImportTasks{From: m})
		if list := res.PutAway(); len(list) > 0 {
			w.do(state.ArchiveTasks{Tasks: list})
		}
		out, err := w.r.Export(rt.Context(), exchange.ShapeProjects, false)
		if diff := cmp.Diff(src, string(out)); err != nil || diff != "" {
			rt.Fatalf("Export = %v (-want +got):\n%s", err, diff)
		}
		doc, err := w.r.Doc(rt.Context())
		if err != nil || len(doc.Tasks) == 0 {
			return
		}

		n := rapid.SampledFrom(doc.Tasks).Draw(rt, "task").Number
		effort := "9h"

		w.write("../new.md", "text")
		w.do(
			state.UpdateMetadata{Task: n, Fields: map[string]any{"effort": effort}},
			state.LinkArtifacts{
				Task:      n,
				Artifacts: []formats.Artifact{{Type: formats.ArtifactReport, Path: "new.md"}},
			},
		)

		out, err = w.r.Export(rt.Context(), exchange.ShapeProjects, false)
		was := byNumber(rt, src)
		is := byNumber(rt, string(out))
		if err != nil || len(was) != len(is) {
			rt.Fatalf("%d projects, %v, want %d", len(is), err, len(was))
		}

		for number, one := range was {
			now := is[number]
			if number != fmt.Sprint(n) {
				if diff := cmp.Diff(one, now); diff != "" {
					rt.Fatalf("project %s changed (-was +is):\n%s", number, diff)
				}
				continue
			}
			if now["effort"] != effort ||
				!strings.Contains(fmt.Sprint(now["artifacts"]), "new.md") {
				rt.Fatalf("project %s = %v, want the change", number, now)
			}

			for key, v := range one {
				same := slices.Contains(
					[]string{
						"effort", "last_updated", "artifacts", "Status", "session_id", "updated_at",
					},
					key,
				)
				_, kept := now[key]
				if !same && !cmp.Equal(v, now[key]) && kept ||
					list(v) &&
						!strings.HasPrefix(text(now[key]), strings.TrimSuffix(text(v), "]")) {
					rt.Fatalf("project %s: %s = %v, want %v", number, key, now[key], v)
				}
			}
		}
	})
}

func list(v any) bool {
	_, ok := v.([]any)
	return ok
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func byNumber(t *rapid.T, src string) map[string]map[string]any {
	var file struct {
		Active    []map[string]any `json:"active_projects"`
		Completed []map[string]any `json:"completed_projects"`
	}
	if err := json.Unmarshal([]byte(src), &file); err != nil {
		t.Fatal(err)
	}

	out := map[string]map[string]any{}
	for _, p := range slices.Concat(file.Active, file.Completed) {
		out[fmt.Sprint(p["project_number"])] = p
	}

	return maps.Clone(out)
}

// TestArchiveOfTheirs: what the other system put away is archived here, and given back as a file of
// its own.
func TestArchiveOfTheirs(t *testing.T) {
	t.Parallel()
	main := pretty(
		`{"next_project_number": 9, "active_projects": [{"project_number": 8, ` +
			`"project_name": "b", "status": "planned", "dependencies": [3]}]}`,
	)
	old := pretty(
		`{"_note": "old", "archived_projects": [{"project_number": 3, "project_name": "a", ` +
			`"status": "completed", "archived": "2026-01-01"}, ` +
			`{"project_number": 2, "project_name": "z", "status": "abandoned"}]}`,
	)
	w := newWorkspace(t)
	for _, src := range []string{old, main} {
		res := w.do(state.ImportTasks{From: exchange.Read(
			"x.json",
			[]byte(src),
			exchange.Options{},
		)})
		if list := res.PutAway(); len(list) > 0 {
			w.do(state.ArchiveTasks{Tasks: list})
		}
	}

	for theirs, want := range map[bool]string{false: main, true: old} {
		got, err := w.r.Export(t.Context(), exchange.ShapeProjects, theirs)
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("Export(archive %v) = %v (-want +got):\n%s", theirs, err, diff)
		}
	}

	_, err := newWorkspace(t).r.Export(t.Context(), exchange.ShapeProjects, true)
	if formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("Export without an archive = %v, want NOT_FOUND", err)
	}
	w.healthy()
}

// TestOneNumberTwiceKeepsBoth: with fresh numbers none of the two is lost, and what refers to the
// number means the one that stays.
func TestOneNumberTwiceKeepsBoth(t *testing.T) {
	t.Parallel()

	src := `{"next_project_number": 8, "active_projects": [{"project_number": 7, "project_name": "old", "status": "completed", "dependencies": [7]},
		{"project_number": 7, "project_name": "new", "status": "planned"}, {"project_number": 6, "project_name": "needs", "status": "planned", "dependencies": [7]}]}`
	src = strings.Replace(src, `, "dependencies": [7]},`, `},`, 1)
	m := exchange.Read("x.json", []byte(src), exchange.Options{Fresh: true})

	w := newWorkspace(t)
	w.do(state.ImportTasks{From: m, Fresh: true})

	a := w.stored(7)
	b := w.stored(8)
	c := w.stored(6)
	if a.Slug != "new" || b.Slug != "old" || c.Dependencies[0] != 7 {
		t.Errorf("tasks = %v, %v, %v", a, b, c)
	}

	f := fmt.Sprint(m.Findings)
	if !strings.Contains(
		f,
		`task 7 stands twice, first in line 1, and the two differ; "old" in line 1 is task 8 here`,
	) {
		t.Errorf("findings = %s", f)
	}

	out, err := w.r.Export(t.Context(), exchange.ShapeProjects, false)
	if err != nil || !strings.Contains(string(out), `"next_project_number": 9`) {
		t.Errorf("Export = %v, want the next number of both:\n%s", err, out)
	}

	w.healthy()
}

// TestReferencesThatLeadNowhereComeBack: a task of long ago names tasks that its system forgot;
// they are left out here and given back.
func TestReferencesThatLeadNowhereComeBack(t *testing.T) {
	t.Parallel()

	src := `{
  "active_projects": [
    {
      "project_number": 399,
      "project_name": "causes",
      "status": "not_started",
      "parent_task": 394,
      "dependencies": [
        416,
        400
      ]
    },
    {
      "project_number": 400,
      "project_name": "builds",
      "status": "planned"
    }
  ],
  "next_project_number": 401
}
`

	w := quickWorkspace(t)
	w.do(state.ImportTasks{From: exchange.Read("state.json", []byte(
		src,
	), exchange.Options{Repair: true})})

	doc, err := w.r.Doc(t.Context())
	if err != nil || len(doc.Tasks) != 2 || doc.Tasks[0].Parent != nil ||
		!slices.Equal(doc.Tasks[0].Dependencies, []int{400}) {
		t.Fatalf("tasks %+v, %v, want one of no parent that depends on 400", doc.Tasks, err)
	}

	out, err := w.r.Export(t.Context(), exchange.ShapeProjects, false)
	if diff := cmp.Diff(src, string(out)); err != nil || diff != "" {
		t.Errorf("Export = %v (-want +got):\n%s", err, diff)
	}
}
