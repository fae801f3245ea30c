package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Register keeps a file for each child that runs, so that the next start ends what a killed owner left behind.
type Register struct {
	Root *os.Root // nil: there is no place for records, and nothing is kept
	Dir  string   // of the files, below Root
	// Tell takes a line for the person: what was ended, and what could not be cleared away.
	Tell func(line string)
}

// Record writes a child down before its program runs. No file is synced: the record outlives this process, and no
// process outlives the machine.
func (r Register) Record(c Started) (forget func(), err error) {
	if r.Root == nil {
		return func() {}, nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := r.Root.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	name := path.Join(r.Dir, fmt.Sprintf("%d-%s.json", c.PID, c.Start))
	if err := r.Root.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	return func() { r.remove(name) }, nil
}

func (r Register) remove(name string) {
	if err := r.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Tell(err.Error())
	}
}

// Empty tells whether no child is recorded, or none can be told.
func (r Register) Empty() bool { return len(r.records()) == 0 }

func (r Register) records() []string {
	entries, err := fs.ReadDir(r.Root.FS(), r.Dir)
	if err != nil {
		return nil // no child was ever recorded here, or nothing can be done
	}
	var out []string
	for _, e := range entries {
		out = append(out, path.Join(r.Dir, e.Name()))
	}
	return out
}

// Sweep ends what is left of children whose owner was killed; after clears away what outlives the processes of one. A
// record is believed only if it names this boot of this machine and a time of start, which nobody can know beforehand.
func (r Register) Sweep(after func(Started)) {
	for _, name := range r.records() {
		text, err := r.Root.ReadFile(name)
		if err != nil {
			continue // it was removed by the process that runs the child
		}
		var c Started
		if json.Unmarshal(text, &c) == nil && Alive(c.Owner) && c.Owner.PID != 0 {
			continue
		}
		if n := Sweep(c); n > 0 {
			r.Tell(fmt.Sprintf("ended %d processes of %s, which a killed tercet left behind", n, c.Name))
			if filepath.IsAbs(c.Temp) && strings.HasPrefix(filepath.Base(c.Temp), "tercet-") {
				if err := os.RemoveAll(c.Temp); err != nil {
					r.Tell("a temporary folder is left, remove it by hand: " + err.Error())
				}
			}
		}
		after(c)
		r.remove(name)
	}
}
