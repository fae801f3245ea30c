package offline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/internal/shell"
	"tercet/subagents"
	"tercet/subagents/checks"
)

// Implementer runs one phase of a plan in the worktree, after approval: its commands, and then its
// verification.
type Implementer struct {
	offlineRunner

	Docs     Docs
	Profiles *documents.ProjectProfiles // of the project; nil: the shipped ones
	Git      func(dir string) *git.Repo
	Starter  *proc.Starter
	Approver Approver
	// Confine, if not nil, gives the sandboxed command for a script, and the name of the tier.
	Confine Confine
}

const (
	summaryName = "summary.md"
	tailLines   = 20 // of the output of a script that did not end with exit 0
	tailWidth   = 400
)

// The choices of the gate before a plan's first command.
const (
	choiceApprove = "approve"
	choiceReject  = "reject"
)

// Run does the phase in the input `phase`, else the first phase of the plan that is not completed.
func (m Implementer) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := m.RunMetered(ctx, r)
	return ret, err
}

// RunMetered is Run, and reports the tier.
func (m Implementer) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	tier := ""
	ret, err := m.run(ctx, r, &tier)
	return ret, subagents.Measured{Runner: runnerName, Sandbox: tier}, err
}

func (m Implementer) run(
	ctx context.Context,
	r formats.Request,
	tier *string,
) (formats.Return, error) {
	if m.Docs == nil || m.Git == nil || m.Starter == nil || m.Approver == nil {
		return formats.Return{}, formats.Unset(
			"documents, git, a starter of children and an approver",
		)
	}
	w, err := m.openPhase(ctx, r)
	if err != nil {
		return agentFault(err)
	}
	if ret := w.refusal(); ret.Status != "" {
		return ret, nil
	}
	if ret, err := w.approve(ctx, m.Approver); err != nil || ret.Status != "" {
		return ret, err
	}
	defer func() { *tier = w.tier }()
	if err := w.runPhase(ctx); err != nil {
		ret, err := agentFault(err)
		ret.Issues = w.issues
		return ret, err
	}
	return w.finish(ctx)
}

// phaseWork is one delegation of an Implementer.
type phaseWork struct {
	m        Implementer
	r        formats.Request
	task     *formats.Task
	path     string // of the plan
	plan     *documents.Plan
	phase    *documents.Phase // nil: the plan has no such phase
	number   int              // as the input names it
	name     string
	tier     string // in which the last script ran
	issues   []formats.Issue
	warnings []string
}

// openPhase reads the plan and finds the phase.
func (m Implementer) openPhase(ctx context.Context, r formats.Request) (*phaseWork, error) {
	task, err := taskOf(r)
	if err != nil {
		return nil, err
	}
	w := &phaseWork{
		m:    m,
		r:    r,
		task: task,
	}
	w.path, _, w.plan, err = planOf(ctx, m.Docs, m.Profiles, r, task)
	if err != nil {
		return nil, err
	}
	return w, w.findPhase()
}

// findPhase finds the phase in the plan. A phase that the plan does not have, such as one made of
// feedback, has no commands.
func (w *phaseWork) findPhase() error {
	in, ok := w.r.Input["phase"]
	if !ok || in == nil {
		w.phase = w.plan.Next()
		if w.phase == nil {
			return badInput("phase", "a phase that is not completed", "a plan whose phases all are")
		}
		w.number = w.phase.Number
		w.name = w.phase.Name
		return nil
	}

	if n, ok := intOf(in); ok {
		in = map[string]any{"number": n}
	}
	m, ok := in.(map[string]any)
	if !ok {
		return badInput("phase", "a phase of the plan", fmt.Sprintf("%T", in))
	}

	w.number, ok = intOf(m["number"])
	if !ok {
		return badInput("phase.number", "an integer", fmt.Sprint(m["number"]))
	}
	w.name, _ = m["name"].(string) //nolint:errcheck // the name may be missing
	for i := range w.plan.Phases {
		if w.plan.Phases[i].Number == w.number {
			w.phase = &w.plan.Phases[i]
			w.name = w.phase.Name
		}
	}

	if w.phase == nil && w.number > 0 {
		return badInput("phase", "a phase of "+w.path, fmt.Sprintf("phase %d", w.number))
	}
	return nil
}

