package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/router"
	"tercet/subagents"
)

// listedFile is a file of a project that can start a program, with what it is.
type listedFile struct {
	path, kind   string
	source, file string // of a command: where the table has it
}

// The kinds of listed files.
const (
	kindConfig   = "configuration"
	kindApproval = "auto-approve file"
	kindCommand  = "command"
	kindSubagent = "subagent"
	kindProgram  = "program of a subagent"
	kindSpeaker  = "program of a runner"
	kindAgent    = "agent of another tool"
	kindSettings = "settings of another tool"
)

// autoApproves are the files of a project root that answer its gates; the first that is there counts.
func autoApproves() []string {
	return []string{formats.Workspace + "/auto-approve", ".aphelion-auto-approve", ".telescope-auto-approve"}
}

// toolSettings are files of other tools that name programs: an agent that is started in the project reads them.
func toolSettings() []string {
	return []string{
		".mcp.json", ".claude/settings.json", ".claude/settings.local.json", "opencode.json", "opencode.jsonc", ".opencode/opencode.json",
		".opencode/opencode.jsonc", ".claude-plugin/marketplace.json",
		".gemini/settings.json", ".codex/config.toml", ".cursor/mcp.json", ".cursor/hooks.json", ".vscode/mcp.json",
	}
}

// ownFolders are the folders of the workspace of which every file is listed.
func ownFolders() map[string]string {
	return map[string]string{
		formats.Workspace + "/facets": "facet", formats.Workspace + "/templates": "template", formats.Workspace + "/hooks": "hook",
		".claude/hooks": kindSettings, ".opencode/plugin": kindSettings, ".opencode/plugins": kindSettings,
	}
}

