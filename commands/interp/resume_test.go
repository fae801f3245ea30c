package interp_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/testkit"
)

// machine is what outlives a process that is killed: the state, what workers were told, and the
// journal.
type machine struct {
	t     *testing.T
	dir   string
	tasks map[int]*formats.Task
	line  string                    // of arguments
	clock interp.Clock              // nil: it stands still
	done  map[string]formats.Return // transactions of the state, by id

	mu      sync.Mutex
	starts  map[string]int    // of workers, by path and attempt
	told    map[string]string // what a worker was told last, by transaction id
	state   []string          // changes of tasks, in order
	asked   map[string]int    // gates that were put to a person
	unheard int               // answers that a process was killed before it wrote
	gates   int               // that were opened

	atWork   func(p *process, r formats.Request) // while a worker works; nil: nothing happens then
	appended func(e formats.Entry)               // behind each line; nil: nothing happens then
	budgets  []string                            // of workers, as they were started

	raised int // how often a person had to raise limits

	pauseAt  int // the line of the journal behind which the next process is paused, 0: at none
	signalAt int // the line of the journal behind which a signal comes, 0: none comes

	killLease bool     // the next process is killed when it has taken its lease
	leases    []string // transaction ids of what took them
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{
		t:      t,
		dir:    t.TempDir(),
		done:   map[string]formats.Return{},
		starts: map[string]int{},
		told:   map[string]string{},
		asked:  map[string]int{},
		line:   "7",
		tasks: map[int]*formats.Task{7: {
			Number:    7,
			Title:     "Fix it",
			Slug:      "fix_it",
			Status:    formats.NotStarted,
			Artifacts: []formats.Artifact{},
		}},
	}
}

// process is one process of a run. When it is killed, nothing of it has any effect from then on.
type process struct {
	*machine
	kill  int  // at which line of the journal
	after bool // behind the line, not before it
	lines int
	dead  bool
	led   *journal.Ledger
	pause context.CancelCauseFunc
	end   context.CancelCauseFunc
}

var errKilled = errors.New("killed")

func (p *process) Append(ctx context.Context, e formats.Entry, alone bool) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false, errKilled
	}

	old, err := p.led.Append(ctx, e, alone)
	if !old && err == nil {
		p.lines++
		p.dead = p.kill == p.lines
		if p.dead && !p.after &&
			slices.Contains(
				[]formats.EntryType{
					formats.EntryGateVoted,
					formats.EntryGateRefused,
					formats.EntryGateDecided,
				},
				e.Type,
			) {
			p.unheard++
		}
		if p.appended != nil {
			p.appended(e)
		}
		if p.signalAt == p.lines {
			p.end(formats.Interrupted("interrupted"))
		}
		if p.pauseAt == p.lines {
			p.pause(&formats.LaterError{Why: "paused by ann"})
		}
	}
	if p.dead {
		return false, errKilled
	}
	return old, err
}

func (p *process) Live(alone bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	return p.led.Live(alone)
}

func (p *process) Resumable() bool {
	return p.led.Resumable()
}

func (p *process) Recall(e formats.Entry) (json.RawMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return nil, false
	}
	return p.led.Recall(e)
}

func (p *process) file() string {
	return filepath.Join(p.dir, journal.Name)
}

// nested runs the steps of a subagent in the journal of the run.
func (p *process) nested(ctx context.Context, w *world, r formats.Request) (formats.Return, error) {
	cfg := w.cfg
	cfg.Prefix = interp.StepPrefix(r)
	cfg.Limits = formats.Limits{
		Tokens: r.Budget.Tokens,
		Cost:   r.Budget.Cost,
		Spawns: r.Budget.Spawns,
	}

	runner, err := interp.New(cfg)
	if err != nil {
		return formats.Return{}, err
	}

	ret, err := runner.Run(ctx, w.inner, valuesOf(p.t, w.inner, ""), r.Depth)

	ret.Metadata = formats.Metadata{
		Tokens: ret.Metadata.Tokens,
		Cost:   ret.Metadata.Cost,
		Spawns: ret.Metadata.Spawns,
	}

	return ret, err
}

