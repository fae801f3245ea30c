package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/commands/lint"
	"tercet/formats"
)

// TestHugeFiles: of a file of 100 MB no more is read than one may have, wherever it lies; the
// refusal says why and what to do.
func TestHugeFiles(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	for _, name := range []string{
		"big.md",
		formats.Workspace + "/commands/huge.md",
		".claude/commands/vast.md",
		".gemini/commands/wide.toml",
	} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(full)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(100 << 20); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}

	for line, want := range map[string]struct {
		text string
		code int
	}{
		"lint " + filepath.Join(dir, "big.md"): {
			"E002: text of 104857600 bytes, the limit is 262144",
			65,
		},
		"-C " + dir + " /huge": {
			"expected at most 262144 bytes in a command file, got more",
			65,
		},
		"-C " + dir + " /vast": {
			"expected at most 262144 bytes in a command file, got more",
			65,
		},
		"-C " + dir + " explain /wide": {
			"expected at most 262144 bytes in a command file, got more",
			65,
		},
	} {
		t.Run(line[strings.LastIndex(line, "/")+1:], func(t *testing.T) {
			t.Parallel()

			var out, errs bytes.Buffer
			a := newApp(stdio{
				in:  strings.NewReader(""),
				out: &out,
				err: &errs,
			}, func(name string) string {
				return map[string]string{"TERCET_TRUST": "1"}[name]
			})

			code := a.run(t.Context(), strings.Fields(line))
			if code != want.code || !strings.Contains(errs.String(), want.text) {
				t.Errorf("exit %d, %.400s; want %d and %q",
					code, errs.String(), want.code, want.text)
			}
		})
	}

	src, err := lint.Read(filepath.Join(dir, "big.md"))
	if _, found := asDiagnostics(err); !found || len(src) > commands.MaxFile {
		t.Errorf("readCommand gives %d bytes, %v", len(src), err)
	}
}
