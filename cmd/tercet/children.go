package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// childWord makes this program the supervisor of a child. It is no verb of the program: only the program says it.
const childWord = "__child"

// inner does what this program asks of itself. No flag is parsed and nothing is read for it.
func inner(args []string) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case childWord:
		return proc.Supervise(args[2:], os.Environ()), true
	case sandboxWord:
		fmt.Fprintln(os.Stderr, "tercet:", sandbox.Enter(args[2:], os.Environ()))
		return 126, true
	}
	return 0, false
}

// supervisor is what stands before the words of a child; empty if this program cannot be found, and then it has none.
func supervisor() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, childWord}
}

// childrenDir holds one file for each child that runs, below the workspace's folder of runs.
const childrenDir = formats.Workspace + "/runs/children"

// recordChild writes down a child before its program runs. No file is synced: the record outlives this process, and no
// process outlives the machine. Without a workspace there is no place for it.
func (w *world) recordChild(c proc.Started) (forget func(), err error) {
	if !w.has {
		return func() {}, nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := w.root.MkdirAll(childrenDir, 0o700); err != nil {
		return nil, err
	}
	name := path.Join(childrenDir, sprintf("%d-%s.json", c.PID, c.Start))
	if err := w.root.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	return func() {
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.app.term.note("%v", err)
		}
	}, nil
}

// sweep ends what processes of this program left behind that were killed. A record is believed only if it names this boot
// of this machine and a time of start, which nobody can know beforehand.
func (w *world) sweep(ctx context.Context) {
	if w.app.insideRun() {
		return
	}
	entries, err := fs.ReadDir(w.root.FS(), childrenDir)
	if err != nil || len(entries) == 0 {
		return // no child was ever recorded here, or the folder cannot be read, and then nothing can be done
	}
	if v, err := w.trust(); err != nil || v.by == "" {
		return // a record that came with a repository ends nothing, and nothing is written before trust
	}
	for _, e := range entries {
		name := path.Join(childrenDir, e.Name())
		text, err := w.root.ReadFile(name)
		if err != nil {
			continue // it was removed by the process that runs the child
		}
		var c proc.Started
		if json.Unmarshal(text, &c) == nil && proc.Alive(c.Owner) && c.Owner.PID != 0 {
			continue
		}
		if n := proc.Sweep(c); n > 0 {
			w.app.term.note("ended %d processes of %s, which a killed tercet left behind", n, c.Name)
			if err := dropTemp(c.Temp); err != nil {
				w.app.term.note("a temporary folder is left, remove it by hand: %v", err)
			}
		}
		w.sweepContainer(ctx, c.After)
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.app.term.note("%v", err)
		}
	}
}

// dropTemp removes the private folder of a child that was ended.
func dropTemp(dir string) error {
	if filepath.IsAbs(dir) && strings.HasPrefix(filepath.Base(dir), "tercet-") {
		return os.RemoveAll(dir)
	}
	return nil
}