// refusal is the return for a phase that the offline runner cannot do; it has no status if it can.
func (w *phaseWork) refusal() formats.Return {
	if w.phase != nil && len(w.phase.Commands) > 0 {
		return formats.Return{}
	}

	var todo []string
	if w.phase != nil {
		for _, t := range w.phase.Tasks {
			if !t.Done {
				todo = append(todo, t.Text)
			}
		}
	}

	if cause, ok := w.r.Input["cause"].(string); ok && cause != "" {
		todo = append(todo, cause)
	}

	if f := w.r.Feedback; f != nil {
		for _, i := range f.Issues {
			todo = append(todo, i.Description)
		}
	}

	next := "do phase " + w.label() + " by hand or with an agent CLI (--runner)"
	if len(todo) > 0 {
		next += ": " + strings.Join(todo, "; ")
	}

	return formats.Return{
		Status: formats.StatusPartial,
		Summary: cutText(
			"phase "+w.label()+" has no commands, nothing was done (runner: offline)",
			formats.MaxSummary,
		),
		NextSteps: next + fmt.Sprintf(
			". Or give it commands: /revise %d TEXT, with an sh fence in TEXT",
			w.task.Number,
		),
	}
}

func (w *phaseWork) label() string {
	if w.name == "" {
		return fmt.Sprint(w.number)
	}
	return fmt.Sprintf("%d (%s)", w.number, cutText(w.name, maxName))
}

// approve asks about all commands of the plan before the first of them runs. A return with a status
// ends the delegation.
func (w *phaseWork) approve(ctx context.Context, by Approver) (formats.Return, error) {
	g := w.gate()
	decision, err := by.Approve(ctx, g)
	if err != nil { // also a gate that is open: the run asks it then
		return formats.Return{}, err
	}
	if decision.Answer != choiceApprove {
		msg := "the commands of " + w.path + " were not approved"
		if decision.Note != "" {
			msg += ": " + decision.Note
		}

		const help = "change the plan with /revise, or run its phases by hand"
		return formats.Failed(formats.Fail(formats.CodeRejected, help, "%s", msg)), nil
	}
	return formats.Return{}, nil
}

// gate is the question; its digest is that of all commands it shows.
func (w *phaseWork) gate() formats.Gate {
	var show []string
	for _, p := range w.plan.Phases {
		for _, c := range p.Commands {
			heading := fmt.Sprintf("phase %d: %s\n", p.Number, p.Name)
			show = append(show, heading+describeCommands(c))
		}
		for _, c := range p.Verification {
			heading := fmt.Sprintf("phase %d, verification\n", p.Number)
			show = append(show, heading+describeCommands(c))
		}
	}

	return formats.Gate{
		Question: fmt.Sprintf("Run the %s of %s?", formats.Count(len(show), "command"), w.path),
		Show:     show,
		Choices: []formats.Choice{
			{Label: choiceApprove, Approves: true},
			{Label: choiceReject, Leaves: true},
		},
		Digest:      w.plan.CommandDigest(),
		NeedsPerson: true,
		Run:         w.r.Run,
		Step:        w.r.Step,
	}
}

// describeCommands is a block of commands, with a line about each part of it that only a run would
// show.
func describeCommands(commands string) string {
	commands = strings.TrimRight(commands, "\n")
	report, err := shell.Classify(commands, shell.Place{})
	if err != nil {
		return commands // sh says what is wrong with it
	}
	for _, u := range report.Unknown {
		commands += "\n(unknown: " + u.String() + ")"
	}
	return commands
}

// runPhase runs the commands, then the verification.
func (w *phaseWork) runPhase(ctx context.Context) error {
	for i, body := range slices.Concat(w.phase.Commands, w.phase.Verification) {
		if err := w.runScript(ctx, body, i >= len(w.phase.Commands)); err != nil {
			return err
		}
	}
	if len(w.phase.Verification) == 0 {
		w.warnings = append(w.warnings, "not verified: phase "+w.label()+" names no verification")
	}
	return nil
}

