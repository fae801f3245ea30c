package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/watch"
	"tercet/internal/style"
	"tercet/project"
)

// watchVerb shows the runs on the whole screen; where there is none it follows the log of the only
// run at work.
func watchVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = `watch lists the runs on the left. Beside them it shows one run: its steps, its log, the diff of its
worktree, and its question. You can answer, pause, resume and cancel there; ? explains the keys. A run
that you resume is suspended when you leave, as soon as what it began is done.

With folders it shows the runs of all these projects in one list, and names the project of each run.

Without a full terminal it follows the log of the one run at work, as 'tercet show --log -f' does.`
	return func(c call) error {
		dirs, err := c.watchedDirs()
		if err != nil {
			return err
		}
		fullScreen := c.app.term.InTTY && c.app.term.OutTTY && style.Capable(c.app.env("TERM"))
		if !fullScreen || c.app.term.Set.Silent {
			return c.followIn(dirs)
		}

		notes := &watch.Notes{Past: func(line string) { c.app.term.Note("%s", line) }}
		projects, err := c.openWatched(dirs, notes)
		if err == nil {
			err = c.watch(projects, notes)
		}
		for _, p := range projects {
			err = errors.Join(err, p.Close(c.ctx))
		}
		return err
	}
}

// watchedDirs are the projects to show, each once: those of the arguments, or the present one.
func (c call) watchedDirs() ([]string, error) {
	if len(c.args) == 0 {
		dir, has, err := c.app.projectDir()
		if err == nil && !has {
			err = project.NoWorkspace()
		}
		return []string{dir}, err
	}

	var dirs []string
	for _, name := range c.args {
		if !isDir(name) {
			return nil, usage("expected a folder, got %q", name)
		}
		start, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		dir, has := c.app.workspaceAbove(start)
		if !has {
			return nil, formats.Fail(
				formats.CodeNoWorkspace,
				"run 'tercet init' there, or leave it out",
				"no workspace in %s or above",
				name,
			)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// openWatched opens projects for the screen. It gives those that it opened also beside an error.
func (c call) openWatched(dirs []string, notes *watch.Notes) ([]*project.Project, error) {
	var list []*project.Project
	for _, dir := range dirs {
		host := c.app.host()
		host.Frontend = project.Unattended{Tell: notes.Tell}
		p, err := project.Open(c.ctx, dir, true, host)
		if err != nil && len(dirs) > 1 {
			err = fmt.Errorf("%s: %w", dir, err)
		}
		if err != nil {
			return list, err
		}
		list = append(list, p)
	}
	return list, nil
}

// watch shows projects on the whole screen.
func (c call) watch(projects []*project.Project, notes *watch.Notes) error {
	var places []watch.Place
	for _, p := range projects {
		one := watch.Place{Project: p, Language: p.Config.Language}
		if len(c.args) > 0 {
			one.Dir = p.QuotedDir()
		}
		places = append(places, one)
	}
	for i, name := range distinctNames(projects) {
		places[i].Name = name
	}

	screen, err := c.app.term.FullScreen(watch.Leave)
	if err != nil {
		return broken(formats.CodeIO, "the terminal", err)
	}
	return watch.Run(c.ctx, watch.Config{
		In:       screen.In,
		Out:      screen.Out,
		Env:      os.Environ(),
		Projects: places,
		Notes:    notes,
		Now:      clock{}.Now,
		Sheet:    c.app.term.Sheet(true),
		Suspend:  screen.Suspend,
		Left:     screen.Done,
	})
}

// distinctNames names projects by their folders, with so many of the folders above that no two have
// one name.
func distinctNames(projects []*project.Project) []string {
	names := make([]string, len(projects))
	for parts := 1; ; parts++ {
		seen := map[string]bool{}
		longer := false
		for i, p := range projects {
			words := strings.Split(filepath.ToSlash(p.Dir), "/")
			names[i] = strings.Join(words[max(0, len(words)-parts):], "/")
			seen[names[i]] = true
			longer = longer || parts < len(words)
		}
		if len(seen) == len(names) || !longer {
			return names
		}
	}
}

// followIn follows the log of the only run that is at work in some projects.
func (c call) followIn(dirs []string) error {
	var at *project.Project
	var found []string
	for _, dir := range dirs {
		p, err := project.Open(c.ctx, dir, true, c.app.host())
		if err != nil {
			return err
		}
		defer p.Close(c.ctx) //nolint:errcheck // it was read
		list, err := p.Runs(project.Filter{Unfinished: true})
		if err != nil {
			return err
		}
		for _, r := range list {
			if p.AtWork(r.ID) {
				found = append(found, r.ID)
				at = p
			}
		}
	}

	if len(found) != 1 {
		return formats.Fail(
			formats.CodeUsage,
			"run 'tercet show --log -f RUN'; 'tercet runs' lists the runs",
			"expected a full terminal, or just one run at work",
		)
	}

	c.p = at
	c.app.term.Use(at)
	c.args = found
	return c.printLog("", true, false)
}
