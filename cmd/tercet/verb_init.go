package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// initVerb makes a workspace. It never overwrites and may be run again.
func initVerb(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	next := f.Int("next-number", 1, "the number of the first task")
	anew := f.Bool("new-state", false,
		"replace a lost state.json by an empty one, numbered after the highest task ever given")
	dry := f.Bool("dry-run", false, "list the files; write nothing")
	driver := f.Bool("merge-driver", false,
		"have git merge state.json by task: write .gitattributes, and say what to configure")
	editor := f.String("editor", "", "let this `editor` check config.yaml by its schema: vscode")
	return func(c call) error {
		if _, err := formats.OneOf("--editor vscode", *editor, []string{"", "vscode"}); err != nil {
			return err
		}
		if *next < 1 {
			return usage("expected --next-number of at least 1, got %d", *next)
		}

		if err := c.app.mayCommand(); err != nil {
			return err
		}
		dir, err := c.app.startDir()
		if err != nil {
			return err
		}

		first := project.Settings{}
		if !*dry && c.app.term.Interactive() && !exists(filepath.Join(dir, project.ConfigFile)) {
			first, err = c.offerRunner(dir)
			if err != nil {
				return err
			}
		}

		var settings []project.EditorFile // before anything is written: they may be past reading
		if *editor != "" {
			settings, err = project.EditorFiles(dir)
			if err != nil {
				return err
			}
		}

		files, err := c.app.host().Init(
			c.ctx, dir, first,
			project.InitOptions{NextNumber: *next, Anew: *anew},
			*dry,
		)
		if err != nil {
			return err
		}

		if !*dry {
			c.app.trustInit(dir, files)
		}
		if *driver {
			more, err := project.InstallMergeDriver(dir, *dry)
			if err != nil {
				return err
			}
			files = append(files, more...)
		}

		more, err := project.WriteEditorFiles(dir, settings, *dry)
		if err != nil {
			return err
		}

		files = append(files, more...)
		c.reportInit(dir, files, *dry)
		c.adviseMergeDriver(dir, *driver)
		return nil
	}
}

// offerRunner asks whether the agent CLIs that are installed shall do the work.
func (c call) offerRunner(dir string) (project.Settings, error) {
	found := c.app.host().InstalledAgents()
	if len(found) == 0 {
		return project.Settings{}, nil
	}
	c.app.term.Prompt(
		"  | installed: %s\n  | yes writes `runner: auto` into %s: the first of these that runs\n",
		strings.Join(found, ", "), project.ConfigFile,
	)
	yes, err := c.app.term.Yes(c.ctx, "Let "+found[0]+" do the work of subagents? "+
		"That may cost money. Without it, the offline runner does mechanical work only.")
	if err != nil || !yes {
		return project.Settings{}, err
	}

	env, err := c.offerLogin(dir, found[0])
	return project.Settings{Runner: project.RunnerAuto, Env: env}, err
}

// offerLogin says how an agent CLI is logged in. If only a key of the user could do that, it asks
// whether the agent CLI shall get it, and gives the variables for the key `env`.
func (c call) offerLogin(dir, name string) (env []string, err error) {
	p, err := project.Find(dir, false, c.app.host())
	defer func() { err = errors.Join(err, p.Close(c.ctx)) }()
	if err != nil { // the configuration of the user, which every other verb will report
		c.app.term.Note("the login of %s was not looked at: %v", name, err)
		return nil, nil
	}

	login, err := p.AgentLogin(name)
	switch {
	case err != nil:
		return nil, err
	case login.IsKey:
		c.app.term.Note("%s is logged in by the key in %s", name, login.By)
	case login.By != "":
		c.app.term.Note("%s is logged in, by the login in %s", name, login.By)
	case login.Offer != "":
		line := "env: [" + login.Offer + "]"
		yes, err := c.app.term.Yes(c.ctx, login.Offer+" is set, but "+name+
			" does not get it. Write `"+line+"` into "+project.ConfigFile+"?")
		if err != nil || !yes {
			c.app.term.Note("no login of %s seen: start %s once to log in", name, name)
			return nil, err
		}
		env = []string{login.Offer}
	default:
		c.app.term.Note("no login of %s seen: %s", name, login.Help)
	}
	return env, nil
}

// trustInit records trust in the files that init has written.
func (a *app) trustInit(dir string, written []string) {
	h := a.host()
	if err := h.TrustWritten(dir, written); err != nil {
		a.term.Note("warning: this folder is not recorded as trusted: %v", err)
	}
}

// foundByInit is what init finds in the folder of a workspace.
type foundByInit struct {
	tools  []project.Tool         // other tools that have commands or agents there
	states []project.ForeignState // tasks of other tools
	advice []string               // lines for the user
	next   string                 // the lines to try first
}

// lookAround says what is in a folder besides the workspace that init made. What cannot be read is
// a warning: the workspace is made.
func (c call) lookAround(dir string, dry bool) (found foundByInit) {
	next, err := c.app.host().FirstLines(c.ctx, dir)
	if err != nil && !dry {
		c.app.term.Note("warning: %v", err)
	}
	found.next = next

	p, err := project.Find(dir, isDir(filepath.Join(dir, formats.Workspace)), c.app.host())
	if err == nil {
		found.next = p.RewriteCalls(project.LibrarySource, next)
		found.tools, found.advice = p.ForeignTools()
		found.states = p.ForeignStates(c.ctx)
		if container := p.DevcontainerAdvice(); container != "" {
			found.advice = append(found.advice, container)
		}
	}
	if err = errors.Join(err, p.Close(c.ctx)); err != nil {
		c.app.term.Note("warning: %v", err)
	}
	return found
}

// reportInit says what init wrote and found, and what to do next.
func (c call) reportInit(dir string, files []string, dry bool) {
	agents := c.app.host().InstalledAgents()
	found := c.lookAround(dir, dry)
	if c.app.answerJSON("tercet.init/1", fields{
		"dir":     dir,
		"files":   files,
		"dry_run": dry,
		"tools":   nonNil(found.tools),
		"agents":  nonNil(agents),
		"states":  nonNil(found.states),
	}) {
		return
	}

	for _, f := range files {
		c.app.term.Answer("%s", f)
	}
	for _, t := range found.tools {
		c.app.term.Note("found %s", t)
		for _, line := range t.Advice {
			c.app.term.Note("%s", line)
		}
	}

	next := found.next
	for _, f := range slices.Backward(found.states) {
		if text := f.String(); text != "" {
			c.app.term.Note("%s", text)
			next = f.Line
		}
	}
	for _, line := range found.advice {
		c.app.term.Note("%s", line)
	}

	if len(agents) > 0 {
		c.app.term.Note("installed: %s; 'tercet doctor' shows their versions",
			strings.Join(agents, ", "))
	}

	switch {
	case dry:
		c.app.term.Note("%s would be written in %s", formats.Count(len(files), "file"), dir)
	case len(files) == 0:
		c.app.term.Note("%s has a workspace already; nothing was changed", dir)
	case !slices.ContainsFunc(files, func(f string) bool {
		return strings.HasPrefix(f, formats.Workspace)
	}):
		c.app.term.Note("%s has a workspace already; nothing else was changed", dir)
	default:
		c.app.term.Note("workspace made%s", formats.Prefixed("; next: ", next))
	}
}