// runScript runs one block as a file, so that nothing in it is ever part of a command line.
func (w *phaseWork) runScript(ctx context.Context, body string, verify bool) (err error) {
	dir, err := os.MkdirTemp(w.m.Starter.Temp, "tercet-script-")
	if err != nil {
		return formats.OnFile("write", "script", err)
	}
	defer func() {
		if failed := os.RemoveAll(dir); failed != nil {
			err = errors.Join(err, formats.OnFile("write", filepath.Base(dir), failed))
		}
	}()

	const name = "commands.sh"
	if err := writeFile(dir, name, []byte(body)); err != nil {
		return err
	}

	file := filepath.Join(dir, name)
	c := proc.Command{
		Argv:    []string{"sh", "-eu", file},
		Dir:     w.r.Dir,
		Env:     childEnv(w.r),
		Timeout: proc.Timeout{Total: w.r.Timeout.Total, Idle: w.r.Timeout.Idle},
		Private: true,
		Purpose: proc.PurposeScript,
	}

	if w.m.Confine != nil {
		c, w.tier, err = w.m.Confine(ctx, w.r, c, body)
		if err != nil {
			return err
		}
	}

	res, err := w.m.Starter.Run(ctx, c)
	if err != nil {
		return err
	}
	if res.Success() {
		return nil
	}

	output := strings.ReplaceAll(string(res.Stdout)+string(res.Stderr), file, name)
	failed := &formats.Failure{
		Code: formats.CodeUnknown,
		Help: "nothing of the phase counts as done: fix its commands with /revise",
	}
	what := "the commands"
	if verify {
		what = "the verification"
		failed.Code = formats.CodeValidationFailed
		failed.Help = "the commands ran, but the verification failed: change the plan with /revise"
	}

	if res.TimedOut != proc.TimeoutNone {
		failed.Code = formats.CodeTimeout
	}
	failed.Message = fmt.Sprintf("%s of phase %d (%s) ended with %s",
		what, w.number, w.name, describeEnd(res, w.r.Timeout))
	if lines := tail(output, tailLines); len(lines) > 0 {
		failed.Message += "\n" + strings.Join(lines, "\n")
	}

	w.issues = issuesIn(w.r.Dir, output, verify)
	if len(w.issues) == 0 {
		w.issues = []formats.Issue{{
			Level:       formats.LevelError,
			Description: failed.Error(),
			Source:      "check",
		}}
	}
	return failed
}

// issuesIn reads file:line messages out of the output of a verification, as the checks of the
// tree's stacks print them.
func issuesIn(dir, output string, verify bool) []formats.Issue {
	if !verify {
		return nil
	}

	list, err := detectChecks(dir, "", nil)
	if err != nil {
		return nil // the output stands in the error; without the stacks it is not read further
	}
	var out []formats.Issue
	var seen []checks.Stack
	for _, c := range list {
		if !slices.Contains(seen, c.Stack) {
			seen = append(seen, c.Stack)
			out = append(out, checks.Parse(c.Stack.String(), []byte(output))...)
		}
	}
	return out
}

// childEnv tells children that they run inside a run, so that they cannot start commands or write
// the state.
func childEnv(r formats.Request) []string {
	return []string{"TERCET_RUN=" + r.Run}
}

// describeEnd says how a script ended.
func describeEnd(res proc.Result, limit formats.Timeout) string {
	switch {
	case res.TimedOut == proc.TimeoutIdle:
		return fmt.Sprintf("no output for %s", limit.Idle)
	case res.TimedOut != proc.TimeoutNone:
		return fmt.Sprintf("no end after %s", limit.Total)
	case res.Flooded:
		return "more output than is allowed"
	case res.Signal != "":
		return "signal " + res.Signal
	default:
		return fmt.Sprintf("exit %d", res.Exit)
	}
}

// tail gives the last lines of an output that are not blank.
func tail(output string, limit int) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, cutText(strings.ToValidUTF8(line, "\uFFFD"), tailWidth))
		}
	}
	return lines[max(0, len(lines)-limit):]
}

