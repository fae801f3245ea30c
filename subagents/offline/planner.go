package offline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/md"
)

// Planner turns a task's description into a plan, from its sh fences and checklists only.
type Planner struct {
	offlineRunner

	Docs     Docs
	Profiles *documents.ProjectProfiles // of the project; nil: the shipped ones
}

// planName is the document in the delegation's folder.
const planName = "plan.md"

// Run writes a plan, or with the input `revision` a new version of the newest plan.
func (p Planner) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	if p.Docs == nil {
		return formats.Return{}, formats.Unset("documents")
	}
	task, text, err := taskAndText(r, "revision")
	if err != nil {
		return formats.Failed(err), nil
	}

	d := draft{task: task}
	d.prompt, err = textInput(r, "prompt")
	if err != nil {
		return agentFault(err)
	}
	if err := p.findReport(ctx, r, &d); err != nil {
		return agentFault(err)
	}
	if text != "" {
		if err := p.revise(ctx, r, &d, text); err != nil {
			return agentFault(err)
		}
	} else {
		d.readTask()
	}

	art, err := writeDocument(r, planName, formats.ArtifactPlan, d.plan().Render())
	if err != nil {
		return formats.Return{}, err
	}

	open := len(d.phases) - d.copied
	art.Summary = formats.Count(len(d.phases), "phase") + " for " + task.Title
	return formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   cutText(d.summary(open), formats.MaxSummary),
		Artifacts: []formats.Artifact{art},
		Warnings:  d.notes,
	}, nil
}

// draft gathers what a plan is made of.
type draft struct {
	task     *formats.Task
	phases   []documents.Phase
	copied   int  // completed phases taken over from the plan before
	openKept bool // so are its open ones
	report   string
	previous string   // path of the plan before
	texts    []string // of revisions, oldest first
	prompt   string   // what the user asks of a first plan
	notes    []string
}

// readTask reads the description for a first plan.
func (d *draft) readTask() {
	got := parseText(d.task.Description)
	d.notes = append(d.notes, got.Notes...)
	d.phases = makePhases([]reading{got}, nil)
	if len(d.phases) == 0 {
		d.phases = []documents.Phase{wholeTaskPhase(d.task.Title, got)}
	}
	if d.prompt != "" {
		asked := parseText(d.prompt)
		d.notes = append(d.notes, asked.Notes...)
		more := makePhases([]reading{asked}, d.phases)
		if len(more) == 0 {
			more = []documents.Phase{notePhase(d.prompt)}
			d.notes = append(d.notes, fmt.Sprintf(
				"phase %q is for you or an agent: the prompt has neither commands nor items",
				more[0].Name,
			))
		}
		d.phases = append(d.phases, more...)
	}
	d.phases = numberPhases(d.phases, 1)
}

// numberPhases gives phases their numbers, counted from the first.
func numberPhases(list []documents.Phase, first int) []documents.Phase {
	for i := range list {
		list[i].Number = first + i
	}
	return list
}

// findReport finds the report that the input names, else the task's newest one. The plan names it
// and does not repeat it.
func (p Planner) findReport(ctx context.Context, r formats.Request, d *draft) error {
	path, err := textInput(r, "research_report")
	if err != nil {
		return err
	}

	named := path != ""

	if a := d.task.Newest(formats.ArtifactReport); !named && a != nil {
		path = a.Path
	}
	if path == "" {
		return nil
	}

	_, err = p.Docs.Open(ctx, path)
	if isMissing(err) && !named {
		d.notes = append(d.notes, "report "+path+" is not there and was not read")
		return nil
	}
	if err == nil {
		d.report = path
	}
	return err
}

// planOf reads the plan that the input `plan` names, else the newest of the task.
func planOf(
	ctx context.Context,
	docs Docs,
	own *documents.ProjectProfiles,
	r formats.Request,
	task *formats.Task,
) (path string, src []byte,
	plan *documents.Plan, err error,
) {
	path, err = textInput(r, "plan")
	if err != nil {
		return "", nil, nil, err
	}

	if newest := task.Newest(formats.ArtifactPlan); path == "" && newest != nil {
		path = newest.Path
	}

	if path == "" {
		return "", nil, nil, formats.Fail(formats.CodePrecondition,
			fmt.Sprintf("make one with /plan %d", task.Number), "task %d has no plan", task.Number)
	}

	src, err = docs.Open(ctx, path)
	if err != nil {
		return "", nil, nil, err
	}

	options := documents.Options{Lenient: true, Profiles: own}
	plan, found := options.Parse(documents.ProfilePlan, path, src)
	if found != nil && found.HasErrors() {
		return "", nil, nil, found
	}
	return path, src, plan, nil
}

