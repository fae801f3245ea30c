package commands_test

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

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/dialect"
)

// memory is a cache in memory that counts.
type memory struct {
	data   []byte
	stores int
}

func (m *memory) Load() ([]byte, error) {
	if m.data == nil {
		return nil, fs.ErrNotExist
	}
	return m.data, nil
}

func (m *memory) Store(data []byte) error {
	m.data, m.stores = data, m.stores+1
	return nil
}

// noAgents knows no subagent.
type noAgents struct{}

func (noAgents) Agent(string) (formats.AgentInfo, bool) { return formats.AgentInfo{}, false }
func (noAgents) Names() []string                        { return nil }

// catalog lists a folder of another tool's commands; opened counts the files that were read.
func catalog(tb testing.TB, dir string, cache commands.Cache, opened *int) *commands.Catalog {
	tb.Helper()
	const source = ".claude/commands"
	lib := &commands.Library{
		Env: noAgents{}, Foreign: map[string]dialect.Place{source: {Dialect: dialect.Claude, Scope: dialect.Project, Dir: source, Label: source}},
		Open: func(_, file string) ([]byte, error) {
			*opened++
			return os.ReadFile(filepath.Join(dir, file))
		},
	}
	c := &commands.Catalog{
		Library: lib, Cache: cache, Env: "env", Now: time.Now,
		Stamp: func(_, file string) (commands.Stamp, error) {
			info, err := os.Stat(filepath.Join(dir, file))
			if err != nil {
				return commands.Stamp{}, err
			}
			return commands.Stamp{Time: info.ModTime().UnixNano(), Size: info.Size()}, nil
		},
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range list {
		c.Entries = append(c.Entries, commands.Entry{Name: strings.TrimSuffix(e.Name(), ".md"), File: e.Name(), Source: source})
	}
	return c
}

func write(tb testing.TB, dir, name, text string, age time.Duration) {
	tb.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(file, at, at); err != nil {
		tb.Fatal(err)
	}
}

func descriptions(list []formats.CommandInfo) string {
	var out []string
	for _, i := range list {
		out = append(out, i.Name+"="+i.Description)
	}
	return strings.Join(out, " ")
}

func TestListingReadsWhatChanged(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), &memory{}
	for _, name := range []string{"a", "b", "c"} {
		write(t, dir, name+".md", "---\ndescription: "+name+"1\n---\nbody", time.Hour)
	}
	list := func(want string, wantOpened int) {
		t.Helper()
		opened := 0
		if got := descriptions(catalog(t, dir, cache, &opened).List()); got != want {
			t.Errorf("List = %s, want %s", got, want)
		}
		if opened != wantOpened {
			t.Errorf("List read %d files, want %d", opened, wantOpened)
		}
	}
	list("a=a1 b=b1 c=c1", 3)
	list("a=a1 b=b1 c=c1", 0)
	if cache.stores != 1 {
		t.Errorf("the cache was written %d times, want once", cache.stores)
	}
	write(t, dir, "b.md", "---\ndescription: b2\n---\nbody", time.Minute) // the same length
	list("a=a1 b=b2 c=c1", 1)
	list("a=a1 b=b2 c=c1", 0)
	write(t, dir, "c.md", "---\ndescription: c2\n---\nbody", 0) // just now: its time says nothing
	list("a=a1 b=b2 c=c2", 1)
	write(t, dir, "c.md", "---\ndescription: c3\n---\nbody", 0)
	list("a=a1 b=b2 c=c3", 1)
	write(t, dir, "c.md", "---\ndescription: c3\n---\nbody", time.Hour)
	list("a=a1 b=b2 c=c3", 1) // the digest is known: read, not parsed
	list("a=a1 b=b2 c=c3", 0)
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	list("b=b2 c=c3", 0)
	write(t, dir, "d.md", "text", time.Hour)
	list("b=b2 c=c3 d=text", 1)
	opened := 0
	other := catalog(t, dir, cache, &opened)
	other.Env = "other subagents"
	if other.List(); opened != 3 {
		t.Errorf("with other surroundings %d files were read, want all 3", opened)
	}
}

func TestListingSurvivesItsCache(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), &memory{}
	write(t, dir, "a.md", "---\ndescription: a1\n---\nbody", time.Hour)
	opened := 0
	want := catalog(t, dir, cache, &opened).List()
	good := cache.data
	for i := range good {
		for _, data := range [][]byte{good[:i], append(append([]byte{}, good[:i]...), append([]byte{good[i] ^ 0xff}, good[i+1:]...)...)} {
			list := catalog(t, dir, &memory{data: data}, &opened).List()
			if len(list) != 1 || list[0].Name != "a" {
				t.Fatalf("with a cache broken at %d List = %v, want one command", i, list)
			}
		}
	}
	broken := catalog(t, dir, brokenCache{}, &opened)
	if diff := cmp.Diff(want, broken.List()); diff != "" {
		t.Errorf("without a cache the list differs (-want +got):\n%s", diff)
	}
}

type brokenCache struct{}

func (brokenCache) Load() ([]byte, error) { return nil, errors.New("no") }
func (brokenCache) Store([]byte) error    { return errors.New("no") }

func FuzzCache(f *testing.F) {
	dir, cache := f.TempDir(), &memory{}
	write(f, dir, "a.md", "---\ndescription: a1\n---\nbody", time.Hour)
	opened := 0
	catalog(f, dir, cache, &opened).List()
	f.Add(cache.data)
	f.Add([]byte("\x10tercet.catalog/1\x03env\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if list := catalog(t, dir, &memory{data: data}, &opened).List(); len(list) > 1 {
			t.Fatalf("List = %v, want at most one", list)
		}
	})
}

// BenchmarkListing lists 1,000 commands from files and from the cache.
func BenchmarkListing(b *testing.B) {
	dir := b.TempDir()
	body := strings.Repeat("Look at $ARGUMENTS and say what !`git diff` shows in @README.md. Then do the next thing.\n", 40)
	for i := range 1000 {
		write(b, dir, fmt.Sprintf("command-%04d.md", i), fmt.Sprintf("---\ndescription: Number %d\nargument-hint: <file>\nallowed-tools: Read, Bash(git diff:*)\n---\n%s", i, body), time.Hour)
	}
	opened := 0
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			catalog(b, dir, &memory{}, &opened).List()
		}
	})
	b.Run("warm", func(b *testing.B) {
		cache := &memory{}
		catalog(b, dir, cache, &opened).List()
		b.ReportAllocs()
		for b.Loop() {
			catalog(b, dir, cache, &opened).List()
		}
	})
}
