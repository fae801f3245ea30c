package cassette

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// Limits of what is stored of one call.
const (
	maxFile  = 4 << 20
	maxFiles = 20_000
)

// Snapshot maps the files of a tree to their hashes, without git's folder, the workspace and
// unreadable files.
func Snapshot(dir string) (map[string][sha256.Size]byte, error) {
	out := map[string][sha256.Size]byte{}
	err := eachFile(dir, func(name string, data []byte) {
		out[name] = sha256.Sum256(data)
	})
	return out, err
}

// ChangedFiles gives the changed files, and the deleted ones.
func ChangedFiles(
	before map[string][sha256.Size]byte,
	dir string,
) (files map[string]string, removed []string, err error) {
	gone := maps.Clone(before)
	files = map[string]string{}
	err = eachFile(dir, func(name string, data []byte) {
		if old, there := before[name]; !there || old != sha256.Sum256(data) {
			files[name] = string(data)
		}
		delete(gone, name)
	})
	return files, slices.Sorted(maps.Keys(gone)), err
}

// eachFile calls do for every regular file of a tree that is not too large to be recorded.
func eachFile(dir string, do func(name string, data []byte)) (err error) {
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return formats.OnFile("open", dir, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	n := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return formats.OnFile("read", name, err)
		}
		if d.IsDir() && (d.Name() == ".git" || name == formats.Workspace) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || d.Name() == ".git" {
			return nil
		}

		n++
		if n > maxFiles {
			return formats.OnFile(
				"read", dir,
				fmt.Errorf("expected at most %d files in a tree that is recorded, got more",
					maxFiles),
			)
		}

		info, err := d.Info()
		if err != nil {
			return formats.OnFile("read", name, err)
		}
		if info.Size() > maxFile {
			return nil
		}

		data, err := root.ReadFile(name)
		if err != nil {
			return formats.OnFile("read", name, err)
		}
		do(name, data)
		return nil
	})
}

// WriteFiles writes the files of a call into one of its folders.
func WriteFiles(dir string, files map[string]string, removed []string) (err error) {
	if len(files)+len(removed) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return formats.OnFile("open", dir, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if MayWrite(name) {
			if at := path.Dir(name); at != "." {
				if err := atomicfile.MkdirAll(root, at, 0o755); err != nil {
					return formats.OnFile("make", at, err)
				}
			}
			err = atomicfile.WriteIn(root, name, []byte(files[name]), atomicfile.Options{})
		}
		if err != nil {
			return formats.OnFile("write", name, err)
		}
	}

	for _, name := range removed {
		if !MayWrite(name) {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return formats.OnFile("remove", name, err)
		}
	}

	return nil
}

// MayWrite reports whether a recording may write a path: not into git's folder or the workspace.
func MayWrite(name string) bool {
	return fs.ValidPath(name) && name != "." &&
		!slices.Contains(strings.Split(name, "/"), ".git") &&
		!strings.HasPrefix(name, formats.Workspace+"/")
}

// Diff shows where two texts differ: the lines between their common beginning and end, with one
// line of context.
func Diff(old, now string) string {
	a := strings.Split(old, "\n")
	b := strings.Split(now, "\n")
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}

	to := 0
	for to < min(len(a), len(b))-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}

	var out strings.Builder
	line := func(mark, text string) {
		out.WriteString(mark + " " + text + "\n")
	}
	if from > 0 {
		line(" ", a[from-1])
	}

	const maxLines = 20
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"-", a[from : len(a)-to]}, {"+", b[from : len(b)-to]}} {
		for i, text := range side.lines {
			if i == maxLines {
				line(side.mark, fmt.Sprintf("… and %d more lines", len(side.lines)-maxLines))
				break
			}
			line(side.mark, text)
		}
	}

	if to > 0 {
		line(" ", a[len(a)-to])
	}
	return strings.TrimRight(out.String(), "\n")
}