// revise reads the plan before and the texts of its revisions, the new one last. The completed
// phases are kept, the others are made anew.
func (p Planner) revise(ctx context.Context, r formats.Request, d *draft, text string) error {
	path, src, _, err := planOf(ctx, p.Docs, p.Profiles, r, d.task)
	if err != nil {
		return err
	}
	plan, found := documents.ParsePlan(path, src)
	if found.HasErrors() {
		return found // its phases are copied into a plan that has to be whole
	}

	d.previous = path
	// The others come after the copied ones, whose numbers stand in commits.
	next := 1
	for _, phase := range plan.Phases {
		if phase.Status == documents.PhaseCompleted {
			d.phases = append(d.phases, phase)
			next = max(next, phase.Number+1)
		}
	}

	d.copied = len(d.phases)
	d.texts = append(revisions(src), text)
	readings := []reading{parseText(d.task.Description)}
	var kept []documents.Phase
	if !strings.HasPrefix(strings.TrimSpace(plan.Sections["Overview"]), overviewStart) {
		// The plan does not come from the description alone: its open phases stay, the texts add to
		// them.
		d.openKept = true
		readings[0] = reading{}
		for _, phase := range plan.Phases {
			if phase.Status != documents.PhaseCompleted {
				kept = append(kept, phase)
			}
		}
	}

	there := slices.Concat(d.phases, kept)
	open := makePhases(readings, there)

	var said []documents.Phase // what no command and no item says
	for i, one := range d.texts {
		got := parseText(one)
		readings = append(readings, got)
		before := len(open)
		open = makePhases(readings, there)
		if len(open) > before || len(open) > 0 && len(got.Every)+len(got.Last)+len(got.Checks) > 0 {
			continue
		}
		note := notePhase(one)
		known := func(p documents.Phase) bool { return p.Name == note.Name }
		if !slices.ContainsFunc(slices.Concat(there, said), known) {
			said = append(said, note)
			d.notes = append(d.notes, fmt.Sprintf(
				"phase %q is for you or an agent: text %d of the revision adds neither "+
					"a command nor a checklist item",
				note.Name,
				i+1,
			))
		}
	}

	if len(open)+len(there) == 0 {
		open = append(open, wholeTaskPhase(d.task.Title, readings[0]))
	}
	for _, one := range readings {
		d.notes = append(d.notes, one.Notes...)
	}

	d.phases = append(d.phases, numberPhases(slices.Concat(kept, open, said), next)...)
	return nil
}

// revisionInfo marks the fences that hold the texts of revisions word for word.
const revisionInfo = "markdown"

// revisions gives the texts under Revision of a plan, oldest first.
func revisions(src []byte) []string {
	doc, _ := md.Parse(src)
	s, ok := doc.Section(2, "Revision")
	if !ok {
		return nil
	}
	var out []string
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Kind == md.Fence && b.Fenced && strings.TrimSpace(b.Info) == revisionInfo {
			out = append(out, strings.TrimRight(string(b.Body), "\n"))
		}
	}
	return out
}

func (d *draft) summary(open int) string {
	commands, _ := d.countBlocks()
	s := "planned " + formats.Count(open, "phase") + " with " +
		formats.Count(commands, "command block")
	if d.copied > 0 {
		s += ", " + formats.Count(d.copied, "completed phase") + " copied"
	}
	return s + " (runner: offline)"
}

// countBlocks counts what open phases would run: their commands and their verifications.
func (d *draft) countBlocks() (commands, verified int) {
	for _, p := range d.phases[d.copied:] {
		commands += len(p.Commands)
		verified += len(p.Verification)
	}
	return commands, verified
}