func (p *process) delegate(
	ctx context.Context,
	w *world,
	r formats.Request,
) (formats.Return, error) {
	if r.Agent == "flow" {
		return p.nested(ctx, w, r)
	}
	if p.atWork != nil && r.Agent != compile.StatusSync {
		p.atWork(p, r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return formats.Return{}, errKilled
	case r.Agent == compile.StatusSync:
		if ret, ok := p.done[r.Txn]; ok {
			return ret, nil
		}
		ret, err := w.sync(ctx, r)
		if r.Input["operation"] == "set_lease" {
			p.leases = append(p.leases, r.Txn)
			p.dead = p.killLease
			if p.dead {
				return formats.Return{}, errKilled
			}
		}
		if err == nil && r.Input["operation"] != "set_lease" {
			p.done[r.Txn] = ret
			p.state = append(p.state, fmt.Sprintf("%s %s", r.At, ret.Summary))
		}
		return ret, err
	}

	if _, begun := p.told[r.Txn]; begun && r.Begun == formats.BegunNow {
		p.t.Errorf("%s: a delegation that was begun before is called the first", r.At)
	}
	start := r.At + "." + fmt.Sprint(r.Attempt) + " " + r.Agent
	p.starts[start]++
	p.budgets = append(p.budgets, fmt.Sprintf("%s %d %.4g", r.At, r.Budget.Tokens, r.Budget.Cost))
	p.told[r.Txn] = prompt(r)
	do := w.agents[r.Agent]
	if do == nil {
		do = byVisit(ok("done " + r.At))
	}
	ret, err := do(ctx, r)
	if errors.As(err, new(*formats.GateOpenError)) {
		p.starts[start]-- // it asked, and did nothing
	}
	ret.Metadata.Told = formats.Sum([]byte(prompt(r)))
	return ret, err
}

// prompt is what a worker is told.
func prompt(r formats.Request) string {
	return strings.Join(r.Facets.Knowledge, "\n") + r.Facets.Instruction + flat(
		r.Feedback,
	) + flat(r.Input)
}

func (m *machine) time() interp.Clock {
	if m.clock == nil {
		return fixed{}
	}
	return m.clock
}

// play runs the program in a process of its own, from where the journal ends.
func (m *machine) play(
	prog *compile.Program,
	shape func(w *world),
	kill int,
	after bool,
) (*process, formats.Return) {
	m.t.Helper()
	p := &process{
		machine: m,
		kill:    kill,
		after:   after,
	}

	w := newWorld(m.t)
	shape(w)

	data, err := os.ReadFile(p.file())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}

	records, err := journal.Read(data)
	if err != nil {
		m.t.Fatal(err)
	}

	j := journal.New(
		func() (*os.Root, error) { return os.OpenRoot(m.dir) },
		journal.Options{Clock: m.time().Now},
	)
	defer j.Close()

	p.led = journal.NewLedger(j, records, map[string]any{"pid": 1}, false)
	w.cfg.Resumed, w.cfg.Killed = p.led.Resumed()
	w.cfg.Pause, p.pause = context.WithCancelCause(m.t.Context())

	w.cfg.GateID = func() string {
		m.gates++
		return fmt.Sprintf("g%d", m.gates)
	}

	w.tasks = m.tasks
	w.cfg.Clock = m.time()
	w.cfg.Journal = p
	w.cfg.Agents = delegator{func(ctx context.Context, r formats.Request) (formats.Return, error) {
		return p.delegate(ctx, w, r)
	}}

	answer := w.answer
	w.cfg.Approve = approver{
		remember: w.remember,
		approve: func(g formats.Gate) (formats.Decision, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.dead {
				return formats.Decision{}, errKilled
			}
			p.asked[g.Step+g.Question]++
			if answer == nil {
				return formats.Decision{}, &formats.GateOpenError{Gate: g}
			}
			return answer(g)
		},
	}

	w.cfg.Discard = nil

	ctx, end := context.WithCancelCause(m.t.Context())
	defer end(nil)
	p.end = end

	ret := w.runProgram(ctx, prog, m.line)

	if p.dead && !after { // the line was not written
		data, err := os.ReadFile(p.file())
		if err != nil {
			m.t.Fatal(err)
		}
		cut := strings.LastIndexByte(strings.TrimSuffix(string(data), "\n"), '\n') + 1
		if err := os.Truncate(p.file(), int64(cut)); err != nil {
			m.t.Fatal(err)
		}
	}

	return p, ret
}

// resume goes on with a run. One that waits because a worker of a killed process may have used up a
// limit goes on with twice as much, as a person would do it.
func (m *machine) resume(
	prog *compile.Program,
	src string,
	shape func(w *world),
	kill int,
	after bool,
) (*process, formats.Return) {
	m.t.Helper()
	for {
		if m.raised > 0 {
			limits := fmt.Sprintf("tokens: %d, cost: %d", 100<<m.raised, 9<<m.raised)
			prog = newWorld(m.t).program(strings.Replace(src, "tokens: 100, cost: 9", limits, 1))
		}
		p, ret := m.play(prog, func(w *world) {
			shape(w)
			w.cfg.AcceptChanges = m.raised > 0
		}, kill, after)
		if p.dead || ret.Outcome() != formats.OutcomeSuspended ||
			!strings.Contains(ret.Summary, "raise limits") {
			return p, ret
		}
		m.raised++
	}
}

// end is what a run leaves.
func (m *machine) end(ret formats.Return) string {
	m.t.Helper()
	task := *m.tasks[7]
	ret.Metadata = formats.Metadata{} // what workers of a killed process had counts as used

	records, err := journal.Read([]byte(m.text()))
	if err != nil {
		m.t.Fatal(err)
	}

	out, err := json.MarshalIndent(map[string]any{
		"return": ret,
		"task":   task,
		"state":  m.state,
		"told":   m.told,
		"boards": journal.Topics(records),
	}, "", " ")
	if err != nil {
		m.t.Fatal(err)
	}

	return describeReturn(ret) + "\n" + string(out)
}

// byVisit answers by how often the step was entered and tried, whichever process asks.
func byVisit(list ...formats.Return) agent {
	return func(_ context.Context, r formats.Request) (formats.Return, error) {
		ret := list[min(r.Visit+r.Attempt-2, len(list)-1)]
		ret.Artifacts = slices.Clone(ret.Artifacts)
		return ret, nil
	}
}

