package checks

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxManifest bounds the files that Detect reads.
const maxManifest = 1 << 20

// Detect returns the checks of the project in fsys: by stack, then lint, build, test. It reads the manifests at the
// top and nothing else.
func Detect(fsys fs.FS) []Check {
	var list []Check
	if exists(fsys, "go.mod") {
		list = append(list,
			Check{Go, Lint, []string{"go", "vet", "./..."}},
			Check{Go, Build, []string{"go", "build", "./..."}},
			Check{Go, Test, []string{"go", "test", "./..."}})
	}
	list = append(list, detectNode(fsys)...)
	if exists(fsys, "Cargo.toml") {
		list = append(list,
			Check{Rust, Lint, []string{"cargo", "check", "--quiet", "--all-targets", "--message-format=short"}},
			Check{Rust, Build, []string{"cargo", "build", "--quiet", "--message-format=short"}},
			Check{Rust, Test, []string{"cargo", "test", "--quiet"}})
	}
	list = append(list, detectPython(fsys)...)
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if exists(fsys, name) {
			if hasTarget(read(fsys, name), "check") {
				list = append(list, Check{Make, Test, []string{"make", "check"}})
			}
			break // make reads the first of them only
		}
	}
	return list
}

// Select returns the checks of these stacks and kinds; an empty list means all of them.
func Select(list []Check, stacks []Stack, kinds []Kind) []Check {
	var out []Check
	for _, c := range list {
		if (len(stacks) == 0 || slices.Contains(stacks, c.Stack)) && (len(kinds) == 0 || slices.Contains(kinds, c.Kind)) {
			out = append(out, c)
		}
	}
	return out
}

func detectNode(fsys fs.FS) []Check {
	if !exists(fsys, "package.json") {
		return nil
	}
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(read(fsys, "package.json"), &manifest); err != nil {
		// What the scripts are cannot be known; this check fails and says why.
		return []Check{{Node, Build, []string{"npm", "pkg", "get", "scripts"}}}
	}
	var list []Check
	for _, k := range Kinds() {
		script := strings.TrimSpace(manifest.Scripts[string(k)])
		if script == "" || strings.Contains(script, "no test specified") { // what npm init writes
			continue
		}
		list = append(list, Check{Node, k, []string{"npm", "run", "--silent", string(k)}})
	}
	return list
}

func detectPython(fsys fs.FS) []Check {
	marks := []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini"}
	if !slices.ContainsFunc(marks, func(name string) bool { return exists(fsys, name) }) {
		return nil
	}
	list := []Check{{Python, Build, []string{"python3", "-m", "compileall", "-q", "."}}}
	usesPytest := exists(fsys, "pytest.ini") || exists(fsys, "conftest.py") || exists(fsys, "tests/conftest.py")
	for _, name := range append(marks, "requirements-dev.txt") {
		usesPytest = usesPytest || bytes.Contains(read(fsys, name), []byte("pytest"))
	}
	switch {
	case usesPytest:
		return append(list, Check{Python, Test, []string{"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"}})
	case hasUnittest(fsys, "."):
		return append(list, Check{Python, Test, []string{"python3", "-m", "unittest", "discover"}})
	case hasUnittest(fsys, "tests"):
		return append(list, Check{Python, Test, []string{"python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."}})
	case hasUnittest(fsys, "test"):
		return append(list, Check{Python, Test, []string{"python3", "-m", "unittest", "discover", "-s", "test", "-t", "."}})
	}
	return list
}

func hasUnittest(fsys fs.FS, dir string) bool {
	found, err := fs.Glob(fsys, path.Join(dir, "test*.py"))
	return err == nil && len(found) > 0
}

func exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// read returns a small file, or nothing: what cannot be read speaks for no check.
func read(fsys fs.FS, name string) []byte {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxManifest {
		return nil
	}
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil
	}
	return b
}

// hasTarget tells whether a makefile has a rule for target, also among several on one line.
func hasTarget(makefile []byte, target string) bool {
	for line := range strings.Lines(string(makefile)) {
		if line[0] == '\t' || line[0] == '#' || line[0] == '.' {
			continue // a recipe, a comment, or .PHONY: check
		}
		names, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(rest, "=") || strings.ContainsAny(names, "=#") {
			continue
		}
		if slices.Contains(strings.Fields(names), target) {
			return true
		}
	}
	return false
}
