package packs

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/merge3"
	"tercet/internal/order"
)

// Action is what a change does with one file.
type Action string

// The actions.
const (
	Written  Action = "added"
	Replaced Action = "updated"
	Merged   Action = "merged"
	Kept     Action = "kept"     // your text, or unchanged
	Conflict Action = "conflict" // your text stays, the pack's goes beside it
	Taken    Action = "taken"    // another file has its path: you must choose
	Orphan   Action = "orphan"   // no longer in the pack
	Removed  Action = "removed"
)

// Note says what the user must do after an action; empty: nothing.
func (a Action) Note() string {
	return map[Action]string{
		Conflict: ": yours stays, that of the pack lies beside it as .new",
		Orphan:   ": the pack has it no more",
		Kept:     ": you edited it",
	}[a]
}

// Step is the action for one file.
type Step struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Yours  []byte `json:"-"` // of a taken or conflicting file
	Packs  []byte `json:"-"`
}

// Diff shows the differences between the pack's text and yours, in a limited number of lines.
func (s Step) Diff(most int) []string {
	return merge3.Diff(string(s.Yours), string(s.Packs), most)
}

// Plan is a change of a workspace that has not begun.
type Plan struct {
	Pack  Installed
	Steps []Step

	ops    map[string]op
	record Record
}

// Texts are the texts of the files that the change writes, by path.
func (p Plan) Texts() map[string][]byte {
	out := map[string][]byte{}
	for name, o := range p.ops {
		if !o.Delete {
			out[name] = o.After
		}
	}
	return out
}

// HasConflict reports whether a file keeps both texts.
func (p Plan) HasConflict() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action == Conflict })
}

// op is one file that is written, or deleted.
type op struct {
	Path     string `json:"path"`
	Before   string `json:"before"` // hash of what stands there; empty: nothing
	Delete   bool   `json:"delete,omitempty"`
	After    []byte `json:"after,omitempty"`
	Previous []byte `json:"was,omitempty"` // what stands there, to take the change back
}

// planner makes a Plan.
type planner struct {
	Plan

	project fs.FS
}

func newPlanner(project fs.FS, r Record, p Installed) *planner {
	return &planner{
		Plan: Plan{
			Pack:   p,
			ops:    map[string]op{},
			record: r,
		},
		project: project,
	}
}

// readFile is a file of the project, nil if it is not there.
func (p *planner) readFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(p.project, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, formats.Broken(formats.CodeIO, name, err, "move it away")
	case data == nil:
		data = []byte{}
	}
	return data, nil
}

// planWrite plans a text for a path, nil to delete it.
func (p *planner) planWrite(name string, text []byte) error {
	was, err := p.readFile(name)
	if err != nil || was == nil && text == nil {
		return err
	}
	o := op{
		Path:     name,
		After:    text,
		Delete:   text == nil,
		Previous: was,
	}
	if was != nil {
		o.Before = formats.Sum(was)
	}
	delete(p.ops, name)
	if text == nil || o.Before != formats.Sum(text) {
		p.ops[name] = o
	}
	return nil
}

func (p *planner) addStep(name string, a Action, yours, packs []byte) {
	p.Steps = append(p.Steps, Step{name, a, yours, packs})
}

// finish plans the base files and the record, which list what is installed now.
func (p *planner) finish(from *Pack) (Plan, error) {
	if from != nil {
		for _, f := range from.WorkspaceFiles() {
			if err := p.planWrite(basePath(from.Name, f.Path), f.Data); err != nil {
				return Plan{}, err
			}
			p.Pack.Files = append(p.Pack.Files, Sum{f.Path, formats.Sum(f.Data)})
		}
		for _, f := range from.Tests() {
			name := path.Join(Folder, from.Name, "base", f.Path)
			if err := p.planWrite(name, f.Data); err != nil {
				return Plan{}, err
			}
		}
	}

	order.Stable(p.Pack.Files, func(a, b Sum) int {
		return strings.Compare(a.Path, b.Path)
	})
	order.Stable(p.Steps, func(a, b Step) int {
		return strings.Compare(a.Path, b.Path)
	})

	p.record = p.record.withPack(p.Pack)
	p.record.Schema = schema
	if p.record.Packs == nil {
		p.record.Packs = []Installed{}
	}

	text, err := jsonx.Marshal(p.record, "  ")
	if err == nil {
		err = p.planWrite(RecordFile, append(text, '\n'))
	}
	return p.Plan, err
}

// CheckAdd refuses an installed pack, and one that needs a newer tercet.
func CheckAdd(r Record, p Pack, version string) error {
	if _, ok := r.Find(p.Name); ok {
		return formats.Fail(formats.CodePrecondition, "tercet pack update "+p.Name,
			"pack %s is installed already", p.Name)
	}
	return CheckUse(p, version)
}

// CheckUse refuses a pack that needs a newer tercet.
func CheckUse(p Pack, version string) error {
	if IsNewer(p.Needs, version) {
		return formats.Fail(formats.CodePrecondition, "install it, then run the command again",
			"pack %s needs tercet %s, and this is %s", p.Name, p.Needs, version)
	}
	return nil
}

// Add plans to install a pack.
func Add(project fs.FS, r Record, from Pack, source, commit string) (Plan, error) {
	p := newPlanner(project, r, Installed{
		Name:    from.Name,
		Version: from.Version,
		Source:  source,
		Commit:  commit,
	})

	for _, f := range from.WorkspaceFiles() {
		yours, err := p.readFile(f.Path)
		switch {
		case err != nil:
			return Plan{}, err
		case yours == nil:
			p.addStep(f.Path, Written, nil, f.Data)
		case string(yours) == string(f.Data):
			p.addStep(f.Path, Kept, nil, nil)
		default:
			p.addStep(f.Path, Taken, yours, f.Data)
			continue
		}

		if err := p.planWrite(f.Path, f.Data); err != nil {
			return Plan{}, err
		}
	}
	return p.finish(&from)
}

