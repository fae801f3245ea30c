package state_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tercet/formats"
	"tercet/state"
)

// model is what a state should hold, in the simplest form: the table of formats over a map.
type model struct {
	tasks    map[int]modelTask
	archived map[int]modelTask
	next     int
	serial   uint64
}

type modelTask struct {
	status, prior formats.TaskStatus
	title         string
	artifacts     int
}

func (m *model) move(n int, to formats.TaskStatus, reason bool) (changed, ok bool) {
	t, there := m.tasks[n]
	if !there {
		return false, false
	}
	if t.status == to {
		return false, true
	}

	back := t.status.KeepsPrior() && t.prior == to
	if !back {
		at := slices.IndexFunc(formats.Moves(
			t.status,
		), func(mv formats.Move) bool { return mv.To == to && !mv.Recover })
		if at < 0 || formats.Moves(t.status)[at].NeedsReason && !reason {
			return false, false
		}
		mv := formats.Moves(t.status)[at]
		if !mv.ChildrenTerminal && formats.ArtifactsFor(to) != nil && t.artifacts == 0 {
			return false, false
		}
		order := []formats.TaskStatus{
			formats.NotStarted, formats.Researched, formats.Planned, formats.Revised,
			formats.Partial, formats.Completed,
		}
		at = slices.Index(order, to)
		if t.status.InProgress() && at >= 0 && at < slices.Index(order, t.prior) {
			to = t.prior
		}
	}
	switch {
	case !to.KeepsPrior():
		t.prior = ""
	case !t.status.KeepsPrior():
		t.prior = t.status
	}

	t.status = to
	m.tasks[n] = t
	return true, true
}

// apply does what the transaction should do and says whether it should be accepted.
func (m *model) apply(ops []state.Op) bool {
	saved := model{maps.Clone(m.tasks), maps.Clone(m.archived), m.next, m.serial}
	for _, op := range ops {
		if _, ok := m.one(op); !ok {
			*m = saved
			return false
		}
	}

	// What a transaction does and takes back again is no change.
	if !maps.Equal(m.tasks, saved.tasks) || !maps.Equal(m.archived, saved.archived) {
		m.serial++
	}

	return true
}

func (m *model) one(op state.Op) (changed, ok bool) {
	switch op := op.(type) {
	case state.CreateTasks:
		for _, t := range op.Tasks {
			m.tasks[m.next] = modelTask{status: formats.NotStarted, title: t.Title}
			m.next++
		}
		return true, true
	case state.UpdateStatus:
		for _, n := range op.Tasks {
			to := op.To
			if op.Back {
				t := m.tasks[n]
				if to = t.prior; to == "" {
					return false, false
				}
			}
			did, legal := m.move(n, to, op.Reason != "")
			if !legal {
				return false, false
			}
			changed = changed || did
		}
		return changed, true
	case state.UpdateMetadata:
		t, there := m.tasks[op.Task]
		title := op.Fields["title"].(string)
		changed = t.title != title
		t.title = title
		if there {
			m.tasks[op.Task] = t
		}
		return changed, there
	case state.LinkArtifacts:
		t, there := m.tasks[op.Task]
		changed = t.artifacts == 0
		t.artifacts = 3
		if there {
			m.tasks[op.Task] = t
		}
		return changed, there
	case state.ArchiveTasks:
		for _, n := range op.Tasks {
			t, there := m.tasks[n]
			if _, gone := m.archived[n]; gone && !there {
				continue
			}
			if !there || !t.status.Terminal() {
				return false, false
			}
			m.archived[n] = t
			delete(m.tasks, n)
			changed = true
		}
		return changed, true
	case state.UnarchiveTasks:
		for _, n := range op.Tasks {
			if _, there := m.tasks[n]; there {
				continue
			}
			t, there := m.archived[n]
			if !there {
				return false, false
			}
			m.tasks[n] = t
			delete(m.archived, n)
			changed = true
		}
		return changed, true
	}

	return false, false
}

// FuzzApply holds random sequences of transactions against the model.
func FuzzApply(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(rapid.MakeFuzz(checkModel))
}

func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkModel)
}

func checkModel(rt *rapid.T) {
	w := quickWorkspace(rt)
	docs := []formats.Artifact{
		w.document(formats.ArtifactReport, "r.md", "x"),
		w.document(formats.ArtifactPlan, "p.md", "x"),
		w.document(formats.ArtifactSummary, "s.md", "x"),
	}
	m := &model{
		tasks:    map[int]modelTask{},
		archived: map[int]modelTask{},
		next:     1,
	}
	ops := opGenerator(docs)
	for i := range rapid.IntRange(1, 25).Draw(rt, "transactions") {
		var list []state.Op
		if single := rapid.IntRange(0, 4).Draw(rt, "kind"); single == 0 {
			list = []state.Op{moveGenerator().Draw(rt, "move")}
		} else {
			list = rapid.SliceOfN(ops, 1, 3).Draw(rt, "ops")
		}
		before := w.read("state.json")
		res, err := w.m.Apply(context.Background(), state.Tx{
			Session: session,
			Run:     "r1",
			Ops:     list,
		})
		want := m.apply(list)
		if (err == nil) != want {
			rt.Fatalf("transaction %d %+v = %v, want accepted: %v", i, list, err, want)
		}
		if err != nil {
			if w.read("state.json") != before {
				rt.Fatalf("a refused transaction changed the file")
			}
			continue
		}
		if res.Serial != m.serial || res.Changed != (w.read("state.json") != before) {
			rt.Fatalf("transaction %d %+v = serial %d, changed %v; want serial %d",
				i, list, res.Serial, res.Changed, m.serial)
		}
	}

	compareModel(rt, w, m)
}

