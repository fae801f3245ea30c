package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tercet/formats"
	"tercet/state"
	"tercet/state/exchange"
	"tercet/state/history"
	"tercet/state/statefile"
)

// branches gives a workspace with tasks, and a copy of it that goes its own way.
func branches(t tb, titles ...string) (base string, ours, theirs *workspace) {
	t.Helper()
	ours = quickWorkspace(t)
	theirs = quickWorkspace(t)

	ours.add(titles...)

	base = ours.read("state.json")
	theirs.write("state.json", base)
	if _, err := theirs.m.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}

	theirs.clock.advance(3600e9)
	return base, ours, theirs
}

func merge(t tb, base string, ours, theirs *workspace) *exchange.Merged {
	t.Helper()

	m, err := exchange.Merge(exchange.Sources{
		Name:   "state.json",
		Base:   []byte(base),
		Ours:   []byte(ours.read("state.json")),
		Theirs: []byte(theirs.read("state.json")),
	}, exchange.ResolveNone)
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func TestMerge(t *testing.T) {
	t.Parallel()

	base, ours, theirs := branches(t, "one", "two", "three", "four", "five")

	report := ours.document(formats.ArtifactReport, "r.md", "x")
	plan := theirs.document(formats.ArtifactPlan, "p.md", "x")

	ours.do(
		state.UpdateMetadata{
			Task:   1,
			Fields: map[string]any{"title": "ONE", "dependencies": []int{2}},
		},
		state.LinkArtifacts{Task: 1, Artifacts: []formats.Artifact{report}},
	)
	theirs.do(
		state.UpdateMetadata{
			Task:   1,
			Fields: map[string]any{"effort": "3h", "dependencies": []int{3}},
		},
		state.LinkArtifacts{Task: 1, Artifacts: []formats.Artifact{plan}},
		state.UpdateStatus{Tasks: []int{2}, To: formats.Planning},
	)

	ours.add("new of ours") // 6 on both sides
	theirs.do(state.CreateTasks{Tasks: []state.NewTask{
		{Title: "new of theirs"},
		{Title: "depends on it", Dependencies: []int{6}, Parent: 6},
	}})

	theirs.force(3, formats.Abandoned)
	theirs.do(state.ArchiveTasks{Tasks: []int{3}})

	m := merge(t, base, ours, theirs)
	if len(m.Conflicts) > 0 || m.Marked {
		t.Fatalf("conflicts = %v", m.Conflicts)
	}

	if diff := cmp.Diff(map[int]int{6: 8}, m.Renumbered); diff != "" {
		t.Errorf("renumbered (-want +got):\n%s", diff)
	}

	ours.write("state.json", string(m.Data))
	one := ours.stored(1)
	if one.Title != "ONE" || one.Effort != "3h" || len(one.Artifacts) != 2 ||
		fmt.Sprint(one.Dependencies) != "[2 3]" || one.Updated != theirs.stored(1).Updated {
		t.Errorf("task 1 = %+v, want what both sides changed", one)
	}

	if got := ours.stored(2); got.Status != formats.Planning || got.Lease == nil {
		t.Errorf("task 2 = %+v, want planning with its lease", got)
	}

	got := ours.stored(7)
	if got.Dependencies[0] != 8 || *got.Parent != 8 || ours.stored(8).Title != "new of theirs" ||
		ours.stored(6).Title != "new of ours" {
		t.Errorf("task 7 = %+v, want references to 8", got)
	}

	doc, err := ours.r.Doc(t.Context())
	if err != nil || doc.NextNumber != 9 || len(doc.Tasks) != 7 {
		t.Errorf("next number %d, %d tasks, %v; want 9 and 7", doc.NextNumber, len(doc.Tasks), err)
	}
}

func TestMergeConflict(t *testing.T) {
	t.Parallel()
	for _, layout := range []statefile.Layout{statefile.LayoutPretty, statefile.LayoutLines} {
		base, ours, theirs := branches(t, "one", "two", "three")

		ours.do(state.SetLayout{To: layout})
		ours.do(state.UpdateMetadata{
			Task:   2,
			Fields: map[string]any{"title": "ours", "effort": "1h"},
		})
		theirs.do(state.UpdateMetadata{
			Task:   2,
			Fields: map[string]any{"title": "theirs", "priority": "high"},
		})

		m := merge(t, base, ours, theirs)
		if len(m.Conflicts) != 1 ||
			m.Conflicts[0].String() !=
				`task 2: title is "ours" on our side and "theirs" on theirs` || !m.Marked {
			t.Fatalf("%s: conflicts = %v, marked %v", layout, m.Conflicts, m.Marked)
		}

		for how, want := range map[exchange.Resolution]string{
			exchange.ResolveOurs:   "ours",
			exchange.ResolveTheirs: "theirs",
			exchange.ResolveUnion:  "theirs",
		} {
			w := quickWorkspace(t)
			w.write("state.json", base)
			if _, err := w.m.Adopt(t.Context()); err != nil {
				t.Fatal(err)
			}

			w.write("state.json", string(m.Data))
			if _, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{
				Title: "x",
			}}}); err == nil || !strings.Contains(formats.HelpOf(err), "tercet state merge") {
				t.Errorf("%s: a write to a file with markers = %v, %s",
					layout, err, formats.HelpOf(err))
			}

			res, err := w.m.ResolveMerge(t.Context(), how)
			if err != nil {
				t.Fatalf("%s: ResolveMerge(%s) = %v\n%s", layout, how, err, m.Data)
			}

			got := w.stored(2)
			if got.Title != want || got.Effort != "1h" || got.Priority != "high" {
				t.Errorf("%s: task 2 after %s = %+v, want %s with what was merged",
					layout, how, got, want)
			}
			if res.Serial != w.serial() || w.stored(1).Title != "one" ||
				w.stored(3).Title != "three" {
				t.Errorf("%s: ResolveMerge(%s) = %+v", layout, how, res)
			}

			w.add("goes on")
			w.healthy()
		}
	}

	w := newWorkspace(t)
	_, err := w.m.ResolveMerge(t.Context(), exchange.ResolveOurs)
	if formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("ResolveMerge without markers = %v, want PRECONDITION", err)
	}
}

