package tercet_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// policyFile holds the import policy as text, in a fence `policy`.
const policyFile = "docs/design.md"

// policy maps a package to what it may import besides the standard library; "*" allows everything.
type policy map[string][]string

// readPolicy reads "a: b c" lines; a right side may be a folder's list in braces, "internal/{jsonx,md}".
func readPolicy(src []byte) (policy, error) {
	_, rest, ok := bytes.Cut(src, []byte("```policy\n"))
	if !ok {
		return nil, fmt.Errorf("%s has no policy block", policyFile)
	}
	block, _, _ := bytes.Cut(rest, []byte("\n```"))
	out := policy{}
	lines := bufio.NewScanner(bytes.NewReader(block))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		name, right, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		list := []string{}
		for word := range strings.FieldsSeq(right) {
			list = append(list, expand(word)...)
		}
		out[strings.TrimSpace(name)] = list
	}
	return out, lines.Err()
}

func expand(word string) []string {
	prefix, names, ok := strings.Cut(word, "{")
	if !ok {
		return []string{word}
	}
	var out []string
	for n := range strings.SplitSeq(strings.TrimSuffix(names, "}"), ",") {
		out = append(out, prefix+n)
	}
	return out
}

// allows tells whether an import path is among the allowed ones: ours by folder, third parties by a part of their path.
func allows(list []string, imported string) bool {
	if slices.Contains(list, "*") {
		return true
	}
	if own, ok := strings.CutPrefix(imported, "tercet/"); ok {
		return slices.Contains(list, own)
	}
	return slices.ContainsFunc(list, func(word string) bool {
		return imported == word || strings.HasPrefix(imported, word+"/") || strings.Contains("/"+imported+"/", "/"+word+"/")
	})
}

