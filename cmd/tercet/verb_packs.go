package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/nearest"
	"tercet/internal/packs"
	"tercet/project"
	"tercet/subagents"
	"tercet/templates"
)

func packVerbs() []verb {
	inside := userOnly | aWorkspace
	return []verb{
		{
			use:   "test [FILE...]",
			short: "test workflows with scripted workers",
			args:  words(0, -1),
			needs: userOnly,
			make:  testVerb,
		},
		{
			use:   "pack",
			short: "commands and subagents that come together: install, update, remove, test",
			verbs: []verb{
				{
					use:   "list",
					short: "list the packs in tercet and in the workspace",
					args:  none,
					needs: aSession,
					do:    packVerb(listPacks),
				},
				{
					use:   "show PACK",
					short: "show what a pack has, and what of it can start a program",
					args:  one,
					needs: aSession,
					do:    packVerb(showPack),
				},
				{
					use:   "add PACK",
					short: "install a pack: a name, a folder, or GIT-URL@REF",
					args:  one,
					needs: inside,
					make:  addPack,
				},
				{
					use:   "update [PACK]",
					short: "update a pack and keep your edits; one of an address by NAME@REF",
					args:  words(0, 1),
					needs: inside,
					make:  updatePacks,
				},
				{
					use:   "remove PACK",
					short: "remove a pack, and keep the files that you edited",
					args:  one,
					needs: inside,
					do:    packVerb(removePack),
				},
				{
					use:   "test [PACK]",
					short: "run the tests of a pack in temporary workspaces",
					args:  words(0, 1),
					needs: userOnly,
					make: func(cmd *cobra.Command, a *app) run {
						a.flags.agree(cmd)
						return packVerb(testPack)
					},
				},
			},
		},
	}
}

// packCall is a call of a verb about packs.
type packCall call

// packVerb is what a verb does with the packs.
func packVerb(do func(s packCall) error) run {
	return func(c call) error { return do(packCall(c)) }
}

// found is a pack with where it comes from.
type found struct {
	packs.Pack
	Source, Commit string
}

// findPack reads a pack of the program, of a folder or of another repository.
func (w packCall) findPack(ctx context.Context, name string) (found, error) {
	if packs.IsName(name) {
		tree, err := fs.Sub(templates.Packs(), name)
		if err != nil {
			return found{}, err
		}
		if _, err := fs.Stat(tree, "pack.yaml"); err == nil {
			p, err := packs.Read(name, tree)
			return found{p, packs.Builtin, ""}, err
		}
	}
	if isDir(name) {
		p, err := packs.Read(filepath.ToSlash(name), os.DirFS(name))
		at := filepath.Clean(name)
		if abs, aerr := filepath.Abs(name); aerr == nil {
			if rel, rerr := filepath.Rel(w.p.Dir, abs); rerr == nil {
				at = rel
			}
		}
		return found{p, filepath.ToSlash(at), ""}, err
	}

	address, ref, ok := git.CutRef(name)
	if !ok {
		return found{}, formats.Fail(formats.CodeNotFound,
			cmp.Or(
				nearest.Help(name, slices.Collect(maps.Keys(w.shippedPacks()))),
				"name one of 'tercet pack list', a folder, or GIT-URL@REF with https, ssh or file",
			),
			"no pack %q", name)
	}
	return w.fetchPack(ctx, address, ref)
}

// fetchPack fetches a pack out of another repository. What the user asks for by its address needs
// no trust in the project.
func (w packCall) fetchPack(ctx context.Context, address, ref string) (f found, err error) {
	dir, err := os.MkdirTemp("", "tercet-pack-")
	if err != nil {
		return f, project.IOFailure(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	starter, err := free()
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, starter.Close()) }()
	repo := &git.Repo{
		Starter: starter,
		Dir:     dir,
		Online:  w.p.NetworkEnv(),
	}
	bounds := git.Bounds{Files: packs.MaxFiles, Bytes: packs.MaxBytes}
	commit, data, err := repo.Archive(ctx, address, ref, bounds)
	if errors.As(err, new(*git.TooLargeError)) {
		return f, packs.TooLarge(address)
	}

	if one, ok := errors.AsType[*git.Error](err); ok {
		return f, formats.Fail(formats.CodeIO, "look at it with: git ls-remote "+address,
			"%s@%s: %s", address, ref, one.Stderr)
	} else if err != nil {
		return f, err
	}

	tree, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return f, broken(formats.CodeIO, address, err)
	}
	p, err := packs.Read(address, tree)
	return found{p, address, commit}, err
}

