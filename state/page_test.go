package state_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPageNamesTests: each test that docs/state.md names is there.
func TestPageNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	var tree strings.Builder
	for _, pattern := range []string{
		"*_test.go", "crash/*_test.go", "../internal/*/*_test.go", "../cmd/tercet/*_test.go",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree.Write(src)
		}
	}

	tests := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	for _, m := range tests {
		if !strings.Contains(tree.String(), "func "+m[1]+"(t *testing.T)") {
			t.Errorf("docs/state.md names %s, which is not there", m[1])
		}
	}

	scripts := regexp.MustCompile(`[a-z_]+\.txtar`).FindAllString(string(page), -1)
	for _, name := range scripts {
		if _, err := os.Stat("../cmd/tercet/testdata/script/" + name); err != nil {
			t.Error(err)
		}
	}

	if len(tests) < 30 || len(scripts) < 4 {
		t.Errorf("docs/state.md names %d tests and %d scripts, want the whole catalogue",
			len(tests), len(scripts))
	}
}
