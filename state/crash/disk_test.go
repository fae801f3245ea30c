//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tercet/internal/testkit/faults"
)

// disk is what a file system may keep of a sequence of calls when the power goes: a model of two
// kinds of it.
//
// ordered: names reach the disk in the order in which they changed, and any fsync takes all of them
// along, as the journal of ext4 does. independent: each change of a name reaches the disk or not on
// its own, until its folder is synced, which is all that POSIX promises. In both, bytes that were
// not synced may be there, be missing, be torn, or be zeros.
type disk struct {
	independent bool
	durable     map[string]*inode // names that a crash leaves for certain
	pending     []rename          // changes of names that it may lose, oldest first
	live        map[string]*inode // what programs see
}

// inode is a file or a folder.
type inode struct {
	folder       bool
	data, synced []byte
	dirty        bool
}

// rename is one change of names that happens as a whole: a file made, linked, removed or renamed,
// or a folder made.
type rename struct {
	folder string // whose sync makes it durable
	names  map[string]*inode
}

// newDisk has files and folders as they were, all durable.
func newDisk(base crash, independent bool) *disk {
	d := &disk{independent: independent, durable: map[string]*inode{}}
	for _, dir := range base.dirs {
		d.durable[dir] = &inode{folder: true}
	}
	for path, data := range base.files {
		d.durable[path] = &inode{data: data, synced: data}
	}
	d.live = maps.Clone(d.durable)
	return d
}

// snapshot reads everything below a folder.
func snapshot(t *testing.T, dir string) crash {
	t.Helper()
	out := crash{files: map[string][]byte{}}

	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || path == dir:
			return err
		case e.IsDir():
			out.dirs = append(out.dirs, path)
			return nil
		}
		out.files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// do takes one call over that a program made. A call that the model cannot have succeed changes
// nothing, as it did not then.
func (d *disk) do(c faults.Call) {
	n := d.live[c.Path]
	switch c.Name {
	case "openat":
		if n == nil && c.Flags&unix.O_CREAT != 0 {
			d.change(c.Path, map[string]*inode{c.Path: {}})
		} else if n != nil && !n.folder && c.Flags&unix.O_TRUNC != 0 {
			n.write(nil)
		}
	case "write":
		if n != nil {
			size := max(int(c.Pos)+len(c.Data), len(n.data))
			data := make([]byte, size)
			copy(data, n.data)
			copy(data[c.Pos:], c.Data)
			n.write(data)
		}
	case "ftruncate":
		if n != nil {
			data := make([]byte, c.Pos)
			copy(data, n.data)
			n.write(data)
		}
	case "mkdirat":
		if n == nil {
			d.change(c.Path, map[string]*inode{c.Path: {folder: true}})
		}
	case "renameat":
		if n != nil && n != d.live[c.To] {
			d.change(c.To, map[string]*inode{c.Path: nil, c.To: n})
		}
	case "linkat":
		if n != nil && d.live[c.To] == nil {
			d.change(c.To, map[string]*inode{c.To: n})
		}
	case "unlinkat":
		if n != nil && n.folder == (c.Flags&unix.AT_REMOVEDIR != 0) {
			d.change(c.Path, map[string]*inode{c.Path: nil})
		}
	case "fsync":
		d.sync(c.Path, n)
	}
}

func (n *inode) write(data []byte) {
	n.data = data
	n.dirty = true
}

func (d *disk) change(path string, names map[string]*inode) {
	apply(d.live, names)
	d.pending = append(d.pending, rename{folder: filepath.Dir(path), names: names})
}

func apply(to, names map[string]*inode) {
	for name, n := range names {
		if n == nil {
			delete(to, name)
		} else {
			to[name] = n
		}
	}
}

// sync makes a file's bytes durable, or a folder's names; where names are ordered, both take all
// names along.
func (d *disk) sync(path string, n *inode) {
	if n != nil && !n.folder {
		n.synced = n.data
		n.dirty = false
		if d.independent {
			return
		}
	}
	d.pending = slices.DeleteFunc(d.pending, func(r rename) bool {
		if d.independent && r.folder != path {
			return false
		}
		apply(d.durable, r.names)
		return true
	})
}

// names lists the names that a crash may leave: at most limit, all of them if there are no more.
func (d *disk) names(limit int, rng *rand.Rand) []map[string]*inode {
	n := len(d.pending)
	var sets [][]bool // which of the pending changes are kept
	add := func(kept func(i int) bool) {
		set := make([]bool, n)
		for i := range set {
			set[i] = kept(i)
		}
		sets = append(sets, set)
	}
	switch {
	case d.independent && n < 12:
		for bits := range 1 << n {
			add(func(i int) bool { return bits>>i&1 == 1 })
		}
	case d.independent:
		for one := range n {
			add(func(i int) bool { return i == one })
			add(func(i int) bool { return i != one })
		}
		for range 2 * limit {
			add(func(int) bool { return rng.IntN(2) == 0 })
		}
		fallthrough
	default:
		for upTo := range n + 1 {
			add(func(i int) bool { return i < upTo })
		}
	}

	rng.Shuffle(len(sets), func(i, j int) {
		sets[i], sets[j] = sets[j], sets[i]
	})
	out := make([]map[string]*inode, 0, limit)
	for _, set := range sets[:min(limit, len(sets))] {
		m := maps.Clone(d.durable)
		for i, r := range d.pending {
			if set[i] {
				apply(m, r.names)
			}
		}
		out = append(out, m)
	}

	return out
}

