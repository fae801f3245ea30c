package templates

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
)

// The names in the expressions of a generated file.
const (
	jqHasPlan    = `'$task.artifacts | map(select(.type == "plan")) | length > 0'`
	jqOpenPhases = `'[$plan.phases[]? | select(.status != "completed")]'`
	jqOpenItems  = `'[($task.description // "") | split("\n")[] | select(test("^\\s*[-*+] \\[ \\] ")) ` +
		`| sub("^\\s*[-*+] \\[ \\]\\s+"; "")]'`
	jqParts = `'(if ($phases | length) > 0 then [$phases[].name] elif ($items | length) > 0 then $items ` +
		`else [$task.title] end) | to_entries | map({number: (.key + 1), name: .value})'`
	jqPlanned      = "$has_plan"
	jqPlanPath     = "$plan.path"
	jqRunArtifacts = "$run.artifacts"
)

// What a generated file loads.
var (
	loadPlan      = pair{"plan", newestPlan}
	loadPlanIfAny = pair{"plan?", newestPlan}
	loadPhases    = pair{"phases", jqOpenPhases}
)

const newestPlan = `{document: plan, path: '$task.artifacts | map(select(.type == "plan")) | last | .path'}`

// worker is a subagent in its place in the command.
type worker struct {
	info formats.AgentInfo
	id   string // of its step
	// during and after are the task statuses that its role implies. They are empty if there are
	// none, if its contract has no document of that kind, or beside an implementer.
	during, after formats.TaskStatus
	// profile that its document is checked by; empty: it makes none that is checked
	document string
	// those that work side by side, of which it is the whole; nil for one alone
	beside []worker
}

func (w worker) is(role formats.Role) bool {
	return w.info.Role == role
}

// newWorker reads what a contract implies. taken are the ids that are used already. Without a task
// no status follows, and there are no phases to implement.
func newWorker(info formats.AgentInfo, taken map[string]bool, task bool) (worker, error) {
	w := worker{info: info, id: identify(info.Name, taken)}
	if !task {
		if w.info.Role == formats.RoleImplementer {
			w.info.Role = formats.RoleUtility
		}
		return w, nil
	}
	during, after := info.Role.Statuses()
	kind := info.Role.Artifact()
	promised := kind != "" && info.MayGive(append(formats.ArtifactsFor(after), kind)...)
	if w.is(formats.RoleImplementer) && !promised {
		return w, refuse(fmt.Sprintf("add {type: %s} to returns.artifacts of the subagent", kind),
			"subagent %s of role %s promises no %s, without which the task cannot take its status",
			info.Name, info.Role, kind)
	}
	if !promised {
		return w, nil
	}
	w.during = during
	w.after = after
	if !w.is(formats.RoleImplementer) {
		w.document = profile(info, kind)
	}
	return w, nil
}

func profile(info formats.AgentInfo, kind formats.ArtifactType) string {
	for _, a := range info.Artifacts {
		if a.Type == kind && a.Document != "" {
			return a.Document
		}
	}
	return string(kind)
}

// together is the whole of workers that stand side by side. It judges if one of them does.
func together(list []worker, taken map[string]bool) (worker, error) {
	var names []string
	w := worker{beside: list, info: formats.AgentInfo{Role: formats.RoleUtility, NoArtifacts: true}}
	for _, one := range list {
		names = append(names, one.info.Name)
		switch {
		case one.is(formats.RoleImplementer), one.is(formats.RolePlanner):
			return w, refuse(
				"let it stand alone, with a comma on both sides",
				"%s of role %s cannot work beside others: a task has one plan, and its phases "+
					"one tree", one.info.Name, one.info.Role,
			)
		case one.is(formats.RoleReviewer):
			w.info.Role = one.info.Role
			w.info.Statuses = slices.Concat(w.info.Statuses, one.info.Statuses)
		}
		w.info.NoArtifacts = w.info.NoArtifacts && one.info.NoArtifacts
	}
	lead := leading(list)
	w.during = lead.during
	w.after = lead.after
	w.info.Name = strings.Join(names, " and ")
	w.id = identify("side-by-side", taken)
	return w, nil
}

// identify makes the id of a step from a subagent's name. Ids that begin like the title of another
// step, from which that step gets its id, are put out of its way.
func identify(name string, taken map[string]bool) string {
	id := strings.ReplaceAll(name, "-", "_")
	first, _, _ := strings.Cut(id, "_")
	own := []string{
		"delegate", "with", "without", "for", "stop", "mark", "return", "validate", "keep", "open",
		"commit", "publish", "during", "error", "set", "link", "write", "remove", "ask", "stop",
	}
	if slices.Contains(own, first) || id == "phases" || id == "parts" {
		id = "agent_" + id
	}
	base := id
	for n := 2; taken[id]; n++ {
		id = base + "_" + strconv.Itoa(n)
	}
	taken[id] = true
	return id
}

