package policy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// policyFile holds the import policy as text, in a fence `policy`.
const policyFile = "docs/design.md"

// policy maps a package to what it may import besides the standard library; "*" allows everything.
type policy map[string][]string

// readPolicy reads "a: b c" lines; a right side may be a folder's list in braces,
// "internal/{jsonx,md}".
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

// allows tells whether an import path is among the allowed ones: ours by folder, third parties by a
// part of their path.
func allows(list []string, imported string) bool {
	if slices.Contains(list, "*") {
		return true
	}
	if own, ok := strings.CutPrefix(imported, "tercet/"); ok {
		return slices.Contains(list, own)
	}
	return slices.ContainsFunc(list, func(word string) bool {
		return imported == word || strings.HasPrefix(imported, word+"/") ||
			strings.Contains("/"+imported+"/", "/"+word+"/")
	})
}

// imports gives the imports of every package of the tree that are not of the standard library, test
// files excepted; all build tags count.
func imports(t *testing.T) map[string]map[string][]string {
	t.Helper()
	out := map[string]map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if out[s.pkg] == nil {
			out[s.pkg] = map[string][]string{}
		}
		for _, imported := range importsOf(s) {
			first, _, _ := strings.Cut(imported, "/")
			if first == "tercet" || strings.Contains(first, ".") {
				out[s.pkg][imported] = append(out[s.pkg][imported], s.name)
			}
		}
	}
	return out
}

func importsOf(s source) []string {
	var out []string
	for _, spec := range s.file.Imports {
		out = append(out, strings.Trim(spec.Path.Value, `"`))
	}
	return out
}

// breaches lists every import that the policy does not have, and every package and line without the
// other.
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
				out = append(
					out,
					fmt.Sprintf("%s imports %s in %s: the policy of %s has no such line",
						pkg, imported, strings.Join(files, ", "), pkg),
				)
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
	found := imports(t)
	for pkg, list := range found {
		for _, own := range []string{
			"tercet/internal/testkit", "tercet/internal/testkit/modelserver",
			"tercet/internal/testkit/faults", "tercet/internal/testkit/marked",
		} {
			files := list[own]
			if len(files) > 0 && !strings.HasPrefix("tercet/"+pkg+"/", own+"/") {
				t.Errorf("%s imports %s in %v, want it in test files alone", pkg, own, files)
			}
		}
	}
}

func TestImportsFollowThePolicy(t *testing.T) {
	t.Parallel()
	src, err := fs.ReadFile(top(), policyFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPolicy(src)
	if err != nil {
		t.Fatal(err)
	}
	found := imports(t)
	for _, b := range breaches(p, found) {
		t.Error(b)
	}
}

// TestPolicyFindsBreaches proves that the check can fail: each forbidden edge of the three layers
// is reported.
func TestPolicyFindsBreaches(t *testing.T) {
	t.Parallel()
	src, err := fs.ReadFile(top(), policyFile)
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
		{"commands", "tercet/internal/question"},
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
			t.Errorf("breaches with %s importing %s = %q, want one that names planted.go",
				edge[0], edge[1], got)
		}
	}
}

// TestOnlyTheManagerWrites: the way to the state and its log leads through subagents/builtin, and
// through what a person asks for. The router, commands and other subagents have none.
func TestOnlyTheManagerWrites(t *testing.T) {
	t.Parallel()
	found := imports(t)
	for pkg, list := range found {
		if pkg == "state" || strings.HasPrefix(pkg, "state/") || pkg == "subagents/builtin" ||
			pkg == "project" || pkg == "cmd/tercet" {
			continue
		}
		for name := range list {
			if name == "tercet/state" || strings.HasPrefix(name, "tercet/state/") {
				t.Errorf("%s imports %s, want only subagents/builtin, project and cmd/tercet",
					pkg, name)
			}
		}
	}
}

// textHelpers make, read and sort text for people; they decide nothing, so every frontend may use
// them.
var textHelpers = []string{
	"editor", "history", "keyboard", "lazy", "live", "nearest", "order", "pages", "phrase", "plain",
	"question", "style",
}

// TestFrontendsUseTheService: a frontend imports project and formats, and of the rest only what
// makes text.
func TestFrontendsUseTheService(t *testing.T) {
	t.Parallel()
	seen := 0
	for pkg, list := range imports(t) {
		if !strings.HasPrefix(pkg, "frontends/") {
			continue
		}
		seen++
		for name := range list {
			own, ok := strings.CutPrefix(name, "tercet/")
			helper, internal := strings.CutPrefix(own, "internal/")
			switch {
			case !ok, own == "project", own == "formats", strings.HasPrefix(own, "frontends/"):
			case !internal || !slices.Contains(textHelpers, helper):
				t.Errorf("%s imports %s, want project, formats and helpers for text", pkg, name)
			}
		}
	}
	if seen < 2 {
		t.Errorf("saw %d frontends, want the terminal and watch", seen)
	}
}

// TestProcessesHaveOneOwner: os/exec stands in internal/proc and nowhere else.
func TestProcessesHaveOneOwner(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test && s.pkg != "internal/proc" && slices.Contains(importsOf(s), "os/exec") {
			t.Errorf("%s imports os/exec, want only internal/proc", s.name)
		}
	}
}
