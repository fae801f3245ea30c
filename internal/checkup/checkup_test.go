package checkup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/checkup"
	"tercet/internal/config"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/internal/trust"
	"tercet/router"
	"tercet/subagents/agentcli"
	"tercet/subagents/past"
)

func root(t *testing.T) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// has holds a finding against what is expected of it.
func has(t *testing.T, list []checkup.Finding, name string, grade checkup.Grade, text string) {
	t.Helper()
	i := slices.IndexFunc(list, func(f checkup.Finding) bool {
		return f.Name == name
	})
	if i < 0 || list[i].Grade != grade || !strings.Contains(list[i].Text+"\n"+list[i].Fix, text) {
		t.Errorf("findings = %+v, want %s of %s with %q", list, grade, name, text)
	}
}

// TestProgramsBeforeTrust: nothing is started before somebody trusts the project, and that is said
// of each.
func TestProgramsBeforeTrust(t *testing.T) {
	t.Parallel()
	r := root(t)
	bin := t.TempDir()
	for _, name := range []string{"git", "claude"} {
		if err := testkit.WriteProgram(filepath.Join(bin, name), "#!/bin/sh\n"); err != nil {
			t.Fatal(err)
		}
	}

	starter, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error {
			t.Error("a program was started")
			return errors.New("refused")
		},
		Env: []string{"PATH=" + bin},
		Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg, _ := config.Load()
	p := checkup.Programs{
		Starter: starter,
		Config:  &cfg,
		Dir:     r.Name(),
		Gate: trust.New(trust.Config{
			Root: r,
			Dir:  r.Name(),
			Home: t.TempDir(),
			Now:  time.Now,
			Others: func() ([]trust.Listed, []string, error) {
				return nil, nil, nil
			},
		}),
		Speaker: func(string) (agentcli.Speaker, bool, error) {
			return agentcli.Speaker{}, false, nil
		},
		Model: func(string) (string, string) { return "", "" },
	}
	list := p.Check(t.Context())
	if p.MayStart {
		t.Error("May = true, want false")
	}
	has(t, list, "trust", checkup.Warning, "")
	has(t, list, "git", checkup.Skipped, "not asked: it would start a program")
	has(t, list, "go", checkup.Warning, "not installed")
	has(t, list, "claude", checkup.Skipped, "not asked")
	has(t, list, "sandbox", checkup.Skipped, "not asked")
	has(
		t, list,
		"runner",
		checkup.Fine,
		"offline, from default\nto let an agent CLI work: --runner claude",
	)
	for runner, want := range map[string]string{
		"codex":    "not installed",
		"acp":      "no agent is named",
		"nonsense": "change `runner` to offline, auto, acp, ",
	} {
		p.Runner = runner
		has(t, p.Check(t.Context()), "runner", checkup.Failure, want)
	}
}

// TestWorkspace: what is wrong with a workspace is told with what to do about it.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	r := root(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := os.MkdirAll(filepath.Join(r.Name(), formats.Workspace), 0o755); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(r.Name(), formats.Workspace, "state.json")
	if err := errors.Join(
		os.WriteFile(state, nil, 0o600),
		os.Chtimes(state, noon, noon),
	); err != nil {
		t.Fatal(err)
	}
	table, err := router.Scan(router.Names{})
	if err != nil {
		t.Fatal(err)
	}
	var found []formats.Diagnostic
	locked := error(nil)
	w := checkup.Workspace{
		Root:     r,
		Dir:      r.Name(),
		Table:    table,
		Library:  &commands.Library{},
		MayStart: true,
		Verify: func(context.Context) ([]formats.Diagnostic, error) {
			return found, nil
		},
		Lockable: func(context.Context) error { return locked },
		Tasks: func(context.Context) ([]formats.Task, error) {
			return []formats.Task{{Number: 7, Lease: &formats.Lease{Run: "gone"}}, {Number: 8}}, nil
		},
		Alive: func(l formats.Lease) bool { return l.Run != "gone" },
		Limits: past.Limits{
			Age:  time.Hour,
			Size: 1 << 20,
			Now:  noon,
		},
	}
	list := w.Check(t.Context())
	has(t, list, "workspace", checkup.Fine, r.Name())
	has(t, list, "state", checkup.Fine, "state.json is valid")
	has(t, list, "lock", checkup.Fine, "can be taken")
	has(t, list, "clock", checkup.Fine, "2026-03-01T12:00:00Z")
	has(t, list, "runs", checkup.Fine, "they hold 0 MiB")
	has(t, list, "lease", checkup.Warning, "task 7 is held by run gone, whose process is gone")
	if n := len(list); n != 6 {
		t.Errorf("%d findings, want 6: %+v", n, list)
	}
	found = []formats.Diagnostic{{Code: "S1", Severity: formats.SeverityWarning, Message: "odd"}}
	locked = formats.Fail(formats.CodeIO, "mount it otherwise", "no locks here")
	w.Limits.Now = noon.Add(-time.Hour)
	list = w.Check(t.Context())
	has(t, list, "state", checkup.Warning, "odd (S1)\nrun tercet state verify")
	has(t, list, "lock", checkup.Failure, "no locks here\nmount it otherwise")
	has(t, list, "clock", checkup.Warning, "in the future")
	found[0].Severity = formats.SeverityError
	w.MayStart = false
	list = w.Check(t.Context())
	has(t, list, "state", checkup.Failure, "odd")
	has(t, list, "lock", checkup.Skipped, "not tried")
}
