package templates

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/parts"
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

func (w worker) hasRole(role formats.Role) bool {
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
	if w.hasRole(formats.RoleImplementer) && !promised {
		return w, refuse(fmt.Sprintf("add {type: %s} to returns.artifacts of the subagent", kind),
			"subagent %s of role %s promises no %s, without which the task cannot take its status",
			info.Name, info.Role, kind)
	}

	if !promised {
		return w, nil
	}

	w.during = during
	w.after = after
	if !w.hasRole(formats.RoleImplementer) {
		w.document = documentProfile(info, kind)
	}
	return w, nil
}

func documentProfile(info formats.AgentInfo, kind formats.ArtifactType) string {
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
	w := worker{
		members: list,
		info:    formats.AgentInfo{Role: formats.RoleUtility, NoArtifacts: true},
	}
	for _, one := range list {
		names = append(names, one.info.Name)
		switch {
		case one.hasRole(formats.RoleImplementer), one.hasRole(formats.RolePlanner):
			return w, refuse(
				"let it stand alone, with a comma on both sides",
				"%s of role %s cannot work beside others: a task has one plan, and its phases "+
					"one tree", one.info.Name, one.info.Role,
			)
		case one.hasRole(formats.RoleReviewer):
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
		"research", "plan", "implement", "review", "write", "run", "with", "without", "for", "stop",
		"mark", "return", "check", "keep", "open", "commit", "publish", "during", "error", "link",
		"remove", "ask",
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

// step is one step of the file.
type step struct {
	kind   string // name of its template among the command parts
	when   string // jq, empty without a condition
	values parts.Values
	body   []step // of a loop
}

// stepTexts writes steps one after another under numbered headings.
func stepTexts(steps []step, mark, prefix string) string {
	texts := commandParts()
	var out []string
	for i, s := range steps {
		values := parts.Values{"when": quoteJQ(s.when)}
		maps.Copy(values, s.values)
		number := prefix + strconv.Itoa(i+1)
		out = append(out, texts.Fill("step", parts.Values{
			"mark":   mark,
			"number": number,
			"step":   texts.Fill(s.kind, values),
		}))
		if len(s.body) > 0 {
			out = append(out, stepTexts(s.body, mark+"#", number+"."))
		}
	}
	return strings.Join(out, "\n")
}

// pair is a key with its value as YAML.
type pair struct{ Key, Value string }

// withBlock writes the inputs of a subagent, on one line if YAML allows it.
func withBlock(inputs []pair) string {
	var lines []string
	oneLine := true
	for _, p := range inputs {
		lines = append(lines, p.Key+": "+p.Value)
		oneLine = oneLine && !strings.ContainsAny(p.Value, `"', {}[]`)
	}
	if len(lines) > 0 && oneLine {
		return "with: {" + strings.Join(lines, ", ") + "}"
	}
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return yamlBlock("with:", lines)
}

// flow builds the steps of one command.
type flow struct {
	Data
	purpose string
	hasTask bool
	during  string   // YAML of that key, empty without one
	allow   []string // statuses that the task may have
	loads   []string // what the command loads, by the names of the parts
	// without a task: id of the previous worker, whose result others judge
	previous string
	// status of the task after `during` and the steps so far; empty if unknown
	status         formats.TaskStatus
	when           string // jq condition of every step of this branch
	lead           string // words before the title's verb: "With a plan"
	hasPlan        bool   // $plan is available here
	element        string // variable of the enclosing loop, without $
	implemented    bool   // an implementer has worked
	hasUnlinked    bool   // an artifact may not be linked yet
	reportStep     string // id of the step with the newest report
	lastWorker     string // id of the last worker outside a loop
	lastIsParallel bool   // the last worker stands for several
	loopElement    string // variable of the last loop, without $
	endsInVerdict  bool   // the last worker is a reviewer, and nothing follows it
	err            error  // for the first required input that the command lacks
	steps          []step
}

// add appends a step under the condition of the branch and its own, which may be empty.
func (f *flow) add(kind, when string, values parts.Values) {
	f.steps = append(f.steps, step{kind: kind, when: andJQ(f.when, when), values: values})
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
		if w.during != "" && w.during != f.status {
			f.addStatus(w.during)
		}
		if w.hasRole(formats.RoleImplementer) {
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
	needsReason := f.status == ""
	for _, m := range formats.Moves(f.status) {
		if m.To == to {
			needsReason = needsReason || m.NeedsReason
		}
	}
	change := to.String()
	if needsReason {
		change = "{to: " + change + ", reason: $run.command}"
	}
	f.add("status", "", parts.Values{"to": to.String(), "change": change})
	f.status = to
	f.hasUnlinked = false
	f.endsInVerdict = false
}

// addWorker adds one worker and what its contract implies: the check of its document, a stop after
// a verdict, the link of its result, its description. more means that another step follows.
func (f *flow) addWorker(w worker, more bool) {
	if !more && f.element == "" {
		f.addGate(w.info.Name)
	}
	f.addCall(w)

	if f.element == "" {
		f.lastWorker = w.id
		f.lastIsParallel = w.members != nil
	}
	for _, one := range w.members {
		f.addMemberCheck(w, one)
	}

	if w.hasRole(formats.RoleReviewer) {
		f.addVerdict(w, more)
		return
	}

	f.hasUnlinked = f.hasUnlinked || !w.info.NoArtifacts
	f.endsInVerdict = false
	if w.members != nil {
		return
	}

	if w.document != "" {
		f.addCheck(w.document, w.id, "", "")
		if w.document == string(formats.ArtifactReport) {
			f.reportStep = w.id
		}
	}

	d, ok := w.info.Fields["description"]
	if ok && w.hasRole(formats.RoleWriter) && d.Type == formats.TypeString && !d.Optional {
		f.add("describe", "", parts.Values{"id": w.id})
	}
}

// addVerdict adds what follows from a reviewer: the check and the link of its document, and a stop
// if it does not agree and another step follows.
func (f *flow) addVerdict(w worker, more bool) {
	made := "($steps." + w.id + ".artifacts | length) > 0"
	if w.document != "" {
		f.addCheck(w.document, w.id, "", made)
	}
	if !w.info.NoArtifacts && f.hasTask {
		f.add("link", made, nil)
	}

	if more || f.element != "" {
		disagrees := w.info.Name + " does not agree"
		if w.members != nil {
			disagrees = w.info.Name + " do not agree"
		}
		f.add("stop", verdictIn(w.id, blockingVerdicts(w)), parts.Values{
			"disagrees":  disagrees,
			"id":         w.id,
			"next_steps": nextSteps(w.id, w.members != nil),
		})
	}

	f.endsInVerdict = !more
}

// blockingVerdicts lists the verdicts of a reviewer that do not let the work pass. It may always
// reject; other outcomes are in its contract.
func blockingVerdicts(w worker) []string {
	out := []string{formats.OutcomeRejected.String()}
	if w.info.Statuses == nil || slices.Contains(w.info.Statuses, formats.OutcomePartial) {
		out = append(out, formats.OutcomePartial.String())
	}
	return out
}

// nextSteps is that member of a return; several workers have none in common.
func nextSteps(id string, several bool) string {
	if several {
		return ""
	}
	return ", next_steps: $steps." + id + ".next_steps"
}

// addCheck adds the check of a document. path is jq for the checked files; empty: all of the step.
func (f *flow) addCheck(document, id, path, when string) {
	if path != "" {
		path = ", path: '" + path + "'"
	}
	f.add("check", when, parts.Values{
		"document": document,
		"id":       yamlWord(id),
		"path":     path,
	})
}

// addGate asks the user before something, if that is requested.
func (f *flow) addGate(before string) {
	if !f.Gate {
		return
	}
	lead := ""
	if f.lead != "" {
		lead = " (" + f.lead + ")"
	}
	f.add("gate", "", parts.Values{"what": before, "lead": lead})
}

// addCall adds the step that calls a worker, or several in parallel.
func (f *flow) addCall(w worker) {
	values := parts.Values{
		"agent":  w.info.Name,
		"word":   yamlWord(w.info.Name),
		"id":     yamlWord(w.id),
		"about":  commandParts()["about "+w.info.Role.String()],
		"prompt": "",
		"on":     "",
	}

	kind := "delegate"
	if w.members != nil {
		kind = "together"
		values["merge"] = f.Merge.jq(len(w.members))
		values["branches"] = f.branches(w.members)
	} else {
		title := commandParts().Fill("title "+w.info.Role.String(), values)
		if f.lead != "" {
			title = f.lead + ", " + strings.ToLower(title[:1]) + title[1:]
		}
		values["title"] = title
		with := f.inputsOf(w)
		values["with"] = withBlock(with)
		if f.element != "" && !hasKey(with, "phase") && !hasKey(with, "focus") {
			values["prompt"] = `"Work on this part of the task only: ${{ $` +
				f.element + `.name }}"`
		}
	}

	if w.hasRole(formats.RoleReviewer) {
		var on []string
		for _, verdict := range blockingVerdicts(w) {
			next := "next"
			if f.previous != "" && verdict == formats.OutcomeRejected.String() {
				next = "[{redo: [" + yamlWord(f.previous) + "], max: 2}, next]"
			}
			on = append(on, verdict+": "+next)
		}
		values["on"] = strings.Join(on, ", ")
	}

	f.add(kind, "", values)
	f.notePrevious(w)
}

// notePrevious remembers whose result a reviewer judges where there is no task.
func (f *flow) notePrevious(w worker) {
	if !f.hasTask && !w.hasRole(formats.RoleReviewer) {
		f.previous = w.id
	}
}

// branches writes the workers of a parallel step.
func (f *flow) branches(members []worker) string {
	before := *f
	var lines []string
	for _, one := range members {
		lines = append(lines, "  "+yamlWord(one.id)+":", "    delegate: "+yamlWord(one.info.Name))
		with := before.inputsOf(one)
		if len(with) > 0 {
			lines = append(lines, "    with:")
		}
		for _, p := range with {
			lines = append(lines, "      "+p.Key+": "+p.Value)
		}
		before.notePrevious(one)
	}
	f.err = before.err
	return strings.Join(lines, "\n")
}

// addMemberCheck adds the check of what a member of a parallel step wrote, once for each kind of
// document.
func (f *flow) addMemberCheck(w, member worker) {
	first := slices.IndexFunc(w.members, func(m worker) bool {
		return m.document == member.document
	})
	if member.document == "" || w.members[first].id != member.id {
		return
	}
	made := "$steps." + w.id + `.artifacts | map(select(.type == "` +
		string(member.info.Role.Artifact()) + `") | .path)`
	f.addCheck(member.document, w.id, made, "("+made+" | length) > 0")
	if member.document == string(formats.ArtifactReport) {
		f.reportStep = w.id
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
func (f *flow) addLoop(list []worker, element string) {
	implementing := hasImplementer(list)
	if implementing {
		f.add("open", "", nil)
	}
	body := *f
	body.steps = nil
	body.when = ""
	body.lead = ""
	body.element = element
	for _, w := range list {
		body.addWorker(w, true)
		body.implemented = body.implemented || w.hasRole(formats.RoleImplementer)
	}
	if implementing {
		body.add("commit", "", nil)
		body.add("mark", "", nil)
	}

	open := ""
	if element == "phase" {
		open = " that is not completed"
	}
	f.add("loop", "", parts.Values{"list": element + "s", "element": element, "open": open})
	f.steps[len(f.steps)-1].body = body.steps
	f.hasUnlinked = body.hasUnlinked
	f.implemented = body.implemented
	f.err = body.err
	f.endsInVerdict = false
	f.lastWorker = ""
	f.loopElement = element
}

// finish publishes the branch, removes the worktree and completes the task.
func (f *flow) finish() {
	f.addGate("the branch is published")
	f.add("publish", "", nil)
	f.add("close", "", nil)
	f.addStatus(formats.Completed)
	f.lastWorker = "publish"
}

// addEnd links unlinked artifacts, and returns.
func (f *flow) addEnd() {
	if f.hasUnlinked && f.hasTask {
		f.add("link", "("+jqRunArtifacts+" | length) > 0", nil)
	}

	values := parts.Values{
		"id":         f.lastWorker,
		"list":       f.loopElement + "s",
		"next":       nextCommands[f.status],
		"next_steps": nextSteps(f.lastWorker, f.lastIsParallel),
		"task":       "",
	}
	if f.hasTask {
		values["task"] = "Task ${{ $task.number }}: "
	}

	switch {
	case f.endsInVerdict:
		f.add("verdict", "", values)
	case f.lastWorker == "publish":
		f.add("published", "", values)
	case f.lastWorker == "":
		f.add("looped", "", values)
	default:
		f.add("return", "", values)
	}
}

// nextCommands maps a task status to the next command.
var nextCommands = map[formats.TaskStatus]string{
	formats.Researched: "/plan", formats.Planned: "/implement", formats.Completed: "/review",
}
