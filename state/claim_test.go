package state_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/state"
	"tercet/state/statefile"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.do(state.CreateTasks{Tasks: []state.NewTask{
		{Title: "waits", Dependencies: []int{2}},
		{Title: "first"},
		{Title: "second"},
	}})
	for _, want := range []int{2, 3} {
		res, err := w.m.Apply(t.Context(), state.Tx{
			Session: session,
			Ops:     []state.Op{state.ClaimTask{Loose: true, Timeout: time.Hour}},
		})
		if err != nil || len(res.Verdicts) != 1 || res.Verdicts[0].Task != want ||
			res.Verdicts[0].Op != "claim_task" {
			t.Fatalf("claim = %+v, %v; want task %d", res, err, want)
		}
		got := w.stored(want)
		if got.Status != formats.Researching || got.Lease == nil || got.Lease.Session != session ||
			got.Lease.PID != 0 || got.Lease.Timeout != 3600 {
			t.Errorf("task %d = %s, %+v; want researching with a lease of the session",
				want, got.Status, got.Lease)
		}
	}

	if _, err := w.try(state.ClaimTask{}); formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("claim with nothing ready = %v, want NOT_FOUND", err)
	}
	if _, err := w.try(state.ClaimTask{Task: 1}); formats.CodeOf(err) != formats.CodePrecondition ||
		!strings.Contains(err.Error(), "task 1 waits for task 2") {
		t.Errorf("claim of a task that waits = %v, want PRECONDITION", err)
	}
	_, err := w.m.Apply(t.Context(), state.Tx{
		Session: other,
		Ops:     []state.Op{state.ClaimTask{Task: 2}},
	})
	if formats.CodeOf(err) != formats.CodeLeaseHeld {
		t.Errorf("claim of a task of another session = %v, want LEASE_HELD", err)
	}
	w.clock.advance(2 * time.Hour) // the leases end
	res, err := w.m.Apply(t.Context(), state.Tx{
		Session: other,
		Ops:     []state.Op{state.ClaimTask{To: formats.Planning}},
	})
	if err != nil || res.Verdicts[0].Task != 2 || w.stored(2).Status != formats.Planning {
		t.Errorf("claim after the lease ended = %+v, %v; want task 2 planning", res, err)
	}
	w.healthy()
}

// TestClaimRace has more sessions than tasks claim at once: no task goes to two.
func TestClaimRace(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("a", "b", "c", "d", "e")
	var mu sync.Mutex
	got := map[int]int{}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			res, err := w.m.Apply(t.Context(), state.Tx{
				Session: fmt.Sprintf("sess_1767610000_%06d", i),
				Ops:     []state.Op{state.ClaimTask{}},
			})

			mu.Lock()
			defer mu.Unlock()

			if err == nil {
				got[res.Verdicts[0].Task]++
			} else if formats.CodeOf(err) != formats.CodeNotFound {
				t.Error(err)
			}
		})
	}

	wg.Wait()
	diff := cmp.Diff(map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, got)
	if diff != "" {
		t.Errorf("claims of each task (-want +got):\n%s", diff)
	}
}

