package interp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// check tells whether something holds, without running anything. What does not hold is a rejection; a check that cannot
// be made has failed.
func (r *run) check(ctx context.Context, sc *scope, op *compile.Info, a *syntax.Check) (result, error) {
	if r.dry.on && r.assume(sc, op, a) {
		return verdict(formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictApproved}), nil
	}
	issues, err := r.findings(ctx, sc, op, a)
	if err != nil {
		if ctx.Err() != nil {
			return result{}, context.Cause(ctx)
		}
		return verdict(formats.Failed(err)), nil
	}
	ret := formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictApproved, Issues: issues}
	if at := slices.IndexFunc(issues, func(i formats.Issue) bool { return i.Level == formats.LevelError }); at >= 0 {
		ret.Verdict, ret.Summary = formats.VerdictRejected, issues[at].Description
	}
	if ret.Verdict == formats.VerdictApproved {
		return verdict(ret), nil
	}
	if len(issues) > 1 {
		ret.Summary += fmt.Sprintf(" … and %d more", len(issues)-1)
	}
	if a.Else == nil {
		return verdict(ret), nil
	}
	if ret.Summary, err = r.text(ctx, sc, a.Else, resultOf(ret, 1)); err != nil {
		return result{}, err
	}
	if a.Expr != nil {
		ret.Issues[0].Description = ret.Summary // the words of the file say more than its jq
	}
	return verdict(ret), nil
}

// findings gives what is wrong, nothing if the check holds.
func (r *run) findings(ctx context.Context, sc *scope, op *compile.Info, a *syntax.Check) ([]formats.Issue, error) {
	switch {
	case a.Document != nil:
		return r.checkDocument(ctx, sc, op, a)
	case a.File != nil:
		return r.checkFile(ctx, sc, op, a)
	}
	v, err := r.eval(ctx, sc, a.Expr, nil)
	if err != nil || truth(v) {
		return nil, err
	}
	return []formats.Issue{wrong("expected " + a.Expr.Src)}, nil
}

func wrong(what string, files ...string) formats.Issue {
	return formats.Issue{Level: formats.LevelError, Description: what, Files: files, Source: "check"}
}

func verdict(ret formats.Return) result {
	return result{outcome: ret.Outcome(), ret: ret, value: resultOf(ret, 1)}
}

// checkDocument parses documents by their profile; what it finds are the issues.
func (r *run) checkDocument(ctx context.Context, sc *scope, op *compile.Info,
	a *syntax.Check,
) ([]formats.Issue, error) {
	var list []string
	profile := a.Document.Text
	if a.Path != nil {
		v, err := r.value(ctx, sc, a.Path, nil)
		if err != nil {
			return nil, err
		}
		list = paths(v)
	} else if path := r.newestOf(formats.ArtifactType(strings.TrimSuffix(profile, "-short"))); path != "" {
		list = []string{path}
	} else if at := r.handoff(ctx, op, profile); at != "" {
		list = []string{at}
	}
	if len(list) == 0 {
		return []formats.Issue{wrong("no " + profile + " was made")}, nil
	}
	var issues []formats.Issue
	for _, path := range list {
		src, err := r.cfg.Docs.Open(ctx, r.inTree(op, path))
		if errors.Is(err, fs.ErrNotExist) {
			issues = append(issues, wrong(path+" does not exist", path))
			continue
		}
		if err != nil {
			return nil, err
		}
		_, bad := formats.ParseDocument(profile, path, src)
		if bad == nil {
			continue
		}
		for _, d := range bad.List {
			level := formats.LevelError
			if d.Severity == formats.SeverityWarning {
				level = formats.LevelWarning
			}
			issues = append(issues, formats.Issue{
				Level: level, Description: d.Error(), Files: []string{path}, Line: d.Pos.Line, SuggestedFix: d.Help,
				Source: "check",
			})
		}
	}
	return issues, nil
}

// handoff is the path of the newest handoff document of a profile that the run wrote; else the place where such a
// document stands in a project.
func (r *run) handoff(ctx context.Context, op *compile.Info, profile string) string {
	name := formats.HandoffFile(profile)
	if name == "" {
		return ""
	}
	for _, a := range slices.Backward(r.artifacts) {
		if path.Base(a.Path) == name {
			return a.Path
		}
	}
	for _, at := range []string{"docs/" + name, name} {
		if _, err := r.cfg.Docs.Open(ctx, r.inTree(op, at)); err == nil {
			return at
		}
	}
	return ""
}

// inTree is where a step finds a file of the project: in the worktree of the run while one is open, as its workers do.
// What is tercet's own is in no worktree.
func (r *run) inTree(op *compile.Info, name string) string {
	if r.worktree == "" || op.Terms.In == inMain || strings.HasPrefix(path.Clean(name), formats.Workspace+"/") ||
		!filepath.IsLocal(name) {
		return name
	}
	tree, err := filepath.Rel(r.cfg.Dir, r.worktree)
	if err != nil || !filepath.IsLocal(tree) {
		return name
	}
	return path.Join(filepath.ToSlash(tree), name)
}

// newestOf is the path of the run's newest artifact of a type.
func (r *run) newestOf(kind formats.ArtifactType) string {
	for _, a := range slices.Backward(r.artifacts) {
		if a.Type == kind {
			return a.Path
		}
	}
	return ""
}

func (r *run) checkFile(ctx context.Context, sc *scope, op *compile.Info, a *syntax.Check) ([]formats.Issue, error) {
	v, err := r.value(ctx, sc, a.File, nil)
	if err != nil {
		return nil, err
	}
	list := paths(v)
	if len(list) == 0 {
		return []formats.Issue{wrong("no file is named")}, nil
	}
	var issues []formats.Issue
	for _, path := range list {
		data, err := r.cfg.Docs.Open(ctx, r.inTree(op, path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			issues = append(issues, wrong(path+" does not exist", path))
		case err != nil:
			return nil, err
		case a.Nonempty && len(strings.TrimSpace(string(data))) == 0:
			issues = append(issues, wrong(path+" is empty", path))
		}
	}
	return issues, nil
}
