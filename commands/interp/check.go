package interp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
)

// check tells whether something holds, without running anything. If it does not hold, the step is
// rejected; if that cannot be found out, the step has failed.
func (s step) check(a *syntax.Check) (result, error) {
	ret := formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictApproved}
	if s.run.dry.on && s.planCheck(a) {
		return resultOf(ret, 1), nil
	}

	found, err := runCheck(s, a)
	if err != nil {
		return result{}, err
	}
	if found.Error != nil {
		return resultOf(formats.Failed(found.Error.failure()), 1), nil
	}

	ret.Issues = found.Issues
	ret.Fields = found.Fields
	at := slices.IndexFunc(ret.Issues, func(i formats.Issue) bool {
		return i.Level == formats.LevelError
	})
	if at < 0 {
		return resultOf(ret, 1), nil
	}

	ret.Verdict = formats.VerdictRejected
	ret.Summary = ret.Issues[at].Description
	if len(ret.Issues) > 1 {
		ret.Summary += fmt.Sprintf(" … and %d more", len(ret.Issues)-1)
	}
	if err := s.useElse(a, &ret, 1); err != nil {
		return result{}, err
	}
	if a.Else != nil && a.Expr != nil {
		ret.Issues[0].Description = ret.Summary // the words of the file say more than its jq
	}
	return resultOf(ret, 1), nil
}

// useElse gives a rejected check the text that the file has for it.
func (s step) useElse(a *syntax.Check, ret *formats.Return, attempts int) (err error) {
	if a.Else != nil && ret.Outcome() == formats.OutcomeRejected {
		ret.Summary, err = s.env().text(a.Else, resultOf(*ret, attempts).value)
	}
	return err
}

// checkResult is what a check found; the journal keeps it.
type checkResult struct {
	Issues []formats.Issue `json:"issues,omitempty"`
	Fields object          `json:"fields,omitempty"` // of the one handoff document that was checked
	Error  *recordedError  `json:"error,omitempty"`
}

// runCheck makes the check. What it reads from files is observed, so that a replay finds the same.
func runCheck(s step, a *syntax.Check) (checkResult, error) {
	now := func() (checkResult, error) {
		out, err := s.findIssues(a)
		if err != nil && (s.frame.ctx.Err() != nil || s.run.journal.diverged != nil) {
			return checkResult{}, cmp.Or(s.run.journal.diverged, context.Cause(s.frame.ctx))
		}
		out.Error = recordError(err)
		return out, nil
	}

	if a.Document == nil && a.File == nil {
		return now()
	}
	return observe(s.frame, s.journalPath(), "check", now)
}

// findIssues gives the issues; none if the check holds.
func (s step) findIssues(a *syntax.Check) (out checkResult, err error) {
	switch {
	case a.Document != nil:
		return s.checkDocument(a)
	case a.File != nil:
		out.Issues, err = s.checkFile(a)
		return out, err
	}
	if ok, err := s.env().holds(a.Expr, nil); err != nil || ok {
		return out, err
	}
	out.Issues = []formats.Issue{errorIssue("expected " + a.Expr.Src)}
	return out, nil
}

func errorIssue(what string, files ...string) formats.Issue {
	return formats.Issue{
		Level:       formats.LevelError,
		Description: what,
		Files:       files,
		Source:      "check",
	}
}

// checkDocument parses documents by their profile; what it finds are the issues. The fields of a
// single handoff document are kept, so that later steps can read a document that the run wrote.
func (s step) checkDocument(a *syntax.Check) (out checkResult, err error) {
	profile := a.Document.Text
	v, err := s.env().value(a.Path, nil)
	if err != nil {
		return out, err
	}
	if a.Path == nil {
		v = s.newestDocument(profile)
	}

	single := len(paths(v)) == 1
	out.Issues, err = s.checkEach(
		v,
		"no "+profile+" was made",
		func(path string, src []byte) (issues []formats.Issue) {
			doc, list := s.parseDocument(profile, path, src)
			for _, d := range list {
				one := errorIssue(d.Error(), path)
				one.Line = d.Pos.Line
				one.SuggestedFix = d.Help
				if d.Severity == formats.SeverityWarning {
					one.Level = formats.LevelWarning
				}
				issues = append(issues, one)
			}
			if single && doc != nil && documents.IsHandoff(profile) {
				out.Fields = formats.As[object](doc.Any()["fields"])
			}
			return issues
		},
	)
	return out, err
}

