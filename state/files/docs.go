package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
)

// Docs opens documents inside the project root only. It never writes.
type Docs struct{ root *os.Root }

// NewDocs opens documents under root.
func NewDocs(root *os.Root) *Docs {
	return &Docs{root: root}
}

// check refuses a path that may not be opened.
func (d *Docs) check(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if why := PathFault(name); why != "" {
		return formats.Fail(formats.CodeDenied,
			"write the path relative to the project root, with slashes",
			"expected path inside the project root, got %q: %s", name, why)
	}
	return nil
}

// Open reads a document of at most 4 MiB. If it is missing, the error is a *formats.Failure with
// FILE_NOT_FOUND that wraps fs.ErrNotExist.
func (d *Docs) Open(ctx context.Context, name string) (data []byte, err error) {
	err = d.readChecked(ctx, name, func() (err error) {
		data, err = Read(d.root, name, MaxDoc)
		return err
	})
	return data, err
}

// Sum returns the SHA-256 of a file of any size, in hex. Its errors are those of Open.
func (d *Docs) Sum(ctx context.Context, name string) (string, error) {
	h := sha256.New()
	err := d.readChecked(ctx, name, func() error {
		f, _, err := Open(d.root, name, math.MaxInt64)
		if err == nil {
			_, err = io.Copy(h, f)
			err = errors.Join(err, f.Close())
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func (d *Docs) readChecked(ctx context.Context, name string, read func() error) error {
	if err := d.check(ctx, name); err != nil {
		return err
	}

	err := read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &formats.Failure{
			Code:    formats.CodeFileNotFound,
			Message: name,
			Err:     fs.ErrNotExist,
		}
	case err != nil:
		return Failure("reading", name, err)
	}
	return nil
}

// Exists reports whether a regular file is at the path.
func (d *Docs) Exists(ctx context.Context, name string) (bool, error) {
	if err := d.check(ctx, name); err != nil {
		return false, err
	}

	info, err := d.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, Failure("looking at", name, err)
	}

	return info.Mode().IsRegular(), nil
}

// Glob lists the regular files that match any pattern, sorted and unique. Patterns are those of
// path.Match; a part ** matches any number of folders. It skips the folder .git.
func (d *Docs) Glob(ctx context.Context, patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		if err := d.check(ctx, p); err != nil {
			return nil, err
		}
		if _, err := path.Match(strings.ReplaceAll(p, "**", "*"), ""); err != nil {
			return nil, &formats.Failure{
				Code:    formats.CodeUsage,
				Message: fmt.Sprintf("expected pattern, got %q", p),
				Err:     err,
			}
		}

		parts := strings.Split(p, "/")
		err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			names := strings.Split(name, "/")
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
				return nil
			case err != nil:
				return Failure("reading the folder", name, err)
			case name == ".":
			case e.IsDir() && (e.Name() == ".git" || !matchParts(parts, names, true)):
				return fs.SkipDir
			case e.Type().IsRegular() && matchParts(parts, names, false):
				out = append(out, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}

	slices.Sort(out)
	return slices.Compact(out), nil
}

// matchParts reports whether a path matches a pattern or, for a folder, whether a path below it
// may.
func matchParts(parts, names []string, folder bool) bool {
	switch {
	case len(parts) == 0 || len(names) == 0:
		return len(names) == 0 && (len(parts) == 0) != folder
	case parts[0] == "**":
		return folder || len(parts) == 1 || matchParts(parts[1:], names, false) ||
			matchParts(parts, names[1:], false)
	}
	ok, err := path.Match(parts[0], names[0])
	return ok && err == nil && matchParts(parts[1:], names[1:], folder)
}