// shapes are the ways in which a workflow can go.
func shapes() map[string]struct {
	src  string
	play func(w *world)
} {
	type shape = struct {
		src  string
		play func(w *world)
	}

	plan := byVisit(made(formats.ArtifactPlan, "p.md"))
	body := func(steps ...string) string { return file(during, "", steps...) }
	front := func(more string, steps ...string) string {
		return file(during+more+"\n", "", steps...)
	}

	return map[string]shape{
		"single": {
			body("A: id: a\ndelegate: maker"),
			func(w *world) { w.agents["maker"] = plan },
		},
		"sequence": {
			body(
				"A: id: a\ndelegate: maker",
				"B: id: b\ndelegate: worker\nwith: {n: $steps.a.summary, s: "+
					"'$state.tasks[0].status'}",
				"C: id: c\nstatus: planned",
				"D: return: \"${{ $steps.b.summary }}\"",
			),
			func(w *world) { w.agents["maker"] = plan },
		},
		"condition": {
			body(
				"A: id: a\nwhen: '$state.tasks[0].status == \"planning\"'\ndelegate: worker",
				"B: id: b\nwhen: '$state.tasks[0].status != \"planning\"'\ndelegate: second",
				"C: set: {x: '$state.tasks[0].status'}",
				"D: return: $x",
			),
			func(*world) {},
		},
		"foreach": {
			body(
				"A: id: a\nforeach: '[1, 2, 3]'\nas: n",
				">B: id: b\ndelegate: worker\nwith: {n: $n}",
				">C: id: c\ndelegate: second\nwith: {was: $steps.b.summary}",
			),
			func(*world) {},
		},
		"foreach side by side": {
			body(
				"A: id: a\nforeach: '[1, 2, 3, 4, 5]'\nas: n\nmax_parallel: 2\nmerge: true",
				">B: id: b\ndelegate: judge\nwith: {n: $n}\non: {rejected: {redo: it, max: 1}}",
				">C: id: c\ndelegate: second\nwith: {was: $steps.b.summary, all: $run.artifacts "+
					"| length}\nboard: talk",
			),
			func(w *world) {
				w.agents["judge"] = func(
					ctx context.Context,
					r formats.Request,
				) (formats.Return, error) {
					if strings.Contains(r.At, "[1]") || strings.Contains(r.At, "[4]") {
						return byVisit(
							verdict(formats.VerdictRejected, "no"),
							verdict(formats.VerdictApproved),
						)(ctx, r)
					}
					return verdict(formats.VerdictApproved), nil
				}
			},
		},
		"until": {
			body(
				"A: id: a\nuntil: $steps.b.status == \"approved\"\nmax: 5",
				">B: id: b\ndelegate: judge\non: {rejected: next}",
			),
			func(w *world) {
				w.agents["judge"] = func(
					_ context.Context,
					r formats.Request,
				) (formats.Return, error) {
					if strings.Contains(r.At, "[2]") {
						return verdict(formats.VerdictApproved), nil
					}
					return verdict(formats.VerdictRejected, "not yet"), nil
				}
			},
		},
		"all": {
			body(
				"A: id: a\nparallel: {x: {delegate: judge}, y: {delegate: judge}, z: {delegate: "+
					"worker}}\nboard: talk",
				"B: id: b\ndelegate: second\nboard: talk",
			),
			votes("x", "y"),
		},
		"any": {
			body(
				"A: id: a\nparallel: {x: {delegate: judge}, y: {delegate: judge}, z: {check: "+
					"{command: [git]}}}\nmerge: any(approved)",
				"B: id: b\ndelegate: second",
			),
			votes("x"),
		},
		"quorum": {
			body(
				"A: id: a\nparallel: {x: {delegate: judge}, y: {delegate: judge}, z: {delegate: "+
					"judge}}\nmerge: quorum(2)",
				"B: id: b\ndelegate: second",
			),
			votes("x", "z"),
		},
		"rollback": {
			body(
				"A: id: a\ndelegate: maker",
				"B: id: b\ndelegate: worker",
				"C: id: c\nparallel: {x: {delegate: judge}, y: {delegate: judge}}\nboard: talk\n"+
					"on: {rejected: {rollback: [a, b]}}",
				"D: id: d\nstatus: planned",
			),
			func(w *world) {
				w.agents["maker"] = plan
				w.agents["judge"] = func(
					_ context.Context,
					r formats.Request,
				) (formats.Return, error) {
					if strings.Contains(r.At, "c#3") || strings.Contains(r.At, "x#") {
						return verdict(formats.VerdictApproved), nil
					}
					return verdict(formats.VerdictRejected, "bad "+r.At), nil
				}
			},
		},
		"ask": {
			body(
				"A: id: a\ndelegate: worker\non: {blocked: {ask: [second]}}",
				"B: id: b\ndelegate: judge",
			),
			func(w *world) {
				w.agents["worker"] = byVisit(blocked("which?"), blocked("and which?"), ok("done"))
			},
		},
		"gate": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ngate: Well?\nchoices: {approve: next, again: {redo: [a]}}",
				"C: id: c\ndelegate: second\nwith: {by: $steps.b.by}",
			),
			people("b#1", "again do better", "b#2", "approve"),
		},
		"gate for two": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ngate: Well?\nquorum: 2",
				"C: id: c\ndelegate: second\nwith: {by: $steps.b.by}",
			),
			func(w *world) {
				w.answer = func(g formats.Gate) (formats.Decision, error) {
					return formats.Decision{
						Answer: "approve",
						By:     []string{"ann", "bob"}[len(g.Votes)],
						Person: true,
					}, nil
				}
			},
		},
		"asked anew": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ngate: Well?\nevidence: e.txt",
				"C: id: c\ndelegate: second\nwith: {by: $steps.b.by}",
			),
			func(w *world) {
				w.docs["e.txt"] = "one"
				w.answer = func(g formats.Gate) (formats.Decision, error) {
					if g.ID == "g1" {
						w.docs["e.txt"] = "two"
					}
					return formats.Decision{
						Answer: "approve",
						By:     "ann",
						Person: true,
					}, nil
				}
			},
		},
		"question of a worker": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ndelegate: second\nwith: {was: $steps.a.summary}",
			),
			func(w *world) {
				w.agents["worker"] = w.asking
				people("a#1", "approve")(w)
			},
		},
		"question of a worker put anew": {
			body(
				"A: id: a\ndelegate: maker",
				"B: id: b\ndelegate: worker",
				"C: id: c\ndelegate: second\nwith: {was: $steps.b.summary}",
			),
			func(w *world) {
				w.agents["maker"] = byVisit(made(formats.ArtifactPlan, "e.txt"))
				w.agents["worker"] = w.asking
				w.docs["e.txt"] = "one"
				w.answer = func(g formats.Gate) (formats.Decision, error) {
					if g.ID == "g1" {
						w.docs["e.txt"] = "two"
					}
					return formats.Decision{
						Answer: "approve",
						By:     "ann",
						Person: true,
					}, nil
				}
			},
		},
		"questions of workers side by side": {
			body(
				"A: id: a\nforeach: '[1, 2, 3]'\nas: n\nmax_parallel: 2",
				">B: id: b\ndelegate: worker",
				"C: id: c\ndelegate: second",
			),
			func(w *world) {
				w.agents["worker"] = w.asking
				w.answer = func(g formats.Gate) (formats.Decision, error) {
					answer := "approve"
					if strings.Contains(g.Step, "[1]") {
						answer = "reject"
					}
					return formats.Decision{
						Answer: answer,
						By:     "ann",
						Person: true,
					}, nil
				}
			},
		},
		"own gate": {
			body("A: id: a\ndelegate: worker\non: {failed: gate}", "B: id: b\ndelegate: second"),
			func(w *world) {
				w.agents["worker"] = byVisit(failing(formats.CodeIO, "full"), ok("done"))
				people("a#1", "Retry with a note make room")(w)
			},
		},
		"limit gate": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ndelegate: judge\non: {rejected: {rollback: [a]}}",
			),
			func(w *world) {
				w.agents["judge"] = byVisit(
					verdict(formats.VerdictRejected, "bad"),
					verdict(formats.VerdictRejected, "worse"),
					verdict(formats.VerdictRejected, "bad"),
				)
				people("b#4", "Approve despite findings")(w)
			},
		},
		"stall": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ndelegate: judge\non: {rejected: {rollback: [a]}}",
			),
			func(w *world) {
				bad := verdict(formats.VerdictRejected, "bad")
				w.agents["judge"] = byVisit(bad, bad, bad, verdict(formats.VerdictApproved))
				people("b#3", "Go on another way")(w)
			},
		},
		"stall of the work": {
			body(
				"A: id: a\ndelegate: maker",
				"B: id: b\ndelegate: judge\non: {rejected: {redo: [a], max: 5}}",
			),
			func(w *world) {
				w.agents["maker"] = plan
				w.docs["p.md"] = "the same"
				w.agents["judge"] = byVisit(
					verdict(formats.VerdictRejected, "x"),
					verdict(formats.VerdictRejected, "y"),
					verdict(formats.VerdictRejected, "z"),
					verdict(formats.VerdictApproved),
				)
				people("b#3", "Go on another way")(w)
			},
		},
		"stall with nobody to ask": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ndelegate: judge\non: {rejected: {rollback: [a]}}",
			),
			func(w *world) {
				w.agents["judge"] = byVisit(verdict(formats.VerdictRejected, "bad"))
			},
		},
		"stall of passes": {
			body(
				"A: id: a\nuntil: $steps.b.status == \"approved\"\nmax: 9",
				">B: id: b\ndelegate: judge\non: {rejected: next}",
				"C: id: c\ndelegate: second",
			),
			func(w *world) {
				w.agents["judge"] = func(
					_ context.Context,
					r formats.Request,
				) (formats.Return, error) {
					if strings.Contains(r.At, "[4]") {
						return verdict(formats.VerdictApproved), nil
					}
					return verdict(formats.VerdictRejected, "not yet"), nil
				}
				people("a#1", "Go on another way")(w)
			},
		},
		"compensate": {
			body(
				"A: id: a\ndelegate: worker\ncompensate: {delegate: second, with: {back: 1}}",
				"B: id: b\ndelegate: worker\ncompensate: {delegate: second, with: {back: 2}}",
				"C: id: c\ndelegate: judge\non: {rejected: {rollback: [a, b]}}", "D: fail: No.",
				"!E: always: failed\ndelegate: worker", "!F: always: any\ndelegate: second",
			),
			func(w *world) {
				w.agents["judge"] = byVisit(
					verdict(formats.VerdictRejected, "bad"),
					verdict(formats.VerdictApproved),
				)
			},
		},
		"retry and fallback": {
			body(
				"A: id: a\ndelegate: worker\nretry: {max: 2, on: [transient], backoff: 1ms}\n"+
					"fallback: second",
				"B: id: b\ndelegate: judge",
			),
			func(w *world) {
				w.agents["worker"] = byVisit(failing(formats.CodeTransient, "busy"))
			},
		},
		"wait": {
			body("A: id: a\ndelegate: worker", "B: wait: 1ms", "C: id: c\ndelegate: second"),
			func(*world) {},
		},
		"goto": {
			body(
				"A: id: a\ndelegate: worker",
				"B: id: b\ndelegate: judge\non: {rejected: {goto: a, max: 2}}",
				"C: id: c\ndelegate: second",
			),
			func(w *world) {
				w.agents["judge"] = byVisit(
					verdict(formats.VerdictRejected, "bad"),
					verdict(formats.VerdictApproved),
				)
			},
		},
		"between steps": {
			file(during, "", "A: id: a\ndelegate: worker", "B: id: b\ndelegate: second") +
				"\n## Between Steps\n\n### After each: look\n\n```yaml step\nid: look\n" +
				"after: each\ndelegate: judge\non: {rejected: {redo: it, max: 1}}\n```\n",
			func(w *world) {
				w.agents["judge"] = byVisit(
					verdict(formats.VerdictRejected, "bad"),
					verdict(formats.VerdictApproved),
				)
			},
		},
		"documents": {
			file(
				during,
				"load:\n  plan?: {document: plan-short, path: [p.md]}\n"+
					"  names: {files: ['*.md']}\n  open: '$state.tasks | length'",
				"A: id: a\ndelegate: worker\nwith: {names: $names, open: $open}",
				"B: id: b\ncheck: {file: p.md, nonempty: true}\non: {rejected: next}",
				"C: id: c\ndelegate: second\nwith: {found: $steps.b.issues}",
			),
			func(*world) {},
		},
		"nested": {
			body(
				"A: id: a\nforeach: '[1, 2]'\nmax_parallel: 2",
				">B: id: b\ndelegate: flow",
				"C: id: c\ndelegate: second",
			),
			func(w *world) {
				w.inner = w.program(file(
					"", "",
					"A: id: x\ndelegate: worker",
					"B: id: y\nforeach: '[1, 2]'\ndelegate: judge",
					"C: return: \"${{ $steps.x.summary }}\"",
				))
			},
		},
		"a tree is kept": {
			file(
				during+"worktree: {per: child}\n",
				"",
				"A: id: a\nparallel: {x: {delegate: worker}, y: {delegate: worker}}\n"+
					"on: {rejected: next}",
				"B: id: b\ndelegate: second\nwith: {was: '$steps.a.children | map(.status)', "+
					"files: '$steps.a.issues | map(.files)'}",
			),
			func(w *world) {
				trees(w, "y/join#1")
				people("worktree/y/join", "keep")(w)
			},
		},
		"a tree for each child": {
			file(
				during+"worktree: {per: child}\n",
				"",
				"A: id: a\nparallel: {x: {delegate: worker}, y: {delegate: worker}, z: "+
					"{delegate: judge}}\non: {rejected: next}",
				"B: id: b\nforeach: '[1, 2]'\nas: m\nmax_parallel: 2",
				">C: id: c\ndelegate: second\nwith: {m: $m, was: '$steps.a.children | "+
					"map(.status)'}",
			),
			func(w *world) {
				trees(w, "y/join#1", "y/join#2", "b-1/join#1")
				people("worktree/y/join", "retry with feedback", "worktree/b-1/join", "discard")(w)
				votes()(w)
			},
		},
		"limits": {
			front(
				"limits: {tokens: 100, cost: 9, spawns: 20, retries: 1}",
				"A: id: a\ndelegate: worker\nretry: {max: 1, on: [transient], backoff: 1ms}",
				"B: id: b\nparallel: {x: {delegate: judge}, y: {delegate: worker}}",
				"C: id: c\ndelegate: worker",
			),
			func(w *world) {
				w.agents["worker"] = func(
					_ context.Context,
					r formats.Request,
				) (formats.Return, error) {
					ret := used(5, 0.5)[0]
					if r.Attempt == 1 && strings.HasPrefix(r.At, "a#") {
						ret = failing(formats.CodeTransient, "busy")
					}
					return ret, nil
				}
			},
		},
		"limits of a nested one": {
			front(
				"limits: {tokens: 100, cost: 9, spawns: 20}",
				"A: id: a\nforeach: '[1, 2]'\nmax_parallel: 2",
				">B: id: b\ndelegate: flow",
				"C: id: c\ndelegate: worker",
			),
			func(w *world) {
				w.inner = w.program(file(
					"", "",
					"A: id: x\ndelegate: worker",
					"B: id: y\nforeach: '[1, 2]'\ndelegate: judge",
					"C: return: \"${{ $steps.x.summary }}\"",
				))
				w.agents["worker"] = func(
					context.Context,
					formats.Request,
				) (formats.Return, error) {
					return used(7, 0.5)[0], nil
				}
			},
		},
		"it fails": {
			body(
				"A: id: a\ndelegate: maker",
				"B: id: b\ndelegate: worker",
				"!E: id: e\nalways: failed\ndelegate: second\nwith: {was: $steps.b.status}",
			),
			func(w *world) {
				w.agents["maker"] = plan
				w.agents["worker"] = byVisit(failing(formats.CodeIO, "full"))
			},
		},
	}
}