// parseDocument gives a document with the findings in it; a file of tercet itself is no document.
func (s step) parseDocument(
	profile, path string,
	src []byte,
) (*documents.Document, []formats.Diagnostic) {
	if slices.Contains(documents.FileProfiles(), profile) {
		list := s.run.cfg.Lint(s.pathInTree(path), src, profile == documents.ProfileSubagent)
		for i := range list {
			list[i].File = path
		}
		return nil, list
	}

	opt := documents.Options{Profiles: s.run.cfg.Profiles, Exists: func(name string) bool {
		_, err := s.run.cfg.Docs.Open(s.frame.ctx, s.pathInTree(name))
		return err == nil
	}}
	doc, bad := opt.Parse(profile, path, src)
	if bad.HasErrors() {
		for _, opt.Variant = range documents.Variants(profile) {
			older, found := opt.Parse(profile, path, src)
			if !found.HasErrors() {
				s.run.report.warn("%s has the older form of a %s (%s); "+
					"what it does not say is asked or has a default", path, profile, opt.Variant)
				doc = older
				bad = found
				break
			}
		}
	}

	if bad == nil {
		return doc, nil
	}
	return doc, bad.List
}

// checkFile checks that files exist, and are not empty where the file asks for that.
func (s step) checkFile(a *syntax.Check) ([]formats.Issue, error) {
	v, err := s.env().value(a.File, nil)
	if err != nil {
		return nil, err
	}
	return s.checkEach(v, "no file is named", func(path string, src []byte) []formats.Issue {
		if a.Nonempty && len(strings.TrimSpace(string(src))) == 0 {
			return []formats.Issue{errorIssue(path+" is empty", path)}
		}
		return nil
	})
}

// checkEach checks the files of a path or a list of paths.
func (s step) checkEach(
	v any,
	none string,
	look func(path string, src []byte) []formats.Issue,
) ([]formats.Issue, error) {
	list := paths(v)
	if len(list) == 0 {
		return []formats.Issue{errorIssue(none)}, nil
	}

	var issues []formats.Issue
	for _, path := range list {
		src, err := s.run.cfg.Docs.Open(s.frame.ctx, s.pathInTree(path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			issues = append(issues, errorIssue(path+" does not exist", path))
		case err != nil:
			return nil, err
		default:
			issues = append(issues, look(path, src)...)
		}
	}
	return issues, nil
}

// newestDocument is the path of the newest document of a profile that the run made, empty without
// one. A handoff document that the run did not make is taken from where projects have it.
func (s step) newestDocument(profile string) string {
	kind := formats.ArtifactType(strings.TrimSuffix(profile, "-short"))
	names := documents.HandoffFiles(profile)
	for _, matches := range []func(formats.Artifact) bool{
		func(a formats.Artifact) bool { return a.Type == kind },
		func(a formats.Artifact) bool {
			return slices.Contains(names, path.Base(a.Path))
		},
	} {
		for _, a := range slices.Backward(s.run.artifacts.all) {
			if matches(a) {
				return a.Path
			}
		}
	}

	for _, name := range names {
		for _, at := range []string{"docs/" + name, name} {
			if _, err := s.run.cfg.Docs.Open(s.frame.ctx, s.pathInTree(at)); err == nil {
				return at
			}
		}
	}
	return ""
}

// pathInTree is where a step finds a file of the project: in the worktree while one is open, as its
// workers do. tercet's own files are in no worktree.
func (s step) pathInTree(name string) string {
	r := s.run
	if s.frame.dir() == "" || s.info.Terms.In == inMain ||
		strings.HasPrefix(path.Clean(name), formats.Workspace+"/") ||
		r.cfg.Specs != "" && strings.HasPrefix(path.Clean(name), r.cfg.Specs+"/") ||
		!filepath.IsLocal(name) {
		return name
	}
	tree, err := filepath.Rel(r.cfg.Dir, s.frame.dir())
	if err != nil || !filepath.IsLocal(tree) {
		return name
	}
	return path.Join(filepath.ToSlash(tree), name)
}