// shippedPacks are the versions of the packs that tercet brings along.
func (w packCall) shippedPacks() map[string]string {
	out := map[string]string{}
	entries, _ := fs.ReadDir(templates.Packs(), ".") //nolint:errcheck // they are a part of the program
	for _, e := range entries {
		if p, err := w.findPack(w.ctx, e.Name()); err == nil {
			out[p.Name] = p.Version
		}
	}
	return out
}

// packRow is a pack in the list, of the workspace or of tercet.
type packRow struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Source    string `json:"source"`
	Commit    string `json:"commit,omitempty"`
	Installed bool   `json:"installed"`
	Update    string `json:"update,omitempty"` // the version that is available
	// files that are not as the pack has them
	Changed map[string]packs.State `json:"changed,omitempty"`
}

// packRows are the packs of tercet and of the workspace.
func (w packCall) packRows() ([]packRow, error) {
	record, err := packs.Load(atomicfile.FS(w.p.Root))
	if err != nil {
		return nil, err
	}

	rows := map[string]packRow{}
	for name, version := range w.shippedPacks() {
		rows[name] = packRow{
			Name:    name,
			Version: version,
			Source:  packs.Builtin,
		}
	}

	for _, i := range record.Packs {
		row := packRow{
			Name:      i.Name,
			Version:   i.Version,
			Source:    i.Source,
			Commit:    i.Commit,
			Installed: true,
		}
		shipped := rows[i.Name].Version
		if i.Source == packs.Builtin && packs.Newer(shipped, i.Version) {
			row.Update = shipped
		}
		row.Changed = packs.States(atomicfile.FS(w.p.Root), i)
		rows[i.Name] = row
	}

	return slices.SortedFunc(maps.Values(
		rows,
	), func(a, b packRow) int { return strings.Compare(a.Name, b.Name) }), nil
}

func listPacks(c packCall) error {
	rows, err := c.packRows()
	if err != nil || c.app.document("tercet.pack/1", fields{"packs": nonNil(rows)}) {
		return err
	}
	for _, r := range rows {
		text := ""
		if !r.Installed {
			text = "; not installed: tercet pack add " + r.Name
		} else if r.Update != "" {
			text = "; " + r.Update + " is available: tercet pack update " + r.Name
		}
		c.app.term.Answer("%s %s  %s%s", r.Name, r.Version, r.Source, text)
		for _, name := range slices.Sorted(maps.Keys(r.Changed)) {
			c.app.term.Answer("  %s %s", r.Changed[name], name)
		}
	}
	return nil
}

// showPack tells what a pack has, before it is installed.
func showPack(c packCall) error {
	p, err := c.findPack(c.ctx, c.args[0])
	if err != nil {
		return err
	}

	files := []string{}
	agents := []packAgent{}
	for _, f := range p.Files {
		files = append(files, f.Path)
		if !strings.HasPrefix(f.Path, "subagents/") {
			continue
		}
		def, err := subagents.ParseDefinition(f.Path, f.Data)
		if err != nil {
			return err
		}
		agents = append(agents, packAgent{
			p.Name + ":" + def.Info.Name,
			def.Info.Description,
			nonNil(def.Info.Tools),
			nonNil(def.Info.Runner),
			nonNil(def.Argv),
		})
	}

	if c.app.document("tercet.pack/1", fields{
		"pack": p.Pack, "source": p.Source, "commit": p.Commit, "files": files, "subagents": agents,
	}) {
		return nil
	}

	c.app.term.Answer("%s %s: %s (%s%s)",
		p.Name, p.Version, p.Description, p.Source, formats.Prefixed("@", p.Commit))
	for _, name := range files {
		c.app.term.Answer("  %s", name)
	}

	for _, a := range agents {
		c.app.term.Answer("%s: tools %s, runner %s%s", a.Name, strings.Join(a.Tools, ", "),
			cmp.Or(strings.Join(a.Runner, ", "), "that of the configuration"),
			formats.Prefixed(", starts ", strings.Join(a.Argv, " ")))
	}

	return nil
}

