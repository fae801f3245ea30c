package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
	"tercet/internal/keys"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/router"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// MayCommand refuses slash commands and writes inside a subagent, and where the user's keys cannot
// be relied on.
func (h *Host) MayCommand() error {
	if h.insideRun() {
		return formats.Fail(
			formats.CodeDenied,
			"reads such as 'tercet query' work; return what you want done instead",
			"a subagent may not start commands",
		)
	}
	if home := h.StateHome(); home != "" {
		return keys.Check(home)
	}
	return nil
}

// insideRun reports whether a subagent started this process.
func (h *Host) insideRun() bool {
	return h.InsideRun != nil && h.InsideRun()
}

// mayWrite refuses writes where MayCommand does, and without a workspace.
func (p *Project) mayWrite() error {
	if err := p.Host.MayCommand(); err != nil {
		return err
	}
	if !p.HasWorkspace {
		return NoWorkspace()
	}
	return nil
}

// MayStart lets a slash command run in a trusted project, and asks the user for the trust. The
// help of the program itself needs none, and keeps no run then.
func (s *Session) MayStart(ctx context.Context, r formats.Invocation) error {
	if !s.Project.HasWorkspace || r.DryRun {
		return nil
	}
	v, err := s.Project.Trust.Verdict()
	if err != nil {
		return err
	}

	if s.mayRunUnasked(v, r) {
		s.Project.Trust.Pass(v)
		return nil
	}

	p, foreign := s.Project.foreignPlaces[r.Source]
	switch {
	case len(v.Unasked) > 0: // this line reaches one of them
	case v.By == trust.ByEnvironment: // doctor and trust --show tell it
		return nil
	case v.By != "" && foreign && p.Scope == dialect.Project && !fs.ValidPath(p.Dir):
		return formats.Fail(formats.CodeUntrusted,
			"copy it into the project, or set TERCET_TRUST=1 to accept this checkout as it is",
			"%s lies above the project, and trust in the project does not cover it",
			path.Join(r.Source, r.File))
	case v.By != "":
		return nil
	case r.Name == "help" && r.Source == LibrarySource:
		s.readOnly = true
		return nil
	}

	v.Needed = s.neededChanges(v, r)
	if v.Note != nil {
		s.Project.note("warning: %v", v.Note)
	}
	if !s.Project.Host.Frontend.Interactive() {
		return v.Refused()
	}

	ok, err := s.Project.Host.Frontend.AskTrust(ctx, s, v)
	switch {
	case err != nil:
		return err
	case !ok:
		return formats.Fail(formats.CodeUntrusted,
			"'tercet trust --show' shows what these files do", "not trusted: %s", s.Project.Dir)
	}

	if err := s.Project.Trust.Agree(v); err != nil {
		s.Project.note("warning: the answer holds for this process only: %v", err)
	}
	return nil
}

// mayRunUnasked reports whether a line may run although files need the user's agreement: the user
// agreed to this project before, and the line can reach none of these files.
func (s *Session) mayRunUnasked(v *trust.Verdict, r formats.Invocation) bool {
	if r.File == "" || len(v.Changes) == 0 || !v.Known() {
		return false
	}
	if v.By != "" && len(v.Unasked) == 0 {
		return false
	}
	return len(s.reachedChanges(v, r)) == 0
}

// neededChanges lists the files that the question before a line is about; nil: all of them. A
// project that the user never agreed to is asked about as a whole where the line itself needs no
// file.
func (s *Session) neededChanges(v *trust.Verdict, r formats.Invocation) []trust.Change {
	if r.File == "" {
		return nil
	}
	return s.reachedChanges(v, r)
}

// reachedChanges lists the changes that a line can reach: all but other commands of the project,
// because a command runs no other one. Agent CLIs read the commands of other tools, so these count.
func (s *Session) reachedChanges(v *trust.Verdict, r formats.Invocation) (out []trust.Change) {
	for _, c := range v.Changes {
		i := slices.IndexFunc(v.Files, func(f trust.Listed) bool { return f.Path == c.Path })
		own := i >= 0 && v.Files[i].Kind == trust.KindCommand
		if own {
			_, foreign := s.Project.foreignPlaces[v.Files[i].Source]
			own = !foreign
		}
		if !own || c.Path == path.Join(r.Source, r.File) {
			out = append(out, c)
		}
	}
	return out
}

