package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents/sandbox"
)

// TestCaches: a program within bounds writes the caches of builds and nothing that is started or
// obeyed later.
func TestCaches(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root := t.TempDir()
	hidden := t.TempDir()
	p := prober(t)
	for _, name := range []string{
		".cargo/registry", ".cargo/git", ".cargo/bin", ".gradle/caches", ".gradle/init.d",
		".m2/repository", ".cache/pip", ".cache/tercet", ".cache/pre-commit", ".npm/_cacache",
		".npm/_npx", "go/pkg/mod", "go/bin",
	} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(hidden, "lock"), []byte("held"), 0o600); err != nil {
		t.Fatal(err)
	}
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if engine(b) {
			t.Skip("an image has caches of its own")
		}
		k := &sandbox.Keeper{
			Prober: *p,
			Root:   root,
			Order:  []sandbox.Tier{b.Tier},
			Hide:   []string{filepath.Join(hidden, "lock")},
			Getenv: func(name string) string {
				return map[string]string{"HOME": home}[name]
			},
			Allow: func() error { return nil },
			Note:  func(text string) { t.Errorf("note %q", text) },
		}
		script := `cd "$1"; for d in .cargo/registry .cargo/git .gradle/caches .m2/repository .cache/pip .cache/go-build .npm/_cacache; do : > $d/x || echo no $d; done
for d in . .cargo .cargo/bin .gradle .gradle/init.d .m2 .cache .cache/tercet .cache/pre-commit .npm .npm/_npx go/pkg/mod go/bin; do ( : > $d/x ) 2>/dev/null && echo $d; done
cat "$2"`
		c, tier, err := k.Script(
			t.Context(),
			formats.Request{Dir: root, Out: filepath.Join(root, "out")},
			proc.Command{
				Argv:    []string{"sh", "-c", script, "sh", home, filepath.Join(hidden, "lock")},
				Dir:     root,
				Private: true,
				Purpose: proc.PurposeScript,
			},
			"true",
		)
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Starter.Run(t.Context(), c)
		want := ""
		if b.Means == sandbox.Landlock { // it hides nothing
			want = "held"
		}
		if got := strings.TrimSpace(string(res.Stdout)); err != nil || got != want {
			t.Errorf("in %s: %q, stderr %q, %v, want %q", tier, got, res.Stderr, err, want)
		}
	})
}

// TestProbesWhatIsNeeded: what comes after the chosen means in the order is not tried, so nobody
// waits for it.
func TestProbesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	p := prober(t)
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	fake := "#!/bin/sh\necho \"$0\" >>" + started + "\nexit 1\n"
	for _, name := range []string{"bwrap", "docker", "podman"} {
		if err := testkit.WriteProgram(filepath.Join(dir, name), fake); err != nil {
			t.Fatal(err)
		}
	}
	s := *p.Starter
	s.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	p.Starter = &s
	p.All = true
	for _, tt := range []struct {
		order []sandbox.Tier
		want  []string // programs that were started
	}{
		{[]sandbox.Tier{sandbox.Advisory}, nil},
		{[]sandbox.Tier{sandbox.Advisory, sandbox.Container}, nil},
		{[]sandbox.Tier{sandbox.Container, sandbox.Advisory}, []string{"docker", "podman", "bwrap"}},
	} {
		k := &sandbox.Keeper{
			Prober: *p,
			Order:  tt.order,
			Allow:  func() error { return nil },
		}
		for range 2 { // the second finds what the first one tried
			got, err := k.Best(t.Context(), sandbox.Blocked, nil)
			if err != nil || got.Means != sandbox.None {
				t.Fatalf("Best in the order %v = %+v, %v, want none", tt.order, got, err)
			}
		}

		text, err := os.ReadFile(started)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		var names []string
		for name := range strings.FieldsSeq(string(text)) {
			names = append(names, filepath.Base(name))
		}
		// as root, bubblewrap is tried with a user namespace and without one
		if names = slices.Compact(names); !slices.Equal(names, tt.want) {
			t.Errorf("in the order %v, %q were started, want %q", tt.order, names, tt.want)
		}
	}
}
