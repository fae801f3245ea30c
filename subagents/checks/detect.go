package checks

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/formats"
)

// maxManifest bounds the files that Detect reads.
const maxManifest = 1 << 20

// Detect gives the checks of the project in fsys: by stack, then lint, build, test. It reads only
// the manifests in the top folder. The project's own checks, by stack, come last and replace what
// is detected for their stack; one of an unknown stack is there too.
func Detect(fsys fs.FS, own map[string][]string) []Check {
	list := slices.DeleteFunc(detect(fsys), func(c Check) bool {
		return len(own[string(c.Stack)]) > 0
	})
	for _, name := range slices.Sorted(maps.Keys(own)) {
		list = append(list, Check{Stack: Stack(name), Kind: Test, Argv: own[name]})
	}
	return list
}

func detect(fsys fs.FS) []Check {
	var list []Check
	if exists(fsys, "go.mod") {
		list = stackChecks(Go, "go vet ./...", "go build ./...", "go test ./...")
	}
	list = append(list, detectNode(fsys)...)
	if exists(fsys, "Cargo.toml") {
		list = append(list, stackChecks(Rust,
			"cargo check --quiet --all-targets --message-format=short",
			"cargo build --quiet --message-format=short",
			"cargo test --quiet")...)
	}
	list = append(list, detectPython(fsys)...)
	if exists(fsys, "lakefile.lean") || exists(fsys, "lakefile.toml") {
		list = append(list, newCheck(Lean, Build, "lake build")) // which checks the proofs
	}

	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if exists(fsys, name) {
			if hasTarget(readManifest(fsys, name), "check") {
				list = append(list, newCheck(Make, Test, "make check"))
			}
			break // make reads the first of them only
		}
	}
	return list
}

func detectNode(fsys fs.FS) []Check {
	if !exists(fsys, "package.json") {
		return nil
	}
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(readManifest(fsys, "package.json"), &manifest); err != nil {
		// What the scripts are cannot be known; this check fails and says why.
		return []Check{newCheck(Node, Build, "npm pkg get scripts")}
	}
	var list []Check
	for _, k := range Kinds() {
		script := strings.TrimSpace(manifest.Scripts[string(k)])
		if script == "" || strings.Contains(script, "no test specified") { // what npm init writes
			continue
		}
		list = append(list, newCheck(Node, k, "npm run --silent "+string(k)))
	}
	return list
}

func detectPython(fsys fs.FS) []Check {
	marks := []string{
		"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini",
	}
	if !slices.ContainsFunc(marks, func(name string) bool { return exists(fsys, name) }) {
		return nil
	}

	list := []Check{newCheck(Python, Build, "python3 -m compileall -q .")}
	usesPytest := exists(fsys, "pytest.ini") || exists(fsys, "conftest.py") ||
		exists(fsys, "tests/conftest.py")
	for _, name := range append(marks, "requirements-dev.txt") {
		usesPytest = usesPytest || bytes.Contains(readManifest(fsys, name), []byte("pytest"))
	}

	if usesPytest {
		return append(list, newCheck(Python, Test, "python3 -m pytest -q -p no:cacheprovider"))
	}

	for _, dir := range []string{".", "tests", "test"} {
		if found, err := fs.Glob(fsys, path.Join(dir, "test*.py")); err == nil && len(found) > 0 {
			c := newCheck(Python, Test, "python3 -m unittest discover")
			if dir != "." {
				c.Argv = append(c.Argv, "-s", dir, "-t", ".")
			}
			return append(list, c)
		}
	}
	return list
}

// stackChecks gives the checks of a stack that has one of every kind.
func stackChecks(s Stack, lint, build, test string) []Check {
	return []Check{newCheck(s, Lint, lint), newCheck(s, Build, build), newCheck(s, Test, test)}
}

func newCheck(s Stack, k Kind, command string) Check {
	return Check{s, k, strings.Fields(command)}
}

func exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// readManifest returns a small file, or nothing: what cannot be read speaks for no check.
func readManifest(fsys fs.FS, name string) []byte {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxManifest {
		return nil
	}
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil
	}
	return formats.WithoutBOM(b)
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
