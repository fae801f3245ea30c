package syntax_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tercet/commands/syntax"
	"tercet/formats"
)

// marker is one expected finding: ERROR "regexp" on its line, ERROR+2 two lines further down.
type marker struct {
	line int
	re   *regexp.Regexp
	hit  bool
}

// markers reads the comments of a file, <!-- ERROR "..." "..." --> in markdown and # ERROR "..." in YAML.
func markers(t *testing.T, src []byte) []*marker {
	t.Helper()
	head := regexp.MustCompile(`(?:<!-- |# )ERROR([+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)`)
	one := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	var out []*marker
	for i, line := range strings.Split(string(src), "\n") {
		for _, m := range head.FindAllStringSubmatch(line, -1) {
			offset := 0
			if m[1] != "" {
				n, err := strconv.Atoi(m[1])
				if err != nil {
					t.Fatal(err)
				}
				offset = n
			}
			for _, quoted := range one.FindAllString(m[2], -1) {
				text := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
				out = append(out, &marker{line: i + 1 + offset, re: regexp.MustCompile(text)})
			}
		}
	}
	return out
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			expected := markers(t, src)
			for _, d := range findings(t, name, src) {
				if !take(expected, d) {
					t.Errorf("unexpected: %v", d)
				}
				if d.Help == "" && strings.HasPrefix(d.Code, "E2") {
					t.Errorf("no help: %v", d)
				}
			}
			for _, m := range expected {
				if !m.hit {
					t.Errorf("%s:%d: no finding matches %q", name, m.line, m.re)
				}
			}
		})
	}
}

func take(expected []*marker, d formats.Diagnostic) bool {
	for _, m := range expected {
		if !m.hit && m.line == d.Pos.Line && m.re.MatchString(d.Code+": "+d.Message) {
			m.hit = true
			return true
		}
	}
	return false
}

// findings gives everything that Parse says of a file.
func findings(t *testing.T, name string, src []byte) []formats.Diagnostic {
	t.Helper()
	file, err := syntax.Parse(name, src)
	if err == nil {
		return file.Found
	}
	var list *formats.Diagnostics
	if !errors.As(err, &list) {
		t.Fatalf("Parse(%s) = %T, want *formats.Diagnostics", name, err)
	}
	if file != nil {
		t.Errorf("Parse(%s) gives a file beside its error", name)
	}
	if list.ErrorCode() != formats.CodeInvalidCommand {
		t.Errorf("code = %s", list.ErrorCode())
	}
	return list.List
}

// TestCodes holds the table of codes against what the test files bring about.
func TestCodes(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range findings(t, name, src) {
			seen[d.Code] = true
		}
	}
	known := map[string]bool{}
	last := ""
	for _, c := range syntax.Codes() {
		if c.Name <= last {
			t.Errorf("code %s stands after %s", c.Name, last)
		}
		last = c.Name
		known[c.Name] = true
		if c.Meaning == "" {
			t.Errorf("code %s has no meaning", c.Name)
		}
	}
	for code := range seen {
		if !known[code] {
			t.Errorf("code %s is not in the table", code)
		}
	}
	// Package md tests its own codes.
	elsewhere := "E002 E003 E004 E005 E201 E202 E223 E224 E225 E226 E227 E228 E229 W211"
	for code := range known {
		if !seen[code] && !strings.Contains(elsewhere, code) {
			t.Errorf("no test file brings about %s", code)
		}
	}
}

func ExampleParse() {
	_, err := syntax.Parse("hello.md", []byte("---\ncommand: hello\ndescription: Say hello\n---\n\n## Workflow Execution\n\n### Step 1: Say it\n\n```yaml step\nretrun: Hello.\n```\n"))
	fmt.Println(err)
	// Output: hello.md:11:1: E108: unknown key 'retrun' in a step
}
