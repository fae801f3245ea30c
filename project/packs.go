package project

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/keys"
	"tercet/internal/order"
	"tercet/internal/packs"
)

// PackState is a pack in the list: one of the workspace, or one that tercet brings along.
type PackState struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Source    string `json:"source"`
	Commit    string `json:"commit,omitempty"`
	Installed bool   `json:"installed"`
	Update    string `json:"update,omitempty"` // the version that is available
	// files that are not as the pack has them
	Changed map[string]packs.State `json:"changed,omitempty"`
}

// Packs lists the packs of tercet and of the workspace by name.
func (p *Project) Packs() ([]PackState, error) {
	record, err := packs.Load(atomicfile.FS(p.Root))
	if err != nil {
		return nil, err
	}
	shipped, err := shippedPacks()
	if err != nil {
		return nil, err
	}

	all := map[string]PackState{}
	for name, version := range shipped {
		all[name] = PackState{Name: name, Version: version, Source: packs.Builtin}
	}
	for _, i := range record.Packs {
		one := PackState{
			Name:      i.Name,
			Version:   i.Version,
			Source:    i.Source,
			Commit:    i.Commit,
			Installed: true,
			Changed:   packs.States(atomicfile.FS(p.Root), i),
		}
		if i.Source == packs.Builtin && packs.IsNewer(shipped[i.Name], i.Version) {
			one.Update = shipped[i.Name]
		}
		all[i.Name] = one
	}

	list := slices.Collect(maps.Values(all))
	order.Stable(list, func(a, b PackState) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// PackStep is what a change of a pack does with one file.
type PackStep = packs.Step

// PackChange is what was done with a pack. No list in it is nil.
type PackChange struct {
	Pack  packs.Installed `json:"pack"`
	Steps []PackStep      `json:"steps"`
}

// Idle reports that the change left every file as it was.
func (c PackChange) Idle() bool {
	return !slices.ContainsFunc(c.Steps, func(s PackStep) bool { return s.Action != packs.Kept })
}

// Shown are the steps that a user wants to know of: those that change a file, and of a pack that
// was removed those that keep one.
func (c PackChange) Shown() (out []PackStep) {
	for _, s := range c.Steps {
		if s.Action != packs.Kept || len(c.Pack.Files) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// PackChanges are what was done with several packs, one after the other.
type PackChanges struct {
	Changes   []PackChange      // never nil
	Conflicts bool              // the pack's text of a file lies beside yours
	Texts     map[string][]byte // of the files that were written, by path
}

// PackChoice says which text of a file stands, where the workspace and a pack have different ones.
type PackChoice int

// The choices.
const (
	KeepBoth PackChoice = iota // yours stays, and the pack's lies beside it as .new
	KeepOwn
	TakePack
)

// AddPack installs a pack, or with dry says what that would do. Choose decides about a file that
// stands where the pack has another; nil: both are kept. If it fails nothing is written.
func (p *Project) AddPack(
	ctx context.Context,
	name string,
	dry bool,
	choose func(PackStep) (PackChoice, error),
) (PackChanges, error) {
	plan := func(record packs.Record, name string) (packs.Plan, error) {
		from, err := p.FindPack(ctx, name)
		if err != nil {
			return packs.Plan{}, err
		}
		if err := packs.CheckAdd(record, from.Pack, p.Host.Version); err != nil {
			return packs.Plan{}, err
		}
		plan, err := packs.Add(atomicfile.FS(p.Root), record, from.Pack, from.Source, from.Commit)
		if err != nil || dry {
			return plan, err
		}
		return plan, resolveConflicts(&plan, choose)
	}
	return p.changePacks(dry, []string{name}, plan)
}

// resolveConflicts asks choose about each file that stands where the pack has another.
func resolveConflicts(plan *packs.Plan, choose func(PackStep) (PackChoice, error)) error {
	for _, one := range plan.Steps {
		if one.Action != packs.Taken {
			continue
		}
		choice := KeepBoth
		if choose != nil {
			var err error
			choice, err = choose(one)
			if err != nil {
				return err
			}
		}
		if choice == KeepBoth {
			plan.KeepBoth(one.Path)
		} else {
			plan.Choose(one.Path, choice == TakePack)
		}
	}
	return nil
}

// UpdatePacks brings packs to the newest version of where they came from and keeps what the user
// edited. A name may have the form NAME@REF; without names all that need no ref are updated.
// Prune deletes files that a pack dropped and the user did not edit.
func (p *Project) UpdatePacks(
	ctx context.Context,
	names []string,
	prune, dry bool,
) (PackChanges, error) {
	if len(names) == 0 {
		list, err := p.Packs()
		if err != nil {
			return PackChanges{}, err
		}
		for _, one := range list {
			if one.Installed && one.Commit == "" {
				names = append(names, one.Name)
			}
		}
	}
	return p.changePacks(dry, names, func(record packs.Record, name string) (packs.Plan, error) {
		return p.updatePack(ctx, record, name, prune)
	})
}

func (p *Project) updatePack(
	ctx context.Context,
	record packs.Record,
	name string,
	prune bool,
) (packs.Plan, error) {
	name, ref, _ := strings.Cut(name, "@")
	old, ok := record.Find(name)
	if !ok {
		return packs.Plan{}, notInstalled(name)
	}

	source := filepath.Join(p.Dir, filepath.FromSlash(old.Source))
	switch {
	case old.Source == packs.Builtin:
		source = old.Name
	case old.Commit != "" && ref == "":
		return packs.Plan{}, formats.Fail(formats.CodeUsage, AnyHelp,
			"expected %s@REF, got no ref: it is pinned to %s", old.Name, old.Commit)
	case old.Commit != "":
		source = old.Source + "@" + ref
	}

	from, err := p.FindPack(ctx, source)
	if err != nil {
		return packs.Plan{}, err
	}
	if from.Name != old.Name {
		return packs.Plan{}, formats.Fail(formats.CodePrecondition,
			"remove the one and add the other",
			"%s has pack %s, not %s", source, from.Name, old.Name)
	}
	if err := packs.CheckUse(from.Pack, p.Host.Version); err != nil {
		return packs.Plan{}, err
	}
	return packs.Update(atomicfile.FS(p.Root), record, from.Pack, from.Commit, prune)
}

// RemovePack removes a pack and keeps the files of it that the user edited.
func (p *Project) RemovePack(name string) (PackChanges, error) {
	plan := func(record packs.Record, name string) (packs.Plan, error) {
		old, ok := record.Find(name)
		if !ok {
			return packs.Plan{}, notInstalled(name)
		}
		return packs.Remove(atomicfile.FS(p.Root), record, old)
	}
	return p.changePacks(false, []string{name}, plan)
}

func notInstalled(name string) error {
	return formats.Fail(formats.CodeNotFound, "'tercet pack list' shows the packs",
		"pack %s is not installed", name)
}

// changePacks makes what is planned for each pack, one after the other. Each change is made whole
// or not at all; if one fails, those before it stand.
func (p *Project) changePacks(
	dry bool,
	names []string,
	plan func(packs.Record, string) (packs.Plan, error),
) (PackChanges, error) {
	out := PackChanges{Changes: []PackChange{}, Texts: map[string][]byte{}}
	err := p.withPackLock(func(record packs.Record) error {
		for _, name := range names {
			one, err := plan(record, name)
			if err != nil {
				return err
			}
			if !dry {
				if err := one.Apply(p.Root, p.packKey()); err != nil {
					return err
				}
				record, err = packs.Load(atomicfile.FS(p.Root))
				if err != nil {
					return err
				}
			}

			maps.Copy(out.Texts, one.Texts())
			out.Conflicts = out.Conflicts || one.HasConflict()
			change := PackChange{one.Pack, append([]PackStep{}, one.Steps...)}
			change.Pack.Files = append([]packs.Sum{}, one.Pack.Files...)
			out.Changes = append(out.Changes, change)
		}
		return nil
	})
	return out, err
}

// HiddenByPacks says which of tercet's own commands a file that changes wrote hides from now on.
func (p *Project) HiddenByPacks(changes []PackChange) (lines []string) {
	for _, h := range p.Table.Hidden() {
		if h.Source != LibrarySource {
			continue
		}
		for _, c := range changes {
			hides := slices.ContainsFunc(c.Steps, func(s PackStep) bool {
				return s.Path == h.By && s.Action == packs.Written
			})
			if hides {
				lines = append(lines, h.By+" hides tercet's own /"+h.Name+
					formats.Prefixed(", which is now /", h.Call))
			}
		}
	}
	return lines
}

// InstalledPacks are the names of the packs in the workspace, if there is one.
func (p *Project) InstalledPacks() (names []string, err error) {
	if !p.HasWorkspace {
		return nil, nil
	}
	record, err := packs.Load(atomicfile.FS(p.Root))
	for _, one := range record.Packs {
		names = append(names, one.Name)
	}
	return names, err
}

// PackFile is a file of a pack with its path in a workspace.
type PackFile = packs.File

// PackTests gives the files and the tests of a pack: as they stand in the workspace where it is
// installed, else as its source has them. Tests can start programs: what is installed needs trust
// before they run, and what is not, and does not come with tercet, TERCET_TRUST=1.
func (p *Project) PackTests(
	ctx context.Context, name string,
) (placed, tests []PackFile, err error) {
	if p.HasWorkspace {
		record, err := packs.Load(atomicfile.FS(p.Root))
		if err != nil {
			return nil, nil, err
		}
		if old, ok := record.Find(name); ok {
			return packs.ReadInstalled(atomicfile.FS(p.Root), old)
		}
	}

	from, err := p.FindPack(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if from.Source != packs.Builtin && p.Host.Env("TERCET_TRUST") != "1" {
		return nil, nil, formats.Fail(formats.CodeUntrusted,
			"add it and agree to its files, or set TERCET_TRUST=1",
			"tests can start programs, and you have not agreed to those of %s", name)
	}

	tests = from.Tests()
	for i := range tests {
		tests[i].Path = name + "/" + tests[i].Path
	}
	return from.WorkspaceFiles(), tests, nil
}

// withPackLock calls do with the record of packs while their lock is held. It first finishes a
// change whose process was killed.
func (p *Project) withPackLock(do func(record packs.Record) error) error {
	cfg := p.StateConfig(0, nil)
	lock, err := cfg.Claim(packs.LockFile, p.Host.Session)
	if err != nil {
		return err
	}

	_, err = packs.Finish(p.Root, p.packKey())
	var record packs.Record
	if err == nil {
		record, err = packs.Load(atomicfile.FS(p.Root))
	}
	if err == nil {
		err = do(record)
	}
	return errors.Join(err, lock.Close())
}

// packKey is the key that seals a change of the packs.
func (p *Project) packKey() []byte {
	return keys.Of(p.Host.StateHome(), rand.Text)("packs")
}

// finishPack brings a change of the packs to its end that was killed, unless another process is at
// it.
func (p *Project) finishPack() {
	_, err := p.Root.Lstat(filepath.FromSlash(packs.PendingFile))
	if err != nil || p.Host.insideRun() {
		return
	}
	lock, err := p.StateConfig(0, nil).Claim(packs.LockFile, p.Host.Session)
	if err != nil {
		return // it is under way
	}

	name, err := packs.Finish(p.Root, p.packKey())
	if err = errors.Join(err, lock.Close()); err != nil {
		p.note("warning: %v", err)
	} else if name != "" {
		p.note("finished the change of pack %s that was begun and killed", name)
	}
}