// votes lets some children of a parallel step approve and the others reject.
func votes(yes ...string) func(*world) {
	return func(w *world) {
		w.agents["judge"] = func(_ context.Context, r formats.Request) (formats.Return, error) {
			if slices.ContainsFunc(yes, func(id string) bool {
				return strings.Contains(r.At, "/"+id+"#")
			}) {
				return verdict(formats.VerdictApproved), nil
			}
			return verdict(formats.VerdictRejected, "no from "+r.At), nil
		}
	}
}

// trees opens worktrees by their names; the work of some children conflicts when it is joined.
func trees(w *world, conflicts ...string) {
	w.agents[compile.GitWorkflow] = func(
		_ context.Context,
		r formats.Request,
	) (formats.Return, error) {
		child, _ := r.Input["child"].(string)

		ret := formats.Return{
			Status:  formats.StatusCompleted,
			Summary: fmt.Sprint(r.Input["action"], " ", child, " in ", r.Dir),
		}

		switch r.Input["action"] {
		case "open":
			ret.Metadata.Worktree = "/tree/" + child
			ret.Fields = map[string]any{"base": "b0"}
		case "publish":
			if slices.ContainsFunc(conflicts, func(at string) bool {
				return strings.HasSuffix(r.At, at)
			}) {
				ret = formats.Failed(formats.Fail(formats.CodeRejected, "", "%s conflicts", child))
				ret.Said = formats.OutcomeRejected
				ret.Issues = []formats.Issue{{
					Level:       formats.LevelError,
					Description: "both",
					Files:       []string{"a.txt"},
				}}
			}
		case "close":
			ret.Metadata.Worktree = formats.WorktreeClosed
		}

		return ret, nil
	}
}

