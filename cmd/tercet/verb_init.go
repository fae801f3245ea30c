package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/trust"
	"tercet/state"
)

const gitignore = `# written by tercet init: ignores everything but what belongs into the repository
*
!.gitignore
!config.yaml
!commands/
!commands/**
!subagents/
!subagents/**
!facets/
!facets/**
!state.json
!TODO.md
!specs/
!specs/**
!archive/
!archive/state.json
`

const configYAML = `# tercet's configuration; every key has a default
runner: offline
`

// initVerb makes a workspace. It never overwrites and may be run again.
func (a *app) initVerb() *cobra.Command {
	var next int
	var dry, driver bool
	cmd := &cobra.Command{
		Use: "init", Short: "make a workspace in this folder", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if next < 1 {
				return usage("expected --next-number of at least 1, got %d", next)
			}
			if a.insideRun() {
				return a.mayCommand()
			}
			dir, err := a.startDir()
			if err != nil {
				return err
			}
			runner, err := a.offerRunner(cmd.Context(), dir, dry)
			if err != nil {
				return err
			}
			files, err := initWorkspace(cmd.Context(), dir, next, dry)
			if err != nil {
				return err
			}
			if err := chooseRunner(dir, files, runner); err != nil {
				return err
			}
			if !dry {
				a.trustInit(dir, files)
			}
			if driver {
				more, err := installDriver(dir, dry)
				if err != nil {
					return err
				}
				files = append(files, more...)
			}
			a.tellInit(dir, files, dry)
			a.offerDriver(dir, driver)
			return nil
		},
	}
	cmd.Flags().IntVar(&next, "next-number", 1, "the number of the first task")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "list the files; write nothing")
	cmd.Flags().BoolVar(&driver, "merge-driver", false, "have git merge state.json by task: write .gitattributes, and say what to configure")
	return cmd
}

// trustInit records trust in the files that init has written, and in no other: what was there before is asked about when it
// is used.
func (a *app) trustInit(dir string, written []string) {
	if len(written) == 0 {
		return
	}
	var files []trust.File
	if name := formats.Workspace + "/config.yaml"; slices.Contains(written, name) {
		data, err := os.ReadFile(filepath.Join(dir, formats.Workspace, "config.yaml"))
		if err != nil {
			a.term.note("warning: this folder is not recorded as trusted: %v", err)
			return
		}
		files = append(files, trust.Of(name, data))
	}
	a.trustWritten(dir, files)
}

func (a *app) tellInit(dir string, files []string, dry bool) {
	if a.flags.json {
		a.term.json(map[string]any{"schema": "tercet.init/1", "dir": dir, "files": files, "dry_run": dry})
		return
	}
	for _, f := range files {
		a.term.answer("%s", f)
	}
	switch {
	case dry:
		a.term.note("%s would be written in %s", count(len(files), "file"), dir)
	case len(files) == 0:
		a.term.note("%s has a workspace already; nothing was changed", dir)
	default:
		a.term.note("workspace made; next: tercet '/task \"what is to be done\"', then tercet /research 1, tercet /plan 1")
	}
}

// initWorkspace writes what is missing and lists it, relative to the project root.
func initWorkspace(ctx context.Context, dir string, next int, dry bool) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeIO, Message: "project root", Err: err}
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost
	if info, err := root.Lstat(formats.Workspace); err == nil && !info.IsDir() {
		return nil, &formats.Failure{Code: formats.CodeConfig, Message: fmt.Sprintf("expected a folder at %s, got a file", formats.Workspace), Help: "move it away"}
	}
	written := []string{}
	for _, d := range []string{"commands", "subagents", "specs", "archive"} {
		if !dry {
			if err := atomicfile.MkdirAll(root, path.Join(formats.Workspace, d), 0o755); err != nil {
				return nil, ioFailure(err)
			}
		}
	}
	for _, f := range []struct{ name, text string }{{".gitignore", gitignore}, {"config.yaml", configYAML}} {
		name := path.Join(formats.Workspace, f.name)
		if _, err := root.Lstat(name); err == nil {
			continue
		}
		written = append(written, name)
		if !dry {
			if err := atomicfile.Create(root, name, []byte(f.text), 0o644); err != nil {
				return nil, ioFailure(err)
			}
		}
	}
	name := path.Join(formats.Workspace, "state.json")
	if _, err := root.Lstat(name); err == nil {
		return written, nil
	}
	written = append(written, name, path.Join(formats.Workspace, "TODO.md"))
	if dry {
		return written, nil
	}
	m, err := state.NewManager(stateConfig(root, dir, 0, nil))
	if err != nil {
		return nil, err
	}
	return written, m.Init(ctx, state.InitOptions{NextNumber: next})
}

func ioFailure(err error) error {
	return &formats.Failure{Code: formats.CodeIO, Message: "workspace", Err: err, Help: "check the folder's permissions and the space on the disk"}
}
