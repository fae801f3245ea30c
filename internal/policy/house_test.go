package policy_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// source is one Go file of the house.
type source struct {
	name string // slash-separated, relative to the root
	pkg  string // folder
	test bool
	text []byte
	fset *token.FileSet
	file *ast.File
}

// top is the top of the tree.
func top() fs.FS {
	return os.DirFS("../..")
}

// tree parses the Go files of the house, once for all tests. What it gives is not changed.
var tree = sync.OnceValues(func() ([]source, error) {
	var out []source
	err := fs.WalkDir(top(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." &&
			(d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() && name != "." {
			if _, err := fs.Stat(top(), path.Join(name, "go.mod")); err == nil {
				return filepath.SkipDir // a module of its own
			}
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(top(), name)
		if err != nil {
			return err
		}
		s, err := parsed(filepath.ToSlash(name), string(text))
		out = append(out, s)
		return err
	})
	return out, err
})

// sources gives every Go file of the house.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsed is a file with a text.
func parsed(name, text string) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(
		fset, name, text,
		parser.ParseComments|parser.SkipObjectResolution,
	)
	return source{
		name: name,
		pkg:  path.Dir(name),
		test: strings.HasSuffix(name, "_test.go"),
		text: []byte(text),
		fset: fset,
		file: file,
	}, err
}

// planted is a file that a test makes up.
func planted(t *testing.T, name, text string) source {
	t.Helper()
	s, err := parsed(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.name, s.fset.Position(pos).Line)
}

// rule is one check of the house over a file; it reports through tell.
type rule struct {
	name  string
	check func(s source, tell func(at, what string))
}

func rules() []rule {
	return []rule{
		{"a package is a noun", nouns},
		{"the process edge is cmd/tercet", edges},
		{"no package variable changes, no init", variables},
		{"errors stand in errors.go", errorFiles},
		{"messages are lower case without a period", messages},
		{"no panic and no recover", panics},
		{"no dropped error without a reason", dropped},
		{"no banner, emoji or open TODO", decoration},
		{"status words come from formats", statusWords},
		{"only atomicfile and journal write files", writers},
		{"depth is raised by the dispatcher", depth},
		{"no method is found by its name", reflection},
	}
}

func TestHouse(t *testing.T) {
	t.Parallel()
	all := sources(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range all {
				r.check(s, func(at, what string) {
					t.Errorf("%s: %s", at, what)
				})
			}
		})
	}
}

// TestHouseFinds proves that every rule can fail: each planted file breaks one.
func TestHouseFinds(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]struct{ file, text string }{
		"a package is a noun": {"util/a.go", "package util\n"},
		"the process edge is cmd/tercet": {
			"state/a.go",
			"package state\n\nimport \"time\"\n\nfunc f() { time.Now() }\n",
		},
		"no package variable changes, no init": {
			"state/a.go",
			"package state\n\nvar seen = map[string]int{}\n\nfunc f() { seen[\"a\"]++ }\n",
		},
		"errors stand in errors.go": {
			"state/a.go",
			"package state\n\ntype BadError struct{}\n\n" +
				"func (e *BadError) Error() string { return \"\" }\n",
		},
		"messages are lower case without a period": {
			"state/a.go",
			"package state\n\nimport \"errors\"\n\nvar errX = errors.New(\"Failed.\")\n",
		},
		"no panic and no recover": {
			"state/a.go",
			"package state\n\nfunc f() { panic(1) }\n",
		},
		"no dropped error without a reason": {
			"state/a.go",
			"package state\n\nfunc f() {\n\t_ = g()\n}\n",
		},
		"no banner, emoji or open TODO": {
			"state/a.go",
			"package state\n\n// ===========\n",
		},
		"status words come from formats": {
			"commands/interp/a.go",
			"package interp\n\nvar s = \"not_started\"\n",
		},
		"only atomicfile and journal write files": {
			"state/a.go",
			"package state\n\nimport \"os\"\n\nfunc f() { os.WriteFile(\"\", nil, 0) }\n",
		},
		"depth is raised by the dispatcher": {
			"commands/interp/a.go",
			"package interp\n\nfunc f(d D) { d.Depth.Next() }\n",
		},
		"no method is found by its name: an import": {
			"state/a.go",
			"package state\n\nimport _ \"text/template\"\n",
		},
		"no method is found by its name: a call": {
			"state/a.go",
			"package state\n\nfunc f(v V) { v.MethodByName(\"x\") }\n",
		},
		"no method is found by its name: an embedded value": {
			"state/a.go",
			"package state\n\nimport \"reflect\"\n\ntype t struct{ reflect.Value }\n",
		},
	} {
		s := planted(t, plant.file, plant.text)
		found := 0
		for _, r := range rules() {
			if about, _, _ := strings.Cut(name, ": "); r.name == about {
				r.check(s, func(string, string) { found++ })
			}
		}
		if found == 0 {
			t.Errorf("rule %q found nothing in %q, want a finding", name, plant.text)
		}
	}
}