// step is one step of the file; Kind names its template.
type step struct {
	Kind   string
	Mark   string // of the heading
	Number string
	Lead   string // words before the title's verb: "With a plan"
	When   string // jq, empty without one
	Agent  string
	Role   string
	ID     string
	With   []pair
	Prompt string
	On     []string // outcomes that go on to the next step
	Name   string   // a document profile, or a loop's array
	As     string
	To     string
	Reason bool
	Last   string // id of the step whose result is returned
	Redo   string // id of the step that a rejection sends back
	Path   string // jq of the documents that are checked
	Merge  string // jq
	Task   bool
	Next   string // what to run next
	Body   []step
}

// pair is a key with its value as YAML.
type pair struct{ Key, Value string }

// flow collects the steps of one command.
type flow struct {
	Data
	purpose string
	task    bool
	// without a task: id of the worker before, which made what others judge
	prev string
	// where `during` and the steps so far have led, empty if that is not known
	cur     formats.TaskStatus
	when    string // jq that every step of this branch hangs on
	lead    string
	plan    bool   // $plan is a plan here
	element string // the variable of the loop around, without $
	changed bool   // an implementer worked before
	loose   bool   // an artifact may not be linked yet
	report  string // id of the step that made the newest report
	last    string // id of the last worker outside a loop
	merged  Merge  // it is several side by side; else empty
	over    string // the array of the last loop, without $
	verdict bool   // the last worker is a reviewer, and nothing follows it
	err     error  // the first input that a worker needs and the command does not have
	steps   []step
}

// add puts a step at the end.
func (f *flow) add(s step) {
	s.When = and(f.when, s.When)
	s.Lead = f.lead
	s.Task = f.task
	f.steps = append(f.steps, s)
}

// against is the condition that a verdict is one of the outcomes.
func against(id string, outcomes []string) string {
	if len(outcomes) == 1 {
		return "$steps." + id + `.status == "` + outcomes[0] + `"`
	}
	return "($steps." + id + `.status | IN("` + strings.Join(outcomes, `", "`) + `"))`
}

// and joins two conditions, both of which may be empty.
func and(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " and " + b
}

// sequence adds the workers in order with the changes of status between them.
func (f *flow) sequence(list []worker) {
	for i, w := range list {
		if w.during != "" && w.during != f.cur {
			f.status(w.during)
		}
		if w.is(formats.RoleImplementer) {
			f.implement(list[i:])
			return
		}
		f.work(w, i < len(list)-1)
		if w.during == "" {
			continue
		}
		if first(list[i+1:]).during != w.during {
			f.status(w.after)
		}
	}
}

// status adds a change of the task's status, with a reason where the table asks for one or the
// status before is not known.
func (f *flow) status(to formats.TaskStatus) {
	moves := formats.Moves(f.cur)
	at := slices.IndexFunc(moves, func(m formats.Move) bool {
		return m.To == to
	})
	f.add(step{
		Kind:   "status",
		To:     to.String(),
		Reason: f.cur == "" || at >= 0 && moves[at].NeedsReason,
	})
	f.cur = to
	f.loose = false
	f.verdict = false
}

// work adds one worker and what its contract implies: the check of its document, a stop after a
// verdict, the link of its result, its description. more tells that another step follows.
func (f *flow) work(w worker, more bool) {
	if !more && f.element == "" {
		f.gate(w.info.Name)
	}
	s := f.call(w)
	if f.element != "" && !gives(s.With, "phase") && !gives(s.With, "focus") {
		s.Prompt = `"Work on this part of the task only: ${{ $` + f.element + `.name }}"`
	}
	if w.is(formats.RoleReviewer) {
		for _, o := range []formats.Outcome{formats.OutcomeRejected, formats.OutcomePartial} {
			// A reviewer may always reject; other outcomes stand in its contract.
			if o == formats.OutcomeRejected || w.info.Statuses == nil ||
				slices.Contains(w.info.Statuses, o) {
				s.On = append(s.On, o.String())
			}
		}
	}
	f.add(s)
	if f.element == "" {
		f.last = w.id
		f.merged = Merge(s.Merge)
	}
	f.checks(w)
	if w.beside != nil && !w.is(formats.RoleReviewer) {
		f.loose = f.loose || !w.info.NoArtifacts
		f.verdict = false
		return
	}

	made := "($steps." + w.id + ".artifacts | length) > 0"
	switch {
	case w.is(formats.RoleReviewer):
		if w.document != "" {
			f.add(step{
				Kind: "check",
				Name: w.document,
				ID:   w.id,
				When: made,
			})
		}
		if !w.info.NoArtifacts && f.task {
			f.add(step{Kind: "link", When: made})
		}
		if more || f.element != "" {
			f.add(step{
				Kind:  "stop",
				ID:    w.id,
				Agent: w.info.Name,
				When:  against(w.id, s.On),
				Merge: s.Merge,
			})
		}
		f.verdict = !more
		return
	case w.document != "":
		f.add(step{
			Kind: "check",
			Name: w.document,
			ID:   w.id,
		})
		if w.document == string(formats.ArtifactReport) {
			f.report = w.id
		}
	}

	f.loose = f.loose || !w.info.NoArtifacts
	f.verdict = false
	d, ok := w.info.Fields["description"]
	if ok && w.is(formats.RoleWriter) && d.Type == formats.TypeString &&
		!d.Optional {
		f.add(step{Kind: "describe", ID: w.id})
	}
}

