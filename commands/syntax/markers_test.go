package syntax_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/testkit/marked"
)

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
			expected, err := marked.Read(string(src))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range findings(t, name, src) {
				if !expected.Meets(d.Pos.Line, d.Code+": "+d.Message) {
					t.Errorf("unexpected: %v", d)
				}
				if d.Help == "" && strings.HasPrefix(d.Code, "E2") {
					t.Errorf("no help: %v", d)
				}
			}
			for _, m := range expected.Unmet() {
				t.Errorf("%s:%d: no finding matches %q", name, m.Line, m.Pattern)
			}
		})
	}
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
	for _, file := range []string{"codes.go", "../../internal/md/errors.go"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`= "([EW]\d{3})"`).FindAllSubmatch(src, -1) {
			known[string(m[1])] = true
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
	_, err := syntax.Parse("hello.md", []byte(
		"---\ncommand: hello\ndescription: Say hello\n---\n\n## Workflow Execution\n\n"+
			"### Step 1: Say it\n\n```yaml step\nretrun: Hello.\n```\n",
	))
	fmt.Println(err)
	// Output: hello.md:11:1: E108: unknown key 'retrun' in a step
}
