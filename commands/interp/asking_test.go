package interp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/journal"
)

// shown is a project around an open gate.
type shown struct {
	docs       map[string]string
	diff, stat string
	tasks      map[int]*formats.Task
}

const report = "## Summary\n\nIt works.\n\n## Findings\n\nNone.\n\n## Recommendations\n\nNone.\n" +
	"\n## References\n\nNone.\n\n## Next Steps\n\nNone.\n"

func newShown() *shown {
	return &shown{
		docs: map[string]string{
			"a.txt":                    "a",
			"b.txt":                    "b",
			"docs/one.md":              report,
			"docs/two.md":              "two",
			"p.md":                     "plan",
			"q.md":                     "more",
			"x.md":                     "the command",
			".tercet/worktrees/w/c.go": "c",
		},
		diff: "+ one\n- two\n",
		stat: "one.go",
		tasks: map[int]*formats.Task{7: {
			Number:    7,
			Title:     "Fix it",
			Slug:      "fix_it",
			Status:    formats.NotStarted,
			Artifacts: []formats.Artifact{},
		}},
	}
}

// configure gives w the documents, tasks and workers that belong to what is shown.
func (s *shown) configure(w *world) {
	w.docs = s.docs
	w.tasks = s.tasks
	w.cfg.Diff = func(context.Context, string) (string, string, error) {
		return s.diff, s.stat, nil
	}

	w.agents["maker"] = always(made(formats.ArtifactPlan, "p.md"))

	two := made(formats.ArtifactPlan, "p.md")
	two.Artifacts = append(two.Artifacts, formats.Artifact{
		Type: formats.ArtifactSummary,
		Path: "q.md",
	})

	w.agents["worker"] = always(two)

	w.agents["second"] = func(context.Context, formats.Request) (formats.Return, error) {
		ret := made(formats.ArtifactImplementation, "c.go")
		ret.Metadata.Worktree = "/project/.tercet/worktrees/w"
		return ret, nil
	}

	w.agents["judge"] = always(verdict(formats.VerdictRejected, "bad"))

	w.cfg.Limits.Rollbacks = 1
}

// evidenceChange is one way in which what a person was shown becomes something else.
type evidenceChange struct {
	name, step string // the gate's keys
	change     func(*shown)
}

