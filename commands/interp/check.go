package interp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tercet/commands/compile"
	"tercet/formats"
)

// check tells whether something holds, without running anything.
func (r *run) check(ctx context.Context, sc *scope, op *compile.Op, path string, a *compile.Check) (result, error) {
	if r.dry.on {
		if r.dry.assume(sc, op, a) {
			return verdict(formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictApproved}), nil
		}
	}
	var issues []formats.Issue
	var err error
	switch {
	case a.Document != "":
		issues, err = r.checkDocument(ctx, sc, a)
	case a.File != nil:
		issues, err = r.checkFile(ctx, sc, a)
	default:
		var v any
		if v, err = r.eval(ctx, sc, a.Expr, nil); err == nil && !truth(v) {
			issues = []formats.Issue{{Level: formats.LevelError, Description: "expected " + a.Expr.Src, Source: "check"}}
		}
	}
	if err != nil {
		ret := formats.Failed(err)
		return verdict(ret), nil
	}
	ret := formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictApproved, Summary: path + " holds", Issues: issues}
	for _, i := range issues {
		if i.Level == formats.LevelError {
			ret.Verdict = formats.VerdictRejected
		}
	}
	if ret.Verdict == formats.VerdictRejected {
		ret.Summary = issues[0].Description
		if len(issues) > 1 {
			ret.Summary += fmt.Sprintf(" … and %d more", len(issues)-1)
		}
		if a.Else != nil {
			if ret.Summary, err = r.text(ctx, sc, a.Else, resultOf(ret, 1)); err != nil {
				return result{}, err
			}
		}
	}
	return verdict(ret), nil
}

func verdict(ret formats.Return) result {
	return result{outcome: ret.Outcome(), ret: ret, value: resultOf(ret, 1)}
}

// checkDocument parses documents by their profile; what it finds are the issues.
func (r *run) checkDocument(ctx context.Context, sc *scope, a *compile.Check) ([]formats.Issue, error) {
	var list []string
	if a.Path != nil {
		v, err := r.value(ctx, sc, a.Path, nil)
		if err != nil {
			return nil, err
		}
		list = paths(v)
	} else if path := r.newestOf(formats.ArtifactType(strings.TrimSuffix(a.Document, "-short"))); path != "" {
		list = []string{path}
	}
	if len(list) == 0 {
		return []formats.Issue{{Level: formats.LevelError, Description: "no " + a.Document + " was made", Source: "check"}}, nil
	}
	var issues []formats.Issue
	for _, path := range list {
		src, err := r.cfg.Docs.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		_, bad := formats.ParseDocument(a.Document, path, src)
		if bad == nil {
			continue
		}
		for _, d := range bad.List {
			level := formats.LevelError
			if d.Severity == formats.SeverityWarning {
				level = formats.LevelWarning
			}
			issues = append(issues, formats.Issue{
				Level: level, Description: d.Error(), Files: []string{path}, Line: d.Pos.Line, SuggestedFix: d.Help, Source: "check",
			})
		}
	}
	return issues, nil
}

// newestOf is the path of the run's newest artifact of a type, else of the task's.
func (r *run) newestOf(kind formats.ArtifactType) string {
	for i := len(r.artifacts) - 1; i >= 0; i-- {
		if r.artifacts[i].Type == kind {
			return r.artifacts[i].Path
		}
	}
	if a := r.task.Newest(kind); a != nil {
		return a.Path
	}
	return ""
}

func (r *run) checkFile(ctx context.Context, sc *scope, a *compile.Check) ([]formats.Issue, error) {
	v, err := r.value(ctx, sc, a.File, nil)
	if err != nil {
		return nil, err
	}
	list := paths(v)
	if len(list) == 0 {
		return []formats.Issue{{Level: formats.LevelError, Description: "no file is named", Source: "check"}}, nil
	}
	var issues []formats.Issue
	for _, path := range list {
		data, err := r.cfg.Docs.Open(ctx, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			issues = append(issues, formats.Issue{Level: formats.LevelError, Description: path + " does not exist", Files: []string{path}, Source: "check"})
		case err != nil:
			return nil, err
		case a.Nonempty && len(strings.TrimSpace(string(data))) == 0:
			issues = append(issues, formats.Issue{Level: formats.LevelError, Description: path + " is empty", Files: []string{path}, Source: "check"})
		}
	}
	return issues, nil
}
