//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitAsksForARunner: on a terminal, where an agent CLI is installed, init asks before it
// writes `runner: auto`. What it does without a terminal is in the script doctor.
func TestInitAsksForARunner(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	err := os.WriteFile(filepath.Join(bin, "codex"), []byte("#!/bin/sh\nexit 1\n"), 0o755)
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
