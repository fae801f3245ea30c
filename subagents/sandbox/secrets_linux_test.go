package sandbox_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// TestSecretsAreNotRead: no way leads to what is secret, and everything beside it can be read as
// before.
func TestSecretsAreNotRead(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if engine(b) {
			t.Skip("an image has only the folders of the bounds")
		}
		home := t.TempDir()
		work := t.TempDir()
		own := filepath.Join(home, "state/tercet")
		for name, text := range map[string]string{
			"state/tercet/keys/runs": "the key",
			"state/other/f":          "other",
			".config":                "config",
		} {
			file := filepath.Join(home, name)
			err := errors.Join(
				os.MkdirAll(filepath.Dir(file), 0o700),
				os.WriteFile(file, []byte(text), 0o600),
			)
			if err != nil {
				t.Fatal(err)
			}
		}

		if err := os.Symlink(own, filepath.Join(home, "way")); err != nil {
			t.Fatal(err)
		}
		for name, script := range map[string]string{
			"plain":      `cat "$1/state/tercet/keys/runs"`,
			"folder":     `cd "$1/state/tercet/keys" && cat runs`,
			"link":       `cat "$1/way/keys/runs"`,
			"own link":   `ln -s "$1/state/tercet" way; cat way/keys/runs`,
			"hard link":  `ln "$1/state/tercet/keys/runs" key; cat key`,
			"root":       `cat "/proc/self/root$1/state/tercet/keys/runs"`,
			"dots":       `cat "$1/state/other/../tercet/keys/runs"`,
			"rename":     `mv "$1/state/tercet" moved; cat moved/keys/runs`,
			"copy":       `cp -r "$1/state/tercet" copied; cat copied/keys/runs`,
			"mount":      `mkdir m; mount --bind "$1/state/tercet" m && cat m/keys/runs`,
			"namespace":  `unshare -Urm sh -c 'umount "$1/state/tercet"; mkdir m; mount --bind "$1/state" m; cat m/tercet/keys/runs "$1/state/tercet/keys/runs"' sh "$1"`,
			"unmount":    `umount "$1/state/tercet"; cat "$1/state/tercet/keys/runs"`,
			"parent":     `for p in /proc/[0-9]*; do cat "$p/root$1/state/tercet/keys/runs" "$p/cwd/../state/tercet/keys/runs"; done`,
			"background": `setsid sh -c 'cat "$1/state/tercet/keys/runs" > out' sh "$1"; cat out`,
		} {
			res := runIn(t, p, b, sandbox.Bounds{
				Write:  []string{work},
				Secret: []string{own},
				Net:    true,
			}, proc.Command{
				Argv: []string{"sh", "-c", script, "sh", home},
				Dir:  work,
			})
			if strings.Contains(string(res.Stdout), "the key") {
				t.Errorf("%s: %s printed the key", name, script)
			}
		}

		res := runIn(t, p, b, sandbox.Bounds{
			Write:  []string{work},
			Secret: []string{own},
			Net:    true,
		}, proc.Command{
			Argv: []string{
				"sh", "-ec",
				`cat "$1/state/other/f" "$1/.config"; ls "$1" "$1/state"; ls / > /dev/null; pwd; echo x > made; cat made`,
				"sh", home,
			},
			Dir: work,
		})
		for _, part := range []string{
			"otherconfig", "state\n", "other\n", "tercet\n", work, "x\n",
		} {
			if !strings.Contains(string(res.Stdout), part) || !res.Success() {
				t.Errorf("beside it: %+v, stdout %q, stderr %q, want it to have %q",
					res, res.Stdout, res.Stderr, part)
			}
		}
	})
}

// TestSecretInsideOfTheTree: landlock can only grant, so it refuses the work; bubblewrap hides it.
func TestSecretInsideOfTheTree(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if engine(b) {
			t.Skip("an image has only the folders of the bounds")
		}
		work := t.TempDir()
		own := filepath.Join(work, "own")
		err := errors.Join(
			os.Mkdir(own, 0o700),
			os.WriteFile(filepath.Join(own, "key"), []byte("the key"), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
		c := proc.Command{
			Argv:    []string{"cat", "own/key"},
			Dir:     work,
			Purpose: proc.PurposeScript,
		}
		bounds := sandbox.Bounds{Write: []string{work}, Secret: []string{own}}
		if b.Means == sandbox.Landlock {
			_, err := b.Wrap(c, bounds)
			if formats.CodeOf(err) != formats.CodeDenied || formats.HelpOf(err) == "" {
				t.Errorf("Wrap = %v, want DENIED with what to do", err)
			}
			return
		}

		if res := runIn(t, p, b, bounds, c); len(res.Stdout) > 0 {
			t.Errorf("printed %q, want nothing", res.Stdout)
		}
	})
}