// TrustQuestion says what a command asks about the project before it runs; empty: it asks nothing.
func (s *Session) TrustQuestion(file string) string {
	if !s.Project.HasWorkspace || file == LibrarySource+"/help.md" {
		return ""
	}
	v, err := s.Project.Trust.Verdict()
	if err != nil || v.By != "" {
		return ""
	}
	if len(v.Changes) == 0 {
		return "git and this project's own checks would run here"
	}
	return "you have not agreed to " + v.Pending()
}

// LeadsTo says what a listed file leads to: the command and the subagents it names, the program it
// starts.
func (s *Session) LeadsTo(v *trust.Verdict, f trust.Change) string {
	i := slices.IndexFunc(v.Files, func(one trust.Listed) bool {
		return one.Path == f.Path
	})
	if i < 0 {
		return ""
	}
	one := v.Files[i]
	switch {
	case f.Problem != "":
		return one.Kind + " that " + f.Problem
	case one.Kind == trust.KindCommand:
		return s.describeCommand(one)
	case one.Kind == trust.KindSubagent, one.Kind == trust.KindAgent:
		return s.describeSubagent(one)
	}
	return one.Kind
}

func (s *Session) describeCommand(f trust.Listed) string {
	prog, c, err := s.Library.Load(f.Source, f.File)
	switch {
	case err != nil:
		return "a command that cannot be read"
	case c != nil:
		words := []string{"/" + c.Name + " (" + c.Dialect.String() + ")"}
		for _, m := range c.Marks() {
			words = append(words, m.Does+" "+m.Text)
		}
		return strings.Join(words, "; ")
	}
	return "/" + prog.Name + formats.Prefixed(": ", strings.Join(outline.Of(prog).Agents(), ", "))
}

func (s *Session) describeSubagent(f trust.Listed) string {
	for _, name := range s.Set.Names() {
		if def, _, ok := s.Set.Lookup(name, ""); ok && def.File == f.Path {
			if len(def.Argv) > 0 {
				return fmt.Sprintf("subagent %s, runs %q", name, def.Argv)
			}
			runners := strings.Join(def.Info.Runner, ", ")
			return "subagent " + name + formats.Prefixed(", runner ", runners)
		}
	}
	return f.Kind + " that is not used"
}

// newTrustGate makes the gate of the project: it decides what of it may start a program.
func (p *Project) newTrustGate() *trust.Gate {
	override := ""
	switch {
	case p.Host.Env("TERCET_TRUST") == "1":
		override = trust.ByEnvironment
	case p.Host.OwnProject == p.Dir:
		override = trust.ByDemo
	}

	return trust.New(trust.Config{
		Root:         p.Root,
		Dir:          p.Dir,
		RecordOf:     p.Host.TrustedAs,
		Home:         p.Host.StateHome(),
		Digests:      p.Host.Trust,
		Override:     override,
		Agreed:       p.Host.Agreed,
		Others:       p.listOwnFiles,
		Now:          p.Host.Clock.Now,
		Settings:     agentcli.Settings(),
		Instructions: p.instructionNames,
		Argv: func(name string, src []byte) []string {
			def, err := subagents.ParseDefinition(name, src)
			if err != nil {
				return nil // a file that cannot be read starts nothing
			}
			words := slices.Clone(def.Argv)
			if def.ResolveServers(atomicfile.FS(p.Root)) == nil {
				for _, s := range def.Servers {
					words = append(words, s.Words()...)
				}
			}
			return words
		},
	})
}

// FreshVerdict judges the files of the project as they are now, after a change of them. It lists
// the commands again, so no session may be at work meanwhile.
func (p *Project) FreshVerdict() (*trust.Verdict, error) {
	if err := p.scan(); err != nil {
		return nil, err
	}
	return p.newTrustGate().Verdict()
}