func evidenceChanges() []evidenceChange {
	write := func(name, text string) func(*shown) {
		return func(s *shown) { s.docs[name] = text }
	}
	remove := func(name string) func(*shown) {
		return func(s *shown) { delete(s.docs, name) }
	}

	const asks = "gate: Well?\nchoices: {yes: next, no: fail}\n"

	var out []evidenceChange

	add := func(step string, list ...any) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, evidenceChange{
				name:   list[i].(string),
				step:   step,
				change: list[i+1].(func(*shown)),
			})
		}
	}

	add(
		asks+"evidence: a.txt",
		"file: changed",
		write("a.txt", "other"),
		"file: one byte",
		write("a.txt", "b"),
		"file: a line end",
		write("a.txt", "a\n"),
		"file: emptied",
		write("a.txt", ""),
		"file: removed",
		remove("a.txt"),
	)
	add(asks+"evidence: new.txt", "file: it comes", write("new.txt", ""))
	add(
		asks+"evidence: [a.txt, b.txt]",
		"files: the first",
		write("a.txt", "other"),
		"files: the second",
		write("b.txt", "other"),
		"files: exchanged",
		func(s *shown) {
			s.docs["a.txt"], s.docs["b.txt"] = s.docs["b.txt"], s.docs["a.txt"]
		},
	)
	add(
		asks+"evidence: 'docs/*'",
		"pattern: one changed",
		write("docs/one.md", "other"),
		"pattern: another changed",
		write("docs/two.md", "other"),
		"pattern: one more",
		write("docs/three.md", ""),
		"pattern: one less",
		remove("docs/two.md"),
		"pattern: renamed",
		func(s *shown) {
			s.docs["docs/three.md"] = s.docs["docs/two.md"]
			delete(s.docs, "docs/two.md")
		},
	)
	add(
		asks+"evidence: '${{ $steps.a.artifacts[1].path }}'",
		"by text: changed",
		write("q.md", "other"),
		"by text: removed",
		remove("q.md"),
	)
	add(
		asks+"evidence: '$steps.a.artifacts | map(.path)'",
		"by jq: the first",
		write("p.md", "other"),
		"by jq: the second",
		write("q.md", "other"),
	)
	add(
		asks+"evidence: a",
		"of a step: the first",
		write("p.md", "other"),
		"of a step: the second",
		write("q.md", "other"),
		"of a step: removed",
		remove("p.md"),
	)
	add(
		asks,
		"artifact: the plan",
		write("p.md", "other"),
		"artifact: another",
		write("q.md", "other"),
		"artifact: removed",
		remove("q.md"),
		"artifact: in the worktree",
		write(".tercet/worktrees/w/c.go", "other"),
		"what was loaded: changed",
		write("docs/one.md", report+"\nMore.\n"),
		"what was loaded: removed",
		remove("docs/one.md"),
		"command file: changed",
		write("x.md", "another command"),
		"command file: removed",
		remove("x.md"),
	)
	add(
		asks+"show: [$run.diff]",
		"diff: another",
		func(s *shown) { s.diff = "+ three\n" },
		"diff: nothing is left",
		func(s *shown) { s.diff = "" },
		"diff: one blank more",
		func(s *shown) { s.diff += " " },
	)
	add(asks+
		"show: [$run.diffstat, 1]", "files of the diff", func(s *shown) {
		s.stat += "\ntwo.go"
	})
	add(
		"gate: 'Merge ${{ $run.diffstat }}?'\nchoices: {yes: next, no: fail}",
		"the question's own words",
		func(s *shown) { s.stat = "two.go" },
	)
	add(
		asks+"show: ['$state.tasks | map(.title)']",
		"state: a title",
		func(s *shown) { s.tasks[7].Title = "Break it" },
		"state: a task more",
		func(s *shown) { s.tasks[8] = &formats.Task{Number: 8, Title: "More"} },
	)
	add(
		"gate: Well?\nchoices: {yes: next, again: {redo: [a], if: '$state.tasks[0].title == "+
			"\"Fix it\"'}, no: fail}",
		"a choice that goes",
		func(s *shown) { s.tasks[7].Title = "Break it" },
	)
	add(
		"gate: Well?\nchoices: {yes: next, again: {redo: [a], if: '$state.tasks[0].title != "+
			"\"Fix it\"'}, no: fail}",
		"a choice that comes",
		func(s *shown) { s.tasks[7].Title = "Break it" },
	)
	add(
		"delegate: judge\non: {rejected: gate}",
		"output: the engine's own question",
		write("p.md", "other"),
	)
	add(
		"delegate: judge\non: {rejected: {gate: Well?, show: [$run.diff], choices: {yes: next, "+
			"stop: fail}}}",
		"output: a rule's question",
		func(s *shown) { s.diff = "" },
		"output: a rule's question, an artifact",
		write("q.md", "other"),
	)
	add(
		"delegate: judge\non: {rejected: {rollback: [a]}}",
		"output: the limit's question",
		write("q.md", "other"),
	)

	return out
}

func (y evidenceChange) src() string {
	return file(
		task,
		"load:\n  d: {document: report-short, path: [docs/one.md]}",
		"A: id: a\ndelegate: worker",
		"B: id: b\ndelegate: second",
		"C: id: c\n"+y.step,
		"D: id: d\nreturn: done",
	)
}

// agree answers as a person who goes on where that is offered.
func agree(g formats.Gate) (formats.Decision, error) {
	for _, label := range []string{"yes", "Approve despite findings"} {
		if _, ok := g.Choice(label); ok {
			return formats.Decision{
				Answer: label,
				By:     "ann",
				Person: true,
			}, nil
		}
	}
	return formats.Decision{}, fmt.Errorf("no yes among %v", g.Choices)
}

