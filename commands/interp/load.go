package interp

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
)

// loads are the documents that the run loaded at its beginning.
type loads struct {
	paths []string
	sums  map[string]string // hashes of those that belong to a flow, by path
}

// add keeps a document, or each of a list.
func (l *loads) add(v any) {
	list, several := v.([]any)
	if !several {
		list = []any{v}
	}
	for _, one := range list {
		doc := formats.As[object](one)
		l.paths = append(l.paths, paths(doc["path"])...)
		if sum := formats.As[string](doc["sha256"]); sum != "" {
			l.sums[formats.As[string](doc["path"])] = sum
		}
	}
}

// loader reads what the block `yaml args` loads.
type loader struct {
	frame frame
	env   env
	docs  Docs
	into  *loads
}

func (ld loader) value(l *syntax.Load) (any, error) {
	key := "load " + l.Name.Text
	switch {
	case l.Document != nil:
		v, err := observe(ld.frame, "", key, func() (any, error) {
			return ld.document(l)
		})
		v = normalize(v)
		ld.into.add(v)
		return v, err
	case l.Files != nil:
		found, err := observe(ld.frame, "", key, func() ([]string, error) {
			return ld.files(l)
		})
		if err != nil || len(found) == 0 && l.Optional {
			return nil, err
		}
		ld.warnDuplicates(l, found)
		return listOf(found), nil
	}

	e := cmp.Or(l.Task, l.Expr)
	v, err := ld.env.eval(e, nil)
	if err == nil && v == nil && !l.Optional {
		err = ld.notFoundError(l, "nothing found for '"+l.Name.Text+"': "+e.Src)
	}
	return v, err
}

// files are the files that match the patterns of a load.
func (ld loader) files(l *syntax.Load) ([]string, error) {
	texts, err := ld.fillTexts(l.Files)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for _, p := range texts {
		patterns = append(patterns, expandBraces(p)...)
	}
	return ld.docs.Glob(ld.frame.ctx, patterns)
}

// warnDuplicates warns of each document that is both in docs/ and in the root, if the load names
// it.
func (ld loader) warnDuplicates(l *syntax.Load, found []string) {
	for _, t := range l.Files {
		for _, name := range expandBraces(t.String()) {
			if slices.Contains(found, name) && slices.Contains(found, "docs/"+name) {
				ld.warnDuplicate("docs/"+name, name)
			}
		}
	}
}

func (ld loader) warnDuplicate(first, second string) {
	text := "W465: both " + first + " and " + second + " exist; the first is used"
	if !slices.Contains(ld.frame.run.report.warnings, text) {
		ld.frame.run.report.warn("%s", text)
	}
}