// people answers gates by where they stand.
func people(pairs ...string) func(*world) {
	return func(w *world) {
		w.answer = func(g formats.Gate) (formats.Decision, error) {
			for i := 0; i < len(pairs); i += 2 {
				if g.Step == pairs[i] {
					label, note, _ := strings.Cut(pairs[i+1], " ")
					for _, c := range g.Choices {
						if rest, ok := strings.CutPrefix(pairs[i+1], c.Label); ok {
							label = c.Label
							note = strings.TrimSpace(rest)
						}
					}
					return formats.Decision{
						Answer: label,
						Note:   note,
						By:     "person",
						Person: true,
					}, nil
				}
			}
			return formats.Decision{}, &formats.GateOpenError{Gate: g}
		}
	}
}

// bothWays kills at each line twice, and at many pairs of lines.
var bothWays = flag.Bool(
	"both", false,
	"kill before a line is written and behind it, else in turn; and at many pairs of lines, else "+
		"at a few",
)

// TestEveryLineOfEveryShape kills a run of every shape at every line of its journal, before the
// line is written or behind it, and resumes it: the return, the task, what workers were told and
// the changes of the state are those of a run that nobody killed; each change is made once, and
// each worker is started at most once for each process.
func TestEveryLineOfEveryShape(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newMachine(t)
			prog := newWorld(t).program(s.src)
			all, ret := whole.play(prog, s.play, 0, false)
			want := whole.end(ret)
			if strings.HasPrefix(want, "suspended") {
				t.Fatalf("it waits: %s", want)
			}

			kills := 0
			for n := 1; n <= all.lines; n++ {
				if !testkit.Deep() && n%10 != 0 { // it is slow under the race detector
					continue
				}
				for _, after := range []bool{false, true} {
					if !*bothWays && after != ((n+n/10)%2 == 0) {
						continue
					}

					m := newMachine(t)
					first, _ := m.play(prog, s.play, n, after)
					if !first.dead {
						t.Fatalf("line %d was not reached", n)
					}

					if after && n == all.lines {
						continue // the run is over
					}

					kills++
					_, ret := m.resume(prog, s.src, s.play, 0, false)
					m.askedOnce(whole, fmt.Sprintf("killed at line %d", n))
					if diff := cmp.Diff(want, m.end(ret)); diff != "" {
						t.Fatalf("killed at line %d (behind it: %v), (-whole +resumed)\n%s\n%s",
							n, after, diff, m.text())
					}

					for at, starts := range m.starts {
						if starts > 2 {
							t.Errorf("killed once at line %d: %s was started %d times",
								n, at, starts)
						}
					}
				}
			}

			// And killed at every third line, again and again, until it comes to its end.
			m := newMachine(t)
			third := 3
			if strings.HasPrefix(name, "limits") {
				// what is reserved anew takes lines of its own: five with two flows and a killed
				// worker in each
				third = 9
			}
			for again := 0; ; again++ {
				p, ret := m.resume(prog, s.src, s.play, third, true)
				if !p.dead {
					m.askedOnce(whole, "killed again and again")
					if diff := cmp.Diff(want, m.end(ret)); diff != "" {
						t.Fatalf("killed %d times (-whole +resumed)\n%s", again, diff)
					}
					break
				}
				if over(t, p) {
					break
				}
				if again > all.lines {
					t.Fatalf("it never ends\n%s", m.text())
				}
			}

			// And twice: at a line, and at one of those that follow.
			for k, pair := range pairs(all.lines) {
				m := newMachine(t)
				after := []bool{k%2 == 0, k%3 == 0}
				m.play(prog, s.play, pair[0], after[0])
				if after[0] && pair[0] == all.lines {
					continue
				}

				p, ret := m.resume(prog, s.src, s.play, pair[1], after[1])
				switch {
				case p.dead && after[1] && over(t, p):
					continue
				case p.dead:
					_, ret = m.resume(prog, s.src, s.play, 0, false)
				}

				m.askedOnce(whole, fmt.Sprintf("killed at lines %d and %d", pair[0], pair[1]))
				if diff := cmp.Diff(want, m.end(ret)); diff != "" {
					t.Fatalf(
						"killed at line %d and then at line %d (behind it: %v), (-whole "+
							"+resumed)\n%s\n%s",
						pair[0], pair[1], after, diff, m.text(),
					)
				}

				for at, starts := range m.starts {
					if starts > 3 {
						t.Errorf("killed twice at lines %d: %s was started %d times",
							pair, at, starts)
					}
				}

				kills += 2
			}

			t.Logf("%d lines, %d kills", all.lines, kills)
		})
	}
}

