package trust_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tercet/formats"
	"tercet/internal/trust"
)

// gate makes the gate of a project whose commands are the files of .tercet/commands.
func gate(t *testing.T, dir, state string) *trust.Gate {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return trust.New(trust.Config{
		Root: root,
		Dir:  dir,
		Home: state,
		Now:  now,

		Settings: []string{
			".mcp.json", ".claude/hooks/", ".opencode/plugins/", ".gemini/extensions/",
		},
		Others: func() (files []trust.Listed, folders []string, err error) {
			names, err := fs.Glob(root.FS(), ".tercet/commands/*.md")
			for _, name := range names {
				files = append(files, trust.Listed{Path: name, Kind: trust.KindCommand})
			}
			return files, []string{".tercet/commands"}, err
		},
		Argv: func(_ string, src []byte) []string {
			return strings.Fields(string(src))
		},
	})
}

func verdict(t *testing.T, g *trust.Gate) *trust.Verdict {
	t.Helper()
	v, err := g.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// agreed is a gate whose project was agreed to as it is.
func agreed(t *testing.T, dir, state string) *trust.Gate {
	t.Helper()
	g := gate(t, dir, state)
	if err := g.Agree(verdict(t, g)); err != nil {
		t.Fatal(err)
	}
	g = gate(t, dir, state)
	if v := verdict(t, g); v.By != trust.ByRecord {
		t.Fatalf("trusted by %q, want the record: %v", v.By, v.Changes)
	}
	return g
}

// TestListingIsComplete: what has no readable name or content ends no listing, is listed itself,
// and is part of the answer.
func TestListingIsComplete(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{
		".opencode/plugins/a\xff/p.js":   "one",
		".opencode/plugins/z.js":         "two",
		".claude/hooks/\xfe.sh":          "three",
		".claude/hooks/z.sh":             "four",
		".tercet/facets/\xff/policy.md":  "five",
		".tercet/facets/z.md":            "six",
		".tercet/commands/\xff.md":       "seven",
		".tercet/commands/z.md":          "eight",
		".tercet/subagents/\xff.md":      "nine",
		".gemini/extensions/\xff/x.json": "ten",
		"lib/in.js":                      "eleven",
	})
	link(t, "../../lib", filepath.Join(dir, ".opencode/plugins/lib"))
	link(t, "..", filepath.Join(dir, ".opencode/plugins/loop"))
	link(t, "/nowhere/out.js", filepath.Join(dir, ".opencode/plugins/out.js"))
	if err := syscall.Mkfifo(filepath.Join(dir, ".claude/hooks/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := verdict(t, gate(t, dir, state))
	var got []string
	for _, f := range v.Manifest.Files {
		got = append(got, f.Path)
	}

	want := []string{
		".claude/hooks/<0xFE>.sh", ".gemini/extensions/<0xFF>/x.json",
		".opencode/plugins/a<0xFF>/p.js", ".tercet/commands/<0xFF>.md",
		".tercet/facets/<0xFF>/policy.md", ".tercet/subagents/<0xFF>.md", ".claude/hooks/pipe",
		".claude/hooks/z.sh", ".opencode/plugins/lib/in.js", ".opencode/plugins/out.js",
		".opencode/plugins/z.js", ".tercet/commands/z.md", ".tercet/facets/z.md",
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not listed: %q", name, got)
		}
	}

	for _, name := range []string{".claude/hooks/pipe", ".opencode/plugins/out.js"} {
		if f, _ := v.Manifest.File(name); f.Problem == "" {
			t.Errorf("%s is listed without a problem", name)
		}
	}
	// Each of them is one question when it changes.
	agreed(t, dir, state)
	for _, name := range []string{
		".opencode/plugins/a\xff/p.js", ".claude/hooks/\xfe.sh", ".tercet/facets/\xff/policy.md",
		"lib/in.js",
	} {
		put(t, dir, name, "changed")
		if v := verdict(t, gate(t, dir, state)); v.By != "" || len(v.Changes) != 1 {
			t.Errorf("after a change of %q: trusted by %q, changes %v; want one question",
				name, v.By, v.Changes)
		}
		agreed(t, dir, state)
	}
}

// TestWhatIsReadIsWhatWasHashed: bytes that differ from those of the answer are refused, whenever
// they were read.
func TestWhatIsReadIsWhatWasHashed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".tercet/config.yaml", ".tercet/commands/c.md", ".tercet/subagents/s.md",
		".tercet/facets/policy/f.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, state := project(t, map[string]string{name: "good"})
			agreed(t, dir, state)

			g := gate(t, dir, state)
			put(t, dir, name, "evil")
			if data, err := fs.ReadFile(g.FS("."), name); err != nil || string(data) != "evil" {
				t.Fatalf("ReadFile before the verdict = %q, %v", data, err)
			}
			put(t, dir, name, "good")
			_, err := g.Verdict()
			if formats.CodeOf(err) != formats.CodeUntrusted ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("Verdict() after a swap = %v, want UNTRUSTED", err)
			}

			g = gate(t, dir, state)
			verdict(t, g)
			put(t, dir, name, "evil")
			data, err := fs.ReadFile(g.FS(filepath.Dir(name)), filepath.Base(name))
			if formats.CodeOf(err) != formats.CodeUntrusted {
				t.Errorf("ReadFile after the verdict = %q, %v, want UNTRUSTED", data, err)
			}
			put(t, dir, name+".new", "new")
			data, err = fs.ReadFile(g.FS("."), name+".new")
			if formats.CodeOf(err) != formats.CodeUntrusted {
				t.Errorf("ReadFile of a file that the manifest lacks = %q, %v, want UNTRUSTED",
					data, err)
			}
		})
	}
}

