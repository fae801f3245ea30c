package subagents_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/state/statefile"
	"tercet/templates"
)

var swapping = flag.Duration(
	"swap",
	time.Second,
	"how long links are swapped for files under the reader",
)

// hostileNames are names that no path of a return may have anywhere, and whole paths that lead out.
// All are of the form that is refused before the disk is looked at.
func hostileNames() (names, paths []string) {
	for _, device := range []string{
		"con", "PRN", "Aux", "NUL", "com1", "COM9", "lpt1", "LPT9", "com¹", "LPT³", "CONIN$",
		"conout$",
	} {
		names = append(names, device, device+".md", device+".tar.gz", device+" .md")
	}

	for r := range rune(0x20) {
		names = append(names, "a"+string(r)+"b.md")
	}
	names = append(
		names,
		"a\u0085b.md",
		"a\u009bb.md",
		"a\x7fb.md",
		"..",
		"x.",
		"x..",
		"x ",
		"x. ",
		"...",
		"a.md.",
		`a\b.md`,
		`..\up.md`,
		`c:\x.md`,
		`\\host\x`,
		"c:x.md",
		"C:",
		"x.md:stream",
		"x.md::$DATA",
		strings.Repeat("x", 256),
		strings.Repeat("é", 128)+".md",
		strings.Repeat("x", 5000),
	)
	for n := range 12 {
		paths = append(
			paths,
			strings.Repeat("../", n+1)+"beside/secret.md",
			"sub/"+strings.Repeat("../", n+2)+"beside/secret.md",
			"sub/"+strings.Repeat("./", n)+"../../x.md",
		)
	}

	paths = append(
		paths, "", ".", "/", "//", "./", "sub/..", "/etc/passwd", "//etc/passwd",
		"/beside/secret.md", "..", "../", "../..", "./..", "./../x.md", "a\xff.md",
	)
	return names, paths
}