// packAgent is a subagent of a pack.
type packAgent struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Runner      []string `json:"runner"`
	Argv        []string `json:"argv"` // the program that it starts
}

// packChange is what was done with a pack.
type packChange struct {
	Pack  packs.Installed `json:"pack"`
	Steps []packs.Step    `json:"steps"`
}

// makeChanges makes what is planned, one after the other, shows it, and ends with what is to be
// agreed to.
func (w packCall) makeChanges(
	dry bool,
	names []string,
	plan func(packs.Record, string) (packs.Plan, error),
) error {
	conflicts := false
	changes := []packChange{}
	err := w.p.ChangePacks(func(record packs.Record) error {
		for _, name := range names {
			p, err := plan(record, name)
			if err == nil && !dry {
				if err = p.Apply(w.p.Root, w.p.PackKey()); err == nil {
					record, err = packs.Load(atomicfile.FS(w.p.Root))
				}
			}
			if err != nil {
				return err
			}
			conflicts = conflicts || p.Conflicts()
			gone := p.Pack.Files == nil
			p.Pack.Files = nonNil(p.Pack.Files)
			changes = append(changes, packChange{p.Pack, nonNil(p.Steps)})
			for _, s := range p.Steps {
				if !w.app.flags.json && (s.Action != packs.Kept || gone) {
					w.app.term.Answer("%-8s %s%s", s.Action, s.Path, s.Action.Means())
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}

	w.app.document("tercet.pack/1", fields{"changes": changes, "dry_run": dry})
	if dry {
		w.app.term.Note("nothing was written")
		return nil
	}

	if err := w.agreeToPack(); err != nil || !conflicts {
		return err
	}
	return shown{3}
}

// agreeToPack asks for trust in what changed, or says how to agree to it.
func (w packCall) agreeToPack() error {
	v, err := w.p.VerdictAnew()
	if err != nil || v.By != "" || w.app.flags.json {
		return err
	}
	if !w.app.term.Interactive() {
		w.app.term.Note("%s can start programs; agree to them with: tercet trust",
			formats.Count(len(v.Changes), "file"))
		return nil
	}
	if err := w.app.forget(); err != nil { // the subagents are read anew
		return err
	}
	in, err := w.app.inside(w.ctx)
	if err != nil {
		return err
	}
	return in.MayStart(w.ctx, formats.Invocation{})
}

func addPack(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "list the files; write nothing")
	return packVerb(func(c packCall) error {
		return c.makeChanges(
			*dry,
			c.args,
			func(record packs.Record, name string) (p packs.Plan, err error) {
				from, err := c.findPack(c.ctx, name)
				if err == nil {
					err = packs.MayAdd(record, from.Pack, version)
				}
				if err == nil {
					p, err = packs.Add(
						atomicfile.FS(c.p.Root),
						record,
						from.Pack,
						from.Source,
						from.Commit,
					)
				}
				if err == nil && !*dry {
					err = c.settle(&p)
				}
				return p, err
			},
		)
	})
}

// settle asks about files that stand where the pack has others.
func (w packCall) settle(p *packs.Plan) error {
	for _, one := range p.Steps {
		if one.Action != packs.Taken {
			continue
		}
		w.app.term.Note("%s is there and differs:", one.Path)
		for _, line := range one.Diff(shownDiff) {
			w.app.term.Say(line)
		}
		g := formats.Gate{
			Question:    "Which one shall stand?",
			NeedsPerson: true,
			Choices: []formats.Choice{
				{Label: "keep mine"},
				{Label: "take the pack's"},
				{Label: "stop", Leaves: true, Ends: true},
			},
		}
		if !w.app.term.Interactive() {
			return formats.Fail(formats.CodeSuspended,
				"run it on a terminal, or move the file away",
				"%s is there and differs; nothing was written", one.Path)
		}
		a, err := w.app.term.Ask(w.ctx, project.Question{Gate: g, Project: w.p})
		if err != nil || a.Label == "stop" {
			return formats.Fail(formats.CodeRejected, "", "nothing was written")
		}
		p.Choose(one.Path, a.Label == "take the pack's")
	}

	return nil
}

func updatePacks(cmd *cobra.Command, _ *app) run {
	prune := cmd.Flags().Bool(
		"prune",
		false,
		"delete files that the pack dropped and you did not edit",
	)
	dry := cmd.Flags().Bool("dry-run", false, "list the files; write nothing")
	return packVerb(func(c packCall) error {
		names := c.args
		if len(names) == 0 {
			rows, err := c.packRows()
			if err != nil {
				return err
			}
			for _, r := range rows {
				if r.Installed && r.Commit == "" { // the others need a new ref
					names = append(names, r.Name)
				}
			}
		}
		return c.makeChanges(
			*dry,
			names,
			func(record packs.Record, name string) (packs.Plan, error) {
				return c.updatePack(record, name, *prune)
			},
		)
	})
}

func (w packCall) updatePack(record packs.Record, name string, prune bool) (packs.Plan, error) {
	name, ref, _ := strings.Cut(name, "@")
	old, ok := record.Find(name)
	if !ok {
		return packs.Plan{}, notInstalled(name)
	}

	source := filepath.Join(w.p.Dir, filepath.FromSlash(old.Source))
	switch {
	case old.Source == packs.Builtin:
		source = old.Name
	case old.Commit != "" && ref == "":
		return packs.Plan{}, usage("expected %s@REF, got no ref: it is pinned to %s",
			old.Name, old.Commit)
	case old.Commit != "":
		source = old.Source + "@" + ref
	}

	from, err := w.findPack(w.ctx, source)
	if err == nil && from.Name != old.Name {
		err = formats.Fail(formats.CodePrecondition, "remove the one and add the other",
			"%s has pack %s, not %s", source, from.Name, old.Name)
	}
	if err == nil {
		err = packs.MayUse(from.Pack, version)
	}
	if err != nil {
		return packs.Plan{}, err
	}
	return packs.Update(atomicfile.FS(w.p.Root), record, from.Pack, from.Commit, prune)
}

func notInstalled(name string) error {
	return formats.Fail(formats.CodeNotFound, "'tercet pack list' shows the packs",
		"pack %s is not installed", name)
}

func removePack(c packCall) error {
	return c.makeChanges(false, c.args, func(record packs.Record, name string) (packs.Plan, error) {
		old, ok := record.Find(name)
		if !ok {
			return packs.Plan{}, notInstalled(name)
		}
		return packs.Remove(atomicfile.FS(c.p.Root), record, old)
	})
}

// testPack runs the tests of packs: as they stand in the workspace where they are installed, else
// as their source has them.
func testPack(c packCall) error {
	p, err := c.app.open(c.ctx)
	if err != nil {
		return err
	}

	w := packCall{app: c.app, p: p, ctx: c.ctx}
	var record packs.Record
	if w.p.HasWorkspace {
		if record, err = packs.Load(atomicfile.FS(w.p.Root)); err != nil {
			return err
		}
	}
	names := c.args
	if len(names) == 0 {
		for _, p := range record.Packs {
			names = append(names, p.Name)
		}
	}
	texts := map[string][]byte{}
	placed := map[string][]packs.File{}
	files := []string{}
	for _, name := range names {
		has, tests, err := w.tested(record, name)
		if err != nil {
			return err
		}
		for _, t := range tests {
			texts[t.Path] = t.Data
			placed[t.Path] = has
			files = append(files, t.Path)
		}
	}

	s := stagehand{
		app: w.app,
		install: func(to *os.Root, file string) error {
			for _, f := range placed[file] {
				if err := project.WriteFile(to, f.Path, f.Data); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return s.run(c.ctx, files, func(name string) ([]byte, error) { return texts[name], nil })
}

// tested are the files and the tests of a pack that may be run.
func (w packCall) tested(record packs.Record, name string) (placed, tests []packs.File, err error) {
	if old, ok := record.Find(name); ok {
		in, err := w.app.openSession(w.ctx)
		if err == nil {
			err = in.MayStart(w.ctx, formats.Invocation{})
		}
		if err != nil {
			return nil, nil, err
		}
		return packs.Held(atomicfile.FS(w.p.Root), old)
	}
	p, err := w.findPack(w.ctx, name)
	if err == nil && p.Source != packs.Builtin && w.app.env("TERCET_TRUST") != "1" {
		err = formats.Fail(formats.CodeUntrusted,
			"add it and agree to its files, or set TERCET_TRUST=1",
			"tests can start programs, and you have not agreed to those of %s", name)
	}
	tests = p.Tests()
	for i := range tests {
		tests[i].Path = name + "/" + tests[i].Path
	}
	return p.Placed(), tests, err
}
