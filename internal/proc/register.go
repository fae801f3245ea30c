package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Started is a child that runs, as it is recorded for the case that its owner is killed.
type Started struct {
	Proc           // of its supervisor, which leads the session
	Owner Proc     // the process that started it
	Temp  string   // its private temporary folder, may be empty
	Name  string   // of the program, for messages
	After []string `json:",omitempty"` // as in Command
}

// Register keeps a file for each child that runs, so that the next start ends what a killed owner left behind. It lies
// in a folder of the person's own: what stands in a project could name the processes and folders of others.
type Register struct {
	Dir string // of the files, absolute; empty: there is no place for records, and nothing is kept
	// Tell takes a line for the person: what was ended, and what could not be cleared away.
	Tell func(line string)
}

// Record writes a child down before its program runs. No file is synced: the record outlives this process, and no
// process outlives the machine.
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
	name := fmt.Sprintf("%d-%s.json", c.PID, c.Start)
	if err := errors.Join(root.WriteFile(name, text, 0o600), root.Close()); err != nil {
		return nil, err
	}
	return func() { r.remove(name) }, nil
}

func (r Register) remove(name string) {
	if err := os.Remove(filepath.Join(r.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Tell(err.Error())
	}
}

// Empty tells whether no child is recorded, or none can be told.
func (r Register) Empty() bool { return len(r.records()) == 0 }

func (r Register) records() (names []string) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil // there is no place, no child was ever recorded, or nothing can be done
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Sweep ends what is left of children whose owner was killed; after clears away what outlives the processes of one. A
// process is ended only if this boot of this machine and its time of start are those of the record.
func (r Register) Sweep(after func(Started)) {
	for _, name := range r.records() {
		text, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			continue // it was removed by the process that runs the child
		}
		var c Started
		if json.Unmarshal(text, &c) == nil && Alive(c.Owner) && c.Owner.PID != 0 {
			continue
		}
		if n := Sweep(c); n > 0 {
			r.Tell(fmt.Sprintf("ended %d processes of %s, which a killed tercet left behind", n, c.Name))
		}
		r.clear(c.Temp)
		after(c)
		r.remove(name)
	}
}

// clear removes the temporary folder of a child, which lies where this package makes them and has such a name.
func (r Register) clear(temp string) {
	dir, name := filepath.Split(temp)
	if filepath.Clean(dir) != filepath.Clean(os.TempDir()) || !strings.HasPrefix(name, "tercet-") {
		return
	}
	if err := os.RemoveAll(temp); err != nil {
		r.Tell("a temporary folder is left, remove it by hand: " + err.Error())
	}
}