// TestWhatWasShownChanges changes what a person was shown between the question and the answer, in
// 40 and more ways: while the process waits, and between two processes. The answer is refused, the
// gate asks anew under another id, and shows what stands there then. Where nothing changes, or
// something else, it is asked once.
func TestWhatWasShownChanges(t *testing.T) {
	t.Parallel()
	all := evidenceChanges()
	if len(all) < 40 {
		t.Fatalf("%d ways, want 40", len(all))
	}
	for _, y := range all {
		t.Run(y.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name   string
				change func(*shown)
				asked  int
			}{
				{"changed", y.change, 2},
				{"the same", func(*shown) {}, 1},
				{"something else", func(s *shown) {
					s.docs["else.md"] = "else"
				}, 1},
			} {
				s := newShown()
				w := newWorld(t)
				s.configure(w)
				n := 0

				w.cfg.GateID = func() string {
					n++
					return fmt.Sprintf("g%d", n)
				}

				w.answer = func(g formats.Gate) (formats.Decision, error) {
					if len(w.gates) == 1 {
						c.change(s)
					}
					return agree(g)
				}

				if got := describeReturn(w.run(t.Context(), y.src(), "7")); got != "completed 0: done" {
					t.Errorf("%s: Run = %s", c.name, got)
				}
				if len(w.gates) != c.asked ||
					c.asked > 1 &&
						(w.gates[0].ID == w.gates[1].ID || w.gates[0].Digest == w.gates[1].Digest) {
					t.Errorf("%s while it waits: gates = %+v, want %d", c.name, w.gates, c.asked)
				}

				refused := slices.ContainsFunc(w.entries, func(e formats.Entry) bool {
					return e.Type == formats.EntryGateRefused && e.Key == "g1"
				})
				if refused != (c.asked > 1) {
					t.Errorf("%s while it waits: refused %v", c.name, refused)
				}

				// The process ends at the gate, and the answer comes to another one.
				s = newShown()
				m := newMachine(t)
				m.tasks = s.tasks
				prog := newWorld(t).program(y.src())

				p, _ := m.play(prog, s.configure, 0, false)
				records, err := journal.Read([]byte(m.text()))
				if err != nil {
					t.Fatal(err)
				}
				first, _ := journal.Gates(records)
				if first == nil || journal.Finished(records) {
					t.Fatalf("%s: no open gate\n%s", c.name, m.text())
				}

				c.change(s)
				_, ret := m.play(prog, func(w *world) {
					s.configure(w)
					w.answer = agree
				}, 0, false)

				if got := describeReturn(ret); got != "completed 0: done" {
					t.Errorf("%s between two processes: Run = %s", c.name, got)
				}

				records, err = journal.Read([]byte(m.text()))
				if err != nil {
					t.Fatal(err)
				}

				_, done := journal.Gates(records)
				same := done[0].Gate.ID == first.ID
				if same != (c.asked == 1) || p.gates != c.asked {
					t.Errorf("%s between two processes: answered as %s, asked as %s, %d gates",
						c.name, done[0].Gate.ID, first.ID, p.gates)
				}
			}
		})
	}
}

// TestConsentOnTheWay: a run that began without consent, and goes on with it, repeats what lacks a
// tool once where it had asked before, as the tool may be there now, and not at all where it asks
// with the consent.
func TestConsentOnTheWay(t *testing.T) {
	t.Parallel()

	again := "A: id: a\ndelegate: worker\non: {failed: {gate: Again?, choices: {Retry: {redo: " +
		"it}, Abort: fail}, auto: Retry, consent: true}}"
	own := "A: id: a\ndelegate: worker\non: {failed: gate}"

	for name, c := range map[string]struct {
		steps []string
		calls int
	}{
		"asked before":                 {[]string{again}, 2},
		"asked before, by the engine":  {[]string{own}, 2},
		"stopped earlier":              {[]string{"G: gate: Begin?\nconsent: true", again}, 1},
		"stopped earlier, engine asks": {[]string{"G: gate: Begin?\nconsent: true", own}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			calls := 0
			m.line = ""

			prog := newWorld(t).program(file("", "", c.steps...))

			shape := func(w *world) {
				w.agents["worker"] = func(
					context.Context,
					formats.Request,
				) (formats.Return, error) {
					calls++
					return failing(formats.CodeToolUnavailable, "no such CLI"), nil
				}
			}

			if _, ret := m.play(prog, shape, 0, false); ret.Outcome() != formats.OutcomeSuspended {
				t.Fatalf("without consent: %s", describeReturn(ret))
			}

			for range 2 { // the second process replays what the first one decided
				_, ret := m.play(prog, func(w *world) {
					shape(w)
					w.answer = func(g formats.Gate) (formats.Decision, error) {
						at := slices.IndexFunc(g.Choices, func(c formats.Choice) bool {
							return c.Approves || c.Label == g.Auto
						})
						if at < 0 {
							return formats.Decision{}, &formats.GateOpenError{Gate: g}
						}
						return formats.Decision{Answer: g.Choices[at].Label, By: formats.ByYes}, nil
					}
				}, 0, false)

				got := describeReturn(ret)
				if !strings.HasPrefix(got, "failed 69 TOOL_UNAVAILABLE: no such CLI") ||
					calls != c.calls {
					t.Errorf("with consent: %s after %d calls, want a failure after %d",
						got, calls, c.calls)
				}
			}
		})
	}
}

