package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tercet/internal/pages"
	"tercet/internal/testkit/marked"
)

// TestDiagnosticFiles: each file of testdata/diagnostics, named CODE.KIND, has the findings that it announces and no others.
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
			if err != nil {
				t.Fatal(err)
			}
			own := false
			for _, d := range checkExample(t, env, strings.ReplaceAll(kind, ".", " "), expandTokens(t, text)) {
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

// TestEveryCodeIsMarked: every diagnostic is announced in a test file on the line that fails, and has a page with an example
// that brings it about and one that does not.
func TestEveryCodeIsMarked(t *testing.T) {
	t.Parallel()
	marked := map[string]bool{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, "testdata") || strings.HasSuffix(name, ".txtar") {
			return err
		}
		src, err := os.ReadFile(name)
		for _, m := range regexp.MustCompile(`ERROR(?:[+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)`).FindAllSubmatch(src, -1) {
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
	for code := range declared(t) {
		if meanings()[code] == "" {
			t.Errorf("no page says what %s means", code)
		}
	}
	for code := range meanings() {
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

// declared are the codes that the sources of the program name.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, pattern := range []string{"../../*/*.go", "../../*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if dir := filepath.Base(filepath.Dir(name)); dir == "config" || dir == "trust" {
				continue // of config.yaml and of an auto-approve file, whose messages say it all
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^\s*(?:const )?\w+\s+(?:Code )?= "([EW]\d{3})"`).FindAllSubmatch(src, -1) {
				out[string(m[1])] = !strings.HasSuffix(name, "_test.go")
			}
		}
	}
	if len(out) < 100 {
		t.Fatalf("%d codes are declared, want those of all packages", len(out))
	}
	return out
}
