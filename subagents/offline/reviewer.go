package offline

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/proc"
	"tercet/subagents"
	"tercet/subagents/checks"
)

// Reviewer runs the project's checks and reports their results. It reads no code.
type Reviewer struct {
	offlineRunner

	Starter *proc.Starter
	// Contract decides whether Run writes a review document and may omit the verdict; the zero
	// value allows both.
	Contract formats.AgentInfo
	// Confine sandboxes the checks; nil: no sandbox.
	Confine checks.Confine
	// Own are the checks that the configuration names, by stack.
	Own map[string][]string
}

const (
	reviewName = "review.md"
	// reviewerName is the subagent of the library whose instructions are what Reviewer does.
	reviewerName = "reviewer"
	noChecks     = "no checks known here"
	byOffline    = " (runner: offline)"
)

// Run does what RunMetered does.
func (v Reviewer) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := v.RunMetered(ctx, r)
	return ret, err
}

// RunMetered runs the checks in the request's tree; the input `only` selects one stack. It reports
// the tier of the last check.
func (v Reviewer) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	used := subagents.Measured{Runner: runnerName}
	ret, err := v.run(ctx, r, &used.Sandbox)
	return ret, used, err
}

func (v Reviewer) run(
	ctx context.Context,
	r formats.Request,
	tier *string,
) (formats.Return, error) {
	if v.Starter == nil {
		return formats.Return{}, formats.Unset("a starter of children")
	}
	word, err := textInput(r, "only")
	if err != nil {
		return formats.Failed(err), nil
	}

	only := checks.Stack(word)
	if word != "" {
		only, err = checks.ParseStack(word)
		if err != nil {
			return formats.Failed(err), nil
		}
	}

	list, err := detectChecks(r.Dir, only, v.Own)
	if err != nil {
		return formats.Return{}, err
	}

	a := assessment{task: r.Task, only: only}
	if len(list) == 0 {
		return v.noChecksReturn(r, a)
	}

	starter := *v.Starter
	starter.Env = append(slices.Clone(starter.Env), childEnv(r)...)
	for _, c := range list {
		res, err := checks.Run(ctx, &starter, r.Dir, c, v.Confine)
		if formats.CodeOf(err) == formats.CodeToolUnavailable && ctx.Err() == nil {
			a.notRun = append(a.notRun, err)
			continue
		}
		if err != nil {
			return agentFault(err)
		}
		*tier = res.Sandbox
		a.results = append(a.results, res)
	}

	if len(a.results) == 0 {
		return agentFault(a.notRun[0])
	}
	return v.judge(r, a)
}

// detectChecks lists the checks that a review runs: the tests of every stack, make check among
// them, and go vet. For Python, whose tests may be missing, it checks that its files compile, for
// Lean that its proofs hold. An empty stack means all.
func detectChecks(
	dir string,
	only checks.Stack,
	own map[string][]string,
) ([]checks.Check, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, formats.OnFile("write", dir, err)
	}

	var out []checks.Check
	for _, c := range checks.Detect(root.FS(), own) {
		if only != "" && c.Stack != only {
			continue
		}
		if c.Kind == checks.Test || c.Stack == checks.Go && c.Kind == checks.Lint ||
			c.Stack == checks.Python || c.Stack == checks.Lean {
			out = append(out, c)
		}
	}

	if err := root.Close(); err != nil {
		return nil, formats.OnFile("write", dir, err)
	}
	return out, nil
}

// assessment is one delegation of a Reviewer.
type assessment struct {
	task    *formats.Task
	only    checks.Stack
	results []checks.Result
	notRun  []error // of checks that could not run, which are neither passed nor failed
}

// noChecksReturn is the return when no check is known: the work was not done, so there is no
// verdict.
func (v Reviewer) noChecksReturn(r formats.Request, a assessment) (formats.Return, error) {
	return v.withoutVerdict(r, a, formats.Return{
		Status:  formats.StatusPartial,
		Summary: noChecks,
		NextSteps: "add a check the runner knows (go.mod, package.json, Cargo.toml, " +
			"pyproject.toml, a check target in a " +
			"Makefile), or review with an agent CLI (--runner)",
	})
}

// withoutVerdict completes a return without a verdict: of a review that was not done, or not to its
// end.
func (v Reviewer) withoutVerdict(
	r formats.Request,
	a assessment,
	ret formats.Return,
) (formats.Return, error) {
	if s := v.Contract.Statuses; s != nil && !slices.Contains(s, formats.OutcomePartial) {
		return formats.Failed(&formats.Failure{
				Code:    formats.CodeToolUnavailable,
				Message: ret.Summary,
				Help:    ret.NextSteps,
			}),
			nil
	}
	ret.Summary += byOffline
	return v.addDocument(r, ret, a)
}

