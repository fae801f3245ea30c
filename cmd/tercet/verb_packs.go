package main

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

func packVerbs() []verb {
	inside := userOnly | aWorkspace
	return []verb{
		{
			use:   "test [FILE...]",
			short: "test workflows with scripted workers",
			flags: workerFlags,
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
						a.flags.addTrust(cmd)
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

func listPacks(c packCall) error {
	list, err := c.p.Packs()
	if err != nil || c.app.answerJSON("tercet.pack/1", fields{"packs": list}) {
		return err
	}
	for _, r := range list {
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
	p, err := c.p.FindPack(c.ctx, c.args[0])
	if err != nil {
		return err
	}
	agents, err := p.Agents()
	if err != nil {
		return err
	}
	files := []string{}
	for _, f := range p.Files {
		files = append(files, f.Path)
	}

	if c.app.answerJSON("tercet.pack/1", fields{
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

// reportChanges shows what was done with packs, and ends with what is to be agreed to.
func (w packCall) reportChanges(done project.PackChanges, dry bool, failed error) error {
	if !w.app.flags.json {
		for _, c := range done.Changes {
			for _, s := range c.Shown() {
				w.app.term.Answer("%-8s %s%s", s.Action, s.Path, s.Action.Note())
			}
		}
	}
	if failed != nil {
		return failed
	}

	w.app.answerJSON("tercet.pack/1", fields{"changes": done.Changes, "dry_run": dry})
	switch {
	case len(done.Changes) == 0:
		w.app.term.Note("no pack is installed that could be updated; 'tercet pack list' shows them")
		return nil
	case !slices.ContainsFunc(done.Changes, func(c project.PackChange) bool { return !c.Idle() }):
		w.app.term.Note("up to date: nothing has changed")
	}
	if dry {
		w.app.term.Note("nothing was written")
		return nil
	}

	if w.app.flags.yes { // who adds it by --yes accepts what it brings
		w.p.TrustAccepted(done.Texts)
	}
	if err := w.agreeToPack(done.Changes); err != nil || !done.Conflicts {
		return err
	}
	return shownError{3}
}

// agreeToPack asks for trust in what changed, or says how to agree to it.
func (w packCall) agreeToPack(changes []project.PackChange) error {
	v, err := w.p.FreshVerdict()
	if err == nil {
		for _, line := range w.p.HiddenByPacks(changes) {
			w.app.term.Note("%s", line)
		}
	}
	if err != nil || v.By != "" || w.app.flags.json {
		return err
	}

	if !w.app.term.Interactive() {
		w.app.term.Note(
			"you have not agreed to %s that can start programs; agree with: tercet trust",
			v.Pending(),
		)
		return nil
	}

	if err := w.app.closeProject(); err != nil { // the subagents are read anew
		return err
	}
	in, err := w.app.workspaceSession(w.ctx)
	if err != nil {
		return err
	}
	return in.MayStart(w.ctx, formats.Invocation{})
}

func addPack(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "list the files; write nothing")
	return packVerb(func(c packCall) error {
		var choose func(project.PackStep) (project.PackChoice, error)
		if c.app.term.Interactive() { // nobody else can choose, and then both stay
			choose = c.choose
		}
		done, err := c.p.AddPack(c.ctx, c.args[0], *dry, choose)
		return c.reportChanges(done, *dry, err)
	})
}

// choose asks about a file that stands where the pack has another.
func (w packCall) choose(one project.PackStep) (project.PackChoice, error) {
	w.app.term.Note("%s is there and differs:", one.Path)
	for _, line := range one.Diff(shownDiff) {
		w.app.term.Say(line)
	}

	choices := []formats.Choice{
		{Label: "keep mine"},
		{Label: "take the pack's"},
		{Label: "both: the pack's as .new"},
		{Label: "stop", Leaves: true, Ends: true},
	}
	g := formats.Gate{
		Question:    "Which one shall stand?",
		NeedsPerson: true,
		Choices:     choices,
	}

	a, err := w.app.term.Ask(w.ctx, project.Question{Gate: g, Project: w.p})
	if err != nil {
		return project.KeepBoth, formats.Fail(formats.CodeRejected, "", "nothing was written")
	}
	switch a.Label {
	case choices[0].Label:
		return project.KeepOwn, nil
	case choices[1].Label:
		return project.TakePack, nil
	case choices[2].Label:
		return project.KeepBoth, nil
	}
	return project.KeepBoth, formats.Fail(formats.CodeRejected, "", "nothing was written")
}

func updatePacks(cmd *cobra.Command, _ *app) run {
	prune := cmd.Flags().Bool(
		"prune",
		false,
		"delete files that the pack dropped and you did not edit",
	)
	dry := cmd.Flags().Bool("dry-run", false, "list the files; write nothing")
	return packVerb(func(c packCall) error {
		done, err := c.p.UpdatePacks(c.ctx, c.args, *prune, *dry)
		return c.reportChanges(done, *dry, err)
	})
}

func removePack(c packCall) error {
	done, err := c.p.RemovePack(c.args[0])
	return c.reportChanges(done, false, err)
}

// testPack runs the tests of packs: as they stand in the workspace where they are installed, else
// as their source has them.
func testPack(c packCall) error {
	p, err := c.app.open(c.ctx)
	if err != nil {
		return err
	}

	installed, err := p.InstalledPacks()
	if err != nil {
		return err
	}
	names := c.args
	if len(names) == 0 {
		names = installed
	}

	texts := map[string][]byte{}
	placed := map[string][]project.PackFile{}
	files := []string{}
	for _, name := range names {
		if slices.Contains(installed, name) {
			if err := c.askTrust(); err != nil {
				return err
			}
		}
		has, tests, err := p.PackTests(c.ctx, name)
		if err != nil {
			return err
		}
		for _, t := range tests {
			texts[t.Path] = t.Data
			placed[t.Path] = has
			files = append(files, t.Path)
		}
	}

	t := c.app.tester(func(to *os.Root, file string) error {
		for _, f := range placed[file] {
			if err := project.WriteFile(to, f.Path, f.Data); err != nil {
				return err
			}
		}
		return nil
	})
	read := func(name string) ([]byte, error) { return texts[name], nil }
	return c.app.runTests(c.ctx, t, files, read)
}

// askTrust asks for trust in the files of the workspace, which the tests of a pack in it run.
func (w packCall) askTrust() error {
	in, err := w.app.openSession(w.ctx)
	if err != nil {
		return err
	}
	return in.MayStart(w.ctx, formats.Invocation{})
}