// listOwnFiles lists the commands of the project and the agents of other tools in it, and the
// folders of both.
func (p *Project) listOwnFiles() (files []trust.Listed, folders []string, _ error) {
	for _, e := range p.Table.Files() {
		if p.isOwnSource[e.Source] {
			files = append(files, trust.Listed{
				Path:   path.Join(e.Source, e.File),
				Kind:   trust.KindCommand,
				Source: e.Source,
				File:   e.File,
			})
		}
	}

	folders = slices.Clone(p.folders)
	for _, f := range p.agentFolders() {
		if !belongsToProject(f.Place) {
			continue
		}
		folders = append(folders, f.Dir)
		for _, name := range f.AgentFiles() {
			files = append(files, trust.Listed{
				Path: path.Join(f.Dir, name),
				Kind: trust.KindAgent,
			})
		}
	}

	for _, name := range p.finder().PluginFiles() {
		files = append(files, trust.Listed{Path: name, Kind: trust.KindSettings})
	}
	return files, folders, nil
}

// allow is asked before any process is started.
func (p *Project) allow(_ context.Context, c proc.Command) error {
	return p.Trust.Allow(trust.Process{
		Argv:  c.Argv,
		Dir:   c.Dir,
		Git:   c.Purpose == proc.PurposeGit,
		Agent: c.Purpose == proc.PurposeAgent || c.Purpose == proc.PurposeNotice,
	})
}

// TrustedBy tells who trusts the project; empty: no user does.
func (p *Project) TrustedBy() string {
	v, err := p.Trust.Verdict()
	if err != nil {
		return ""
	}
	return v.By
}

// Guard looks, before and after a subagent works, at what it must leave alone. That is what git
// runs, and the files of the workspace that start programs. A change ends the run.
func (p *Project) Guard(
	ctx context.Context,
	r formats.Request,
) (func() ([]formats.Moved, error), error) {
	tamper := func(what string) error { return p.Trust.Tamper(r.Agent, what) }

	refs, err := p.Trees.WatchRefs(r.Dir)
	if err != nil {
		return nil, err
	}
	git, err := refs.Guard(ctx, r, tamper)
	if err != nil || !p.HasWorkspace {
		return git, err
	}

	own, err := p.Trust.Watch(r.Agent)
	return func() ([]formats.Moved, error) {
		moved, err := git()
		return moved, errors.Join(err, own())
	}, err
}

// CheckDigests is an error if a text is no list of digests that a user can agree to.
func CheckDigests(text string) error {
	return trust.CheckDigests(text)
}

// TrustWritten agrees, in the name of the user, to what init has just written to a folder, and to
// no other file: earlier ones are asked about when they are used.
func (h *Host) TrustWritten(dir string, written []string) error {
	if len(written) == 0 {
		return nil
	}

	files := map[string][]byte{}
	if slices.Contains(written, ConfigFile) {
		data, err := atomicfile.ReadPath(filepath.Join(dir, ConfigFile))
		if err != nil {
			return err
		}
		files[ConfigFile] = data
	}
	return trust.Remember(h.StateHome(), dir, files, h.Clock.Now())
}

// TrustAccepted agrees, in the name of the user, to texts that the user just accepted for files of
// this project.
func (p *Project) TrustAccepted(texts map[string][]byte) {
	if len(texts) == 0 {
		return
	}
	h := p.Host
	if err := trust.Remember(h.StateHome(), p.Dir, texts, h.Clock.Now()); err != nil {
		p.note("warning: the next command asks about the written files: %v", err)
	}
}

// metaGate begins the path of the step of /meta that asks whether its files are written.
const metaGate = "accept#"

// metaFiles are the files that /meta wrote, and whether the user accepted them.
type metaFiles struct {
	accepted bool // by the user or by --yes, in this process
	texts    map[string][]byte
}

// noteMeta notes that the user accepted what /meta writes.
func (s *Session) noteMeta(g formats.Gate, d formats.Decision) {
	by := d.Person && d.Channel == "" || d.By == formats.ByYes
	if by && strings.HasPrefix(g.Step, metaGate) && d.Answer == "write" {
		s.metaFiles.accepted = true
	}
}

// trustMeta agrees to the files that /meta wrote once the user accepted them. Only the shipped
// command shows what it writes, so the files of another workflow are asked about.
func (s *Session) trustMeta(r router.Route, ret formats.Return) {
	w := s.metaFiles
	s.metaFiles = metaFiles{}
	if w.accepted && r.Source == LibrarySource && r.Name == "meta" &&
		ret.Status == formats.StatusCompleted {
		s.Project.TrustAccepted(w.texts)
	}
}