// plan writes the draft of the document.
func (d *draft) plan() documents.Draft {
	t := d.task
	goals := []string{asSentence(t.Title)}
	var testing []string
	for _, p := range d.phases[d.copied:] {
		for _, c := range p.Checks {
			goals = appendNew(goals, []string{asSentence(c.Text)})
		}
		for _, v := range p.Verification {
			testing = appendNew(testing, []string{firstCommand(v)})
		}
	}

	for i, v := range testing {
		testing[i] = inlineCode(v) + " ends with exit 0."
	}
	if len(testing) == 0 {
		testing = []string{"The description names no verification: check the work yourself."}
	}
	return documents.Draft{
		Profile: documents.ProfilePlan,
		Title:   t.Title,
		Phases:  d.phases,
		Texts: map[string]string{
			"Task":            fmt.Sprintf("%d - %s", t.Number, t.Title),
			"Status":          "[" + documents.PhaseNotStarted.Mark() + "]",
			"Effort":          orNone(t.Effort),
			"Priority":        orNone(t.Priority),
			"Dependencies":    orNone(joinNumbers(t.Dependencies)),
			"Research Inputs": orNone(d.report),
			"Artifacts":       "This plan",
			"Standards":       "None",
			"Type":            orNone(t.Language),
			"Overview":        d.overview(),
			"Goals & Non-Goals": "**Goals**:\n\n" + documents.List(goals) + "\n**Non-Goals**:\n\n" +
				documents.List([]string{"Anything that the description does not name."}),
			"Risks & Mitigations":  documents.List(d.risks()),
			"Testing & Validation": documents.List(testing),
			"Artifacts & Outputs": documents.List([]string{
				"The files that the phases change, and an implementation summary.",
			}),
			"Rollback/Contingency": "Every phase is a commit of its own on the task's branch. " +
				"Revert the commit of a phase, " +
				"or delete the branch before it is merged.",
			"Revision": d.revision(),
		},
	}
}

// overviewStart begins the overview of a plan that can be made again out of what its task says.
const overviewStart = "Made by runner: offline out of the description"

func (d *draft) overview() string {
	var b strings.Builder
	if d.openKept {
		return "Made by runner: offline. The phases of " + d.previous +
			" are taken over. What the revision adds stands after them."
	}

	fmt.Fprintf(&b, overviewStart+" of task %d. ", d.task.Number)
	open := d.phases[d.copied:]
	commands, verified := d.countBlocks()
	switch {
	case commands > 0:
		fmt.Fprintf(&b,
			"It has %s of commands and %s of verification, which stand here word for word.",
			formats.Count(commands, "block"), formats.Count(verified, "block"))
	case len(open) == 1 && open[0].Name == "Do the task":
		b.WriteString(
			"It has neither commands nor open items, so the whole task is one phase for you or " +
				"an agent.",
		)
	default:
		b.WriteString("It has no commands, so every phase is an item for you or an agent.")
	}

	if d.previous != "" {
		fmt.Fprintf(&b, "\n\nRevises %s: %s copied, %s rebuilt.", inlineCode(d.previous),
			formats.Count(d.copied, "completed phase"), formats.Count(len(open), "open phase"))
	}
	for _, n := range d.notes {
		b.WriteString("\n\nNote: " + asSentence(n))
	}

	if d.report != "" {
		fmt.Fprintf(&b, "\n\nRead %s first: it cites the files that hold the words of the task.",
			inlineCode(d.report))
	}
	return b.String()
}

func (d *draft) risks() []string {
	var out []string
	commands, verified := d.countBlocks()
	if commands > 0 {
		out = append(
			out,
			"The commands come from the description. They run in a worktree, and only after you "+
				"approve them.",
		)
	}

	if verified == 0 {
		out = append(out, "The plan names no verification, so nothing shows that a phase is right.")
	}

	if slices.ContainsFunc(d.phases[d.copied:], func(p documents.Phase) bool {
		return len(p.Commands) == 0
	}) {
		out = append(out, "The offline runner cannot do a phase without commands.")
	}
	return out
}

// revision writes the texts of all revisions so that revisions reads them back.
func (d *draft) revision() string {
	var parts []string
	for i, t := range d.texts {
		parts = append(parts, fmt.Sprintf("Text %d:\n\n%s", i+1, codeBlock(revisionInfo, t)))
	}
	return strings.Join(parts, "\n\n")
}

// firstCommand gives the first line of a script that is neither blank nor a comment, and says when
// there are more.
func firstCommand(script string) string {
	first := ""
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case first != "":
			return first + " …"
		default:
			first = line
		}
	}
	return cmp.Or(first, strings.TrimSpace(script))
}

func orNone(s string) string {
	if strings.TrimSpace(s) == "" {
		return "None"
	}
	return s
}

func joinNumbers(list []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}