// contents lists what a crash may leave of a file's bytes: what was synced stays, behind it
// anything is possible.
func (n *inode) contents() [][]byte {
	if !n.dirty {
		return [][]byte{n.data}
	}

	kept := 0
	for kept < min(len(n.synced), len(n.data)) && n.synced[kept] == n.data[kept] {
		kept++
	}

	middle := (kept + len(n.data)) / 2
	zeros := bytes.Clone(n.data)
	torn := bytes.Clone(n.data)
	clear(zeros[kept:])
	clear(torn[middle:])

	head := bytes.Clone(n.data) // the later page is there, the one before it is not
	clear(head[kept:middle])

	return [][]byte{
		n.data,
		n.synced,
		zeros,
		torn,
		head,
		n.data[:middle],
		n.data[:max(kept, len(n.data)-1)],
	}
}

// crash is one state in which a disk may be left.
type crash struct {
	at    int // calls before it
	acked int // writes to the standard output before it
	files map[string][]byte
	dirs  []string
}

// crashes visits states in which the disk may be left now: of each of at most limit sets of names
// some contents.
func (d *disk) crashes(
	limit int,
	rng *rand.Rand,
	visit func(files map[string][]byte, dirs []string),
) {
	for _, names := range d.names(limit, rng) {
		maps.DeleteFunc(names, func(path string, _ *inode) bool {
			return !d.reachable(names, path)
		})
		var dirty []string
		files := map[string][]byte{}
		var dirs []string
		for path, n := range names {
			switch {
			case n.folder:
				dirs = append(dirs, path)
			case n.dirty:
				dirty = append(dirty, path)
			default:
				files[path] = n.data
			}
		}
		slices.Sort(dirs)
		slices.Sort(dirty)
		for range max(1, min(limit, 7*len(dirty))) {
			chosen := maps.Clone(files)
			picked := map[*inode][]byte{}
			for _, path := range dirty {
				n := names[path]
				if _, ok := picked[n]; !ok { // two names of one file have the same bytes
					list := n.contents()
					picked[n] = list[rng.IntN(len(list))]
				}
				chosen[path] = picked[n]
			}
			visit(chosen, dirs)
		}
	}
}

// reachable tells whether all folders above a name are there.
func (d *disk) reachable(names map[string]*inode, path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, known := d.live[dir]; !known && d.durable[dir] == nil {
			return true // above the folder that is modelled
		}
		if names[dir] == nil {
			return false
		}
	}
}

// recording is a sequence of calls with the folder as it was before.
type recording struct {
	dir    string // where it was made; it may be gone
	before crash
	calls  []faults.Call
}

// effort is how much of the possible is looked at.
type effort struct {
	limit  int // sets of names, and contents of each, for a prefix
	stride int // one in so many prefixes
}

// explore visits the states in which a disk may be left after each prefix of a recording, each
// once.
func (r *recording) explore(independent bool, e effort, rng *rand.Rand, visit func(crash)) {
	d := newDisk(r.before, independent)
	seen := map[[sha256.Size]byte]bool{}
	acked := 0

	look := func(at int) {
		if rng.IntN(e.stride) != 0 {
			return
		}
		d.crashes(e.limit, rng, func(files map[string][]byte, dirs []string) {
			c := crash{
				at:    at,
				acked: acked,
				files: files,
				dirs:  dirs,
			}
			if key := c.key(); !seen[key] {
				seen[key] = true
				visit(c)
			}
		})
	}

	look(0)

	for i, c := range r.calls {
		if c.N == 0 {
			acked++
		} else {
			d.do(c)
		}
		if c.N == 0 || c.Changes() {
			look(i + 1)
		}
	}
}

// lives gives what programs saw at the beginning and after each acknowledgement.
func (r *recording) lives() []crash {
	d := newDisk(r.before, false)

	now := func() crash {
		c := crash{files: map[string][]byte{}}
		for path, n := range d.live {
			if n.folder {
				c.dirs = append(c.dirs, path)
			} else {
				c.files[path] = n.data
			}
		}
		slices.Sort(c.dirs)
		return c
	}

	out := []crash{now()}
	for _, c := range r.calls {
		d.do(c)
		if c.N == 0 {
			out = append(out, now())
		}
	}

	return out
}

// key tells states apart, by names without their random parts and by bytes.
func (c *crash) key() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, c.acked, c.dirs)
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		fmt.Fprintln(h, temporary.ReplaceAllString(path, ".tmp"), len(c.files[path]))
		h.Write(c.files[path])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// put makes the state real in another folder.
func (c *crash) put(from, to string) error {
	for _, dir := range c.dirs {
		if err := os.MkdirAll(to+strings.TrimPrefix(dir, from), 0o755); err != nil {
			return err
		}
	}
	for path, data := range c.files {
		if err := os.WriteFile(to+strings.TrimPrefix(path, from), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
