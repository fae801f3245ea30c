package trust_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/trust"
)

func now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
}

// project is a folder with files, and a folder beside it for the store.
func project(t *testing.T, files map[string]string) (dir, state string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "project")
	state = filepath.Join(base, "state", "tercet")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir, state
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func manifest(t *testing.T, dir string, names ...string) trust.Manifest {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() // only read through
	m, err := trust.Read(root, names)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t *testing.T, state, dir string) *trust.Store {
	t.Helper()
	s, err := trust.Open(state, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, s *trust.Store) trust.Record {
	t.Helper()
	r, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func approve(t *testing.T, s *trust.Store, m trust.Manifest) trust.Record {
	t.Helper()
	r := load(t, s).Approve(m)
	if err := s.Save(r, m, now()); err != nil {
		t.Fatal(err)
	}
	return r
}

func changes(r trust.Record, m trust.Manifest) []string {
	var out []string
	for _, c := range r.Changes(m) {
		out = append(out, c.Kind+" "+c.Path)
	}
	return out
}

func TestRecord(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{"a.md": "one\n", "b/c.md": "two\n"})
	s := open(t, state, dir)
	m := manifest(t, dir, "b/c.md", "a.md", "a.md", "gone.md", "b")
	if r := load(t, s); r.Known || r.Covers(m) {
		t.Errorf("record before any answer = %+v, want none", r)
	}
	if _, err := os.Stat(filepath.Dir(state)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("asking for a record made a folder")
	}
	approve(t, s, m)
	r := load(t, open(t, state, dir))
	if !r.Covers(m) || r.Root != dir || r.Manifest != m.Hash() || !r.Time.Equal(now()) {
		t.Errorf("record = %+v, want one that covers the manifest", r)
	}

	// Only what changed, or is new, is asked about; what is gone is not, and neither is its return.
	put(t, dir, "a.md", "ONE\n")
	put(t, dir, "d.md", "three\n")
	next := manifest(t, dir, "a.md", "b/c.md", "d.md")
	if d := cmp.Diff([]string{"changed a.md", "new d.md"}, changes(r, next)); d != "" {
		t.Errorf("changes (-want +got)\n%s", d)
	}
	if got, ok := s.Content(r.Changes(next)[0].Before); !ok || string(got) != "one\n" {
		t.Errorf("Text(before) = %q, %v, want what was agreed to", got, ok)
	}
	if without := manifest(t, dir, "b/c.md"); !r.Covers(without) {
		t.Error("a record does not cover a manifest that lacks a file")
	}
	approve(t, s, next)
	if r = load(t, s); !r.Covers(next) || r.Covers(m) {
		t.Error("after the second answer the record does not cover exactly the new content")
	}
	if _, ok := s.Content(m.Files[0].SHA256); ok {
		t.Error("the text of a version that is not trusted any more is still there")
	}

	had, err := s.Revoke()
	if err != nil || !had {
		t.Errorf("Revoke() = %v, %v, want true", had, err)
	}
	if r = load(t, s); r.Known {
		t.Error("there is a record after Revoke")
	}
	if had, err = s.Revoke(); err != nil || had {
		t.Errorf("second Revoke() = %v, %v, want false", had, err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{"a.md": "one\n"})
	approve(t, open(t, state, dir), manifest(t, dir, "a.md"))
	err := filepath.WalkDir(state, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("mode of %s = %v, want %v", name, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnyByte is the promise of change detection over every byte of every file: each single change
// is one question.
func TestAnyByte(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	var names []string
	for i := range 25 {
		name := fmt.Sprintf("f%02d.md", i)
		files[name] = strings.Repeat(name, 1+i%5)
		names = append(names, name)
	}

	dir, state := project(t, files)
	r := approve(t, open(t, state, dir), manifest(t, dir, names...))
	tried := 0
	for _, name := range names {
		for i := range len(files[name]) {
			changed := []byte(files[name])
			changed[i] ^= 1 << (i % 7)
			put(t, dir, name, string(changed))
			d := cmp.Diff([]string{"changed " + name}, changes(r, manifest(t, dir, names...)))
			if d != "" {
				t.Fatalf("byte %d of %s (-want +got)\n%s", i, name, d)
			}
			tried++
		}
		for _, changed := range []string{
			"",
			files[name] + "\n",
			files[name][1:],
			files[name][:len(files[name])-1],
		} {
			put(t, dir, name, changed)
			if got := changes(r, manifest(t, dir, names...)); len(got) != 1 {
				t.Fatalf("%s as %q: changes = %q, want one", name, changed, got)
			}
			tried++
		}
		put(t, dir, name, files[name])
	}

	if got := changes(r, manifest(t, dir, names...)); len(got) != 0 {
		t.Errorf("changes of what was put back = %q, want none", got)
	}
	t.Logf("%d changes, all seen", tried)
}

func TestNoParentAndNoOtherFolder(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{"a.md": "one\n", "inner/a.md": "one\n"})
	approve(t, open(t, state, dir), manifest(t, dir, "a.md"))
	inner := filepath.Join(dir, "inner")
	if load(t, open(t, state, inner)).Known {
		t.Error("a folder inherits the record of the one above")
	}
	deep := filepath.Join(inner, "deep")
	put(t, deep, "a.md", "one\n")
	approve(t, open(t, state, deep), manifest(t, deep, "a.md"))
	if load(t, open(t, state, inner)).Known {
		t.Error("a folder takes the record of one below")
	}
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	if s := open(t, state, link); !load(t, s).Known || s.Project() != dir {
		t.Errorf("Project() by a link = %s, want %s with its record", s.Project(), dir)
	}
	// Another folder at the place where the link led has no record.
	other := t.TempDir()
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	if load(t, open(t, state, link)).Known {
		t.Error("a link that leads elsewhere now kept its record")
	}
}

func TestStoreIsRefused(t *testing.T) {
	t.Parallel()
	for name, arm := range map[string]func(t *testing.T, dir, state string) string{
		"inside": func(_ *testing.T, dir, _ string) string {
			return filepath.Join(dir, "state", "tercet")
		},
		"is the project": func(_ *testing.T, dir, _ string) string {
			return dir
		},
		"relative": func(*testing.T, string, string) string {
			return "state/tercet"
		},
		"inside by a link": func(t *testing.T, dir, state string) string {
			t.Helper()
			link(t, dir, filepath.Dir(state))
			return state
		},
		"a link": func(t *testing.T, _, state string) string {
			t.Helper()
			link(t, t.TempDir(), state)
			return state
		},
		"a link below": func(t *testing.T, _, state string) string {
			t.Helper()
			link(t, t.TempDir(), filepath.Join(state, "trust"))
			return state
		},
		"a file": func(t *testing.T, _, state string) string {
			t.Helper()
			put(t, filepath.Dir(state), "tercet", "x")
			return state
		},
		"others may write": func(t *testing.T, _, state string) string {
			t.Helper()
			if err := errors.Join(os.MkdirAll(state, 0o755), os.Chmod(state, 0o777)); err != nil {
				t.Fatal(err)
			}
			return state
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, state := project(t, nil)
			place := arm(t, dir, state)
			_, err := trust.Open(place, dir)
			if err == nil || !strings.Contains(err.Error(), " is not used: ") ||
				formats.CodeOf(err) != formats.CodeIO {
				t.Errorf("Open(%s) = %v, want why it is not used", place, err)
			}
		})
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(to, at)); err != nil {
		t.Fatal(err)
	}
}

// A store that is replaced by a link after it was opened is not read or written through either.
func TestStoreReplacedByALink(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{"a.md": "one\n"})
	s := open(t, state, dir)
	m := manifest(t, dir, "a.md")
	approve(t, s, m)
	away := state + ".away"
	if err := errors.Join(os.Rename(state, away), os.Symlink(away, state)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Load(); err == nil || r.Known {
		t.Errorf("Load() through a link = %+v, %v, want an error", r, err)
	}
	if err := s.Save(trust.Record{}.Approve(m), m, now()); err == nil {
		t.Error("Save() through a link = nil, want an error")
	}
	if _, err := s.Revoke(); err == nil {
		t.Error("Revoke() through a link = nil, want an error")
	}
}

func TestBrokenRecordIsNone(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{"a.md": "one\n"})
	s := open(t, state, dir)
	m := manifest(t, dir, "a.md")
	approve(t, s, m)
	found, err := filepath.Glob(filepath.Join(state, "trust", "*", "record.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("records = %q, %v, want one", found, err)
	}
	good, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty":             "",
		"no JSON":           "x",
		"a list":            "[]",
		"of another folder": strings.Replace(string(good), dir, dir+"x", 1),
		"no hash":           strings.Replace(string(good), m.Files[0].SHA256, "yes", 1),
		"another schema":    strings.Replace(string(good), "record/1", "record/0", 1),
		"a file twice": strings.Replace(
			string(good),
			`"a.md"`,
			`"a.md": "`+m.Files[0].SHA256+`", "a.md"`,
			1,
		),
		"no time": strings.Replace(string(good), "2026", "yesterday", 1),
		"cut":     string(good[:len(good)/2]),
	} {
		if err := os.WriteFile(found[0], []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := s.Load()
		if err == nil || r.Known ||
			!strings.HasPrefix(err.Error(), "trust record "+found[0]+" is not used: ") {
			t.Errorf("%s: Load() = %+v, %v, want why it is not used, and no record", name, r, err)
		}
	}
}

// TestNewerRecord: a record that a newer version wrote counts as none, and is not replaced.
func TestNewerRecord(t *testing.T) {
	t.Parallel()
	dir, state := project(t, map[string]string{"a.md": "one\n"})
	s := open(t, state, dir)
	m := manifest(t, dir, "a.md")
	approve(t, s, m)
	found, err := filepath.Glob(filepath.Join(state, "trust", "*", "record.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("records = %q, %v, want one", found, err)
	}
	newer := []byte(`{"schema": "tercet.trust-record/9", "roots": ["x"]}`)
	if err := os.WriteFile(found[0], newer, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := s.Load()
	if err == nil || r.Known || !strings.Contains(err.Error(), "has version 9") {
		t.Errorf("Load() = %+v, %v, want no record, and why", r, err)
	}
	err = s.Save(trust.Record{}.Approve(m), m, now())
	if err == nil || !strings.Contains(err.Error(), "has version 9") {
		t.Errorf("Save() = %v, want it refused", err)
	}
	if after, err := os.ReadFile(found[0]); err != nil || string(after) != string(newer) {
		t.Errorf("the record = %s, %v, want it as it was", after, err)
	}
}

// TestLinks: a link to a file of the project counts as that file, one that leads out is listed as
// what it is, and a name outside of the project is none.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir, _ := project(t, map[string]string{"real.md": "x\n"})
	secret := filepath.Join(filepath.Dir(dir), "secret.md")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "real.md", filepath.Join(dir, "inside.md"))
	link(t, secret, filepath.Join(dir, "outside.md"))
	link(t, "../secret.md", filepath.Join(dir, "up.md"))
	m := manifest(
		t, dir, "real.md", "inside.md", "outside.md", "up.md", "../secret.md", "/etc/passwd", "",
	)
	var got []string
	for _, f := range m.Files {
		got = append(got, f.Path)
	}

	if d := cmp.Diff([]string{"inside.md", "outside.md", "real.md", "up.md"}, got); d != "" {
		t.Errorf("listed (-want +got)\n%s", d)
	}
	if f, ok := m.File("up.md"); !ok || f.Problem != `cannot be read: link to "../secret.md"` {
		t.Errorf("a link that leads out = %+v, want the problem", f)
	}
	// What a link leads to is what is agreed to.
	before := m.Hash()
	put(t, dir, "other.md", "y\n")
	err := errors.Join(
		os.Remove(filepath.Join(dir, "inside.md")),
		os.Symlink("other.md", filepath.Join(dir, "inside.md")),
	)
	if err != nil {
		t.Fatal(err)
	}
	if manifest(t, dir, "real.md", "inside.md").Hash() == before {
		t.Error("a link that leads to another content has the same hash")
	}
}

// TestUnreadable: what cannot be read holds nothing up, and is listed as such.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	dir, _ := project(t, map[string]string{"a.md": "a", "b.md": "b", "run.sh": "c"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() // only read through
	for name, mode := range map[string]os.FileMode{"b.md": 0, "run.sh": 0o111} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	m, err := trust.Read(root, []string{"a.md", "b.md", "run.sh"})
	if err != nil || len(m.Files) != 3 || m.Files[0].Problem != "" || m.Files[1].Problem == "" ||
		m.Files[2].Problem == "" {
		t.Errorf("Read = %v, %v, want three files, two with a problem", m, err)
	}
}

func TestHashTellsNamesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, files := range [][]trust.File{
		nil,
		{trust.NewFile("a", nil)},
		{trust.NewFile("b", nil)},
		{trust.NewFile("a", nil), trust.NewFile("b", nil)},
		{trust.NewFile("a\nb", nil)},
		{trust.NewFile("a", []byte("b"))},
	} {
		h := trust.Manifest{Files: files}.Hash()
		if other, ok := seen[h]; ok {
			t.Errorf("%v and %s have one hash", files, other)
		}
		seen[h] = fmt.Sprint(files)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"schema":"tercet.trust-record/1","root":"R","manifest":"` + formats.Sum(nil) +
		`","time":"2026-01-02T03:04:05Z","files":{"a":"` + formats.Sum(nil) + `"}}`))
	f.Add([]byte(`{"files":{"a":1}}`))
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	state := filepath.Join(f.TempDir(), "tercet")
	s, err := trust.Open(state, dir)
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Save(trust.Record{}, trust.Manifest{}, now()); err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(state, "trust", formats.Sum([]byte(dir)), "record.json")
	m := trust.Manifest{Files: []trust.File{trust.NewFile("a", []byte("content"))}}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = []byte(strings.ReplaceAll(string(data), `"R"`, `"`+dir+`"`))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := s.Load()
		if err != nil && r.Known {
			t.Errorf("Load(%q) = a record beside %v", data, err)
		}
		if r.Covers(m) && !strings.Contains(string(data), m.Files[0].SHA256) {
			t.Errorf("Load(%q) covers what it does not name", data)
		}
	})
}