// pairs are lines of a first and of a second process: some of all that there are.
func pairs(lines int) (out [][2]int) {
	some := 4
	if *bothWays {
		some = 150
	}

	for i := 1; i <= lines; i++ {
		for j := 1; j <= lines-i+2; j++ { // the second process also says that it goes on
			out = append(out, [2]int{i, j})
		}
	}

	rand.New(rand.NewPCG(1, uint64(lines))).Shuffle(len(
		out,
	), func(i, j int) { out[i], out[j] = out[j], out[i] })

	return out[:min(some, len(out))]
}

// askedOnce: nobody is asked again what they answered. Where a process was killed before the answer
// was written, it did not come to it.
func (m *machine) askedOnce(whole *machine, when string) {
	m.t.Helper()

	all := 0
	want := m.unheard

	for at, n := range m.asked {
		all += n
		if whole.asked[at] == 0 {
			m.t.Errorf("%s: asked %q, and nobody is asked that", when, at)
		}
	}

	for _, n := range whole.asked {
		want += n
	}

	if all > want {
		m.t.Errorf(
			"%s: asked %v (answers that were not written: %d), want at most those of a whole "+
				"run, %v",
			when, m.asked, m.unheard, whole.asked,
		)
	}
}

// TestKeptAsTheyArrive: the results of two children are on record while the third one works: when
// the run is killed then, they are not started again. The third one's share of a limit counts as
// used, those of the others as far as they used it.
func TestKeptAsTheyArrive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)

		prog := newWorld(t).program(file(
			during+"limits: {tokens: 100, cost: 9}\n",
			"",
			"A: id: a\nparallel: {x: {delegate: worker}, y: {delegate: worker}, z: {delegate: "+
				"judge}}",
			"B: id: b\ndelegate: second",
		))

		play := func(w *world) {
			w.agents["worker"] = func(context.Context, formats.Request) (formats.Return, error) {
				return used(5, 0.5)[0], nil
			}
		}

		kept := make(chan struct{})
		results := 0
		m.appended = func(e formats.Entry) {
			if e.Type == formats.EntryDelegationResult && strings.HasPrefix(e.Step, "a#1/") {
				results++
			}
			if results == 2 {
				close(kept)
				m.appended = nil
			}
		}

		m.atWork = func(p *process, r formats.Request) {
			if strings.Contains(r.At, "/z#") {
				<-kept
				p.mu.Lock()
				p.dead = true
				p.mu.Unlock()
			}
		}

		m.play(prog, play, 0, true)

		m.atWork = nil
		m.appended = nil
		m.budgets = nil

		_, ret := m.play(prog, play, 0, true)
		if got := describeReturn(ret); got != "completed 0: /x done" {
			t.Errorf("the run ends %s\n%s", got, m.text())
		}

		if d := cmp.Diff([]string{"a#1/z#1 57 5", "b#1 57 5"}, m.budgets); d != "" {
			t.Errorf("started after the kill, with tokens and dollars (-want +got)\n%s", d)
		}

		if got := ret.Metadata; got.Tokens.Total() != 43 || got.Cost != 4 {
			t.Errorf(
				"it used %+v, want 5 twice, and the 33 that nobody knows of; $0.5 twice, and $3",
				got,
			)
		}
	})
}