// reflection: as soon as one reachable line can find a method by its name, the linker keeps every
// exported method of the program, which makes it 2.9 MB larger.
func reflection(s source, tell func(at, what string)) {
	if s.test {
		return
	}
	for _, imported := range importsOf(s) {
		if imported == "text/template" || imported == "html/template" {
			tell(s.name, imported+" finds methods by name: use internal/parts")
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if n.Sel.Name == "MethodByName" {
				tell(s.at(n.Pos()), "MethodByName keeps every method in the program")
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				embedded, ok := f.Type.(*ast.SelectorExpr)
				if !ok || len(f.Names) > 0 {
					continue
				}
				if pkg, ok := embedded.X.(*ast.Ident); ok && pkg.Name == "reflect" {
					tell(s.at(f.Pos()), "an embedded reflect."+embedded.Sel.Name+
						" has MethodByName")
				}
			}
		}
		return true
	})
}

func nouns(s source, tell func(at, what string)) {
	banned := []string{
		"util", "utils", "common", "types", "models", "core", "engine", "manager", "helper",
		"helpers", "base", "pkg", "misc", "shared",
	}
	if name := strings.TrimSuffix(s.file.Name.Name, "_test"); slices.Contains(banned, name) {
		tell(s.name, "package name "+name+" says nothing")
	}
	if s.test {
		return
	}
	name := path.Base(s.name)
	if name == "doc.go" && (s.file.Doc == nil || len(s.file.Doc.Text()) < 120) {
		tell(
			s.name,
			"a package comment states its promise, what it will not do, and its concurrency rule",
		)
	}
}

// selectors calls visit for every pkg.Name of the file.
func selectors(s source, visit func(pos token.Pos, pkg, name string)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok {
				visit(sel.Pos(), id.Name, sel.Sel.Name)
			}
		}
		return true
	})
}

func edges(s source, tell func(at, what string)) {
	if s.test || s.pkg == "cmd/tercet" || s.pkg == "internal/testkit" {
		return
	}
	banned := map[string][]string{
		"os": {
			"Args", "Getenv", "LookupEnv", "Environ", "Exit", "Stdin", "Stdout", "Stderr", "Setenv",
		},
		"time":    {"Now", "Since", "Until", "Sleep"},
		"context": {"Background", "TODO"},
		"fmt":     {"Print", "Printf", "Println"},
		"log":     {"Print", "Printf", "Println", "Fatal", "Fatalf"},
	}
	selectors(s, func(pos token.Pos, pkg, name string) {
		if slices.Contains(banned[pkg], name) {
			tell(s.at(pos), pkg+"."+name+" belongs to cmd/tercet")
		}
	})
}

// variables: a package variable is an embedded file, a seam, a bare error fact, or a table that no
// line of its file changes.
func variables(s source, tell func(at, what string)) {
	if s.test {
		return
	}
	changed := assigned(s)
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				tell(s.at(d.Pos()), "no init")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || constant(d, v) || table(v) && !changed[v.Names[0].Name] {
					continue
				}
				tell(
					s.at(v.Pos()),
					"package variable "+v.Names[0].Name+
						": only embedded files, seams, bare error facts and tables that never "+
						"change may stand here",
				)
			}
		}
	}
}

