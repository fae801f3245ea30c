package main

import (
	"os"

	"tercet/formats"
)

// openTape opens the folder of --record, which is made, or of --replay, which must be there.
func (w runs) openTape() error {
	flags := w.app.flags
	name := flags.record + flags.replay
	switch {
	case name == "" || w.tape != nil:
		return nil
	case flags.record != "" && flags.replay != "":
		return usage("expected --record or --replay, got both")
	case flags.replay != "" && !isDir(name):
		return usage("expected a folder for --replay, got %q", name)
	}
	if flags.record != "" {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return broken(formats.CodeIO, "folder of --record", err)
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return broken(formats.CodeIO, "folder of recordings", err)
	}
	w.tape = root
	w.keep(root)
	return nil
}