// TestQuorum: the same choice by two people goes on, each counted once; one is enough to end the
// command, and what is no person is nobody of them.
func TestQuorum(t *testing.T) {
	t.Parallel()

	src := file(
		"", "",
		"A: id: a\ngate: Well?\nquorum: 2\nchoices: {yes: next, fine: next, no: fail}",
		"B: return: \"${{ $steps.a.choice }} by ${{ $steps.a.by }}\"",
	)

	for name, c := range map[string]struct {
		answers []string // who and what
		want    string
	}{
		"two": {[]string{"ann yes", "bob yes"}, "completed 0: yes by ann, bob"},
		"three": {
			[]string{"ann yes", "bob fine", "eve yes"},
			"completed 0: yes by ann, eve",
		},
		"one says no": {
			[]string{"ann yes", "bob no"},
			"failed 5 REJECTED: 'no' was the answer to: Well?",
		},
		"no at once": {[]string{"ann no"}, "failed 5 REJECTED: 'no' was the answer to: Well?"},
		"one, and nobody": {
			[]string{"ann yes"},
			`suspended 75: gate "Well?" has 1 answer, and needs 2 people`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			w.answer = func(g formats.Gate) (formats.Decision, error) {
				if len(g.Votes) >= len(c.answers) {
					return formats.Decision{}, &formats.GateOpenError{Gate: g}
				}
				who, what, _ := strings.Cut(c.answers[len(g.Votes)], " ")
				return formats.Decision{
					Answer: what,
					By:     who,
					Person: true,
				}, nil
			}

			if got := describeReturn(w.run(t.Context(), src, "")); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}
		})
	}
}

// TestOpenedGate: what the journal has of an open gate is all that it takes to answer it.
func TestOpenedGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.docs["e.txt"] = "one"
	w.cfg.GateID = func() string { return "g1" }

	ret := w.run(
		t.Context(),
		file(
			"", "",
			"A: gate: Well?\nshow: ['1 + 1']\nevidence: [e.txt, none.txt]\nquorum: 2\n"+
				"timeout: {after: 5h, choose: no}\n"+
				"choices: {yes: next, later: {return: later}, no: fail}",
		),
		"",
	)

	at := slices.IndexFunc(w.entries, func(e formats.Entry) bool {
		return e.Type == formats.EntryGateOpened
	})
	if at < 0 {
		t.Fatalf("no gate in the journal; Run = %s", describeReturn(ret))
	}
	g, ok := w.entries[at].Data.(formats.Gate)
	if !ok || g.Opened.IsZero() || len(g.Digest) != 64 || g.Until().Sub(g.Opened).Hours() != 5 {
		t.Fatalf("gate = %+v", w.entries[at].Data)
	}

	want := formats.Gate{
		ID:       "g1",
		Opened:   g.Opened,
		Question: "Well?",
		Show:     []string{"2"},
		Digest:   g.Digest,
		Quorum:   2,
		Run:      runID,
		Step:     "a#1",
		Choices: []formats.Choice{
			{Label: "yes", Approves: true, After: "goes on"},
			{Label: "later", Ends: true, After: "ends the command"},
			{Label: "no", Ends: true, Leaves: true, After: "ends the command as rejected"},
		},
		Timeout: &formats.GateTimeout{After: 5 * 3600, Choose: "no"},
		Evidence: map[string]string{
			"e.txt":    "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
			"none.txt": "absent",
			"x.md":     "absent",
		},
		Documents: []string{"e.txt"},
	}

	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("gate (-want +got)\n%s", diff)
	}

	if ret.Resume == nil || !strings.Contains(ret.NextSteps, "tercet approve "+runID) {
		t.Errorf("Run = %+v, want how to answer", ret)
	}
}
