package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/testkit"
)

// TestTampering: what changes that git runs while a subagent works ends the run, names what
// changed, and git is started no more; work on files does not.
func TestTampering(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, want string }{
		"work":       {"a.txt", "more\n", ""},
		"hook":       {".git/hooks/pre-commit", "#!/bin/sh\n", ".git/hooks/pre-commit"},
		"attributes": {".git/info/attributes", "* filter=x\n", ".git/info/attributes"},
		"setting": {
			".git/config",
			"[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = x\n",
			".git/config",
		},
		"broken":       {".git/HEAD", "nothing", "cannot be read any more"},
		"another repo": {".git/commondir", "/nowhere", "cannot be read any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workspaceIn(t)
			for _, args := range [][]string{
				{"init", "-q"},
				{"add", "-A"},
				{"-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "first"},
			} {
				cmd := exec.CommandContext(t.Context(), "git", args...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}

			a := newApp(stdio{
				in:  strings.NewReader(""),
				out: &strings.Builder{},
				err: &strings.Builder{},
			}, func(name string) string {
				return map[string]string{"TERCET_TRUST": "1", "HOME": filepath.Dir(dir)}[name]
			})

			a.flags.dir = dir
			p, err := a.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := a.closeProject(); err != nil {
					t.Error(err)
				}
			}()

			after, err := p.Guard(t.Context(), formats.Request{Agent: "worker", Dir: dir})
			if err != nil || after == nil {
				t.Fatalf("guard() = %v, want a second look", err)
			}

			file := filepath.Join(dir, filepath.FromSlash(tt.file))
			if err := errors.Join(
				os.MkdirAll(filepath.Dir(file), 0o755),
				testkit.WriteProgram(file, tt.text),
			); err != nil {
				t.Fatal(err)
			}

			_, err = after()
			_, git := p.Git(dir).Worktrees(t.Context())
			if tt.want == "" {
				if err != nil || git != nil {
					t.Errorf("after work: %v, git: %v, want nothing", err, git)
				}
				return
			}
			if formats.CodeOf(err) != formats.CodeUntrusted ||
				!strings.Contains(err.Error(), tt.want) || formats.HelpOf(err) == "" {
				t.Errorf("after tampering: %v, want UNTRUSTED with %q", err, tt.want)
			}
			if formats.CodeOf(git) != formats.CodeUntrusted {
				t.Errorf("git after tampering: %v, want UNTRUSTED", git)
			}
		})
	}
}