// finish lists what changed and writes the summary with the last open phase. It also does so for a
// phase that changed no file, because a completed phase has to show something.
func (w *phaseWork) finish(ctx context.Context) (formats.Return, error) {
	changed, err := changedFiles(ctx, w.m.Git(w.r.Dir), w.r.Dir)
	if err != nil {
		return agentFault(err)
	}

	artifacts, notes := changed.artifacts()
	w.warnings = append(w.warnings, notes...)
	verified := ", verification passed"
	if len(w.phase.Verification) == 0 {
		verified = ""
	}
	ret := formats.Return{
		Status: formats.StatusCompleted,
		Summary: cutText(
			fmt.Sprintf("phase %s: commands ran%s, %s changed (runner: offline)",
				w.label(), verified, formats.Count(len(changed.Files), "file")),
			formats.MaxSummary,
		),
		Warnings:  w.warnings,
		Artifacts: artifacts,
	}

	if w.isLastPhase() || len(artifacts) == 0 {
		doc := w.summary(changed).Render()
		a, err := writeDocument(w.r, summaryName, formats.ArtifactSummary, doc)
		if err != nil {
			return formats.Return{}, err
		}
		a.Summary = "summary of phase " + w.label()
		if w.isLastPhase() {
			a.Summary = "summary of " + formats.Count(len(w.plan.Phases), "phase")
		}
		ret.Artifacts = append(ret.Artifacts, a)
	}
	return ret, nil
}

// isLastPhase tells whether all other phases are completed.
func (w *phaseWork) isLastPhase() bool {
	return !slices.ContainsFunc(w.plan.Phases, func(p documents.Phase) bool {
		return p.Number != w.number && p.Status != documents.PhaseCompleted
	})
}

// summary drafts the document out of what ran and what the tree shows.
func (w *phaseWork) summary(c changes) documents.Draft {
	scope := fmt.Sprintf("phase %s of %s", w.label(), inlineCode(w.path))
	if w.isLastPhase() {
		scope = fmt.Sprintf("%s of %s, the last being %s",
			formats.Count(len(w.plan.Phases), "phase"), inlineCode(w.path), w.label())
	}

	var done []string
	for _, p := range w.plan.Phases {
		switch {
		case p.Number == w.number:
			done = append(done, fmt.Sprintf("Phase %d, %s: this delegation.", p.Number, p.Name))
		case p.Status == documents.PhaseCompleted:
			done = append(done, fmt.Sprintf("Phase %d, %s: completed before.", p.Number, p.Name))
		}
	}

	files := make([]string, len(c.Files))
	for i, f := range c.Files {
		files[i] = inlineCode(f.Path)
		if f.Deleted {
			files[i] += " (deleted)"
		}
	}

	changed := "No file changed."
	if len(files) > 0 {
		changed = "Files that the phase changed, as git shows them:\n\n" + listOf(files)
	}

	check := "Nothing was verified: the plan names no verification for this phase."
	if len(w.phase.Verification) > 0 {
		check = "The verification ended with exit 0:\n\n" +
			codeBlock("sh", strings.Join(w.phase.Verification, "\n"))
	}
	follow := []string{}
	for _, c := range w.phase.Checks {
		if !c.Done {
			follow = append(follow, "Not judged by this runner: "+c.Text)
		}
	}

	for _, n := range w.warnings {
		follow = append(follow, asSentence(n))
	}
	return documents.Draft{
		Profile: documents.ProfileSummary,
		Title:   w.task.Title,
		Texts: map[string]string{
			"Overview": fmt.Sprintf(
				"Task %d, %s. Made by runner: offline, which ran the commands of the plan "+
					"after you "+
					"approved them, and decided nothing.\n\n%s",
				w.task.Number,
				scope,
				listOf(done),
			),
			"What Changed": changed,
			"Decisions":    "None were taken beyond those of the plan.",
			"Impacts":      check,
			"Follow-ups":   listOf(follow),
			"References":   listOf([]string{"Plan: " + inlineCode(w.path)}),
		},
	}
}
