package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tercet/formats"
)

// expected is one finding that a test file announces: // ERROR "regexp" on its line, ERROR-1 one line further up.
type expected struct {
	line int
	re   *regexp.Regexp
	hit  bool
}

// announced takes the announcements out of a test file, which may be of any language, and gives what is left.
func announced(t *testing.T, src string) (text string, all []*expected) {
	t.Helper()
	mark := regexp.MustCompile(` ?// ERROR([+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)$`)
	one := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		m := mark.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		lines[i] = strings.TrimSuffix(line, m[0])
		at := i + 1
		if m[1] != "" {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			at += n
		}
		for _, quoted := range one.FindAllString(m[2], -1) {
			all = append(all, &expected{line: at, re: regexp.MustCompile(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))})
		}
	}
	return strings.Join(lines, "\n"), all
}

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
			text, all := announced(t, string(src))
			own := false
			for _, d := range checkExample(t, env, strings.ReplaceAll(kind, ".", " "), expandTokens(t, text)) {
				own = own || d.Code == code
				if !meets(all, d) {
					t.Errorf("unexpected: %d:%d: %s: %s", d.Pos.Line, d.Pos.Col, d.Code, d.Message)
				}
			}
			for _, e := range all {
				if !e.hit {
					t.Errorf("%s:%d: no finding matches %q", name, e.line, e.re)
				}
			}
			if !own {
				t.Errorf("the file does not bring about %s", code)
			}
		})
	}
}

func meets(all []*expected, d formats.Diagnostic) bool {
	for _, e := range all {
		if !e.hit && e.line == d.Pos.Line && e.re.MatchString(d.Code+": "+d.Message) {
			e.hit = true
			return true
		}
	}
	return false
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
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, p := range all {
		explained[p.Code] = len(p.Wrong.Lines) > 0 && len(p.Right.Lines) > 0
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
