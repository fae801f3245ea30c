package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/lint"
	"tercet/formats"
	"tercet/subagents"
	"tercet/templates/meta"
)

// Lint checks the text of a command, a subagent or a document of a task as if it were the file at a
// path, relative to the project. The file need not exist, or may hold something else: an editor has
// not saved it yet.
func (p *Project) Lint(
	ctx context.Context, name string, text []byte,
) ([]formats.Diagnostic, error) {
	s, err := p.readingSession(ctx)
	if err != nil {
		return nil, err
	}

	if profile := p.profileOf(name); profile != "" {
		_, found, err := s.Check(name, text, CheckOptions{Profile: profile})
		return found.List, err
	}

	full := p.absolute(name)
	list := s.Lint(full, text, false).List
	for i := range list {
		if list[i].File == full {
			list[i].File = name
		}
	}
	return list, nil
}

// Lint gives the findings of the text of a command or subagent file, which need not be saved. The
// name is that of the file; empty: the one that the text gives itself.
func (s *Session) Lint(name string, text []byte, strict bool) *formats.Diagnostics {
	if name == "" {
		name = lint.InputName(text)
	}
	d := &formats.Diagnostics{
		List:    lint.File(s.Library, name, text, strict),
		Sources: map[string][]byte{name: text},
	}
	d.Sort()
	return d
}

// Format gives the standard form of the text of a command or a subagent. The error of a text that
// cannot be read is a *formats.Diagnostics. A document and a file of another tool keep their form.
func (p *Project) Format(ctx context.Context, name string, text []byte) ([]byte, error) {
	if p.profileOf(name) != "" {
		return text, nil
	}
	s, err := p.readingSession(ctx)
	if err != nil {
		return nil, err
	}
	if lint.Foreign(s.Library, p.absolute(name)) {
		return text, nil
	}
	return lint.Format(s.Library, name, text, false)
}

// Symbols gives the headings and steps of a text as a tree.
func (p *Project) Symbols(name string, text []byte) []formats.Symbol {
	return lint.Symbols(p.absolute(name), text)
}

// readingSession makes a session that only reads files. Problems in other files are not reported.
func (p *Project) readingSession(ctx context.Context) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.Session(Options{TellsBroken: true})
}

// absolute is the full path of a file of the project.
func (p *Project) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, filepath.FromSlash(name))
}

// profileOf is the profile of a document in the folder of a task; empty for any other file.
func (p *Project) profileOf(name string) string {
	folder := p.Config.Specs
	if folder == "" {
		folder = formats.Specs
	}

	inside := filepath.ToSlash(name)
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(p.Dir, name)
		if err != nil {
			return ""
		}
		inside = filepath.ToSlash(rel)
	}

	profile := string(formats.GuessArtifactType(inside))
	if !strings.HasPrefix(path.Clean(inside), folder+"/") ||
		!slices.Contains(p.Profiles.Names(), profile) {
		return ""
	}
	return profile
}

// Fixing says what LintFiles writes.
type Fixing string

// The kinds of Fixing.
const (
	FixNothing Fixing = ""
	FixForm    Fixing = "form" // the standard form alone
	FixAll     Fixing = "all"  // also the corrections that have one candidate
)

// LintOptions say how files are checked.
type LintOptions struct {
	Strict bool // warnings and plain sentences are errors
	Fix    Fixing
	DryRun bool // nothing is written
	Expand bool // with Fix: plain sentences become blocks
}

// LintReport is what was found in files, and what was done to them.
type LintReport struct {
	Files   int
	Found   *formats.Diagnostics
	Changed []string             // files that were rewritten, or would be
	Made    []formats.Diagnostic // the corrections
	Foreign []string             // with FixForm: files of other tools, which have no form
	Broken  *formats.Diagnostics // subagent files that cannot be used and are not among the files

	agreed    map[string]string // SHA-256 of the files that the user agreed to, by full path
	rewritten map[string][]byte // of these, the ones that were rewritten, by path in the project
}

// Code is that of a failure: there are errors, or with DryRun a file would change. It is empty
// if there is none.
func (r *LintReport) Code(o LintOptions) formats.Code {
	switch {
	case r.Found.HasErrors():
		return formats.CodeInvalidCommand
	case o.DryRun && len(r.Changed) > 0:
		return formats.CodeUnknown
	}
	return ""
}

