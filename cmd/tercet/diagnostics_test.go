package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tercet/internal/pages"
	"tercet/internal/testkit/marked"
)

// TestDiagnosticFiles: each file of testdata/diagnostics, named CODE.KIND, has the findings that it
// announces and no others.
func TestDiagnosticFiles(t *testing.T) {
	t.Parallel()
	env := pageAgents(t)
	files, err := filepath.Glob("testdata/diagnostics/*")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code, kind, _ := strings.Cut(filepath.Base(name), ".")
			text, all, err := marked.Cut(string(src))
			if kind == "config" { // its comments may stay
				all, err = marked.Read(string(src))
			}
			if err != nil {
				t.Fatal(err)
			}
			own := false
			for _, d := range checkExample(
				t, env,
				strings.ReplaceAll(kind, ".", " "),
				expandTokens(t, text),
			) {
				own = own || d.Code == code
				if !all.Meets(d.Pos.Line, d.Code+": "+d.Message) {
					t.Errorf("unexpected: %d:%d: %s: %s", d.Pos.Line, d.Pos.Col, d.Code, d.Message)
				}
			}

			for _, m := range all.Unmet() {
				t.Errorf("%s:%d: no finding matches %q", name, m.Line, m.Pattern)
			}
			if !own {
				t.Errorf("the file does not bring about %s", code)
			}
		})
	}
}

// TestEveryCodeIsMarked: every diagnostic is announced in a test file on the line that fails, and
// has a page with an example that brings it about and one that does not.
func TestEveryCodeIsMarked(t *testing.T) {
	t.Parallel()
	marked := map[string]bool{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, "testdata") ||
			strings.HasSuffix(name, ".txtar") {
			return err
		}
		src, err := os.ReadFile(name)

		for _, m := range regexp.MustCompile(
			`ERROR(?:[+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)`,
		).FindAllSubmatch(src, -1) {
			for _, code := range regexp.MustCompile(`["|]([EW]\d{3})`).FindAllSubmatch(m[1], -1) {
				marked[string(code[1])] = true
			}
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := pages.All()
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, p := range all {
		explained[p.Code] = len(p.Wrong.Lines) > 0 && len(p.Right.Lines) > 0
	}

	known, _ := codesOfSources(t)
	for code, where := range known {
		if meanings()[code] == "" {
			t.Errorf("%s: no page says what %s means", where, code)
		}
	}

	for code := range meanings() {
		if known[code] == "" {
			t.Errorf("no source names %s, which has a page", code)
		}
		if !marked[code] {
			t.Errorf("no test file announces %s on its line", code)
		}
		if !explained[code] {
			t.Errorf("no page shows %s wrong and right", code)
		}
	}
}

// meanings gives the meaning of every diagnostic of the program by its code.
func meanings() map[string]string {
	all, err := pages.All()
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range all {
		out[p.Code] = p.Means
	}
	return out
}

// TestEveryFailureIsExplained: `tercet explain CODE` knows every code that a failure of the program
// may have.
func TestEveryFailureIsExplained(t *testing.T) {
	t.Parallel()
	_, failures := codesOfSources(t)

	for _, code := range []string{"USAGE", "SECRET_FOUND", "UNKNOWN_ERROR"} {
		if failures[code] == "" {
			t.Errorf("%s is not found in the sources", code)
		}
	}

	for code, where := range failures {
		if p, ok := pages.Explain(code); !ok || p.Means == "" || p.Do == "" {
			t.Errorf("%s: nothing explains %s", where, code)
		}
	}
}

// codesOfSources reads the sources of the program: the codes of diagnostics and those of failures
// that they name, each with the place of one use.
func codesOfSources(t *testing.T) (diagnostics, failures map[string]string) {
	t.Helper()
	diagnostics = map[string]string{}
	failures = map[string]string{}
	set := token.NewFileSet()
	note := func(into map[string]string, e ast.Expr, form string) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err == nil && regexp.MustCompile(form).MatchString(text) {
				into[text] = set.Position(lit.Pos()).String()
			}
		}
	}
	const diagnostic = `^[EW]\d{3}$`
	const failure = `^[A-Z][A-Z_]+$`
	isCode := func(e ast.Expr) bool {
		if s, ok := e.(*ast.SelectorExpr); ok {
			e = s.Sel
		}
		name, ok := e.(*ast.Ident)
		return ok && name.Name == "Code"
	}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") {
			return err
		}

		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				note(diagnostics, n, diagnostic)
			case *ast.ValueSpec:
				for _, v := range n.Values {
					if isCode(n.Type) {
						note(failures, v, failure)
					}
				}
			case *ast.CallExpr:
				if isCode(n.Fun) && len(n.Args) == 1 {
					note(failures, n.Args[0], failure)
				}
			case *ast.KeyValueExpr:
				if isCode(n.Key) {
					note(failures, n.Value, failure)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || len(diagnostics) < 100 || len(failures) < 30 {
		t.Fatalf("%d diagnostics and %d failures, %v", len(diagnostics), len(failures), err)
	}
	return diagnostics, failures
}