// TestMergeDisjoint has two sides change different fields, or different tasks: there is never a
// conflict, and both changes are in what comes out.
func TestMergeDisjoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base, ours, theirs := branches(rt, "one", "two", "three")
		if rapid.Bool().Draw(rt, "lines") {
			ours.do(state.SetLayout{To: statefile.LayoutLines})
		}
		keys := []string{"title", "description", "priority", "effort", "language"}
		value := rapid.SampledFrom([]string{"a", "Über \"x\"", "<b>, {}"})
		type place struct {
			task int
			key  string
		}
		owner := map[place]string{}
		for range rapid.IntRange(1, 8).Draw(rt, "edits") {
			p := place{
				rapid.IntRange(1, 3).Draw(rt, "task"),
				rapid.SampledFrom(keys).Draw(rt, "key"),
			}
			side := "theirs"
			w := theirs
			if rapid.Bool().Draw(rt, "ours") {
				side = "ours"
				w = ours
			}
			if owner[p] != "" && owner[p] != side {
				continue
			}
			owner[p] = side
			w.do(state.UpdateMetadata{
				Task:   p.task,
				Fields: map[string]any{p.key: value.Draw(rt, "value")},
			})
		}

		for _, w := range []*workspace{ours, theirs} {
			for i := range rapid.IntRange(0, 2).Draw(rt, "new") {
				w.do(state.CreateTasks{Tasks: []state.NewTask{{
					Title:        fmt.Sprint(w == ours, i),
					Dependencies: []int{1},
				}}})
			}
		}

		m := merge(rt, base, ours, theirs)
		if len(m.Conflicts) > 0 {
			rt.Fatalf("conflicts = %v", m.Conflicts)
		}
		w := quickWorkspace(rt)
		w.write("state.json", string(m.Data))
		doc, err := w.r.Doc(rt.Context())
		if err != nil {
			rt.Fatal(err)
		}
		for p, side := range owner {
			from := ours
			if side == "theirs" {
				from = theirs
			}
			get := func(t formats.Task) string {
				return map[string]string{
					"title":       t.Title,
					"description": t.Description,
					"priority":    t.Priority,
					"effort":      t.Effort,
					"language":    t.Language,
				}[p.key]
			}
			got := get(w.stored(p.task))
			want := get(from.stored(p.task))
			if got != want {
				rt.Fatalf("task %d: %s = %q, want %q of %s", p.task, p.key, got, want, side)
			}
		}

		count := len(mustDoc(rt, ours).Tasks) + len(mustDoc(rt, theirs).Tasks) - 3
		if len(doc.Tasks) != count || doc.Serial <= mustDoc(rt, ours).Serial ||
			doc.Serial <= mustDoc(rt, theirs).Serial {
			rt.Fatalf("%d tasks, serial %d, want %d tasks and a serial above both",
				len(doc.Tasks), doc.Serial, count)
		}
	})
}