// gate asks the user before something, if that is requested.
func (f *flow) gate(before string) {
	if f.Gate {
		f.add(step{Kind: "gate", Name: before})
	}
}

// call is the step that calls a worker, or several side by side.
func (f *flow) call(w worker) step {
	s := step{
		Kind:  "delegate",
		Agent: w.info.Name,
		Role:  w.info.Role.String(),
		ID:    w.id,
	}
	if w.beside != nil {
		s.Kind = "together"
		s.Merge = f.Merge.jq(len(w.beside))
		before := *f
		for _, one := range w.beside {
			s.Body = append(s.Body, before.call(one))
		}
		f.err = before.err
	} else {
		var err error
		s.With, err = f.inputs(w)
		f.err = cmp.Or(f.err, err)
	}
	if w.is(formats.RoleReviewer) {
		s.Redo = f.prev
	} else if !f.task {
		f.prev = w.id
	}
	return s
}

// checks adds a check of each kind of document that workers side by side make.
func (f *flow) checks(w worker) {
	seen := map[string]bool{}
	for _, one := range w.beside {
		if one.document == "" || seen[one.document] {
			continue
		}
		seen[one.document] = true
		made := "$steps." + w.id + `.artifacts | map(select(.type == "` +
			string(one.info.Role.Artifact()) + `") | .path)`
		f.add(step{
			Kind: "check",
			Name: one.document,
			ID:   w.id,
			Path: "'" + made + "'",
			When: "(" + made + " | length) > 0",
		})
		if one.document == string(formats.ArtifactReport) {
			f.report = w.id
		}
	}
}

// implement adds the phases of the plan in a worktree, the workers behind them, which see that
// tree, and the end of the task.
func (f *flow) implement(list []worker) {
	f.loop(list[:1], "phase")
	for _, w := range list[1:] {
		f.work(w, true)
	}
	f.finish()
}

// loop adds the workers once an element. With an implementer among them it works in a tree of its
// own, each phase is committed and marked.
func (f *flow) loop(list []worker, as string) {
	implements := slices.ContainsFunc(list, func(w worker) bool {
		return w.is(formats.RoleImplementer)
	})
	if implements {
		f.add(step{Kind: "open"})
	}
	body := *f
	body.steps = nil
	body.when = ""
	body.lead = ""
	body.element = as
	for _, w := range list {
		body.work(w, true)
		body.changed = body.changed || w.is(formats.RoleImplementer)
	}

	if implements {
		body.add(step{Kind: "commit"})
		body.add(step{Kind: "mark"})
	}
	f.add(step{
		Kind: "loop",
		Name: as + "s",
		As:   as,
		Body: body.steps,
	})
	f.loose = body.loose
	f.changed = body.changed
	f.verdict = false
	f.last = ""
	f.over = as + "s"
	f.err = body.err
}

// finish publishes the branch, removes the worktree and completes the task.
func (f *flow) finish() {
	f.gate("the branch is published")
	f.add(step{Kind: "publish"})
	f.add(step{Kind: "close"})
	f.status(formats.Completed)
	f.last = "publish"
}

// end adds the link of what is not linked yet, and the return.
func (f *flow) end() {
	if f.loose && f.task {
		f.add(step{Kind: "link", When: "(" + jqRunArtifacts + " | length) > 0"})
	}
	s := step{
		Kind:  "return",
		Last:  f.last,
		Name:  f.over,
		Next:  nextCommands[f.cur],
		Merge: f.merged.String(),
	}
	switch {
	case f.verdict:
		s.Kind = "verdict"
	case f.last == "publish":
		s.Kind = "published"
	case f.last == "":
		s.Kind = "looped"
	}
	f.add(s)
}

// nextCommands are what to run next on a task of a status.
var nextCommands = map[formats.TaskStatus]string{
	formats.Researched: "/plan", formats.Planned: "/implement", formats.Completed: "/review",
}

// number gives every step its heading.
func number(list []step, mark, prefix string) {
	for i := range list {
		list[i].Mark = mark
		list[i].Number = prefix + strconv.Itoa(i+1)
		number(list[i].Body, mark+"#", list[i].Number+".")
	}
}
