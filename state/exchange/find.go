package exchange

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/files"
)

// stateFolders are the folders in which other systems keep their tasks.
var stateFolders = []string{
	"specs", ".claude", ".claude/specs", ".opencode", ".opencode/specs", "docs",
}

// Bounds of a search for files of tasks: of a file, in bytes, and of the files of a folder.
const (
	maxFound   = 16 << 20
	maxInPlace = 200
)

// Found is a file of tasks of another system.
type Found struct {
	File string // path from the project root
	Src  []byte
	// Import is what an import takes: the folder if it has folders of tasks, else the file.
	Import string
	Broken bool // it looks like one, and is not JSON
}

// Find searches the folders in which other systems keep their tasks, and more of them, for files
// that have the shape of their states. What cannot be read is left out.
func Find(root *os.Root, more ...string) []Found {
	var out []Found
	var done []string
	for _, dir := range append(slices.Clone(stateFolders), more...) {
		dir = path.Clean(dir)
		if dir == "." || slices.Contains(done, dir) || !fs.ValidPath(dir) {
			continue
		}
		done = append(done, dir)

		entries, err := fs.ReadDir(root.FS(), dir)
		if err != nil {
			continue
		}
		tasks := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.IsDir() && formats.TaskOfFolder(e.Name()) > 0
		})

		for _, e := range entries[:min(len(entries), maxInPlace)] {
			if !e.Type().IsRegular() || path.Ext(e.Name()) != ".json" {
				continue
			}
			name := path.Join(dir, e.Name())
			src, err := files.Read(root, name, maxFound)
			if err != nil {
				continue
			}

			is, broken := isForeign(src)
			if !is {
				continue
			}

			one := Found{File: name, Src: src, Import: name, Broken: broken}
			if tasks && e.Name() == "state.json" {
				one.Import = dir
			}
			out = append(out, one)
		}
	}
	return out
}

// isForeign reports whether a text has the shape of another system's state. Of a text that is not
// JSON it can only tell whether it has the names of both members.
func isForeign(src []byte) (is, broken bool) {
	const next = "next_project_number"
	has := func(key string) bool {
		return bytes.Contains(src, []byte(`"`+key+`"`))
	}

	projects := has(listActive) || has(next)
	if !projects && !has("tasks") {
		return false, false
	}

	tree, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		broken = has(listActive) && has(next)
		return broken, broken
	}
	_, numbered := tree.Get(next).Int()
	if tree.Get(listActive).Is(jsonx.Array) || numbered {
		return true, false
	}

	list := tree.Get("tasks")
	if !list.Is(jsonx.Array) || tree.Get("lineage") != nil {
		return false, false // the second is a state of tercet
	}
	return slices.ContainsFunc(list.Elems, func(v *jsonx.Value) bool {
		return looksLikeTask(v) && v.Get("status") != nil
	}), false
}

// Has reports whether a file of tasks has a task with that number.
func (m *Import) Has(number int) bool {
	return slices.ContainsFunc(m.tasks, func(t record) bool { return t.Task.Number == number })
}

// Describe says in a few words what a file of tasks holds.
func (m *Import) Describe() string {
	text := formats.Count(len(m.tasks), "task")
	var wrong []string
	for _, f := range m.Findings {
		if f.LeftOut || m.preventsImport(f) {
			wrong = append(wrong, f.Message)
		}
	}

	if len(wrong) > 0 {
		text += ", and " + formats.Count(len(wrong), "record") + " that cannot be read"
	}
	return strings.TrimSpace(text)
}

// SameJSON reports whether two texts are the same but for the white space of their layout.
func SameJSON(a, b []byte) bool {
	x, err := jsonx.Parse(a, jsonx.Limits{})
	if err != nil {
		return bytes.Equal(a, b)
	}
	y, err := jsonx.Parse(b, jsonx.Limits{})
	return err == nil && equalJSON(x, y)
}