// LintFiles checks command and subagent files and those in folders, and fixes them. Without any
// such file it fails with CodeUsage, unless the project itself was to be checked.
func (s *Session) LintFiles(paths []string, o LintOptions) (*LintReport, error) {
	files, unread, err := lint.Files(s.Library, paths)
	if err != nil {
		return nil, err
	}
	nothing := len(files) == 0 && len(unread) == 0
	if nothing && !slices.ContainsFunc(paths, s.Project.isProjectFolder) {
		return nil, formats.Fail(formats.CodeUsage,
			"name a command or subagent file, or a folder that holds one",
			"no command and no subagent file to check in %s", strings.Join(paths, ", "))
	}

	r := &LintReport{Files: len(files), Changed: []string{}}
	if o.Fix != FixNothing && !o.DryRun {
		r.agreed = s.agreedFiles()
		r.rewritten = map[string][]byte{}
		defer s.trustRewritten(r)
	}
	if o.Fix == FixForm {
		return r, s.formatFiles(r, files, unread, o)
	}

	r.Found, err = lint.Each(
		files,
		func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
			return s.lintFile(r, name, src, o)
		},
	)
	if err != nil {
		return nil, err
	}

	r.Found.List = append(r.Found.List, unread...)
	r.Found.List = append(r.Found.List, s.agentNameFindings(files)...)
	r.Found.Sort()

	if s.Broken != nil { // why a command does not find a subagent whose file is not checked
		r.Broken = &formats.Diagnostics{
			List: slices.DeleteFunc(slices.Clone(s.Broken.List), func(d formats.Diagnostic) bool {
				return slices.ContainsFunc(files, func(name string) bool {
					return filepath.Base(name) == filepath.Base(d.File)
				})
			}),
		}
	}
	return r, nil
}

// isProjectFolder reports whether a path leads to the folder of the project or its workspace.
func (p *Project) isProjectFolder(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return false
	}
	for _, dir := range []string{p.Dir, filepath.Join(p.Dir, formats.Workspace)} {
		whole, err := os.Stat(dir)
		if err == nil && os.SameFile(info, whole) {
			return true
		}
	}
	return false
}

// agreedFiles are the files of the project that the user agreed to; none inside a run, whose
// workers must not give files their trust.
func (s *Session) agreedFiles() map[string]string {
	if s.Project.mayWrite() != nil {
		return nil
	}
	v, err := s.Project.Trust.Verdict()
	if err != nil || v.Store == nil {
		return nil
	}

	out := map[string]string{}
	for _, f := range v.All() {
		if f.Kind == "trusted" {
			out[s.Project.absolute(f.Path)] = f.SHA256
		}
	}
	return out
}

// noteRewritten remembers a file that was just corrected, if the user had agreed to it.
func (s *Session) noteRewritten(r *LintReport, name string, before, after []byte) {
	full, err := filepath.Abs(name)
	if err != nil || r.agreed[full] == "" || r.agreed[full] != formats.Sum(before) {
		return
	}
	if inside, err := filepath.Rel(s.Project.Dir, full); err == nil {
		r.rewritten[filepath.ToSlash(inside)] = after
	}
}

// trustRewritten agrees to the files that tercet corrected at the wish of the user, who agreed to
// them as they were.
func (s *Session) trustRewritten(r *LintReport) {
	if len(r.rewritten) == 0 {
		return
	}
	s.Project.TrustAccepted(r.rewritten)
}

// lintFile checks one file, and mends it if it should. It gives the text that the findings are
// about.
func (s *Session) lintFile(
	r *LintReport, name string, src []byte, o LintOptions,
) ([]byte, []formats.Diagnostic, error) {
	if o.Fix == FixNothing {
		return src, lint.File(s.Library, name, src, o.Strict), nil
	}

	m, err := lint.Mend(s.Library, name, src, o.Strict, o.Expand)
	if err != nil {
		return nil, nil, err
	}
	changed := !bytes.Equal(m.Text, src)
	if changed {
		r.Changed = append(r.Changed, name)
	}

	if o.DryRun {
		return src, lint.File(s.Library, name, src, o.Strict), nil
	}
	if changed {
		if err := lint.Rewrite(name, src, m.Text); err != nil {
			return nil, nil, err
		}
		s.noteRewritten(r, name, src, m.Text)
	}
	r.Made = append(r.Made, m.Made...)
	return m.Text, m.Left, nil
}