func (v Reviewer) judge(r formats.Request, a assessment) (formats.Return, error) {
	failed := a.failedChecks()
	var missing []string
	for _, err := range a.notRun {
		missing = append(missing, err.Error())
	}

	if len(failed) == 0 && len(missing) > 0 {
		return v.withoutVerdict(r, a, formats.Return{
			Status: formats.StatusPartial,
			Summary: fmt.Sprintf("%s passed; %s",
				formats.Count(len(a.results), "check"), strings.Join(missing, "; ")),
			NextSteps: formats.HelpOf(a.notRun[0]) + ", or review one stack alone with --only",
			Issues:    a.issues(),
		})
	}

	ret := formats.Return{
		Status:   formats.StatusCompleted,
		Verdict:  formats.VerdictApproved,
		Summary:  fmt.Sprintf("%s passed"+byOffline, formats.Count(len(a.results), "check")),
		Issues:   a.issues(),
		Warnings: missing,
	}
	if len(failed) > 0 {
		ret.Verdict = formats.VerdictRejected
		ret.Summary = fmt.Sprintf("%d of %s failed: %s"+byOffline,
			len(failed), formats.Count(len(a.results), "check"), strings.Join(failed, ", "))
		ret.NextSteps = "fix what the issues name and review again"
	} else if name, _, _ := strings.Cut(v.Contract.Name, "@"); name != "" && name != reviewerName {
		ret.Warnings = append(
			ret.Warnings,
			"the offline runner ran the project's checks; it did not read the "+
				"instructions of "+name+": that needs an agent CLI (--runner)",
		)
	}
	return v.addDocument(r, ret, a)
}

// addDocument adds the review to a return, as a file or, where the contract has no artifacts, as
// text.
func (v Reviewer) addDocument(
	r formats.Request,
	ret formats.Return,
	a assessment,
) (formats.Return, error) {
	ret.Summary = cutText(ret.Summary, formats.MaxSummary)
	doc := a.review(ret.Verdict).Render()
	if v.Contract.NoArtifacts {
		ret.Text = string(doc)
		return ret, nil
	}

	art, err := writeDocument(r, reviewName, formats.ArtifactReview, doc)
	if err != nil {
		return formats.Return{}, err
	}
	art.Summary = ret.Summary
	ret.Artifacts = []formats.Artifact{art}
	return ret, nil
}

// failedChecks lists the commands of the checks that did not pass.
func (a assessment) failedChecks() []string {
	var out []string
	for _, r := range a.results {
		if !r.Passed {
			out = append(out, r.Check.String())
		}
	}
	return out
}

// issues gives what the checks reported.
func (a assessment) issues() []formats.Issue {
	var out []formats.Issue
	for _, r := range a.results {
		out = append(out, r.Issues...)
	}
	return out
}

func (a assessment) review(verdict formats.Verdict) documents.Draft {
	title := "the project"
	scope := "The project as it stands"
	if a.task != nil {
		title = a.task.Title
		scope = fmt.Sprintf("The tree of task %d", a.task.Number)
	}
	if a.only != "" {
		scope += ", only the checks of " + a.only.String()
	}
	scope += ". Made by runner: offline, which ran the checks of the project and read no code."

	var lines, found []string
	for _, r := range a.results {
		state := "passed"
		if !r.Passed {
			state = fmt.Sprintf("failed (exit %d)", r.Exit)
		}
		lines = append(lines, inlineCode(r.Check.String())+": "+state)
	}

	for _, err := range a.notRun {
		lines = append(lines, "not run: "+inlineCode(oneLine(err.Error())))
	}
	for _, i := range a.issues() {
		place := ""
		if len(i.Files) > 0 {
			place = i.Files[0]
			if i.Line > 0 {
				place += fmt.Sprintf(":%d", i.Line)
			}
			place = inlineCode(place) + ": "
		}
		found = append(
			found,
			fmt.Sprintf("%s%s (%s)", place, inlineCode(oneLine(i.Description)), i.Level),
		)
	}

	d := map[string]string{
		"Scope":    scope,
		"Checks":   listOf(lines),
		"Findings": listOf(found),
	}
	switch {
	case verdict == "" && len(a.notRun) > 0:
		d["Verdict"] = "No verdict: " + formats.Count(len(a.notRun), "check") +
			" could not run, and the others passed."
		if len(found) == 0 {
			d["Findings"] = "The checks that ran reported nothing."
		}
	case verdict == "":
		d["Checks"] = asSentence(strings.ToUpper(noChecks[:1]) + noChecks[1:])
		d["Findings"] = "Nothing was run, so nothing was found."
		d["Verdict"] = "No verdict: nothing was judged."
	case verdict == formats.VerdictApproved:
		d["Verdict"] = "approved: every check ended with exit 0. Nothing else was judged."
		if len(found) == 0 {
			d["Findings"] = "The checks reported nothing."
		}
	default:
		d["Verdict"] = string(verdict) + ": " + strings.Join(a.failedChecks(), ", ") + " failed."
	}

	for _, r := range a.results {
		if r.Dropped > 0 {
			d["Findings"] += fmt.Sprintf("\n- %s of %s not listed.",
				formats.Count(r.Dropped, "further issue"), inlineCode(r.Check.String()))
		}
	}

	return documents.Draft{
		Profile: documents.ProfileReview,
		Title:   title,
		Texts:   d,
	}
}
