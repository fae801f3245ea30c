package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/templates/shims"
)

// pluginFolder has the plugin of tercet's own commands, which the marketplace of this repository
// offers.
const pluginFolder = "templates/claude-plugin"

// TestPluginIsFresh: the plugin in the repository is what tercet export writes, and its marketplace
// names it.
func TestPluginIsFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init"}, {"export", "--for", shims.Plugin, "plugin"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(tercetIn(t), "tercet"), args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tercet %q: %v\n%s", args, err, out)
		}
	}
	want := filesIn(t, filepath.Join(dir, "plugin"))
	want[".claude-plugin/marketplace.json"] = marketplace(t, want[shims.PluginFile])

	at := func(name string) string {
		if name == ".claude-plugin/marketplace.json" {
			return filepath.Join("../..", name)
		}
		return filepath.Join("../..", pluginFolder, name)
	}
	if *update {
		if err := os.RemoveAll(filepath.Join("../..", pluginFolder)); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			put(t, at(name), text)
			if err := os.Chmod(at(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := filesIn(t, filepath.Join("../..", pluginFolder))
	got[".claude-plugin/marketplace.json"] = read(t, at(".claude-plugin/marketplace.json"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plugin is stale, run with -update (-want +got):\n%s", diff)
	}
}

// marketplace is the file by which Claude Code finds the plugin in this repository.
func marketplace(t *testing.T, plugin string) string {
	t.Helper()

	var about struct{ Name, Description string }
	if err := json.Unmarshal([]byte(plugin), &about); err != nil {
		t.Fatal(err)
	}

	data, err := json.MarshalIndent(map[string]any{
		"name":        about.Name,
		"description": about.Description,
		"owner":       map[string]string{"name": about.Name},
		"plugins": []any{map[string]string{
			"name":        about.Name,
			"source":      "./" + pluginFolder,
			"description": about.Description,
		}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}

	return string(data) + "\n"
}

// filesIn are the files below a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()

	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		out[filepath.ToSlash(inside)] = read(t, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}
