package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
)

// Docs opens documents inside the project root and nothing else. It never writes.
type Docs struct{ root *os.Root }

// NewDocs opens documents under root.
func NewDocs(root *os.Root) *Docs { return &Docs{root: root} }

func (d *Docs) fault(name string) error {
	if why := pathFault(name); why != "" {
		return formats.Fail(formats.CodeDenied, "write the path relative to the project root, with slashes",
			"expected path inside the project root, got %q: %s", name, why)
	}
	return nil
}

// Open reads a document of at most 4 MiB. A file that is not there is a *formats.Failure with FILE_NOT_FOUND that wraps
// fs.ErrNotExist.
func (d *Docs) Open(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.fault(name); err != nil {
		return nil, err
	}
	data, err := readFile(d.root, name, maxDoc)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &formats.Failure{Code: formats.CodeFileNotFound, Message: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, ioFailure("reading", name, err)
	}
	return data, nil
}

// Exists tells whether a regular file is at the path.
func (d *Docs) Exists(ctx context.Context, name string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := d.fault(name); err != nil {
		return false, err
	}
	info, err := d.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, ioFailure("looking at", name, err)
	}
	return info.Mode().IsRegular(), nil
}

// Glob gives the regular files that match any of the patterns, sorted, each once. A pattern is as in path.Match; a part
// that is ** stands for any number of folders. The folder .git is not looked into.
func (d *Docs) Glob(ctx context.Context, patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		if err := d.fault(p); err != nil {
			return nil, err
		}
		if _, err := path.Match(strings.ReplaceAll(p, "**", "*"), ""); err != nil {
			return nil, &formats.Failure{Code: formats.CodeUsage, Message: fmt.Sprintf("expected pattern, got %q", p), Err: err}
		}
		g := glob{fsys: d.root.FS(), out: &out}
		if err := g.walk(ctx, ".", strings.Split(p, "/")); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// glob follows one pattern.
type glob struct {
	fsys fs.FS
	out  *[]string
}

func (g *glob) walk(ctx context.Context, dir string, parts []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if parts[0] == "**" && len(parts) > 1 {
		if err := g.walk(ctx, dir, parts[1:]); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(g.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return ioFailure("reading the folder", dir, err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if e.Name() == ".git" {
				continue
			}
			if err := g.into(ctx, name, e.Name(), parts); err != nil {
				return err
			}
			continue
		}
		if len(parts) == 1 && e.Type().IsRegular() && (parts[0] == "**" || matches(parts[0], e.Name())) {
			*g.out = append(*g.out, name)
		}
	}
	return nil
}

func (g *glob) into(ctx context.Context, name, base string, parts []string) error {
	if parts[0] == "**" {
		return g.walk(ctx, name, parts)
	}
	if len(parts) > 1 && matches(parts[0], base) {
		return g.walk(ctx, name, parts[1:])
	}
	return nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