// TestAllow: a program that is a file of the project starts only while it is what was agreed to,
// where it is opened.
func TestAllow(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".tercet/subagents/s.md": "sh tools/run.sh data --fast",
		"tools/run.sh":           "good",
		"data":                   "d",
		"tools/other.sh":         "x",
	}
	dir, state := project(t, files)
	agreed(t, dir, state)
	tree := t.TempDir()
	put(t, tree, "tools/run.sh", "good")
	for _, tt := range []struct {
		name string
		do   func()
		argv []string
		dir  string
		want string // empty: it may start
	}{
		{"as agreed", nil, []string{"sh", "tools/run.sh", "data", "--fast"}, dir, ""},
		{
			"as agreed, in another tree",
			nil,
			[]string{"sh", "tools/run.sh", "data", "--fast"},
			tree,
			"",
		},
		{"by its whole path", nil, []string{"sh", filepath.Join(dir, "tools/run.sh")}, tree, ""},
		{
			"files of the workspace",
			nil,
			[]string{"bwrap", "--ro-bind", filepath.Join(dir, ".tercet/state.json"), "x"},
			dir,
			"",
		},
		{"nobody agreed to it", nil, []string{"sh", "tools/other.sh"}, dir, "not among the files"},
		{
			"changed in the other tree",
			func() { put(t, tree, "tools/run.sh", "evil") },
			[]string{"sh", "tools/run.sh"},
			tree,
			"changed",
		},
		{
			"there alone",
			func() { put(t, tree, "tools/new.sh", "evil") },
			[]string{"sh", "tools/new.sh"},
			tree,
			"not among the files",
		},
		{"the project's own", nil, []string{"sh", "tools/run.sh"}, dir, ""},
		{
			"changed",
			func() { put(t, dir, "tools/run.sh", "evil") },
			[]string{"sh", "tools/run.sh"},
			dir,
			"changed",
		},
	} {
		g := gate(t, dir, state)
		verdict(t, g)
		if tt.do != nil {
			tt.do()
		}
		put(t, dir, ".tercet/state.json", "{}")
		err := g.Allow(trust.Process{
			Argv:  tt.argv,
			Dir:   tt.dir,
			Agent: true,
		})
		if tt.want == "" && err != nil ||
			tt.want != "" &&
				(formats.CodeOf(err) != formats.CodeUntrusted ||
					!strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: Allow() = %v, want %q", tt.name, err, tt.want)
		}
	}

	err := gate(t, dir, state).Allow(trust.Process{
		Argv: []string{"git", "status"},
		Dir:  dir,
		Git:  true,
	})
	if formats.CodeOf(err) != formats.CodeUntrusted {
		t.Errorf("Allow() of a project that changed = %v, want UNTRUSTED", err)
	}
}

// TestNothingWaits: a pipe that nobody writes to is no file, and holds nobody up.
func TestNothingWaits(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{".tercet/subagents/s.md": "sh tools/pipe"})
	for _, name := range []string{
		".tercet/config.yaml", ".mcp.json", "tools/pipe", ".tercet/facets/pipe",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), syscall.Mkfifo(file, 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	g := agreed(t, dir, state)
	if _, err := fs.ReadFile(g.FS("."), ".tercet/config.yaml"); err == nil {
		t.Error("a pipe was read")
	}
	err := g.Allow(trust.Process{
		Argv:  []string{"sh", "tools/pipe"},
		Dir:   dir,
		Agent: true,
	})
	if formats.CodeOf(err) != formats.CodeUntrusted {
		t.Errorf("Allow() of a pipe = %v, want UNTRUSTED", err)
	}
}
