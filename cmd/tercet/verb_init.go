package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/checkup"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/project"
	"tercet/state"
	"tercet/subagents/agentcli"
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

		runner := agentcli.RunnerOffline
		if !*dry && c.app.term.Interactive() && !exists(filepath.Join(dir, project.ConfigFile)) {
			if runner, err = c.offerRunner(); err != nil {
				return err
			}
		}
		var settings [][2]string // before anything is written: they may be past reading
		if *editor != "" {
			if settings, err = editorFiles(dir); err != nil {
				return err
			}
		}
		files, err := c.app.host().Init(
			c.ctx, dir, runner,
			state.InitOptions{NextNumber: *next, Anew: *anew},
			*dry,
		)
		if err != nil {
			return err
		}
		if !*dry {
			c.app.trustInit(dir, files)
		}
		if *driver {
			more, err := installDriver(dir, *dry)
			if err != nil {
				return err
			}
			files = append(files, more...)
		}
		more, err := writeFiles(dir, settings, *dry)
		if err != nil {
			return err
		}

		files = append(files, more...)
		c.tellInit(dir, files, *dry)
		c.offerDriver(dir, *driver)
		return nil
	}
}

// installed are the agent CLIs of this machine. Nothing is started for it.
func (c call) installed() []string {
	return agentcli.Installed(&proc.Starter{Env: []string{"PATH=" + c.app.env("PATH")}})
}

// offerRunner asks whether the agent CLIs that are installed shall do the work.
func (c call) offerRunner() (string, error) {
	found := c.installed()
	if len(found) == 0 {
		return agentcli.RunnerOffline, nil
	}
	c.app.term.Prompt(
		"  | installed: %s\n  | yes writes `runner: auto` into %s: the first of these that runs\n",
		strings.Join(found, ", "), project.ConfigFile,
	)
	yes, err := c.app.term.Yes(c.ctx, "Let "+found[0]+" do the work of subagents? "+
		"That may cost money. Without it, the offline runner does mechanical work only.")
	if yes {
		return agentcli.RunnerAuto, err
	}
	return agentcli.RunnerOffline, err
}

// trustInit records trust in the files that init has written.
func (a *app) trustInit(dir string, written []string) {
	h := a.host()
	if err := h.TrustWritten(dir, written); err != nil {
		a.term.Note("warning: this folder is not recorded as trusted: %v", err)
	}
}

func (c call) tellInit(dir string, files []string, dry bool) {
	var tools []checkup.Tool
	agents := c.installed()
	next, err := firstLines(c.ctx, c.app.host(), dir)
	if err != nil && !dry {
		c.app.term.Note("warning: %v", err)
	}
	p, err := c.app.find()
	if err == nil {
		tools = checkup.Tools(p.Table)
		next = p.Beside(project.LibrarySource, next)
	}
	agentLines := p.ForeignAgents()
	if err = errors.Join(err, p.Close()); err != nil {
		c.app.term.Note("warning: %v", err)
	}
	if c.app.document("tercet.init/1", fields{
		"dir":     dir,
		"files":   files,
		"dry_run": dry,
		"tools":   nonNil(tools),
		"agents":  nonNil(agents),
	}) {
		return
	}

	for _, f := range files {
		c.app.term.Answer("%s", f)
	}
	for _, t := range tools {
		c.app.term.Note("found %s", t)
		for _, line := range t.Advice {
			c.app.term.Note("%s", line)
		}
	}

	for _, line := range agentLines {
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

// firstLines are what a user types first in a new workspace, with the number that the first task
// will get.
func firstLines(ctx context.Context, h project.Host, dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", broken(formats.CodeIO, "project root", err)
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost
	reader, err := state.NewReader(h.StateConfig(root, dir, 0, nil))
	if err != nil {
		return "", err
	}
	doc, err := reader.Doc(ctx)
	if err != nil {
		return "", err
	}
	return sprintf(
		`tercet '/task "what is to be done"', then tercet /research %[1]d, tercet /plan %[1]d`,
		doc.NextNumber,
	), nil
}

// The files that let VS Code check config.yaml.
const (
	editorSettings = ".vscode/settings.json"
	settingsSchema = ".vscode/tercet-config.schema.json"
)

// editorFiles gives those of the editor's files that have to be written, with their text.
func editorFiles(dir string) (out [][2]string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, project.IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost
	have := map[string][]byte{}
	for _, name := range []string{editorSettings, settingsSchema} {
		have[name], err = atomicfile.ReadFile(root, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, project.IOFailure(err)
		}
	}

	settings, err := dialect.AddSetting(
		editorSettings,
		have[editorSettings],
		"yaml.schemas",
		"./"+settingsSchema,
		project.ConfigFile,
	)
	if err != nil {
		return nil, err
	}

	doc, err := config.Schema()
	if err != nil {
		return nil, err
	}
	schema, err := json.MarshalIndent(doc, "", "  ")
	if schema = append(schema, '\n'); !bytes.Equal(schema, have[settingsSchema]) {
		out = append(out, [2]string{settingsSchema, string(schema)})
	}
	if settings != nil {
		out = append(out, [2]string{editorSettings, string(settings)})
	}
	return out, err
}

// writeFiles writes files below a folder and lists them.
func writeFiles(dir string, files [][2]string, dry bool) (names []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, project.IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost
	for _, f := range files {
		names = append(names, f[0])
		if dry {
			continue
		}
		if err := atomicfile.MkdirAll(root, path.Dir(f[0]), 0o755); err != nil {
			return nil, project.IOFailure(err)
		}
		if err := atomicfile.WriteIn(root, f[0], []byte(f[1]), atomicfile.Options{}); err != nil {
			return nil, project.IOFailure(err)
		}
	}
	return names, nil
}
