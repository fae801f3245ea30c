package project

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state"
	"tercet/subagents/agentcli"
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
!templates/
!templates/**
!tests/
!tests/**
!packs.json
!packs/
!packs/**
!state.json
!TODO.md
!specs/
!specs/**
!archive/
!archive/state.json
`

// ConfigFile is the configuration of a workspace.
const (
	ConfigFile = formats.Workspace + "/config.yaml"
	configYAML = `# tercet's configuration; every key has a default
runner: `
)

// The runners that the first config.yaml may name besides an agent CLI.
const (
	RunnerOffline = agentcli.RunnerOffline
	RunnerAuto    = agentcli.RunnerAuto // the first agent CLI that is installed and runs
)

// InitOptions say how the first state is made.
type InitOptions = state.InitOptions

// Settings are what the first config.yaml says.
type Settings struct {
	Runner string   // empty: offline
	Env    []string // variables that workers get besides the usual ones
}

// text is the file.
func (s Settings) text() string {
	out := configYAML + cmp.Or(s.Runner, RunnerOffline) + "\n"
	if len(s.Env) > 0 {
		out += "env: [" + strings.Join(s.Env, ", ") + "]\n"
	}
	return out
}

// Init makes a workspace in a folder: it writes what is missing and lists it, relative to the
// project root. With dry it only lists.
func (h Host) Init(
	ctx context.Context,
	dir string,
	settings Settings,
	opt InitOptions,
	dry bool,
) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, "project root", err)
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost

	if info, err := root.Lstat(formats.Workspace); err == nil && !info.IsDir() {
		return nil, formats.Fail(formats.CodeConfig, "move it away",
			"expected a folder at %s, got a file", formats.Workspace)
	}

	for _, d := range []string{"commands", "subagents", "specs", "archive"} {
		if !dry {
			err := atomicfile.MkdirAll(root, path.Join(formats.Workspace, d), 0o755)
			if err != nil {
				return nil, IOFailure(err)
			}
		}
	}

	written := []string{}
	for _, f := range [][2]string{
		{formats.Workspace + "/.gitignore", gitignore},
		{ConfigFile, settings.text()},
	} {
		if _, err := root.Lstat(f[0]); err == nil {
			continue
		}
		written = append(written, f[0])
		if !dry {
			if err := atomicfile.Create(root, f[0], []byte(f[1]), 0o644); err != nil {
				return nil, IOFailure(err)
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

	m, err := state.NewManager(h.StateConfig(root, dir, 0, nil))
	if err != nil {
		return nil, err
	}
	return written, m.Init(ctx, opt)
}

// FirstLines are what a user types first in a new workspace, with the number that the first task
// will get.
func (h Host) FirstLines(ctx context.Context, dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", formats.Broken(formats.CodeIO, "project root", err)
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

	return fmt.Sprintf(
		`tercet '/task "what is to be done"', then tercet /research %[1]d, tercet /plan %[1]d`,
		doc.NextNumber,
	), nil
}
