//go:build linux && (amd64 || arm64)

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state"
	"tercet/state/exchange"
	"tercet/state/statefile"
)

// operation is something that is done to a workspace, and how the workspace was before.
type operation struct {
	name  string
	setup func(w *workspace) error
	do    func(w *workspace) (state.Result, error)
	// still: what the workspace says about the work stays the same.
	still bool
	// again: until it is done, the operation itself is the next command.
	again bool
	// tx: done with the same id a second time, it is answered and not repeated.
	tx bool
	// move: two files change one after the other; an error in between leaves it to the next write
	// to finish.
	move bool
}

// txn is the id of the transaction that is hit.
const txn = "tx-hit"

func tx(ops ...state.Op) func(*workspace) (state.Result, error) {
	return func(w *workspace) (state.Result, error) { return w.apply(txn, ops...) }
}

// five makes a workspace with five tasks; the second and the third are completed.
func five(w *workspace) error {
	if err := w.m.Init(context.Background(), state.InitOptions{}); err != nil {
		return err
	}

	var list []state.NewTask
	for i := range 5 {
		list = append(list, state.NewTask{
			Title:       fmt.Sprint("task ", i+1),
			Description: strings.Repeat("words ", 4),
		})
	}

	if err := w.force(state.CreateTasks{Tasks: list}); err != nil {
		return err
	}

	return w.force(state.UpdateStatus{
		Tasks:  []int{2, 3},
		To:     formats.Completed,
		Reason: "test",
	})
}

const plan = "# Plan\n\n- **Task**: 1\n\n## Implementation Phases\n\n" +
	"### Phase 1: First [NOT STARTED]\n\n**Goal**: go\n\n### Phase 2: Second [NOT STARTED]\n\n" +
	"**Goal**: on\n"

const planFile = ".tercet/specs/1_task_1/plans/implementation-001.md"

// with prepares five tasks and something more.
func with(more func(w *workspace) error) func(w *workspace) error {
	return func(w *workspace) error { return errors.Join(five(w), more(w)) }
}

// undone does something and puts the named files back as they were, as a kill between audit log and
// rename leaves them.
func undone(do func(w *workspace) error, names ...string) func(w *workspace) error {
	return func(w *workspace) error {
		old := map[string]string{}
		for _, name := range names {
			if text, err := w.read(name); err == nil {
				old[name] = text
			}
		}

		if err := do(w); err != nil {
			return err
		}

		for _, name := range names {
			text, was := old[name]
			if !was {
				if err := os.Remove(w.path(name)); err != nil {
					return err
				}
			} else if err := w.write(name, text); err != nil {
				return err
			}
		}
		return nil
	}
}