// listen opens a socket that seems to be there for a while already.
func listen(t *testing.T, name string) {
	t.Helper()
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	if name[0] == '@' {
		return
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
}

// TestSocketVanishes: a socket that is removed after bubblewrap was told to hide it does not keep
// the program from starting.
func TestSocketVanishes(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if b.Means != sandbox.Bubblewrap {
			t.Skip("it hides no file")
		}
		name := filepath.Join(t.TempDir(), "s")
		listen(t, name)
		c, err := b.Wrap(proc.Command{
			Argv:    []string{"sh", "-c", "echo ran; exit 1"},
			Dir:     t.TempDir(),
			Purpose: proc.PurposeScript,
			Timeout: proc.Timeout{Total: time.Minute},
		}, sandbox.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		attempts := 0
		told := false
		within := c.Wrap
		c.Wrap = func(temp string) proc.Launch {
			launch := within(temp)
			attempts++
			if slices.Contains(launch.Argv, name) {
				told = true
				if err := os.Remove(name); err != nil {
					t.Error(err)
				}
			}
			return launch
		}

		res, err := p.Starter.Run(t.Context(), c)
		if err != nil || string(res.Stdout) != "ran\n" || res.Exit != 1 || !told || attempts < 2 {
			t.Errorf("Run = %+v, %v, hidden %v, %d attempts, want it to run at a later one",
				res, err, told, attempts)
		}
	})
}

// TestSocketsOutside: a program connects to the sockets of its tree, to those that are named, and
// to no other.
func TestSocketsOutside(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if engine(b) {
			t.Skip("an image has no socket of this machine")
		}
		top, err := os.MkdirTemp("", "s") //nolint:usetesting // the name of a socket is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(top) })
		tree := filepath.Join(top, "tree")
		if err := os.Mkdir(tree, 0o700); err != nil {
			t.Fatal(err)
		}
		outside := filepath.Join(top, "outside")
		named := filepath.Join(top, "named")
		inside := filepath.Join(tree, "inside")
		abstract := "@" + filepath.Join(top, "abstract")
		for _, name := range []string{outside, named, inside, abstract} {
			listen(t, name)
		}

		res := runIn(t, p, b, sandbox.Bounds{
			Write:   []string{tree},
			Sockets: []string{named},
			Net:     true,
		}, proc.Command{
			Argv: []string{exe, "__connect", outside, named, inside, abstract},
			Dir:  tree,
		})
		got := strings.Fields(string(res.Stdout))
		want := []string{named, inside}
		if !sandbox.RefusesSocketFiles(b) {
			t.Logf("the kernel is too old to refuse sockets that are files: %s",
				strings.Join(got, " "))
			want = append([]string{outside}, want...)
		}
		if !sandbox.RefusesAbstract() {
			want = append(want, abstract)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") || !res.Success() {
			t.Errorf("connects to %q, want %q; stderr %q", got, want, res.Stderr)
		}
	})
}

// TestSharedMemoryIsApart: nothing is written where programs of the machine share memory.
func TestSharedMemoryIsApart(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		dir := t.TempDir()
		name := "tercet-test-" + filepath.Base(filepath.Dir(dir))
		runIn(t, p, b, sandbox.Bounds{Write: []string{dir}, Net: true}, proc.Command{
			Argv: []string{"sh", "-c", `echo x > "/dev/shm/$1"`, "sh", name},
			Dir:  dir,
		})
		if _, err := os.Stat("/dev/shm/" + name); err == nil {
			os.Remove("/dev/shm/" + name)
			t.Errorf("/dev/shm/%s was written", name)
		}
	})
}

// TestNest: within bubblewrap a program can make a sandbox of its own, as codex does for each
// command.
func TestNest(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if b.Means != sandbox.Bubblewrap {
			t.Skip("it is bubblewrap that an agent CLI is started in for this")
		}
		dir := t.TempDir()
		res := runIn(t, p, b, sandbox.Bounds{
			Write: []string{dir},
			Net:   true,
			Nest:  true,
		}, proc.Command{
			Argv: []string{
				"bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev",
				"echo", "in",
			},
			Dir: dir,
		})
		if string(res.Stdout) != "in\n" {
			t.Errorf("a sandbox inside: %+v, stdout %q, stderr %q, want it to work",
				res, res.Stdout, res.Stderr)
		}
	})
}