// listing gives every file of the project that can start a program, in order. Nothing in .git is looked at.
func (a *app) listing(dir string, root *os.Root, cfg config.Config) ([]listedFile, error) {
	out := []listedFile{{path: formats.Workspace + "/config.yaml", kind: kindConfig}}
	for _, name := range autoApproves() {
		out = append(out, listedFile{path: name, kind: kindApproval})
	}
	for _, name := range toolSettings() {
		out = append(out, listedFile{path: name, kind: kindSettings})
	}
	for folder, kind := range ownFolders() {
		out = append(out, below(root, folder, kind)...)
	}
	sources := ownSources(root, cfg, nil)
	for _, p := range append(a.commandPlaces(dir, root), a.plugins(dir, root, false)...) {
		if ofProject(p.Place) {
			sources = append(sources, p.source())
		}
	}
	for _, s := range sources {
		table, err := router.Scan(nil, s)
		if err != nil {
			return nil, err
		}
		for _, e := range table.Commands() {
			out = append(out, listedFile{path: path.Join(s.Name, e.File), kind: kindCommand, source: e.Source, file: e.File})
		}
	}
	out = append(out, ownSubagents(root)...)
	out = append(out, speakerPrograms(root.Name(), cfg)...)
	for _, p := range append(a.present(dir, root, dialect.AgentPlaces(a.homes())), a.plugins(dir, root, true)...) {
		if !ofProject(p.Place) {
			continue
		}
		err := p.agentFiles(func(name string) error {
			out = append(out, listedFile{path: path.Join(p.Dir, name), kind: kindAgent})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	// What an extension of Gemini CLI names besides its commands: servers, hooks. It comes last, so that a command stays one.
	out = append(out, below(root, ".gemini/extensions", kindSettings)...)
	slices.SortStableFunc(out, func(x, y listedFile) int { return cmp.Compare(x.path, y.path) })
	return slices.CompactFunc(out, func(x, y listedFile) bool { return x.path == y.path }), nil
}

// ofProject tells whether a place of another tool came with the project: a plugin may lie in it as well.
func ofProject(p dialect.Place) bool {
	return (p.Scope == dialect.Project || p.Scope == dialect.Plugin) && fs.ValidPath(p.Dir)
}

// below lists the files of a folder, hidden ones too.
func below(root *os.Root, folder, kind string) []listedFile {
	var out []listedFile
	err := fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || len(out) > trust.MaxFiles {
			return fs.SkipAll
		}
		if !d.IsDir() {
			out = append(out, listedFile{path: name, kind: kind})
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// ownSubagents lists the project's subagent files, and the files of the project that they name as programs.
func ownSubagents(root *os.Root) []listedFile {
	const folder = formats.Workspace + "/subagents"
	files, err := fs.Glob(rooted{root: root.FS(), dir: folder}, "*.md")
	if err != nil {
		return nil
	}
	var out []listedFile
	for _, file := range files {
		name := path.Join(folder, file)
		out = append(out, listedFile{path: name, kind: kindSubagent})
		src, err := readSome(rooted{root: root.FS(), dir: folder}, file)
		if err != nil {
			continue
		}
		def, err := subagents.ParseDefinition(name, src)
		if err != nil {
			continue // a file that cannot be read starts nothing
		}
		for _, word := range def.Argv {
			if inside, ok := inProject(root.Name(), word); ok {
				out = append(out, listedFile{path: inside, kind: kindProgram})
			}
		}
	}
	return out
}

// inProject gives the path below the project root that a word of a command line stands for, if it is one.
func inProject(dir, word string) (string, bool) {
	if filepath.IsAbs(word) {
		rel, err := filepath.Rel(dir, word)
		if err != nil {
			return "", false
		}
		word = rel
	}
	word = path.Clean(filepath.ToSlash(word))
	return word, word != "." && filepath.IsLocal(filepath.FromSlash(word)) && fs.ValidPath(word)
}

// verdict is what is known about the trust in a project: who gave it, and what nobody has agreed to.
type verdict struct {
	by       string // empty: nobody
	files    []listedFile
	manifest trust.Manifest
	changes  []trust.Change
	record   trust.Record
	store    *trust.Store // nil: there is no place for a record
	note     error        // why not
}

// The words for who trusts a project.
const (
	byRecord      = "you"
	byDigest      = "--trust"
	byEnvironment = "environment"
	byDemo        = "demo"
)

// trustee holds the verdict of a world; processes are started side by side.
type trustee struct {
	mu   sync.Mutex
	have *verdict
}

// trust gives the verdict of the project, made once a world.
func (w *world) trust() (*verdict, error) {
	w.trustee.mu.Lock()
	defer w.trustee.mu.Unlock()
	if w.trustee.have == nil {
		v, err := w.app.judge(w.dir, w.root, w.cfg)
		if err != nil {
			return nil, err
		}
		w.trustee.have = v
	}
	return w.trustee.have, nil
}

// judge compares what is listed with what a person agreed to. It reads and asks nobody.
func (a *app) judge(dir string, root *os.Root, cfg config.Config) (*verdict, error) {
	files, err := a.listing(dir, root, cfg)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.path
	}
	v := &verdict{files: files}
	if v.manifest, err = trust.Read(root, names); err != nil {
		return nil, &formats.Failure{Code: formats.CodeIO, Message: "files that can start a program", Err: err}
	}
	if v.store, v.note = trust.Open(a.stateHome(), dir); v.note == nil {
		v.record, v.note = v.store.Load()
	} else {
		v.store = nil
	}
	v.changes = v.record.Changes(v.manifest)
	hash := v.manifest.Hash()
	switch {
	case v.note == nil && v.record.Covers(v.manifest), a.accepted[hash]:
		v.by = byRecord
	case a.trusts(hash):
		v.by = byDigest
	case a.env("TERCET_TRUST") == "1":
		v.by = byEnvironment
	case a.demoDir != "" && a.demoDir == dir:
		v.by = byDemo
	}
	return v, nil
}

// trusts tells whether --trust names exactly this digest; it may name several, with commas between them.
func (a *app) trusts(digest string) bool {
	for one := range strings.SplitSeq(a.flags.trust, ",") {
		if digest != "" && strings.TrimPrefix(strings.TrimSpace(one), "sha256:") == digest {
			return true
		}
	}
	return false
}

// stateHome is the program's folder for what outlives a project; empty where there is no place for it.
func (a *app) stateHome() string {
	home := a.env("XDG_STATE_HOME")
	if !filepath.IsAbs(home) {
		if home = a.env("HOME"); !filepath.IsAbs(home) {
			return ""
		}
		home = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(home, "tercet")
}

// allow is the one gate of all processes: nothing of a project starts before it is trusted, and a program that is a file of
// the project only while it is the one that was agreed to.
func (w *world) allow(_ context.Context, c proc.Command) error {
	v, err := w.trust()
	if err != nil {
		return err
	}
	if v.by == "" {
		return v.untrusted(w.dir)
	}
	if c.Purpose == proc.PurposeGit {
		return w.tampered.get()
	}
	if c.Purpose != proc.PurposeAgent || v.by == byEnvironment {
		return nil
	}
	for _, word := range c.Argv {
		inside, ok := inProject(w.dir, word)
		if !ok {
			continue
		}
		agreed, ok := v.manifest.File(inside)
		if !ok {
			continue
		}
		now, err := trust.Read(w.root, []string{inside})
		if err != nil {
			return err
		}
		if f, ok := now.File(inside); !ok || f.SHA256 != agreed.SHA256 {
			return &formats.Failure{Code: formats.CodeUntrusted, Message: inside + " changed while the command ran", Help: "look at the change; the next command asks about it"}
		}
	}
	return nil
}

// untrusted says what nobody has agreed to, and how to agree.
func (v *verdict) untrusted(dir string) error {
	message := "nobody has agreed to run programs in " + dir
	if len(v.changes) > 0 {
		message = fmt.Sprintf("nobody has agreed to %s of %s: %s", count(len(v.changes), "file"), dir, listedNames(v.changes))
	}
	return &formats.Failure{
		Code: formats.CodeUntrusted, Message: message,
		Help: "run 'tercet trust' on a terminal, or pass --trust=sha256:" + v.manifest.Hash() + " to agree to exactly this",
	}
}

func listedNames(changes []trust.Change) string {
	const most = 5
	var names []string
	for i, c := range changes {
		if i == most {
			names = append(names, sprintf("%d more", len(changes)-most))
			break
		}
		names = append(names, c.Path)
	}
	return strings.Join(names, ", ")
}

// trustFirst lets a slash command run in a trusted project, and asks for the trust where a person can be asked. The help of the
// program itself needs none, and keeps no run then.
func (w *world) trustFirst(ctx context.Context, r router.Route) error {
	if err := w.app.mayCommand(); err != nil {
		return err
	}
	if !w.has || w.app.flags.dryRun {
		return nil
	}
	v, err := w.trust()
	if err != nil {
		return err
	}
	if v.by == "" && r.Name == "help" && r.Source == librarySource {
		w.readOnly = true
		return nil
	}
	if v.by == byEnvironment {
		w.app.tellTrust(v)
		return nil
	}
	if p, foreign := w.library.Foreign[r.Source]; foreign && v.by != "" && p.Scope == dialect.Project && !fs.ValidPath(p.Dir) {
		return &formats.Failure{
			Code: formats.CodeUntrusted, Message: path.Join(r.Source, r.File) + " lies above the project, and trust in the project does not cover it",
			Help: "copy it into the project, or set TERCET_TRUST=1 to accept this checkout as it is",
		}
	}
	if v.by != "" {
		return nil
	}
	if v.note != nil {
		w.app.term.note("warning: %v", v.note)
	}
	if !w.app.interactive() {
		return v.untrusted(w.dir)
	}
	ok, err := w.askTrust(ctx, v)
	if err != nil || ok {
		return err
	}
	return &formats.Failure{Code: formats.CodeUntrusted, Message: "not trusted: " + w.dir, Help: "'tercet trust --show' tells what these files do"}
}

// tellTrust says once a process that the environment stands in for the person's answer.
func (a *app) tellTrust(v *verdict) {
	if !a.toldTrust {
		a.toldTrust = true
		a.term.note("trusted by environment (TERCET_TRUST=1): %s that nobody agreed to", count(len(v.changes), "file"))
	}
}

// askTrust shows what is new and what changed, a line each, and asks once for all of it.
func (w *world) askTrust(ctx context.Context, v *verdict) (bool, error) {
	t := w.app.term
	if len(v.changes) == 0 {
		t.say("git and this project's own checks would run here, and you have not agreed to that yet: " + w.dir)
	} else {
		t.say(sprintf("%s of %s can start programs, and you have not agreed to %s:", count(len(v.changes), "file"), w.dir, them(len(v.changes))))
	}
	const most = 20
	for i, c := range v.changes {
		if i == most {
			t.prompt("  ... and %d more\n", len(v.changes)-most)
			break
		}
		t.prompt("  %-8s %s%s\n", c.Kind, c.Path, prefixed("  ", w.names(v, c.Path)))
	}
	t.prompt("Trust %s? ('tercet trust --show' tells more) [y/N] ", them(max(1, len(v.changes))))
	return w.answerTrust(ctx, v)
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// answerTrust reads a person's yes or no, and keeps a yes.
func (w *world) answerTrust(ctx context.Context, v *verdict) (bool, error) {
	line, err := w.app.readLine(ctx)
	if err != nil && line == "" {
		w.app.term.prompt("\n")
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, nil
	}
	if !isYes(line) {
		return false, nil
	}
	w.app.agree(v)
	return true, nil
}

// agree keeps the answer to a verdict: in the record, and where there is no place for one in this process.
func (a *app) agree(v *verdict) {
	if a.accepted == nil {
		a.accepted = map[string]bool{}
	}
	a.accepted[v.manifest.Hash()] = true
	v.by = byRecord
	if v.store == nil {
		a.term.note("warning: the answer holds for this process only: %v", v.note)
		return
	}
	v.record, v.changes = v.record.Approve(v.manifest), nil
	if err := v.store.Save(v.record, v.manifest, clock{}.Now()); err != nil {
		a.term.note("warning: the answer holds for this process only: %v", err)
	}
}

// trustWritten records trust in exactly the files that the program itself has just written into a project.
func (a *app) trustWritten(dir string, written []trust.File) {
	m := trust.Manifest{Files: written}
	store, err := trust.Open(a.stateHome(), dir)
	if err == nil {
		var r trust.Record
		if r, err = store.Load(); err == nil {
			err = store.Save(r.Approve(m), m, clock{}.Now())
		}
	}
	if err != nil {
		a.term.note("warning: this folder is not recorded as trusted: %v", err)
	}
}

// autoApproval is the file of a trusted project that answers its gates, empty if there is none.
func (w *world) autoApproval() string {
	if !w.has {
		return ""
	}
	v, err := w.trust()
	if err != nil || v.by == "" {
		return ""
	}
	for _, name := range autoApproves() {
		if _, ok := v.manifest.File(name); ok {
			return name
		}
	}
	return ""
}

// unread refuses the bytes of a command file that are not those that were agreed to: it changed between the two readings.
func (w *world) unread(source, file string, data []byte) error {
	w.trustee.mu.Lock()
	v := w.trustee.have
	w.trustee.mu.Unlock()
	if v == nil || v.by == "" || v.by == byEnvironment {
		return nil
	}
	if f, ok := v.manifest.File(path.Join(source, file)); ok && f.SHA256 != trust.Sum(data) {
		return &formats.Failure{Code: formats.CodeUntrusted, Message: path.Join(source, file) + " changed while it was read", Help: "look at it, and run the command again"}
	}
	return nil
}

// names says what a listed file leads to: the command and the subagents it names, the program it starts.
func (w *world) names(v *verdict, name string) string {
	i := slices.IndexFunc(v.files, func(f listedFile) bool { return f.path == name })
	if i < 0 {
		return ""
	}
	switch f := v.files[i]; f.kind {
	case kindCommand:
		return w.commandNames(f)
	case kindSubagent, kindAgent:
		return w.subagentNames(f)
	default:
		return f.kind
	}
}

func (w *world) commandNames(f listedFile) string {
	if c, foreign, err := w.library.Prompt(f.source, f.file); foreign && err == nil {
		words := []string{"/" + c.Name + " (" + c.Dialect.String() + ")"}
		for _, m := range marks(c) {
			words = append(words, fmt.Sprintf("%v %v", m["does"], m["text"]))
		}
		return strings.Join(words, "; ")
	}
	prog, err := w.library.Load(f.source, f.file)
	if err != nil {
		return "a command that cannot be read"
	}
	return "/" + prog.Name + prefixed(": ", strings.Join(agentsOf(prog), ", "))
}

func (w *world) subagentNames(f listedFile) string {
	for _, name := range w.set.Names() {
		def, _, ok := w.set.Lookup(name, "")
		if !ok || def.File != f.path {
			continue
		}
		if len(def.Argv) > 0 {
			return fmt.Sprintf("subagent %s, runs %q", name, def.Argv)
		}
		return "subagent " + name + prefixed(", runner ", strings.Join(def.Info.Runner, ", "))
	}
	return f.kind + " that is not used"
}