// formatFiles gives command and subagent files the one form that their blocks have.
func (s *Session) formatFiles(
	r *LintReport, files []string, unread []formats.Diagnostic, o LintOptions,
) error {
	ownFiles := slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		return lint.Foreign(s.Library, name)
	})
	r.Foreign = slices.DeleteFunc(files, func(name string) bool {
		return slices.Contains(ownFiles, name)
	})

	r.Broken = &formats.Diagnostics{List: unread}
	var err error
	r.Found, err = lint.Each(
		ownFiles,
		func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
			out, err := lint.Format(s.Library, name, src, o.Expand)
			if err != nil || bytes.Equal(src, out) {
				return src, nil, err
			}
			r.Changed = append(r.Changed, name)
			if o.DryRun {
				return src, nil, nil
			}

			err = lint.Rewrite(name, src, out)
			if err == nil {
				s.noteRewritten(r, name, src, out)
			}
			return src, nil, err
		},
	)

	if err == nil {
		r.Found.Sort()
	}
	return err
}

// agentNameFindings gives the findings about the names of agent files of other tools, which only
// show when all of these files are read together.
func (s *Session) agentNameFindings(files []string) (out []formats.Diagnostic) {
	for _, d := range s.AgentNotes {
		i := slices.IndexFunc(files, func(name string) bool {
			full, err := filepath.Abs(name)
			return err == nil && full == filepath.Join(s.Project.Dir, filepath.FromSlash(d.File))
		})
		if i >= 0 && subagents.OfNames(d) {
			d.File = files[i]
			out = append(out, d)
		}
	}
	return out
}

// Mend is LintFiles with FixAll or FixForm for a text without a file. It gives the mended text;
// what is left to do in it is in the report. The error of a text that has no form is that of
// Format.
func (s *Session) Mend(text []byte, o LintOptions) ([]byte, *LintReport, error) {
	r := &LintReport{Files: 1, Found: &formats.Diagnostics{}}
	if o.Fix == FixForm {
		out, err := lint.Format(s.Library, "-", text, o.Expand)
		return out, r, err
	}

	name := lint.InputName(text)
	m, err := lint.Mend(s.Library, name, text, o.Strict, o.Expand)
	if err != nil {
		return nil, nil, err
	}

	r.Made = m.Made
	r.Found.List = m.Left
	r.Found.Sources = map[string][]byte{name: m.Text}
	r.Found.Sort()
	return m.Text, r, nil
}

// Adopted is a workflow that was drafted from a prompt of another tool.
type Adopted struct {
	From  string   `json:"from"`
	File  string   `json:"file"`
	Notes []string `json:"notes"` // what could not be translated
	// Lines say what became of each line of the prompt, and Shown the same as text.
	Lines []meta.Lines `json:"lines"`
	Shown []string     `json:"-"`
}

// acceptDraft asks before a draft hides the prompt that it was made of, or another command. One
// that hides nothing takes nothing away.
func (s *Session) acceptDraft(ctx context.Context, from string, d meta.Draft) error {
	if len(d.Hides) == 0 {
		return nil
	}

	show := meta.Shown(from, d.Lines)
	for _, f := range d.Files {
		show = append(show, "+++ "+f.Name)
		for line := range strings.Lines(string(f.Data)) {
			show = append(show, "+"+strings.TrimRight(line, "\r\n"))
		}
	}
	name := strings.TrimSuffix(path.Base(d.File), ".md")
	return s.Confirm(ctx, show, fmt.Sprintf("write %s, so that /%s runs it and no longer %s?",
		d.File, name, strings.Join(d.Hides, ", ")))
}

// Adopt writes the draft of a workflow beside each prompt of another tool that the paths name. It
// asks before one hides a command: see Confirm. It gives those that were written also beside an
// error, which joins those of the others.
func (s *Session) Adopt(ctx context.Context, paths []string) ([]Adopted, error) {
	if err := s.Project.mayWrite(); err != nil {
		return nil, err
	}

	files, _, errs := lint.Files(s.Library, paths)
	builder := meta.New(s.Project.Root, s.Set, s.Catalog)
	agreed := s.agreedFiles()
	out := []Adopted{}
	for _, name := range files {
		file := filepath.ToSlash(name)
		if full, err := filepath.Abs(name); err == nil {
			if inside, err := filepath.Rel(s.Project.Dir, full); err == nil {
				file = filepath.ToSlash(inside)
			}
		}

		draft, err := builder.Adopt(ctx, file, func(d meta.Draft) error {
			return s.acceptDraft(ctx, file, d)
		})
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}

		if full := s.Project.absolute(file); agreed[full] == formats.Sum(draft.From) {
			s.Project.TrustAccepted(meta.Texts(draft.Files)) // what the prompt says was agreed to
		}

		out = append(out, Adopted{
			From:  file,
			File:  draft.File,
			Notes: append([]string{}, draft.Notes...),
			Lines: draft.Lines,
			Shown: meta.Shown(file, draft.Lines),
		})
	}
	return out, errs
}