// table tells a variable that is given its whole content where it is declared: a literal, or a call
// that makes one of constants. What takes time, as a regular expression does, is made when it is
// first asked for (internal/lazy).
func table(v *ast.ValueSpec) bool {
	if len(v.Names) != 1 || len(v.Values) != 1 || ast.IsExported(v.Names[0].Name) {
		return false
	}
	switch value := v.Values[0].(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		sel, ok := value.Fun.(*ast.SelectorExpr)
		return ok &&
			slices.Contains(
				[]string{"NewReplacer", "OnceValue", "OnceValues", "Regexp"},
				sel.Sel.Name,
			)
	default:
		return false
	}
}

// assigned gives the names that a line of the file assigns to, as a whole or in part, or takes the
// address of.
func assigned(s source) map[string]bool {
	out := map[string]bool{}
	var root func(e ast.Expr)
	root = func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.Ident:
			out[e.Name] = true
		case *ast.IndexExpr:
			root(e.X)
		case *ast.SelectorExpr:
			root(e.X)
		case *ast.StarExpr:
			root(e.X)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, left := range n.Lhs {
					root(left)
				}
			}
		case *ast.IncDecStmt:
			root(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				root(n.X)
			}
		}
		return true
	})
	return out
}

// constant tells package variables that cannot change in meaning: embedded files, the seams `var _
// T = ...`, sentinels, and what the linker sets.
func constant(d *ast.GenDecl, v *ast.ValueSpec) bool {
	if d.Doc != nil && strings.Contains(d.Doc.List[len(d.Doc.List)-1].Text, "//go:embed") {
		return true
	}
	if d.Doc != nil && strings.HasSuffix(d.Doc.Text(), "set by the linker.\n") &&
		len(v.Values) == 0 {
		return true
	}
	name := v.Names[0].Name
	return name == "_" || strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err")
}

func errorFiles(s source, tell func(at, what string)) {
	base := path.Base(s.name)
	if s.test || base == "errors.go" || s.pkg == "cmd/tercet" {
		return
	}
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			ts, ok := spec.(*ast.TypeSpec)
			if ok && strings.HasSuffix(ts.Name.Name, "Error") && ast.IsExported(ts.Name.Name) {
				_, isStruct := ts.Type.(*ast.StructType)
				if isStruct && ts.Name.Name != "ReturnError" {
					tell(s.at(ts.Pos()), "error type "+ts.Name.Name+" belongs in errors.go")
				}
			}
		}
	}
}

func messages(s source, tell func(at, what string)) {
	if s.test {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}

		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok ||
			(id.Name != "errors" || sel.Sel.Name != "New") &&
				(id.Name != "fmt" || sel.Sel.Name != "Errorf") {
			return true
		}

		lit, ok := call.Args[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text := strings.Trim(lit.Value, "`\"")
		first := rune(text[0])
		second := rune('a')
		if len(text) > 1 {
			second = rune(text[1])
		}
		if unicode.IsUpper(first) && !unicode.IsUpper(second) || strings.HasSuffix(text, ".") ||
			strings.Contains(text, "failed to") || strings.HasPrefix(text, "error:") {
			tell(s.at(call.Pos()), "message "+lit.Value+": lower case, no period, no \"failed to\"")
		}
		return true
	})
}

func panics(s source, tell func(at, what string)) {
	if s.test {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, ok := call.Fun.(*ast.Ident)
		if ok &&
			(id.Name == "panic" ||
				id.Name == "recover" && s.pkg != "internal/md" && s.pkg != "internal/query" &&
					s.pkg != "internal/editor") {
			tell(
				s.at(call.Pos()),
				id.Name+": return an error; only a third-party parser is recovered from",
			)
		}
		return true
	})
}

func dropped(s source, tell func(at, what string)) {
	if s.test {
		return
	}
	for i, line := range strings.Split(string(s.text), "\n") {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "_ = ") && !strings.Contains(text, "//") {
			tell(fmt.Sprintf("%s:%d", s.name, i+1), "`_ =` needs its reason in the same line")
		}
	}
}

