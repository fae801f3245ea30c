package proc

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Started is the record of a running child, in case its owner is killed.
type Started struct {
	Proc           // of its supervisor, the session leader
	Owner Proc     // the process that started it
	Temp  string   // its private temporary folder, may be empty
	Name  string   // of the program, for messages
	After []string `json:",omitempty"` // as in Command
}

// Register keeps a file for each running child, so that the next start can end what a killed owner
// left behind. It is in the user's own folder: files in a project could name foreign processes and
// folders.
type Register struct {
	Dir string // folder of the records, absolute; empty: no records
	// Report reports in one line what Sweep ended, or could not clear.
	Report func(line string)
}

// Record records a child before it runs. It does not sync: a record only matters until the next
// boot.
func (r Register) Record(c Started) (forget func(), err error) {
	if r.Dir == "" {
		return func() {}, nil
	}

	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, err
	}

	// A random name: a supervisor may get its next child before the record of the previous one is
	// removed
	name := rand.Text() + ".json"
	if err := errors.Join(root.WriteFile(name, text, 0o600), root.Close()); err != nil {
		return nil, err
	}
	return func() { r.remove(name) }, nil
}

func (r Register) remove(name string) {
	if err := os.Remove(filepath.Join(r.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Report(err.Error())
	}
}

// Empty reports whether there are no records, or none can be read.
func (r Register) Empty() bool {
	return len(r.records()) == 0
}

func (r Register) records() (names []string) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil // no folder, or it is unreadable
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Sweep ends what killed owners left of their children; after then cleans up what is not a process.
// It ends a process only if its boot and start time match the record.
func (r Register) Sweep(after func(Started)) {
	for _, name := range r.records() {
		text, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			continue // the owner has just removed it
		}
		var c Started
		if json.Unmarshal(text, &c) == nil && IsAlive(c.Owner) && c.Owner.PID != 0 {
			continue
		}

		if n := Sweep(c); n > 0 {
			r.Report(fmt.Sprintf("ended %d processes of %s, which a killed tercet left behind",
				n, c.Name))
		}
		r.removeTemp(c.Temp)
		after(c)
		r.remove(name)
	}
}

// removeTemp removes the temporary folder of a child, if its parent and name are those of this
// package.
func (r Register) removeTemp(temp string) {
	dir, name := filepath.Split(temp)
	if filepath.Clean(dir) != filepath.Clean(os.TempDir()) || !strings.HasPrefix(name, "tercet-") {
		return
	}
	if err := os.RemoveAll(temp); err != nil {
		r.Report("a temporary folder is left, remove it by hand: " + err.Error())
	}
}
