//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/internal/testkit"
)

// TestInitAsksForARunner: on a terminal, where an agent CLI is installed, init asks before it
// writes `runner: auto`. What it does without a terminal is in the script doctor.
func TestInitAsksForARunner(t *testing.T) {
	t.Parallel()

	bin := t.TempDir()
	err := testkit.WriteProgram(filepath.Join(bin, "codex"), "#!/bin/sh\nexit 1\n")
	if err != nil {
		t.Fatal(err)
	}
	path := bin + string(filepath.ListSeparator) + withoutAgents(os.Getenv("PATH"))

	for name, tt := range map[string]struct {
		keys, want string
	}{
		"yes":   {"yes\n", "runner: auto"},
		"no":    {"no\n", "runner: offline"},
		"enter": {"\n", "runner: offline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()

			s := onTerminalWith(
				t, dir,
				[]string{"PATH=" + path, "HOME=" + t.TempDir(), "TERCET_TRUST=1"},
				"init",
			)

			s.wait("installed: codex")
			s.wait("Let codex do the work of subagents?")
			s.wait("[y/N] ")
			s.keys(tt.keys)
			s.wait("workspace made")

			if code := s.ends(); code != 0 {
				t.Fatalf("init = %d, want 0", code)
			}

			text, err := os.ReadFile(filepath.Join(dir, ".tercet/config.yaml"))
			if err != nil || !strings.Contains(string(text), tt.want+"\n") {
				t.Errorf("config.yaml = %q, %v, want %s", text, err, tt.want)
			}
		})
	}
}

// TestInitLooksForALogin: who lets an agent CLI work learns at once whether it is logged in. A key
// that it would not get is offered for config.yaml.
func TestInitLooksForALogin(t *testing.T) {
	t.Parallel()

	bin := t.TempDir()
	err := testkit.WriteProgram(filepath.Join(bin, "claude"), "#!/bin/sh\nexit 1\n")
	if err != nil {
		t.Fatal(err)
	}
	path := bin + string(filepath.ListSeparator) + withoutAgents(os.Getenv("PATH"))

	const offer = "ANTHROPIC_API_KEY is set, but claude does not get it. " +
		"Write `env: [ANTHROPIC_API_KEY]` into .tercet/config.yaml? [y/N] "

	for name, tt := range map[string]struct {
		key, login, keys string
		want             []string // on the screen, in order
		config           string
	}{
		"subscription": {
			login:  ".claude/.credentials.json",
			want:   []string{"claude is logged in, by the login in ", "/.claude/.credentials.json"},
			config: "runner: auto\n",
		},
		"key": {
			key:    "sk-of-a-test",
			keys:   "y",
			want:   []string{offer},
			config: "runner: auto\nenv: [ANTHROPIC_API_KEY]\n",
		},
		"key not given": {
			key:    "sk-of-a-test",
			keys:   "n",
			want:   []string{offer, "no login of claude seen: start claude once to log in"},
			config: "runner: auto\n",
		},
		"none": {
			want: []string{"no login of claude seen: start claude once to log in, or set " +
				"ANTHROPIC_API_KEY and write `env: [ANTHROPIC_API_KEY]` into config.yaml"},
			config: "runner: auto\n",
		},
		"key that it gets": {
			key:    "sk-of-a-test",
			login:  ".config/tercet/config.yaml",
			want:   []string{"claude is logged in by the key in ANTHROPIC_API_KEY"},
			config: "runner: auto\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			home := t.TempDir()

			if tt.login != "" {
				file := filepath.Join(home, filepath.FromSlash(tt.login))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				err := os.WriteFile(file, []byte("env: [ANTHROPIC_API_KEY]\n"), 0o600)
				if err != nil {
					t.Fatal(err)
				}
			}

			env := []string{"PATH=" + path, "HOME=" + home, "TERCET_TRUST=1"}
			if tt.key != "" {
				env = append(env, "ANTHROPIC_API_KEY="+tt.key)
			}

			s := onTerminalOf(t, 300, dir, env, "init")
			s.wait("Let claude do the work of subagents?")
			s.wait("[y/N] ")
			s.keys("y")

			for i, text := range tt.want {
				s.wait(text)
				if i == 0 {
					s.keys(tt.keys)
				}
			}

			s.wait("workspace made")
			if code := s.ends(); code != 0 {
				t.Fatalf("init = %d, want 0", code)
			}

			text, err := os.ReadFile(filepath.Join(dir, ".tercet/config.yaml"))
			if err != nil || !strings.HasSuffix(string(text), "default\n"+tt.config) {
				t.Errorf("config.yaml = %q, %v, want %q", text, err, tt.config)
			}
		})
	}
}