// Choose decides about a taken file: write the pack's text, or keep yours as an edit of it.
func (p *Plan) Choose(name string, packs bool) {
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Path == name })
	s := &p.Steps[i]
	s.Action = Kept
	if packs {
		s.Action = Replaced
		p.ops[name] = op{
			Path:     name,
			Before:   formats.Sum(s.Yours),
			After:    s.Packs,
			Previous: s.Yours,
		}
	}
}

// KeepBoth decides about a taken file: yours stays, and the pack's text goes beside it as .new.
func (p *Plan) KeepBoth(name string) {
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Path == name })
	p.Steps[i].Action = Conflict
	p.ops[name+".new"] = op{Path: name + ".new", After: p.Steps[i].Packs}
}

// Update plans to bring an installed pack, as recorded, to another version and commit. prune
// deletes unedited files that are no longer in the pack.
func Update(project fs.FS, r Record, from Pack, commit string, prune bool) (Plan, error) {
	old, _ := r.Find(from.Name)
	p := newPlanner(project, r, Installed{
		Name:    old.Name,
		Version: from.Version,
		Source:  old.Source,
		Commit:  commit,
	})
	before := map[string]string{}
	current := map[string]bool{}
	for _, f := range old.Files {
		before[f.Path] = f.SHA256
	}

	for _, f := range from.WorkspaceFiles() {
		current[f.Path] = true
		if err := p.planUpdate(f, before[f.Path]); err != nil {
			return Plan{}, err
		}
	}

	for _, f := range old.Files {
		if !current[f.Path] {
			if err := p.planDropped(f, prune); err != nil {
				return Plan{}, err
			}
		}
	}

	tests, err := fs.Glob(project, path.Join(Folder, old.Name, "base/tests/*.json"))
	if err != nil {
		return Plan{}, err
	}
	for _, name := range tests { // those that the pack still has are written again
		if err := p.planWrite(name, nil); err != nil {
			return Plan{}, err
		}
	}

	return p.finish(&from)
}

// planUpdate plans one file; was is the hash of its base, empty for a file that is new in the pack.
func (p *planner) planUpdate(f File, was string) error {
	yours, err := p.readFile(f.Path)
	if err != nil {
		return err
	}

	base, err := p.readFile(basePath(p.Pack.Name, f.Path))
	if err != nil {
		return err
	}
	if formats.Sum(base) != was {
		base = nil // it is unknown
	}

	mine := string(yours)
	merged, ok := merge3.Merge(string(base), mine, string(f.Data))
	switch {
	case yours == nil && was == "":
		p.addStep(f.Path, Written, nil, f.Data)
		return p.planWrite(f.Path, f.Data)
	case yours == nil, mine == string(f.Data), base != nil && string(base) == string(f.Data):
		p.addStep(f.Path, Kept, nil, nil)
	case base != nil && mine == string(base):
		p.addStep(f.Path, Replaced, yours, f.Data)
		return p.planWrite(f.Path, f.Data)
	case base != nil && ok:
		p.addStep(f.Path, Merged, yours, []byte(merged))
		return p.planWrite(f.Path, []byte(merged))
	default:
		p.addStep(f.Path, Conflict, yours, f.Data)
		return p.planWrite(f.Path+".new", f.Data)
	}

	return nil
}

// planDropped plans a file that the pack has no more. It stays a file of the pack until it is
// deleted.
func (p *planner) planDropped(f Sum, prune bool) error {
	yours, err := p.readFile(f.Path)
	if err != nil {
		return err
	}
	switch {
	case yours == nil:
	case prune && formats.Sum(yours) == f.SHA256:
		p.addStep(f.Path, Removed, nil, nil)
		if err := p.planWrite(f.Path, nil); err != nil {
			return err
		}
	default:
		p.addStep(f.Path, Orphan, nil, nil)
		p.Pack.Files = append(p.Pack.Files, f)
		return nil
	}
	return p.planWrite(basePath(p.Pack.Name, f.Path), nil)
}

// Remove plans to remove a pack: unedited files are deleted, the rest stays.
func Remove(project fs.FS, r Record, old Installed) (Plan, error) {
	p := newPlanner(project, r, Installed{
		Name:    old.Name,
		Version: old.Version,
		Source:  old.Source,
	})
	for _, f := range old.Files {
		yours, err := p.readFile(f.Path)
		if err != nil {
			return Plan{}, err
		}
		switch {
		case yours == nil:
		case formats.Sum(yours) == f.SHA256:
			p.addStep(f.Path, Removed, nil, nil)
			err = p.planWrite(f.Path, nil)
		default:
			p.addStep(f.Path, Kept, nil, nil)
		}
		if err != nil {
			return Plan{}, err
		}
	}

	err := fs.WalkDir(
		project,
		path.Join(Folder, old.Name),
		func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
				return nil
			}
			if err == nil {
				err = p.planWrite(name, nil)
			}
			return err
		},
	)
	if err != nil {
		return Plan{}, err
	}
	return p.finish(nil)
}

// orderedOps are the files of a plan in the order in which they are written: what is deleted last.
func (p Plan) orderedOps() []op {
	out := slices.Collect(maps.Values(p.ops))
	order.Stable(out, func(a, b op) int {
		switch {
		case a.Delete == b.Delete:
			return strings.Compare(a.Path, b.Path)
		case b.Delete:
			return -1
		}
		return 1
	})
	return out
}