func TestRenumber(t *testing.T) {
	t.Parallel()
	for _, layout := range []statefile.Layout{statefile.LayoutPretty, statefile.LayoutLines} {
		t.Run(string(layout), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			doc := w.document(formats.ArtifactReport, "specs/001_a/reports/research-001.md", "x")
			w.add("a", "b", "c")
			w.do(state.SetLayout{To: layout})

			w.do(
				state.LinkArtifacts{Task: 1, Artifacts: []formats.Artifact{doc}},
				state.UpdateMetadata{Task: 2, Fields: map[string]any{"dependencies": []int{3, 1}}},
				state.UpdateMetadata{Task: 3, Fields: map[string]any{"parent": 1}},
			)

			w.write("state.json", strings.Replace(
				w.read("state.json"),
				`"title": "a"`,
				`"title": "a", "theirs": 1.50`,
				1,
			))

			res := w.do(
				state.Renumber{Task: 1},
				state.CreateTasks{Tasks: []state.NewTask{{Title: "d", Dependencies: []int{4}}}},
			)

			if got := w.stored(4); got.Title != "a" || got.Artifacts[0].Path != doc.Path {
				t.Errorf("task 4 = %+v, want the old task 1", got)
			}

			diff := cmp.Diff([]int{3, 4}, w.stored(2).Dependencies)
			if diff != "" || *w.stored(3).Parent != 4 {
				t.Errorf("references (-want +got):\n%s", diff)
			}

			if res.Numbers[0] != 5 || len(w.stored(5).Dependencies) != 1 {
				t.Errorf("Apply = %+v, want task 5 after 4", res)
			}

			if !strings.Contains(w.read("state.json"), `"theirs": 1.50`) {
				t.Error("a member of others is lost")
			}

			all, err := w.r.Doc(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			if layout == statefile.LayoutLines {
				for i, n := range []int{2, 3, 4, 5} {
					if all.Tasks[i].Number != n {
						t.Errorf("tasks[%d] = %d, want %d: lines are sorted",
							i, all.Tasks[i].Number, n)
					}
				}
			}

			w.healthy()

			w.force(2, formats.Abandoned)
			w.do(state.ArchiveTasks{Tasks: []int{2}})

			_, err = w.try(state.Renumber{Task: 4})
			if err == nil || !strings.Contains(err.Error(), "the archived task 2 refers to it") {
				t.Errorf("Renumber = %v, want it refused for the archived task", err)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	w.add("b", "a")
	w.write("state.json", strings.Replace(
		w.read("state.json"),
		`"version"`,
		`"x": {"big": 12345678901234567890.10}, "version"`,
		1,
	))

	w.do(state.SetLayout{To: statefile.LayoutLines})

	got := w.read("state.json")
	if strings.Count(got, "\n") != 11 ||
		!strings.Contains(got, "\n    {\"number\": 1, \"title\": \"b\"") ||
		!strings.Contains(got, "12345678901234567890.10") {
		t.Errorf("lines:\n%s", got)
	}

	if res := w.do(state.SetLayout{To: statefile.LayoutLines}); res.Changed {
		t.Error("a second time changed something")
	}

	w.add("c")
	if got := w.read("state.json"); strings.Count(got, "\n") != 12 {
		t.Errorf("a task that is added does not stand on its line:\n%s", got)
	}

	w.do(state.SetLayout{To: statefile.LayoutPretty})
	got = w.read("state.json")
	if !strings.Contains(got, "\n    {\n      \"number\": 1,") ||
		!strings.Contains(got, "12345678901234567890.10") {
		t.Errorf("pretty:\n%s", got)
	}

	w.healthy()
}

// TestCurrent: a query sees the prior status of a task whose lease has ended, wherever the lease
// lies in a file that is read in pieces. Where no task has a lease, the file is not parsed.
func TestCurrent(t *testing.T) {
	t.Parallel()
	const piece = 256 << 10
	w := newWorkspace(t)
	w.add("first")
	before := w.read("state.json")
	if got, err := w.r.Current(t.Context()); got != nil || err != nil {
		t.Errorf("without a lease = %q, %v; want nil", got, err)
	}

	w.do(state.ClaimTask{Timeout: time.Hour})
	w.clock.advance(2 * time.Hour)
	head, tail, ok := strings.Cut(w.read("state.json"), `"lease": {`)
	if !ok {
		t.Fatal("the task has no lease")
	}

	for _, gap := range []int{0, 100} {
		lease := `"lease":` + strings.Repeat(" ", gap) + "{"
		for at := piece - 120; at < piece+20; at++ {
			w.write("state.json", "{"+strings.Repeat(" ", at-len(head))+head[1:]+lease+tail)
			got, err := w.r.Current(t.Context())
			if err != nil || !strings.Contains(string(got), `"status": "not_started"`) {
				t.Fatalf("lease at %d, %d spaces before its value = %.80q, %v; "+
					"want the prior status", at, gap, got, err)
			}
		}
	}

	w.write("state.json", "{"+strings.Repeat(" ", piece)+before[1:])
	if got, err := w.r.Current(t.Context()); got != nil || err != nil {
		t.Errorf("a large file without a lease = %.80q, %v; want nil", got, err)
	}
}