// TestKilledAtWork: a worker that works alone has all that is left. When it is killed, nothing is:
// the run waits, and goes on as soon as its limit is raised. One that was paused had its share
// back.
func TestKilledAtWork(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]string{
		"limits: {tokens: 100, cost: 9}":            "the run may use 100 tokens and has used 100",
		"limits: {cost: 9}":                         "the run may use 9 US dollars and has used 9",
		"limits: {tokens: 100, cost: 9, spawns: 2}": "the run may use 100 tokens and has used 100",
	} {
		m := newMachine(t)
		src := file(
			during+front+"\n",
			"",
			"A: id: a\ndelegate: worker",
			"B: id: b\ndelegate: second",
		)
		prog := newWorld(t).program(src)
		m.atWork = func(p *process, r formats.Request) { p.dead = true }
		m.play(prog, func(*world) {}, 0, true)
		m.atWork = nil
		for range 2 { // asking again changes nothing
			_, ret := m.play(prog, func(*world) {}, 0, true)
			if ret.Outcome() != formats.OutcomeSuspended || formats.ExitCode(ret) != 75 ||
				len(m.starts) > 0 ||
				ret.Summary !=
					want+
						", if all that was reserved for a killed worker counts as used; raise "+
						"limits and resume with --accept-changes" {
				t.Errorf("%s: %s, started %v", front, describeReturn(ret), m.starts)
			}
		}
		_, ret := m.play(
			newWorld(t).program(strings.Replace(src, "cost: 9", "cost: 20", 1)),
			func(w *world) { w.cfg.AcceptChanges = true },
			0,
			true,
		)
		wants := strings.Contains(front, "tokens")
		if wants != (ret.Outcome() == formats.OutcomeSuspended) ||
			!wants && m.budgets[0] != "a#1 0 11" {
			t.Errorf("%s with $20: %s, started with %v", front, describeReturn(ret), m.budgets)
		}
	}
}

// TestPausedAtEveryLine pauses a run of every shape behind every line of its journal and resumes
// it: it ends as one that nobody paused, what was begun is finished, and nothing is started twice.
func TestPausedAtEveryLine(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newMachine(t)
			prog := newWorld(t).program(s.src)
			all, ret := whole.play(prog, s.play, 0, false)
			want := whole.end(ret)

			paused := 0
			step := 1
			if !testkit.Deep() {
				step = 7 // it is slow under the race detector
			}

			for n := 1; n <= all.lines; n += step {
				m := newMachine(t)
				m.pauseAt = n
				_, ret := m.play(prog, s.play, 0, false)
				if ret.Outcome() == formats.OutcomeSuspended {
					paused++
					if ret.Summary != "paused by ann" || ret.Resume == nil ||
						formats.ExitCode(ret) != 75 ||
						!strings.Contains(m.text(), `"why":"paused by ann"`) {
						t.Fatalf("paused behind line %d: %+v\n%s", n, ret, m.text())
					}
					m.pauseAt = 0
					_, ret = m.play(prog, s.play, 0, false)
				}

				if diff := cmp.Diff(want, m.end(ret)); diff != "" {
					t.Fatalf("paused behind line %d (-whole +resumed)\n%s\n%s", n, diff, m.text())
				}

				for at, starts := range m.starts {
					if starts != whole.starts[at] {
						t.Errorf("paused behind line %d: %s was started %d times, want %d",
							n, at, starts, whole.starts[at])
					}
				}
			}

			if paused == 0 {
				t.Error("it was never paused")
			}
		})
	}
}

// TestInterruptedAtEveryLine sends a signal to a run of every shape behind every line of its
// journal. With a finished step it is suspended, and ends as one that no signal came to when it is
// resumed; without one it is cancelled.
func TestInterruptedAtEveryLine(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			whole := newMachine(t)
			prog := newWorld(t).program(s.src)
			all, ret := whole.play(prog, s.play, 0, false)
			want := whole.end(ret)

			step := 1
			if !testkit.Deep() {
				step = 7 // it is slow under the race detector
			}

			for n := 1; n <= all.lines; n += step {
				m := newMachine(t)
				m.signalAt = n
				p, ret := m.play(prog, s.play, 0, false)

				if len(ret.Errors) > 0 && ret.Errors[0].Code == formats.CodeCancelled &&
					ret.Outcome() == formats.OutcomeFailed {
					before, _, _ := strings.Cut(m.text(), `"type":"stopped"`)
					finished := strings.Count(
						before,
						`"type":"step_finished"`,
					) - strings.Count(before, `"status":"skipped"`)
					if finished > 0 || !over(t, p) {
						t.Fatalf("cancelled behind line %d, with work to go on with\n%s",
							n, m.text())
					}
					continue
				}

				if ret.Outcome() == formats.OutcomeSuspended &&
					ret.BlockedReason == formats.ReasonInterrupted {
					if formats.ExitCode(ret) != 130 || ret.Resume == nil ||
						!strings.Contains(m.text(), `"why":"interrupted"`) {
						t.Fatalf("interrupted behind line %d: %+v\n%s", n, ret, m.text())
					}
					m.signalAt = 0
					_, ret = m.resume(prog, s.src, s.play, 0, false)
				}

				if diff := cmp.Diff(want, m.end(ret)); diff != "" {
					t.Fatalf("interrupted behind line %d (-whole +resumed)\n%s\n%s",
						n, diff, m.text())
				}
			}
		})
	}
}