func decoration(s source, tell func(at, what string)) {
	banner := regexp.MustCompile(`^\s*//\s*[=*#-]{4,}`)
	todo := regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	allowed := regexp.MustCompile(`TODO\.md|TODO\(v2\):|RenderTodo|\bTODO\b.*(view|file)`)
	for i, line := range strings.Split(string(s.text), "\n") {
		at := fmt.Sprintf("%s:%d", s.name, i+1)
		if banner.MatchString(line) {
			tell(at, "no banners")
		}
		_, comment, ok := strings.Cut(line, "//")
		if ok && todo.MatchString(comment) && !allowed.MatchString(line) &&
			s.name != "internal/policy/house_test.go" {
			tell(at, "TODO(v2): with a condition, or nothing")
		}
		for _, r := range line {
			if r >= 0x1F300 && r <= 0x1FAFF && !s.test {
				tell(at, "no emoji")
			}
		}
	}
}

// statusWords: words that are a task status and nothing else must not be written out in layers 1 to
// 3.
func statusWords(s source, tell func(at, what string)) {
	if s.test || strings.HasPrefix(s.pkg, "formats") || s.pkg == "cmd/tercet" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING {
			switch strings.Trim(lit.Value, "\"") {
			case "not_started", "researching", "researched", "revising", "implementing", "on_hold",
				"abandoned":
				tell(s.at(lit.Pos()), "status word "+lit.Value+": use the constant of formats")
			}
		}
		return true
	})
}

func writers(s source, tell func(at, what string)) {
	if s.test || s.pkg == "internal/atomicfile" || s.pkg == "internal/journal" ||
		s.pkg == "cmd/tercet" || s.pkg == "internal/testkit" {
		return
	}
	selectors(s, func(pos token.Pos, pkg, name string) {
		if pkg == "os" &&
			slices.Contains(
				[]string{"WriteFile", "Create", "CreateTemp", "OpenFile", "Rename"},
				name,
			) {
			if slices.Contains(ownFolder(), s.name) {
				return
			}
			tell(s.at(pos), "os."+name+": write through internal/atomicfile")
		}
	})
}

// ownFolder lists the files that write into a run's own folder, or open a lock.
func ownFolder() []string {
	return []string{
		"internal/proc/capture.go", "internal/proc/child_unix.go", "project/foreign.go",
		"subagents/agentcli/box.go",
		"state/lock_unix.go",
	}
}

func depth(s source, tell func(at, what string)) {
	if s.test || strings.HasPrefix(s.pkg, "formats") || s.name == "subagents/dispatch.go" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Next" || len(call.Args) != 0 {
			return true
		}
		if inner, ok := sel.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "Depth" {
			tell(s.at(call.Pos()), "only the dispatcher raises the depth")
		}
		return true
	})
}

// TestEveryCommandHasAScript: every file of commands/library is named by a script of its own.
func TestEveryCommandHasAScript(t *testing.T) {
	t.Parallel()
	scripts, err := fs.Glob(top(), "cmd/tercet/testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := fs.Glob(top(), "commands/library/*.md")
	if err != nil || len(commands) == 0 {
		t.Fatalf("commands/library has no file: %v", err)
	}
	for _, name := range commands {
		word := strings.TrimSuffix(filepath.Base(name), ".md")
		if !slices.ContainsFunc(scripts, func(s string) bool {
			return strings.HasPrefix(filepath.Base(s), word+"_")
		}) {
			t.Errorf("%s has no script cmd/tercet/testdata/script/%s_*.txtar", name, word)
		}
	}
	if len(scripts) < 40 {
		t.Errorf("%d scripts, want at least 40", len(scripts))
	}
}

// TestNothingSpeaksOfItsMaking: no tracked text holds an absolute path of a machine or says how its
// making was organised.
func TestNothingSpeaksOfItsMaking(t *testing.T) {
	t.Parallel()
	banned := regexp.MustCompile(`/home/[a-z]+/|/Users/[a-z]+/|/root/|/work/main`)
	err := fs.WalkDir(top(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || name == "dist" || strings.Contains(name, "testdata/fuzz") {
				return filepath.SkipDir
			}
			return nil
		}
		// .git is a file in a worktree.
		if name == "internal/policy/house_test.go" || name == "tercet" || name == ".git" {
			return nil
		}
		text, err := fs.ReadFile(top(), name)
		if err != nil {
			return err
		}
		if m := banned.Find(text); m != nil {
			t.Errorf("%s names %q", name, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