func compareModel(rt *rapid.T, w *workspace, m *model) {
	doc, err := w.r.Doc(context.Background())
	if err != nil {
		rt.Fatal(err)
	}

	if doc.Serial != m.serial || doc.NextNumber != m.next || len(doc.Tasks) != len(m.tasks) {
		rt.Fatalf("serial %d, next %d, %d tasks; want %d, %d, %d",
			doc.Serial, doc.NextNumber, len(doc.Tasks), m.serial, m.next, len(m.tasks))
	}

	for _, got := range doc.Tasks {
		want, there := m.tasks[got.Number]
		if !there || got.Status != want.status || got.Prior != want.prior ||
			got.Title != want.title || len(got.Artifacts) != want.artifacts ||
			(got.Lease != nil) != got.Status.InProgress() {
			rt.Fatalf("task %+v, want %+v", got, want)
		}
	}

	for n := range m.archived {
		if there, err := w.r.ArchivedTask(context.Background(), n); !there || err != nil {
			rt.Fatalf("task %d is not in the archive, %v", n, err)
		}
	}

	found, err := w.r.Verify(context.Background())
	if err != nil || len(found) > 0 {
		rt.Fatalf("Verify = %v, %v", found, err)
	}
}

func opGenerator(docs []formats.Artifact) *rapid.Generator[state.Op] {
	task := rapid.IntRange(1, 6)
	return rapid.Custom(func(rt *rapid.T) state.Op {
		switch rapid.IntRange(0, 9).Draw(rt, "op") {
		case 0, 1:
			titles := rapid.SliceOfN(
				rapid.SampledFrom([]string{"a", "Über \"x\"", "\U0001f600 <b>", "\\"}),
				1,
				2,
			).Draw(rt, "titles")
			op := state.CreateTasks{}
			for _, title := range titles {
				op.Tasks = append(op.Tasks, state.NewTask{Title: title})
			}
			return op
		case 2:
			return state.UpdateMetadata{
				Task: task.Draw(rt, "task"),
				Fields: map[string]any{"title": rapid.SampledFrom([]string{
					"a",
					"b\u2028c",
					"é",
				}).Draw(rt, "title")},
			}
		case 3:
			return state.LinkArtifacts{Task: task.Draw(rt, "task"), Artifacts: docs}
		case 4:
			return state.UpdateStatus{Tasks: []int{task.Draw(rt, "task")}, Back: true}
		}

		return state.UpdateStatus{
			Tasks:  rapid.SliceOfN(task, 1, 2).Draw(rt, "tasks"),
			To:     rapid.SampledFrom(formats.TaskStatuses()).Draw(rt, "to"),
			Reason: rapid.SampledFrom([]string{"", "why"}).Draw(rt, "reason"),
		}
	})
}

func moveGenerator() *rapid.Generator[state.Op] {
	tasks := rapid.SliceOfNDistinct(rapid.IntRange(1, 6), 1, 3, rapid.ID[int])
	return rapid.Custom(func(rt *rapid.T) state.Op {
		if rapid.Bool().Draw(rt, "back") {
			return state.UnarchiveTasks{Tasks: tasks.Draw(rt, "tasks")}
		}
		return state.ArchiveTasks{Tasks: tasks.Draw(rt, "tasks")}
	})
}

// FuzzState holds that no text makes reading or writing it do anything but work or refuse: a file
// is never left worse.
func FuzzState(f *testing.F) {
	f.Add(odd)
	f.Add(file(`{"number": 1, "title": "a", "status": "not_started"}`))
	f.Add(file("\n<<<<<<< HEAD\n"))
	f.Add(`{"active_projects": []}`)
	f.Fuzz(func(t *testing.T, src string) {
		w := quickWorkspace(t)
		w.write("state.json", src)
		w.write("audit.jsonl", "")
		numbers, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
		got := w.read("state.json")
		if err != nil {
			if got != src {
				t.Errorf("refused with %v, but the file changed", err)
			}
			return
		}

		doc, err := w.r.Doc(t.Context())
		if err != nil || doc.Tasks[len(doc.Tasks)-1].Number != numbers.Numbers[0] {
			t.Errorf("after a write: %v", err)
		}
		w.do(state.UpdateMetadata{
			Task:   numbers.Numbers[0],
			Fields: map[string]any{"title": "longer", "effort": "1h"},
		})
		w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})
		// Without what was added, every byte of the old file is there in its order.
		common := strings.Index(src, `"title"`)
		if common > 0 && strings.Count(src, `"serial"`) == 1 &&
			strings.Count(src, `"next_number"`) == 1 {
			rest := src[common:strings.LastIndex(src, "}")]
			if at := strings.Index(rest, "]"); at > 0 && !strings.Contains(got, rest[:at]) {
				t.Errorf("bytes of the tasks changed:\n%s\n%s", src, got)
			}
		}
	})
}