// TestInterruptedWorkCounts: what an interrupted worker used is used, as far as its runner told;
// else what it had to use.
func TestInterruptedWorkCounts(t *testing.T) {
	t.Parallel()

	src := flow(
		"limits: {tokens: 100}\n",
		"",
		"- {id: a, delegate: worker}\n- {id: b, delegate: second}",
	)

	for metered, want := range map[formats.Metered]string{
		formats.MeteredSteps: "[a#1 100 0 b#1 90 0 b#1 60 0] completed 0: /x done",
		"": "[a#1 100 0 b#1 90 0] suspended 75: the run may use 100 tokens and has used 100, if " +
			"all that was reserved for a killed worker " +
			"counts as used; raise limits and resume with --accept-changes",
	} {
		m := newMachine(t)
		prog := newWorld(t).program(src)
		m.line = ""
		first := true

		m.atWork = func(p *process, r formats.Request) {
			if first && r.Agent == "second" {
				p.end(formats.Interrupted("terminated"))
			}
		}

		shape := func(w *world) {
			w.agents["worker"] = always(used(10, 0)[0])
			w.agents["second"] = func(context.Context, formats.Request) (formats.Return, error) {
				if !first {
					return ok("done"), nil
				}
				first = false
				ret := failing(formats.CodeCancelled, "second was cancelled")
				ret.Metadata.Tokens = formats.Tokens{Input: 30}
				ret.Metadata.Metered = metered
				return ret, nil
			}
		}

		_, ret := m.play(prog, shape, 0, false)
		got := describeReturn(ret)
		if got != "suspended 130 CANCELLED: interrupted" || ret.Metadata.Tokens.Total() != 40 {
			t.Errorf("%s: interrupted, the run is %s with %d tokens",
				metered, got, ret.Metadata.Tokens.Total())
		}

		_, ret = m.play(prog, shape, 0, false)
		if got := fmt.Sprint(m.budgets, " ", describeReturn(ret)); got != want {
			t.Errorf("%s: resumed %s, want %s", metered, got, want)
		}
	}
}

// TestLeaseOfEachProcess: a process that is killed behind its lease and before its first line of
// the journal leaves no trace there, and the next one takes a lease of its own all the same.
func TestLeaseOfEachProcess(t *testing.T) {
	t.Parallel()

	s := shapes()["sequence"]
	m := newMachine(t)
	prog := newWorld(t).program(s.src)
	m.clock = clock{}

	m.play(prog, s.play, 8, true)
	m.killLease = true
	m.play(prog, s.play, 0, false)
	m.killLease = false

	if _, ret := m.play(prog, s.play, 0, false); ret.Status != formats.StatusCompleted {
		t.Errorf("the run ends %s", describeReturn(ret))
	}

	if len(m.leases) != 2 || m.leases[0] == m.leases[1] {
		t.Errorf("leases = %q, want two transactions", m.leases)
	}
}

func over(t *testing.T, p *process) bool {
	t.Helper()
	data, err := os.ReadFile(p.file())
	if err != nil {
		t.Fatal(err)
	}
	records, err := journal.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Finished(records)
}

func (m *machine) text() string {
	data, err := os.ReadFile(filepath.Join(m.dir, journal.Name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestKeptConflict: a child whose work conflicts is rejected with the files, its siblings' work is
// in, and its tree is not closed; one that is done again stands on what the others did.
func TestKeptConflict(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][]string{
		"keep": {
			"[completed,rejected] [[a.txt]]",
			"open  in ; open x in /tree/; open y in /tree/; publish x in /tree/x; close x in " +
				"/tree/x; publish y in /tree/y; close  in /tree/",
		},
		"retry with feedback": {
			"[completed,completed] []",
			"open  in ; open x in /tree/; open y in /tree/; publish x in /tree/x; close x in " +
				"/tree/x; publish y in /tree/y; close y in /tree/y; " +
				"open y in /tree/; publish y in /tree/y; close y in /tree/y; close  in /tree/",
		},
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()

			s := shapes()["a tree is kept"]
			m := newMachine(t)
			prog := newWorld(t).program(s.src)

			var calls []string
			told := ""

			_, _ = m.play(prog, func(w *world) {
				s.play(w)
				people("worktree/y/join", answer)(w)

				git := w.agents[compile.GitWorkflow]
				w.agents[compile.GitWorkflow] = func(
					ctx context.Context,
					r formats.Request,
				) (formats.Return, error) {
					ret, err := git(ctx, r)
					calls = append(calls, fmt.Sprint(
						r.Input["action"],
						" ",
						textOf(r.Input["child"]),
						" in ",
						strings.TrimPrefix(r.Dir, w.cfg.Dir),
					))
					return ret, err
				}

				w.agents["second"] = func(
					_ context.Context,
					r formats.Request,
				) (formats.Return, error) {
					told = flat(r.Input["was"]) + " " + flat(r.Input["files"])
					return ok("done"), nil
				}
			}, 0, false)

			if told != want[0] {
				t.Errorf("the step after it is told %s, want %s", told, want[0])
			}
			if got := strings.Join(calls, "; "); got != want[1] {
				t.Errorf("calls = %s\nwant %s", got, want[1])
			}
		})
	}
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}
