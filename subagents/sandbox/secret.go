package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// view is what of a file system may be seen.
type view struct {
	listed  []string // folders of which only the names of entries are seen
	folders []string // folders with everything below them
	files   []string // everything else
}

// viewWithout gives the view of a folder that leaves out the secret paths below it. It leaves out
// links: what they lead to is judged by its own path. Paths are absolute and without links.
func viewWithout(dir string, secret []string) (view, error) {
	onTheWay := func(name string) bool {
		return slices.ContainsFunc(secret, func(s string) bool { return below(s, name) })
	}
	if !onTheWay(dir) {
		return view{folders: []string{dir}}, nil
	}

	entries, err := os.ReadDir(dir)
	// what this user cannot list, the program cannot either
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return view{}, err
	}
	out := view{listed: []string{dir}}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(secret, name), e.Type()&fs.ModeSymlink != 0:
		case !e.IsDir():
			out.files = append(out.files, name)
		case onTheWay(name):
			inner, err := viewWithout(name, secret)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be gone meanwhile
				return view{}, err
			}
			out.listed = append(out.listed, inner.listed...)
			out.folders = append(out.folders, inner.folders...)
			out.files = append(out.files, inner.files...)
		default:
			out.folders = append(out.folders, name)
		}
	}

	return out, nil
}

// realPath resolves the links of a path. Of one that does not exist it resolves the part that does.
func realPath(name string) string {
	name = filepath.Clean(name)
	rest := ""
	for {
		if found, err := filepath.EvalSymlinks(name); err == nil {
			return filepath.Join(found, rest)
		}
		parent := filepath.Dir(name)
		if parent == name {
			return filepath.Join(name, rest)
		}
		rest = filepath.Join(filepath.Base(name), rest)
		name = parent
	}
}

// mount is a line of mountinfo: Root of the file system Device is seen at Point.
type mount struct{ Device, Root, Point string }

// parseMounts reads the mounts of mountinfo.
func parseMounts(text string) (out []mount) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 4 {
			out = append(out, mount{
				Device: f[2],
				Root:   unescape.Replace(f[3]),
				Point:  unescape.Replace(f[4]),
			})
		}
	}
	return out
}

// pathsOf gives every path of a file, of which one is known: a part of a file system can be mounted
// at several places.
func pathsOf(name string, mounts []mount) []string {
	var own mount
	for _, m := range mounts {
		// a later mount at a place covers an earlier one
		if below(name, m.Point) && len(m.Point) >= len(own.Point) {
			own = m
		}
	}
	out := []string{name}
	inside, err := filepath.Rel(own.Point, name)
	if own.Point == "" || err != nil {
		return out
	}
	at := filepath.Join(own.Root, inside)
	for _, m := range mounts {
		if m.Device != own.Device || !below(at, m.Root) {
			continue
		}
		if rest, err := filepath.Rel(m.Root, at); err == nil {
			out = append(out, filepath.Join(m.Point, rest))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allPathsOf gives every path of the named files, without links.
func allPathsOf(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	mounts := parseMounts(string(text))
	var out []string
	for _, name := range names {
		out = append(out, pathsOf(realPath(name), mounts)...)
	}
	return out, nil
}
