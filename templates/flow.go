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
	jqPlanned      = "$has_plan"
	jqPlanPath     = "$plan.path"
	jqRunArtifacts = "$run.artifacts"
)

// worker is a subagent at its place in the command.
type worker struct {
	info formats.AgentInfo
	id   string // id of its step
	// during and after are the task statuses that its role implies. They are empty if there are
	// none, if its contract has no document of that kind, or beside an implementer.
	during, after formats.TaskStatus
	// profile of its document, or empty if no document is checked
	document string
	// the parallel workers it represents; nil for a single one
	members []worker
}

func (w worker) is(role formats.Role) bool {
	return w.info.Role == role
}

// newWorker derives what a contract implies. taken are the used ids. Without a task there is no
// status, and there are no phases to implement.
func newWorker(info formats.AgentInfo, taken map[string]bool, task bool) (worker, error) {
	w := worker{info: info, id: stepID(info.Name, taken)}
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

// parallelWorker represents parallel workers as one. It judges if one of them does.
func parallelWorker(list []worker, taken map[string]bool) (worker, error) {
	var names []string
	w := worker{members: list, info: formats.AgentInfo{Role: formats.RoleUtility, NoArtifacts: true}}
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
	lead := furthestWorker(list)
	w.during = lead.during
	w.after = lead.after
	w.info.Name = strings.Join(names, " and ")
	w.id = stepID("side-by-side", taken)
	return w, nil
}

// stepID derives the id of a step from a subagent's name. It avoids ids that begin like the title
// of another step, from which that step gets its id.
func stepID(name string, taken map[string]bool) string {
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
	Mark   string // marks of the heading
	Number string
	Lead   string // words before the title's verb: "With a plan"
	When   string // jq, empty without one
	Agent  string
	Role   string
	ID     string
	With   []pair
	Prompt string
	On     []string // outcomes that continue with the next step
	Name   string   // a document profile, or a loop's array
	As     string
	To     string
	Reason bool
	Last   string // id of the step with the returned result
	Redo   string // id of the step that a rejection sends back
	Path   string // jq for the checked documents
	Merge  string // jq
	Task   bool
	Next   string // what to run next
	Body   []step
}

// pair is a key with its value as YAML.
type pair struct{ Key, Value string }

// flow builds the steps of one command.
type flow struct {
	Data
	purpose string
	task    bool
	// without a task: id of the previous worker, whose result others judge
	previous string
	// task status after `during` and the steps so far; empty if unknown
	cur       formats.TaskStatus
	when      string // jq condition of every step of this branch
	lead      string
	plan      bool   // $plan is available here
	element   string // variable of the enclosing loop, without $
	changed   bool   // an implementer has worked
	unlinked  bool   // an artifact may not be linked yet
	report    string // id of the step with the newest report
	last      string // id of the last worker outside a loop
	merge     Merge  // merge of the last worker if it is parallel; else empty
	loopArray string // array of the last loop, without $
	verdict   bool   // the last worker is a reviewer, and nothing follows it
	err       error  // for the first required input that the command lacks
	steps     []step
}

// add appends a step.
func (f *flow) add(s step) {
	s.When = andJQ(f.when, s.When)
	s.Lead = f.lead
	s.Task = f.task
	f.steps = append(f.steps, s)
}

// verdictIn is the condition that a verdict is one of the outcomes.
func verdictIn(id string, outcomes []string) string {
	if len(outcomes) == 1 {
		return "$steps." + id + `.status == "` + outcomes[0] + `"`
	}
	return "($steps." + id + `.status | IN("` + strings.Join(outcomes, `", "`) + `"))`
}

// andJQ joins two conditions, both of which may be empty.
func andJQ(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " and " + b
}

// sequence adds the workers in order with the changes of status between them.
func (f *flow) sequence(list []worker) {
	for i, w := range list {
		if w.during != "" && w.during != f.cur {
			f.addStatus(w.during)
		}
		if w.is(formats.RoleImplementer) {
			f.addImplementation(list[i:])
			return
		}
		f.addWorker(w, i < len(list)-1)
		if w.during == "" {
			continue
		}
		if firstWithStatus(list[i+1:]).during != w.during {
			f.addStatus(w.after)
		}
	}
}

// addStatus adds a change of the task's status, with a reason if the table requires one or the
// previous status is unknown.
func (f *flow) addStatus(to formats.TaskStatus) {
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
	f.unlinked = false
	f.verdict = false
}

// addWorker adds one worker and what its contract implies: the check of its document, a stop after
// a verdict, the link of its result, its description. more means that another step follows.
func (f *flow) addWorker(w worker, more bool) {
	if !more && f.element == "" {
		f.addGate(w.info.Name)
	}
	s := f.callStep(w)
	if f.element != "" && !hasKey(s.With, "phase") && !hasKey(s.With, "focus") {
		s.Prompt = `"Work on this part of the task only: ${{ $` + f.element + `.name }}"`
	}
	if w.is(formats.RoleReviewer) {
		for _, o := range []formats.Outcome{formats.OutcomeRejected, formats.OutcomePartial} {
			// A reviewer may always reject; other outcomes are in its contract.
			if o == formats.OutcomeRejected || w.info.Statuses == nil ||
				slices.Contains(w.info.Statuses, o) {
				s.On = append(s.On, o.String())
			}
		}
	}
	f.add(s)
	if f.element == "" {
		f.last = w.id
		f.merge = Merge(s.Merge)
	}
	f.addChecks(w)
	if w.members != nil && !w.is(formats.RoleReviewer) {
		f.unlinked = f.unlinked || !w.info.NoArtifacts
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
				When:  verdictIn(w.id, s.On),
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

	f.unlinked = f.unlinked || !w.info.NoArtifacts
	f.verdict = false
	d, ok := w.info.Fields["description"]
	if ok && w.is(formats.RoleWriter) && d.Type == formats.TypeString &&
		!d.Optional {
		f.add(step{Kind: "describe", ID: w.id})
	}
}

// addGate asks the user before something, if that is requested.
func (f *flow) addGate(before string) {
	if f.Gate {
		f.add(step{Kind: "gate", Name: before})
	}
}

// callStep is the step that calls a worker, or several in parallel.
func (f *flow) callStep(w worker) step {
	s := step{
		Kind:  "delegate",
		Agent: w.info.Name,
		Role:  w.info.Role.String(),
		ID:    w.id,
	}
	if w.members != nil {
		s.Kind = "together"
		s.Merge = f.Merge.jq(len(w.members))
		before := *f
		for _, one := range w.members {
			s.Body = append(s.Body, before.callStep(one))
		}
		f.err = before.err
	} else {
		var err error
		s.With, err = f.inputs(w)
		f.err = cmp.Or(f.err, err)
	}
	if w.is(formats.RoleReviewer) {
		s.Redo = f.previous
	} else if !f.task {
		f.previous = w.id
	}
	return s
}

// addChecks adds a check for each kind of document that parallel workers make.
func (f *flow) addChecks(w worker) {
	seen := map[string]bool{}
	for _, one := range w.members {
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

// addImplementation adds the phases of the plan in a worktree, the workers after them, which see
// that tree, and the end of the task.
func (f *flow) addImplementation(list []worker) {
	f.addLoop(list[:1], "phase")
	for _, w := range list[1:] {
		f.addWorker(w, true)
	}
	f.finish()
}

// addLoop adds the workers for each element. With an implementer among them it works in a worktree,
// and each phase is committed and marked.
func (f *flow) addLoop(list []worker, as string) {
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
		body.addWorker(w, true)
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
	f.unlinked = body.unlinked
	f.changed = body.changed
	f.verdict = false
	f.last = ""
	f.loopArray = as + "s"
	f.err = body.err
}

// finish publishes the branch, removes the worktree and completes the task.
func (f *flow) finish() {
	f.addGate("the branch is published")
	f.add(step{Kind: "publish"})
	f.add(step{Kind: "close"})
	f.addStatus(formats.Completed)
	f.last = "publish"
}

// addEnd links unlinked artifacts, and returns.
func (f *flow) addEnd() {
	if f.unlinked && f.task {
		f.add(step{Kind: "link", When: "(" + jqRunArtifacts + " | length) > 0"})
	}
	s := step{
		Kind:  "return",
		Last:  f.last,
		Name:  f.loopArray,
		Next:  nextCommands[f.cur],
		Merge: f.merge.String(),
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

// nextCommands maps a task status to the next command.
var nextCommands = map[formats.TaskStatus]string{
	formats.Researched: "/plan", formats.Planned: "/implement", formats.Completed: "/review",
}

// number returns every step its heading.
func number(list []step, mark, prefix string) {
	for i := range list {
		list[i].Mark = mark
		list[i].Number = prefix + strconv.Itoa(i+1)
		number(list[i].Body, mark+"#", list[i].Number+".")
	}
}