// TestPathsLeadNowhere returns hostile paths as documents and as files of the tree, on their own
// and in folders: each is refused, and nothing outside of the run's own folder comes to be or
// changes.
func TestPathsLeadNowhere(t *testing.T) {
	t.Parallel()
	names, vectors := hostileNames()
	for _, n := range names {
		vectors = append(vectors, n, "sub/"+n, n+"/x.md")
	}

	vectors = append(
		vectors, "link.md", "up/secret.md", "up/../secret.md", "sub/deep/secret.md", "dangling.md",
		"loop.md", "loop.md/x.md", "home", "root/etc/passwd",
	)
	if len(vectors) < 300 {
		t.Fatalf("%d vectors, want at least 300", len(vectors))
	}
	base := t.TempDir()
	dir := filepath.Join(base, "project")
	secret := filepath.Join(base, "beside", "secret.md")
	err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "tree", "sub"), 0o755),
		os.Mkdir(filepath.Dir(secret), 0o755),
		os.WriteFile(secret, []byte("# Secret\n"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	plant(t, filepath.Join(dir, "tree"), secret)
	before := outside(t, base)
	w := newWorld(t, dir)
	var next formats.Artifact
	w.add(
		formats.AgentInfo{Name: "planner"},
		func(_ context.Context, r formats.Request) (formats.Return, error) {
			plant(t, r.Out, secret)
			return completed(next), nil
		},
	)
	for _, kind := range []formats.ArtifactType{
		formats.ArtifactPlan,
		formats.ArtifactImplementation,
	} {
		for n, vector := range vectors {
			next = formats.Artifact{Type: kind, Path: vector}
			r := request("planner", fmt.Sprintf("s%d-%s", n, kind))
			r.Dir = filepath.Join(dir, "tree")
			got, err := w.Delegate(t.Context(), r)
			if err != nil {
				t.Fatalf("%s %q: %v", kind, vector, err)
			}
			if got.Status != formats.StatusFailed || got.Class != formats.ClassInvalidReturn ||
				len(got.Artifacts) > 0 {
				t.Errorf("%s %q was taken: %+v", kind, vector, got)
			}
		}
	}

	if files := w.files(".tercet/specs"); len(files) > 0 {
		t.Errorf("specs hold %v, want nothing", files)
	}
	if diff := cmp.Diff(before, outside(t, base)); diff != "" {
		t.Errorf("outside of the runs (-before +after):\n%s", diff)
	}
}

// plant makes links that lead out of a folder.
func plant(t *testing.T, dir, secret string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Error(err)
	}
	for name, to := range map[string]string{
		"link.md":     secret,
		"up":          filepath.Dir(secret),
		"sub/deep":    filepath.Dir(secret),
		"dangling.md": filepath.Join(filepath.Dir(secret), "made.md"),
		"loop.md":     "loop.md",
		"home":        filepath.Dir(secret),
		"root":        "/",
	} {
		err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
}

// outside gives every path but those of runs, with a digest of what is there.
func outside(t *testing.T, base string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(base, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".tercet":
			return fs.SkipDir
		case d.Type().IsRegular():
			data, err := os.ReadFile(name)
			out[name] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		}
		out[name] = d.Type().String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDocumentsThatDifferInCase: on a file system that folds case one would be the other.
func TestDocumentsThatDifferInCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var told []string
	w.add(
		formats.AgentInfo{Name: "planner"},
		func(_ context.Context, r formats.Request) (formats.Return, error) {
			told = r.Repair
			for _, name := range []string{"Plan.md", "pLAN.md"} {
				err := os.WriteFile(filepath.Join(r.Out, name), []byte("# Plan\n"), 0o600)
				if err != nil {
					t.Error(err)
				}
			}
			return completed(
				formats.Artifact{Type: formats.ArtifactPlan, Path: "Plan.md"},
				formats.Artifact{Type: formats.ArtifactPlan, Path: "pLAN.md"},
			), nil
		},
	)
	got, err := w.Delegate(t.Context(), request("planner", "plan"))
	if err != nil || got.Status != formats.StatusFailed {
		t.Errorf("Delegate = %+v, %v, want failed", got, err)
	}
	diff := cmp.Diff([]string{`artifact "pLAN.md" differs from another one in case only`}, told)
	if diff != "" {
		t.Errorf("told to the agent (-want +got):\n%s", diff)
	}
}

// TestSwappedLinks reads documents while what they stand for is swapped: a file for a link to a
// secret, a folder for a link to the folder of the secret. What is taken is never the secret, and
// nothing is written beside the project.
func TestSwappedLinks(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "project")
	secret := filepath.Join(base, "beside", "p.md")
	err := errors.Join(
		os.Mkdir(dir, 0o755),
		os.Mkdir(filepath.Dir(secret), 0o755),
		os.WriteFile(secret, []byte("# Secret\n"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	before := outside(t, filepath.Dir(secret))
	w := newWorld(t, dir)
	var swappers sync.WaitGroup
	name := "p.md"
	stop := make(chan struct{})
	rest := func() { // the agent itself writes to files only, so the swapper rests meanwhile
		close(stop)
		swappers.Wait()
		stop = make(chan struct{})
	}
	w.add(
		formats.AgentInfo{Name: "planner"},
		func(_ context.Context, r formats.Request) (formats.Return, error) {
			rest()
			for _, file := range []string{"p.md", "d", "d2", "kept", "link"} {
				if err := os.RemoveAll(filepath.Join(r.Out, file)); err != nil {
					return formats.Return{}, err
				}
			}
			if err := os.Mkdir(filepath.Join(r.Out, "d"), 0o700); err != nil {
				return formats.Return{}, err
			}
			for _, file := range []string{"p.md", "d/p.md"} {
				err := os.WriteFile(filepath.Join(r.Out, file), []byte("# Plan\n"), 0o600)
				if err != nil {
					return formats.Return{}, err
				}
			}
			begun := make(chan struct{})
			end := stop
			swappers.Go(func() {
				close(begun)
				swap(r.Out, secret, end)
			})
			<-begun
			return completed(formats.Artifact{Type: formats.ArtifactPlan, Path: name}), nil
		},
	)
	taken := 0
	refused := 0
	for n, until := 0, time.Now().Add(*swapping); time.Now().Before(until) || taken == 0 ||
		refused == 0; n++ {
		if n > 100_000 {
			break
		}
		name = []string{"p.md", "d/p.md"}[n%2]
		got, err := w.Delegate(t.Context(), request("planner", fmt.Sprintf("s%d", n)))
		rest()
		if err != nil {
			continue // the folder was no folder at that moment
		}
		if got.Status != formats.StatusCompleted {
			refused++
			continue
		}
		taken++
		text := w.read(got.Artifacts[0].Path)
		if strings.Contains(text, "Secret") || !strings.Contains(text, "# Plan") {
			t.Fatalf("%s holds %q", got.Artifacts[0].Path, text)
		}
		if err := os.RemoveAll(filepath.Join(dir, ".tercet")); err != nil {
			t.Fatal(err)
		}
	}

	t.Logf("%d documents taken, %d refused", taken, refused)
	if taken == 0 || refused == 0 {
		t.Errorf("%d documents taken, %d refused: the race was not run", taken, refused)
	}
	if diff := cmp.Diff(before, outside(t, filepath.Dir(secret))); diff != "" {
		t.Errorf("beside the project (-before +after):\n%s", diff)
	}
}

// swap exchanges files for links and back until it is told to stop. Its errors are part of the
// race.
func swap(out, secret string, stop <-chan struct{}) {
	file := filepath.Join(out, "p.md")
	folder := filepath.Join(out, "d")
	kept := filepath.Join(out, "kept")
	link := filepath.Join(out, "link")
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Symlink(secret, link)
		_ = os.Link(file, kept)
		_ = os.Rename(link, file)
		_ = os.Rename(kept, file)
		_ = os.Rename(folder, folder+"2")
		_ = os.Symlink(filepath.Dir(secret), folder)
		_ = os.Remove(folder)
		_ = os.Rename(folder+"2", folder)
	}
}

// TestHostileNames offers the same names where a name becomes a part of a path: as an id of a
// session, as the name of a command or subagent that is made from a template, and as the title that
// a task's folder is named after.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	names, paths := hostileNames()
	slug := regexp.MustCompile(`^[a-z0-9_]{1,60}$`)
	for _, n := range append(names, paths...) {
		for _, id := range []string{
			n,
			"sess_1767610000_" + n,
			"sess_1767610000_k3x9qa" + n,
			n + "sess_1767610000_k3x9qa",
		} {
			if n != "" && formats.CheckSessionID(id) == nil {
				t.Errorf("%q passes for an id of a session", id)
			}
		}
		plain := regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
		if templates.ValidName(n) && !plain.MatchString(n) || templates.ValidName("a/"+n) ||
			templates.ValidName("../"+n) {
			t.Errorf("%q passes for the name of a command", n)
		}
		if s := statefile.Slug(n); !slug.MatchString(s) {
			t.Errorf("Slug(%q) = %q", n, s)
		}
	}
}
