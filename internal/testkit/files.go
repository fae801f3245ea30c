package testkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files runs a test for every file of a pattern below testdata.
func Files(t *testing.T, pattern string, test func(t *testing.T, file string, src []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob(%q) = %v, %v, want files", pattern, files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, file, src)
		})
	}
}

// Beside is the name of a file with another extension.
func Beside(file, ext string) string {
	return strings.TrimSuffix(file, filepath.Ext(file)) + ext
}

// Pretty is a value as indented JSON.
func Pretty(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}
