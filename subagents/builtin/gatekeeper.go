package builtin

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/checks"
)

// Gatekeeper is gatekeeper: it runs a command, or the checks that a project has, and says whether
// they pass.
type Gatekeeper struct {
	// Check runs one check for a request, in its folder. An error means that the check could not
	// run.
	Check func(ctx context.Context, r formats.Request, c checks.Check) (checks.Result, error)
	// Configured are the checks that the configuration names, by stack.
	Configured map[string][]string
}

// Run does what RunMetered does.
func (g Gatekeeper) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := g.RunMetered(ctx, r)
	return ret, err
}

// RunMetered runs every check, also after a failed one, to collect all issues. It reports the tier
// of the last check.
func (g Gatekeeper) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	var used subagents.Measured
	ret, err := g.run(ctx, r, &used.Sandbox)
	return ret, used, err
}

// run checks the input, then runs one command or the project's own checks of the wanted kinds.
func (g Gatekeeper) run(
	ctx context.Context,
	r formats.Request,
	tier *string,
) (formats.Return, error) {
	in := inputOf(r)
	in.allowOnly("command", "project")
	argv := in.words("command")
	project := in.words("project")
	switch {
	case len(*in.problems) > 0:
	case len(argv) > 0 && len(project) > 0:
		in.refuse("project", "either command or project")
	case len(argv) == 0 && len(project) == 0:
		in.refuse("command", "a program with its arguments, or project")
	}

	for _, word := range project {
		if _, err := checks.ParseKind(word); err != nil {
			in.refuse("project", "a list out of build, lint, test")
		}
	}

	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}

	list := []checks.Check{{Argv: argv}}
	var warnings []string
	if len(argv) == 0 {
		list, warnings = g.checksOf(r.Dir, project)
	}
	if len(list) == 0 {
		ret := formats.Failed(formats.Fail(formats.CodePrecondition,
			"name the program with check: {command: [...]}",
			"no checks known here: %s", strings.Join(project, ", ")))
		ret.Warnings = warnings // also where the file goes on without them
		return ret, nil
	}

	ret := formats.Return{
		Status:   formats.StatusCompleted,
		Verdict:  formats.VerdictApproved,
		Warnings: warnings,
	}
	var results []string // a line for each check
	for _, c := range list {
		res, err := g.Check(ctx, r, c)
		if err != nil {
			return notRunReturn(ctx, c, err)
		}
		*tier = res.Sandbox

		line := c.String()
		if res.Passed {
			results = append(results, line+" passes")
			continue
		}

		ret.Verdict = formats.VerdictRejected
		how := fmt.Sprintf(" ends with %d", res.Exit)
		if res.TimedOut {
			how = " takes too long"
		}
		results = append(results, line+how)
		ret.Issues = append(ret.Issues, res.Issues...)
		if res.Dropped > 0 {
			ret.Warnings = append(
				ret.Warnings,
				fmt.Sprintf("%s: %d more issues", line, res.Dropped),
			)
		}
	}

	ret.Summary = clip(strings.Join(results, "; "))
	return ret, nil
}

// checksOf gives the checks of a project of the wanted kinds, and a warning for each kind without
// one.
func (g Gatekeeper) checksOf(dir string, kinds []string) (list []checks.Check, warnings []string) {
	found := checks.Detect(os.DirFS(dir), g.Configured)
	list = slices.DeleteFunc(slices.Clone(found), func(c checks.Check) bool {
		return !slices.Contains(kinds, string(c.Kind))
	})
	for _, kind := range kinds {
		isKind := func(c checks.Check) bool { return string(c.Kind) == kind }
		if !slices.ContainsFunc(list, isKind) {
			warnings = append(warnings, "no check of kind "+kind+" is known here")
		}
	}
	return list, warnings
}

// notRunReturn tells that a check could not run, which is no verdict.
func notRunReturn(ctx context.Context, c checks.Check, err error) (formats.Return, error) {
	switch {
	case ctx.Err() != nil, isOpenGate(err):
		return formats.Return{}, err
	case formats.CodeOf(err) != formats.CodeUnknown:
		return formats.Failed(err), nil
	}
	return formats.Failed(&formats.Failure{
		Code:    formats.CodeToolUnavailable,
		Message: c.String() + " cannot run",
		Err:     err,
	}), nil
}
