package agentcli_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// boxFlag lets the agent CLIs run within bounds, as they do where a probe saw them at work.
var boxFlag = flag.String(
	"box", "",
	"what keeps the agent CLIs within bounds: bubblewrap or landlock, empty for nothing",
)

func supervisor(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, "__child"}
}

// confine gives what the flag asks for.
func (d drive) confine(t *testing.T, s *proc.Starter, root string) agentcli.Confine {
	t.Helper()
	if *boxFlag == "" {
		return nil
	}

	p := &sandbox.Prober{Starter: s}
	probes, err := p.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range probes {
		if one.Means.String() != *boxFlag {
			continue
		}
		if !one.OK {
			t.Fatalf("%s does not work here: %s", one.Means, one.Why)
		}
		box := p.Box(one)
		return func(
			_ context.Context,
			r formats.Request,
			c proc.Command,
			room sandbox.Room,
		) (proc.Command, string, error) {
			b := sandbox.Bounds{
				Write: append([]string{filepath.Dir(r.Out)}, room.Write...),
				Keep:  append([]string{filepath.Join(root, ".tercet")}, room.Keep...),
				Net:   true,
				Nest:  room.Nest,
			}

			if room.Tree {
				b.Write = append(b.Write, r.Dir)
			}

			for _, kv := range s.Env {
				if home, ok := strings.CutPrefix(kv, "HOME="); ok {
					b.Secret = append(b.Secret, filepath.Join(home, ownFolder))
				}
			}

			for _, dir := range room.Make {
				os.Remove(dir) // as where the program never ran; what has something in it stays
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return c, "", err
				}
			}

			c, err := box.Wrap(c, b)
			return c, box.String(), err
		}
	}

	t.Fatalf("-box: expected bubblewrap or landlock, got %q", *boxFlag)
	return nil
}

// ownFolder is tercet's own folder below the home folder.
const ownFolder = ".local/state/tercet"

// outsideScript is what a model runs that tries everything outside of its tree, and then works in
// it.
const outsideScript = `echo x > "$HOME/canary"; echo x > "$HOME/.bashrc"; echo x > /etc/tercet-canary; echo x > "$HOME/mine"; echo x > ../beside
	echo x > "$HOME/.claude/settings.json"; echo x >> "$HOME/.codex/config.toml"; echo x > "$HOME/.gemini/settings.json"; echo x > "$HOME/.config/opencode/opencode.json"; echo x > "$HOME/.copilot/settings.json"
	cat "$HOME/.local/state/tercet/keys/runs"; echo {} > .tercet/state.json; echo in > made.txt; echo in > "$TMPDIR/made"; echo done`

// bounded are the scenes in which the model leaves its tree.
func bounded(completed func(*testing.T, drive, played)) []conformance {
	return []conformance{{"outside of the tree", scene{
		scenario: "outside",
		tools:    []string{"write", "shell"},
		files: map[string]string{
			"mine":                   "of the person",
			ownFolder + "/keys/runs": "the key of the person",
			".claude.json":           "{}",
			".claude/settings.json":  "{}",
		},
	}, func(t *testing.T, d drive, p played) {
		t.Helper()
		completed(t, d, p)
		if !strings.HasSuffix(p.used.Sandbox, "("+*boxFlag+")") {
			t.Errorf("the tier is %q, want that of %s", p.used.Sandbox, *boxFlag)
		}
		text, err := os.ReadFile(filepath.Join(p.dir, "made.txt"))
		if err != nil || string(text) != "in\n" {
			turns := d.server.Turns(p.key)
			t.Errorf("made.txt = %q, %v, want what was written inside; the commands said %q",
				text, err, turns[len(turns)-1].Outputs)
		}
		for _, turn := range d.server.Turns(p.key) {
			said := strings.Join(turn.Outputs, "\n")
			if strings.Contains(said, "the key of the person") {
				t.Errorf("the commands said %q, want no key", said)
			}
		}

		for _, name := range []string{
			p.home + "/canary",
			p.home + "/.bashrc",
			"/etc/tercet-canary",
			filepath.Dir(p.dir) + "/beside",
		} {
			if _, err := os.Stat(name); err == nil {
				t.Errorf("%s was written, want it refused", name)
			}
		}

		text, err = os.ReadFile(p.home + "/mine")
		if err != nil || string(text) != "of the person" {
			t.Errorf("the person's file = %q, %v, want it left alone", text, err)
		}
		if *boxFlag != "bubblewrap" {
			return // landlock takes nothing out of a folder that may be written
		}

		for name, want := range map[string]string{
			".claude/settings.json":          "{}",
			".codex/config.toml":             "model_provider",
			".gemini/settings.json":          "security",
			".config/opencode/opencode.json": "provider",
			".copilot/settings.json":         "trustedFolders",
		} {
			text, err := os.ReadFile(filepath.Join(p.home, name))
			if err == nil &&
				(!strings.Contains(string(text), want) || strings.HasSuffix(string(text), "x\n")) {
				t.Errorf("%s = %q, want it as it was", name, text)
			}
		}
	}}}
}