// fillTexts evaluates texts of the block `yaml args`.
func (ld loader) fillTexts(list []*syntax.Text) (out []string, err error) {
	for _, t := range list {
		one, err := ld.env.text(t, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// expandBraces expands docs/{A,B}.md to the two patterns that it means.
func expandBraces(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{pattern}
	}
	var out []string
	for one := range strings.SplitSeq(inner, ",") {
		out = append(out, expandBraces(before+one+after)...)
	}
	return out
}

func (ld loader) notFoundError(l *syntax.Load, what string) error {
	help := "/" + ld.frame.run.prog.Name + " needs '" + l.Name.Text + "' before it can start"
	place := ld.frame.run.placeOf(l.Name.Pos)
	return formats.Fail(formats.CodeNotFound, help, "%s: %s", place, what)
}

// noDocumentError refuses a task that has no document of a profile, and says what makes one.
func (ld loader) noDocumentError(l *syntax.Load, profile string) error {
	tasks := &ld.frame.run.tasks
	var with []formats.TaskStatus
	for _, s := range formats.TaskStatuses() {
		if slices.Contains(formats.ArtifactsFor(s), formats.ArtifactType(profile)) {
			with = append(with, s)
		}
	}

	if tasks.commandTask == nil || with == nil {
		return ld.notFoundError(l, "no "+profile+" found: its path is empty")
	}
	return formats.Fail(formats.CodeNotFound, tasks.adviceToReach(with), "%s: task %d has no %s",
		ld.frame.run.placeOf(l.Name.Pos), tasks.commandTask.Number, profile)
}

// document parses the first candidate that exists; a second one is a warning. With files it
// parses all of them.
func (ld loader) document(l *syntax.Load) (any, error) {
	profile := l.Document.Profile.Text
	if l.Files != nil {
		found, err := ld.files(l)
		list := []any{}
		for _, name := range found {
			var doc any
			if src, cause := ld.docs.Open(ld.frame.ctx, name); cause != nil {
				err = errors.Join(err, cause)
			} else if doc, cause = ld.parse(profile, name, src); cause != nil {
				err = errors.Join(err, cause)
			}
			list = append(list, doc)
		}
		return list, err
	}

	candidates, err := ld.fillTexts(l.Document.Path)
	if err != nil {
		return nil, err
	}

	if l.Document.Expr != nil {
		v, err := ld.env.eval(l.Document.Expr, nil)
		if err != nil {
			return nil, err
		}
		candidates = paths(v)
	}

	if profile == documents.ProfileAutoApprove { // only the file that answers for this run counts
		candidates = slices.DeleteFunc(candidates, func(name string) bool {
			return name != ld.frame.run.cfg.Consent.File
		})
	}

	var found string
	var src []byte
	for _, path := range candidates {
		data, err := ld.docs.Open(ld.frame.ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if found != "" {
			ld.warnDuplicate(found, path)
			break
		}
		found = path
		src = data
	}

	switch {
	case found != "":
	case l.Optional:
		return nil, nil
	case len(candidates) == 0:
		return nil, ld.noDocumentError(l, profile)
	default:
		for i, path := range candidates {
			candidates[i] = strconv.Quote(path)
		}
		return nil, ld.notFoundError(l, "no "+profile+" found at "+strings.Join(candidates, ", "))
	}

	return ld.parse(profile, found, src)
}

// parse gives a document as jq sees it. A document of a flow has the hash of its text, because a
// run that is resumed asks before it goes on with a changed one.
func (ld loader) parse(profile, found string, src []byte) (any, error) {
	doc, bad := documents.Options{
		Lenient:  true,
		Profiles: ld.frame.run.cfg.Profiles,
		Exists: func(name string) bool {
			_, err := ld.docs.Open(ld.frame.ctx, name)
			return err == nil
		},
	}.Parse(profile, found, src)

	handoff := documents.IsHandoff(profile)
	if bad.HasErrors() && !handoff {
		bad.Of = formats.CodeValidationFailed
		return nil, bad
	}
	// A check would find these; for rules nothing else reports them.
	unchecked := ld.frame.run.dry.on || profile == documents.ProfileRules
	if bad != nil && unchecked && handoff {
		for _, d := range bad.List {
			ld.frame.run.report.warn("%s", d.Error())
		}
	}

	out := doc.Any()
	if handoff {
		out["sha256"] = formats.Sum(src)
	} else {
		ld.warnFormat(profile, found, bad)
	}
	return out, nil
}

// warnFormat warns once of all places in which a document breaks its profile.
func (ld loader) warnFormat(profile, name string, d *formats.Diagnostics) {
	if d == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(d.List), func(one formats.Diagnostic) bool {
		return strings.HasPrefix(one.Code, "W") // of every document
	})
	if len(list) > 0 {
		first := list[0]
		ld.frame.run.report.warn(
			"%s breaks its format in %s, which does not matter here; the first is %d:%d: %s; to "+
				"see all: %s",
			name, formats.Count(len(list), "place"), first.Pos.Line, first.Pos.Col,
			first.Message, "tercet check --profile "+profile+" "+name,
		)
	}
}

// paths reads a path or a list of paths, and ignores everything else.
func paths(v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, paths(one)...)
		}
		return out
	}
	return nil
}