// imports gives the imports of every package of the tree that are not of the standard library, test files excepted; all
// build tags count.
func imports(root string) (map[string]map[string][]string, error) {
	out := map[string]map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || (strings.HasPrefix(base, ".") && name != root) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(rel))
		if out[pkg] == nil {
			out[pkg] = map[string][]string{}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(imported, "/")
			if first == "tercet" || strings.Contains(first, ".") {
				out[pkg][imported] = append(out[pkg][imported], filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return out, err
}

// breaches lists every import that the policy does not have, and every package and line without the other.
func breaches(p policy, found map[string]map[string][]string) []string {
	var out []string
	for pkg, list := range found {
		allowed, ok := p[pkg]
		if !ok {
			if pkg != "." {
				out = append(out, fmt.Sprintf("package %s has no line in the policy", pkg))
			}
			continue
		}
		for imported, files := range list {
			if !allows(allowed, imported) {
				out = append(out, fmt.Sprintf("%s imports %s in %s: the policy of %s has no such line", pkg, imported, strings.Join(files, ", "), pkg))
			}
		}
	}
	for pkg := range p {
		if found[pkg] == nil {
			out = append(out, fmt.Sprintf("the policy has a line for %s, which has no file", pkg))
		}
	}
	slices.Sort(out)
	return out
}

// TestTestsAloneImport proves that what only tests need is not linked into the program.
func TestTestsAloneImport(t *testing.T) {
	t.Parallel()
	found, err := imports(".")
	if err != nil {
		t.Fatal(err)
	}
	for pkg, list := range found {
		for _, own := range []string{"tercet/internal/testkit", "tercet/internal/testkit/modelserver", "tercet/internal/testkit/faults", "tercet/internal/testkit/marked"} {
			if files := list[own]; len(files) > 0 && !strings.HasPrefix("tercet/"+pkg+"/", own+"/") {
				t.Errorf("%s imports %s in %v, want it in test files alone", pkg, own, files)
			}
		}
	}
}

func TestImportsFollowThePolicy(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPolicy(src)
	if err != nil {
		t.Fatal(err)
	}
	found, err := imports(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range breaches(p, found) {
		t.Error(b)
	}
}

// TestPolicyFindsBreaches proves that the check can fail: each forbidden edge of the three layers is reported.
func TestPolicyFindsBreaches(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPolicy(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, edge := range [][2]string{
		{"router", "tercet/commands/argspec"},
		{"router", "tercet/subagents"},
		{"commands", "tercet/state"},
		{"commands", "tercet/subagents"},
		{"commands/interp", "tercet/state"},
		{"commands/interp", "tercet/subagents"},
		{"commands/compile", "tercet/state"},
		{"subagents", "tercet/state"},
		{"subagents", "tercet/router"},
		{"subagents/offline", "tercet/state"},
		{"subagents/agentcli", "tercet/state"},
		{"subagents/offline", "os/exec.example.org"},
		{"formats", "tercet/internal/trace"},
	} {
		found := map[string]map[string][]string{}
		for pkg := range p {
			found[pkg] = map[string][]string{}
		}
		found[edge[0]][edge[1]] = []string{"planted.go"}
		if got := breaches(p, found); len(got) != 1 || !strings.Contains(got[0], "planted.go") {
			t.Errorf("breaches with %s importing %s = %q, want one that names planted.go", edge[0], edge[1], got)
		}
	}
}

// TestOnlyTheManagerWrites: the one package with a way to the writer of the state is subagents/builtin.
func TestOnlyTheManagerWrites(t *testing.T) {
	t.Parallel()
	found, err := imports(".")
	if err != nil {
		t.Fatal(err)
	}
	for pkg, list := range found {
		if list["tercet/state"] != nil && pkg != "subagents/builtin" && pkg != "cmd/tercet" {
			t.Errorf("%s imports tercet/state, want only subagents/builtin and cmd/tercet", pkg)
		}
	}
}

// TestProcessesHaveOneOwner: os/exec stands in internal/proc and nowhere else.
func TestProcessesHaveOneOwner(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if spec.Path.Value == `"os/exec"` && path.Dir(filepath.ToSlash(name)) != "internal/proc" {
				t.Errorf("%s imports os/exec, want only internal/proc", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// edgeKnows lists the names of a package of decisions that cmd/tercet may use: one constructor, few methods, plain data. A
// longer list means that policy went to the edge.
var edgeKnows = map[string][]string{
	"internal/control": {"Desk", "WaitingError", "GivenUp", "Arrived", "Sums", "Ceiling", "Bell"},
	"internal/trust": {
		"New", "Config", "Gate", "Verdict", "Change", "Start", "Listed", "KindAgent", "KindCommand", "KindSubagent",
		"ByDemo", "ByEnvironment", "ByRecord", "CheckDigests", "Remember",
	},
}

// usedNames gives the names of a package that a file uses, each with its place.
func usedNames(name string, src any, pkg string) (map[string]string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	word := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote("tercet/"+pkg) {
			if word = path.Base(pkg); spec.Name != nil {
				word = spec.Name.Name
			}
		}
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && word != "" {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == word {
				out[sel.Sel.Name] = set.Position(sel.Pos()).String()
			}
		}
		return true
	})
	return out, nil
}

// TestPolicyLeftTheEdge: cmd/tercet uses of packages that decide what is listed, and nothing listed is unused.
func TestPolicyLeftTheEdge(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("cmd/tercet/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("cmd/tercet has no files", err)
	}
	for pkg, known := range edgeKnows {
		seen := map[string]bool{}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			used, err := usedNames(name, nil, pkg)
			if err != nil {
				t.Fatal(err)
			}
			for word, at := range used {
				seen[word] = true
				if !slices.Contains(known, word) {
					t.Errorf("%s uses %s of %s, which is not among what the edge may know", at, word, pkg)
				}
			}
		}
		for _, word := range known {
			if !seen[word] {
				t.Errorf("the edge may know %s of %s, and does not use it", word, pkg)
			}
		}
	}
	planted := "package main\n\nimport who \"tercet/internal/trust\"\n\nvar _ = who.Open\n"
	if used, err := usedNames("planted.go", planted, "internal/trust"); err != nil || used["Open"] == "" {
		t.Errorf("a planted use is %v, %v, want it found", used, err)
	}
}
