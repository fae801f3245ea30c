package templates

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
)

// What the expressions of a generated file read.
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
	// during and after are the task statuses that its role implies; empty if none, if its contract has no document of that
	// kind, or beside an implementer.
	during, after formats.TaskStatus
	document      string // profile that its document is checked by; empty: it makes none that is checked
}

func (w worker) is(role formats.Role) bool { return w.info.Role == role }

// newWorker reads what a contract implies. taken are the ids that are used already.
func newWorker(info formats.AgentInfo, taken map[string]bool) (worker, error) {
	w := worker{info: info, id: identify(info.Name, taken)}
	during, after := info.Role.Statuses()
	kind := info.Role.Artifact()
	promised := kind != "" && info.MayGive(append(formats.ArtifactsFor(after), kind)...)
	if w.is(formats.RoleImplementer) && !promised {
		return w, refuse(fmt.Sprintf("add {type: %s} to returns.artifacts of the subagent", kind),
			"subagent %s of role %s promises no %s, without which the task cannot take its status", info.Name, info.Role, kind)
	}
	if !promised {
		return w, nil
	}
	w.during, w.after = during, after
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

// identify makes the id of a step from a subagent's name. Ids that begin like the title of another step, from which
// that step gets its id, are put out of its way.
func identify(name string, taken map[string]bool) string {
	id := strings.ReplaceAll(name, "-", "_")
	first, _, _ := strings.Cut(id, "_")
	own := []string{
		"delegate", "with", "without", "for", "stop", "mark", "return", "validate", "keep", "open", "commit", "publish",
		"during", "error", "set",
		"link", "write", "remove",
	}
	if slices.Contains(own, first) || id == "phases" || id == "parts" {
		id = "agent_" + id
	}
	for n, first := 2, id; taken[id]; n++ {
		id = first + "_" + strconv.Itoa(n)
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
	Next   string // what to run next
	Body   []step
}

// pair is a key with its value as YAML.
type pair struct{ Key, Value string }

// flow collects the steps of one command.
type flow struct {
	purpose string
	cur     formats.TaskStatus // where `during` and the steps so far have led, empty if that is not known
	when    string             // jq that every step of this branch hangs on
	lead    string
	plan    bool   // $plan is a plan here
	element string // the variable of the loop around, without $
	changed bool   // an implementer worked before
	loose   bool   // an artifact may not be linked yet
	report  string // id of the step that made the newest report
	last    string // id of the last worker outside a loop
	over    string // the array of the last loop, without $
	verdict bool   // the last worker is a reviewer, and nothing stands behind it
	err     error  // the first input that a worker needs and the command does not have
	steps   []step
}

// add puts a step at the end.
func (f *flow) add(s step) {
	s.When = and(f.when, s.When)
	s.Lead = f.lead
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

// status adds a change of the task's status, with a reason where the table asks for one or the status before is not
// known.
func (f *flow) status(to formats.TaskStatus) {
	moves := formats.Moves(f.cur)
	at := slices.IndexFunc(moves, func(m formats.Move) bool { return m.To == to })
	f.add(step{
		Kind: "status", To: to.String(), Reason: f.cur == "" || at >= 0 && moves[at].NeedsReason,
	})
	f.cur, f.loose, f.verdict = to, false, false
}

// work adds one worker and what its contract implies: the check of its document, a stop after a verdict, the link of
// what it made, the description it wrote. more tells that another step follows.
func (f *flow) work(w worker, more bool) {
	s := step{Kind: "delegate", Agent: w.info.Name, Role: w.info.Role.String(), ID: w.id}
	var err error
	s.With, err = f.inputs(w)
	f.err = cmp.Or(f.err, err)
	if f.element != "" && !gives(s.With, "phase") && !gives(s.With, "focus") {
		s.Prompt = `"Work on this part of the task only: ${{ $` + f.element + `.name }}"`
	}
	if w.is(formats.RoleReviewer) {
		for _, o := range []formats.Outcome{formats.OutcomeRejected, formats.OutcomePartial} {
			// A reviewer may always reject; other outcomes stand in its contract.
			if o == formats.OutcomeRejected || w.info.Statuses == nil || slices.Contains(w.info.Statuses, o) {
				s.On = append(s.On, o.String())
			}
		}
	}
	f.add(s)
	if f.element == "" {
		f.last = w.id
	}
	made := "($steps." + w.id + ".artifacts | length) > 0"
	switch {
	case w.is(formats.RoleReviewer):
		if w.document != "" {
			f.add(step{Kind: "check", Name: w.document, ID: w.id, When: made})
		}
		if !w.info.NoArtifacts {
			f.add(step{Kind: "link", When: made})
		}
		if more || f.element != "" {
			f.add(step{Kind: "stop", ID: w.id, Agent: w.info.Name, When: against(w.id, s.On)})
		}
		f.verdict = !more
		return
	case w.document != "":
		f.add(step{Kind: "check", Name: w.document, ID: w.id})
		if w.document == string(formats.ArtifactReport) {
			f.report = w.id
		}
	}
	f.loose = f.loose || !w.info.NoArtifacts
	f.verdict = false
	if d, ok := w.info.Fields["description"]; ok && w.is(formats.RoleWriter) && d.Type == formats.TypeString &&
		!d.Optional {
		f.add(step{Kind: "describe", ID: w.id})
	}
}

// implement adds the phases of the plan in a worktree, the workers behind them, which see that tree, and the end of the
// task.
func (f *flow) implement(list []worker) {
	f.loop(list[:1], "phase")
	for _, w := range list[1:] {
		f.work(w, true)
	}
	f.finish()
}

// loop adds the workers once an element. With an implementer among them it works in a tree of its own, each phase is
// committed and marked.
func (f *flow) loop(list []worker, as string) {
	implements := slices.ContainsFunc(list, func(w worker) bool { return w.is(formats.RoleImplementer) })
	if implements {
		f.add(step{Kind: "open"})
	}
	body := *f
	body.steps, body.when, body.lead, body.element = nil, "", "", as
	for _, w := range list {
		body.work(w, true)
		body.changed = body.changed || w.is(formats.RoleImplementer)
	}
	if implements {
		body.add(step{Kind: "commit"})
		body.add(step{Kind: "mark"})
	}
	f.add(step{Kind: "loop", Name: as + "s", As: as, Body: body.steps})
	f.loose, f.changed, f.verdict, f.last, f.over, f.err = body.loose, body.changed, false, "", as+"s", body.err
}

// finish publishes the branch, removes the worktree and completes the task.
func (f *flow) finish() {
	f.add(step{Kind: "publish"})
	f.add(step{Kind: "close"})
	f.status(formats.Completed)
	f.last = "publish"
}

// end adds the link of what is not linked yet, and the return.
func (f *flow) end() {
	if f.loose {
		f.add(step{Kind: "link", When: "(" + jqRunArtifacts + " | length) > 0"})
	}
	s := step{Kind: "return", Last: f.last, Name: f.over, Next: nextCommands[f.cur]}
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
		list[i].Mark, list[i].Number = mark, prefix+strconv.Itoa(i+1)
		number(list[i].Body, mark+"#", list[i].Number+".")
	}
}