func operations() []operation {
	create := tx(state.CreateTasks{Tasks: []state.NewTask{{Title: "new one"}, {Title: "new two"}}})
	update := tx(state.UpdateMetadata{Task: 4, Fields: map[string]any{"effort": "3h"}})
	archive := state.ArchiveTasks{Tasks: []int{2, 3}}
	back := state.UnarchiveTasks{Tasks: []int{2, 3}}
	archived := func(w *workspace) error { return w.force(archive) }
	out := []operation{
		{
			name:  "init",
			again: true,
			setup: func(*workspace) error { return nil },
			do: func(w *workspace) (state.Result, error) {
				return state.Result{}, w.m.Init(context.Background(), state.InitOptions{})
			},
		},
		{name: "create", tx: true, setup: five, do: create},
		{
			name:  "update",
			tx:    true,
			setup: five,
			do:    tx(state.UpdateStatus{Tasks: []int{1}, To: formats.Planning}),
		},
		{
			name:  "bulk update",
			tx:    true,
			setup: five,
			do: tx(
				state.UpdateStatus{
					Tasks:  []int{1, 4, 5},
					To:     formats.OnHold,
					Reason: "later",
				},
				state.UpdateMetadata{Task: 1, Fields: map[string]any{"title": "renamed"}},
				state.CreateTasks{Tasks: []state.NewTask{{Title: "with them"}}},
			),
		},
		{
			name: "link",
			tx:   true,
			setup: with(func(w *workspace) error {
				return w.write("specs/1_task_1/reports/r.md", "# Report\n")
			}),
			do: tx(state.LinkArtifacts{
				Task: 1,
				Artifacts: []formats.Artifact{{
					Type: formats.ArtifactReport,
					Path: ".tercet/specs/1_task_1/reports/r.md",
				}},
			}),
		},
		{
			name: "set_phase",
			tx:   true,
			setup: with(func(w *workspace) error {
				return errors.Join(
					w.write(strings.TrimPrefix(planFile, ".tercet/"), plan),
					w.force(state.LinkArtifacts{
						Task:      1,
						Artifacts: []formats.Artifact{{Type: formats.ArtifactPlan, Path: planFile}},
					}),
				)
			}),
			do: tx(state.SetPhase{
				Task:   1,
				Phase:  1,
				Status: documents.PhaseCompleted,
			}),
		},
		{name: "archive", tx: true, move: true, setup: five, do: tx(archive)},
		{
			name: "archive more",
			tx:   true,
			move: true,
			setup: with(func(w *workspace) error {
				return w.force(state.ArchiveTasks{Tasks: []int{2}})
			}),
			do: tx(state.ArchiveTasks{Tasks: []int{3}}),
		},
		{name: "unarchive", tx: true, move: true, setup: with(archived), do: tx(back)},
		{
			name:  "divide",
			tx:    true,
			setup: five,
			do: tx(state.DivideTask{
				Task:  5,
				Parts: []state.NewTask{{Title: "part one"}, {Title: "part two"}},
			}),
		},
		{
			name: "lease",
			tx:   true,
			setup: with(func(w *workspace) error {
				return w.force(state.UpdateStatus{Tasks: []int{1}, To: formats.Planning})
			}),
			do: tx(state.SetLease{Tasks: []int{1}, Timeout: 1 << 40}),
		},
		{name: "claim", tx: true, setup: five, do: tx(state.ClaimTask{})},
		{
			name: "renumber",
			tx:   true,
			setup: with(func(w *workspace) error {
				return w.force(state.UpdateMetadata{
					Task:   5,
					Fields: map[string]any{"dependencies": []int{1, 4}},
				})
			}),
			do: tx(state.Renumber{Task: 4}),
		},
		{
			name:  "import",
			tx:    true,
			setup: five,
			do: tx(state.ImportTasks{
				From: exchange.Read(
					"old.json",
					[]byte(
						`{"active_projects": [{"project_number": 41, `+
							`"project_name": "brought", "status": "researched"}]}`,
					),
					exchange.Options{},
				),
			}),
		},
		{
			name:  "layout",
			tx:    true,
			still: true,
			setup: five,
			do:    tx(state.SetLayout{To: statefile.LayoutLines}),
		},
		{
			name: "sync",
			tx:   true,
			setup: with(func(w *workspace) error {
				text, err := w.read("TODO.md")
				return errors.Join(
					err,
					w.write("TODO.md", strings.Replace(text, "task 4", "by hand", 1)),
				)
			}),
			do: tx(state.SyncTasks{}),
		},
		{
			name: "rotate",
			tx:   true,
			setup: with(func(w *workspace) error {
				return os.WriteFile(filepath.Join(w.dir, smallLog), nil, 0o600)
			}),
			do: update,
		},
		{
			name: "rotate again",
			tx:   true,
			setup: func(w *workspace) error {
				all := errors.Join(
					os.WriteFile(filepath.Join(w.dir, smallLog), nil, 0o600),
					five(w),
				)

				w, err := openWorkspace(w.dir, early)
				if err != nil {
					return err
				}
				defer w.close()

				for i := range 4 {
					all = errors.Join(
						all,
						w.force(state.UpdateMetadata{
							Task:   5,
							Fields: map[string]any{"effort": fmt.Sprint(i)},
						}),
					)
				}

				return all
			},
			do: update,
		},
		{
			name: "undo",
			tx:   true,
			move: true,
			setup: with(func(w *workspace) error {
				return w.byRun(
					"r2",
					[]state.Op{
						state.UpdateStatus{Tasks: []int{1}, To: formats.Implementing},
						state.CreateTasks{Tasks: []state.NewTask{{Title: "made"}}},
					},
					[]state.Op{archive},
				)
			}),
			do: tx(state.RestoreTasks{Run: "r2"}),
		},
		{
			name: "undo phases",
			tx:   true,
			setup: with(func(w *workspace) error {
				return errors.Join(
					w.write(strings.TrimPrefix(planFile, ".tercet/"), plan),
					w.force(state.LinkArtifacts{
						Task:      1,
						Artifacts: []formats.Artifact{{Type: formats.ArtifactPlan, Path: planFile}},
					}),
					w.byRun("r2", []state.Op{state.SetPhase{
						Task:   1,
						Phase:  1,
						Status: documents.PhaseCompleted,
					}}, []state.Op{state.SetPhase{
						Task:   1,
						Phase:  2,
						Status: documents.PhasePartial,
					}}),
				)
			}),
			do: tx(state.RestorePhases{Run: "r2", Plan: planFile}),
		},
		{
			name: "external edit",
			tx:   true,
			setup: with(func(w *workspace) error {
				return edit(w, `"task 4"`, `"by hand"`)
			}),
			do: update,
		},
		{
			name:  "adopt",
			again: true,
			still: true,
			setup: func(w *workspace) error {
				err := errors.Join(
					w.m.Init(context.Background(), state.InitOptions{NextNumber: 9}),
					undone(five9, "state.json")(w),
				)
				// no write of ours had this content
				return errors.Join(err, edit(w, `"next_number": 9`, `"next_number": 11`))
			},
			do: func(w *workspace) (state.Result, error) {
				return w.m.Adopt(context.Background())
			},
		},
		{
			name:  "restore",
			again: true,
			setup: five,
			do: func(w *workspace) (state.Result, error) {
				return w.m.Restore(context.Background(), 1)
			},
		},
		{
			name:  "restore broken",
			again: true,
			setup: with(func(w *workspace) error {
				return w.write("state.json", "{\"version\": ")
			}),
			do: func(w *workspace) (state.Result, error) {
				return w.m.Restore(context.Background(), 1)
			},
		},
		{
			name: "first backup",
			tx:   true,
			setup: func(w *workspace) error {
				return w.m.Init(context.Background(), state.InitOptions{})
			},
			do: create,
		},
		{
			name: "last backup",
			tx:   true,
			setup: with(func(w *workspace) error {
				var all error
				for i := range 10 {
					all = errors.Join(
						all,
						w.force(state.UpdateMetadata{
							Task:   5,
							Fields: map[string]any{"effort": fmt.Sprint(i)},
						}),
					)
				}
				return all
			}),
			do: update,
		},
		{
			name: "fresh clone",
			tx:   true,
			setup: with(func(w *workspace) error {
				return errors.Join(
					os.Remove(w.path("audit.jsonl")),
					os.RemoveAll(w.path("backups")),
					os.Remove(w.path("state.json.bak")),
				)
			}),
			do: update,
		},
		{
			name:  "error record",
			setup: five,
			do: func(w *workspace) (state.Result, error) {
				return state.Result{}, w.errs.Record(context.Background(), formats.Problem{
					Type:    "timeout",
					Message: "it took too long",
				})
			},
		},
		{
			name: "recover announced",
			tx:   true,
			setup: with(undone(func(w *workspace) error {
				return w.force(state.CreateTasks{Tasks: []state.NewTask{{Title: "lost"}}})
			}, "state.json", "state.json.bak")),
			do: update,
		},
		{
			name: "recover torn line",
			tx:   true,
			setup: with(func(w *workspace) error {
				text, err := w.read("audit.jsonl")
				return errors.Join(err, w.write("audit.jsonl", text+`{"serial":3,"txn":"to`))
			}),
			do: update,
		},
		{
			name: "recover leftovers",
			tx:   true,
			setup: with(func(w *workspace) error {
				var all error
				for _, name := range []string{
					"state.json", "state.json.bak", "state.lock.info", "backups/state-9.json",
					"TODO.md",
				} {
					all = errors.Join(all, w.write(name+".tmp-99-0123456789abcdef", "torn"))
				}
				return all
			}),
			do: update,
		},
	}
	for _, half := range []struct {
		name  string
		setup func(w *workspace) error
	}{
		{"recover archive announced", undone(archived, "state.json", "archive/state.json")},
		{"recover archive half", undone(archived, "state.json")},
		// the announcement of its second half did not reach the disk
		{"recover archive torn", func(w *workspace) error {
			if err := undone(archived, "state.json")(w); err != nil {
				return err
			}

			text, err := w.read("audit.jsonl")
			lines := strings.SplitAfter(text, "\n")
			last := len(lines) - 2 // behind the last line break is nothing

			return errors.Join(err, w.write(
				"audit.jsonl",
				strings.Join(lines[:last], "")+lines[last][:len(lines[last])/2],
			))
		}},
		{"recover unarchive half", func(w *workspace) error {
			return errors.Join(
				archived(w),
				undone(func(w *workspace) error {
					return w.force(back)
				}, "archive/state.json")(w),
			)
		}},
	} {
		out = append(out, operation{
			name:  half.name,
			tx:    true,
			move:  true,
			setup: with(half.setup),
			do:    update,
		})
	}

	return out
}

func five9(w *workspace) error {
	return w.force(state.CreateTasks{Tasks: []state.NewTask{
		{Title: "lost one"},
		{Title: "lost two"},
	}})
}

// edit changes the state as an editor does.
func edit(w *workspace, old, now string) error {
	text, err := w.read("state.json")
	if err != nil {
		return err
	}
	if !strings.Contains(text, old) {
		return fmt.Errorf("state.json has no %s", old)
	}
	return w.write("state.json", strings.Replace(text, old, now, 1))
}
