package project

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

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/nearest"
	"tercet/internal/packs"
	"tercet/subagents"
	"tercet/templates"
)

// FoundPack is a pack that need not be installed, with where it comes from: the program, a folder
// below or beside the project, or a commit of another repository.
type FoundPack struct {
	packs.Pack
	Source, Commit string
}

// PackAgent is a subagent of a pack.
type PackAgent struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Runner      []string `json:"runner"`
	Argv        []string `json:"argv"` // the program that it starts
}

// Agents reads the subagents of a pack. No list of them is nil.
func (f FoundPack) Agents() ([]PackAgent, error) {
	agents := []PackAgent{}
	for _, file := range f.Files {
		if !strings.HasPrefix(file.Path, "subagents/") {
			continue
		}
		def, err := subagents.ParseDefinition(file.Path, file.Data)
		if err != nil {
			return nil, err
		}
		agents = append(agents, PackAgent{
			Name:        f.Name + ":" + def.Info.Name,
			Description: def.Info.Description,
			Tools:       append([]string{}, def.Info.Tools...),
			Runner:      append([]string{}, def.Info.Runner...),
			Argv:        append([]string{}, def.Argv...),
		})
	}
	return agents, nil
}

// FindPack reads a pack by its name in the program, by a folder, or by GIT-URL@REF. Nothing of it
// is run. A folder is found from the working folder of the process.
func (p *Project) FindPack(ctx context.Context, name string) (FoundPack, error) {
	shipped, err := templates.Packs()
	if err != nil {
		return FoundPack{}, err
	}
	if packs.IsName(name) {
		tree, err := fs.Sub(shipped, name)
		if err != nil {
			return FoundPack{}, err
		}
		if _, err := fs.Stat(tree, "pack.yaml"); err == nil {
			pack, err := packs.Read(name, tree)
			return FoundPack{pack, packs.Builtin, ""}, err
		}
	}

	if info, err := os.Stat(name); err == nil && info.IsDir() {
		pack, err := packs.Read(filepath.ToSlash(name), os.DirFS(name))
		return FoundPack{pack, p.relativeFolder(name), ""}, err
	}

	address, ref, ok := git.CutRef(name)
	if !ok {
		versions, err := shippedPacks()
		if err != nil {
			return FoundPack{}, err
		}
		return FoundPack{}, formats.Fail(formats.CodeNotFound,
			cmp.Or(
				nearest.Help(name, slices.Collect(maps.Keys(versions))),
				"name one of 'tercet pack list', a folder, or GIT-URL@REF with https, ssh or file",
			),
			"no pack %q", name)
	}
	return p.fetchPack(ctx, address, ref)
}

// relativeFolder gives the path of a folder relative to the project, as the record of packs has it.
func (p *Project) relativeFolder(folder string) string {
	at := filepath.Clean(folder)
	if abs, err := filepath.Abs(folder); err == nil {
		if rel, err := filepath.Rel(p.Dir, abs); err == nil {
			at = rel
		}
	}
	return filepath.ToSlash(at)
}

// fetchPack fetches a pack out of another repository. What the user asks for by its address needs
// no trust in the project.
func (p *Project) fetchPack(ctx context.Context, address, ref string) (f FoundPack, err error) {
	dir, err := os.MkdirTemp("", "tercet-pack-")
	if err != nil {
		return f, IOFailure(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	starter, err := p.Host.NewStarter()
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, starter.Close()) }()

	repo := &git.Repo{Starter: starter, Dir: dir, Online: p.networkEnv}
	bounds := git.Bounds{Files: packs.MaxFiles, Bytes: packs.MaxBytes}
	commit, data, err := repo.Archive(ctx, address, ref, bounds)
	if errors.As(err, new(*git.TooLargeError)) {
		return f, packs.TooLarge(address)
	}
	if one, ok := errors.AsType[*git.Error](err); ok {
		return f, formats.Fail(formats.CodeIO, "look at it with: git ls-remote "+address,
			"%s@%s: %s", address, ref, one.Stderr)
	}
	if err != nil {
		return f, err
	}

	tree, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return f, formats.Broken(formats.CodeIO, address, err)
	}
	pack, err := packs.Read(address, tree)
	return FoundPack{pack, address, commit}, err
}

// shippedPacks are the versions of the packs that tercet brings along, by their names.
func shippedPacks() (map[string]string, error) {
	shipped, err := templates.Packs()
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(shipped, ".")
	if err != nil {
		return nil, err
	}

	out := map[string]string{}
	for _, e := range entries {
		tree, err := fs.Sub(shipped, e.Name())
		if err != nil {
			return nil, err
		}
		p, err := packs.Read(e.Name(), tree)
		if err != nil {
			return nil, err
		}
		out[p.Name] = p.Version
	}
	return out, nil
}