func mustDoc(t tb, w *workspace) statefile.Doc {
	t.Helper()
	doc, err := w.r.Doc(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestDifferenceLine: a difference is told in a line, with a sign for what is new or gone.
func TestDifferenceLine(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]history.Difference{
		"+ task 3: {}":            {Task: 3, To: "{}"},
		"- task 3: title: \"a\"":  {Task: 3, Field: "title", From: `"a"`},
		"  next_number: 3 -> 4":   {Field: "next_number", From: "3", To: "4"},
		"  task 3: a: [] -> null": {Task: 3, Field: "a", From: "[]", To: "null"},
	} {
		if got := d.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}

	for want, e := range map[string]*history.Entry{
		"+3, 2: planned -> blocked (forced)": {
			Force: true,
			Changes: []map[string]any{
				{"task": 3, "op": "create_tasks", "from": "", "to": "not_started"},
				{"task": 2, "op": "update_status", "from": "planned", "to": "blocked"},
			},
		},
		"2: link_artifacts": {Changes: []map[string]any{{
			"task": 2,
			"op":   "link_artifacts",
			"from": "planned",
			"to":   "planned",
		}}},
		"set_layout": {Changes: []map[string]any{{"task": 0, "op": "set_layout"}}},
		".tercet/x":  {File: ".tercet/x"},
	} {
		if got := strings.Replace(e.Summary(), ", (forced)", " (forced)", 1); got != want {
			t.Errorf("What() = %q, want %q", got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("one", "two")
	before := w.read("state.json")
	w.do(state.SetLayout{To: statefile.LayoutLines})
	w.do(state.UpdateStatus{
		Tasks:  []int{2},
		To:     formats.Blocked,
		Reason: "x",
	})
	w.add("three")
	list, err := history.Diff("a", []byte(before), "b", []byte(w.read("state.json")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%d %s %s %.30s", d.Task, d.Field, d.From, d.To))
	}

	want := []string{
		`0 serial 1 4`, `0 next_number 3 4`, `2 status "not_started" "blocked"`,
		`2 prior null "not_started"`, `2 blocked_reason null "x"`,
		`3   {"artifacts":[],"blocked_reaso`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Diff (-want +got):\n%s", diff)
	}
}

func FuzzMarkers(f *testing.F) {
	f.Add("{\n<<<<<<< a\n\"x\": 1\n||||||| b\n=======\n\"x\": 2\n>>>>>>> c\n}")
	f.Add("<<<<<<< \n=======\n>>>>>>> \n")
	f.Fuzz(func(t *testing.T, src string) {
		for _, how := range []exchange.Resolution{
			exchange.ResolveOurs,
			exchange.ResolveTheirs,
			exchange.ResolveUnion,
		} {
			m, err := exchange.Unmark("x.json", []byte(src), how)
			if err == nil && strings.Contains(string(m.Data), "\n<<<<<<< ") {
				t.Errorf("Unmark(%q, %s) leaves markers", src, how)
			}
		}
	})
}
