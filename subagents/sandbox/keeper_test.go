package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/proc"
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
