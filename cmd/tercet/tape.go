package main

import (
	"os"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/cassette"
)

// openTape opens the folder of --record, which is made, or of --replay, which must be there.
func (w *world) openTape() error {
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
			return &formats.Failure{Code: formats.CodeIO, Message: "folder of --record", Err: err}
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "folder of recordings", Err: err}
	}
	w.tape = root
	w.keep(root)
	return nil
}

// taped puts the recorder around a worker, or the player in its place.
func (w *world) taped(info formats.AgentInfo, agent subagents.Agent) subagents.Agent {
	switch {
	case w.tape == nil:
		return agent
	case w.app.flags.replay != "":
		return &cassette.Player{Info: info, From: w.tape, Root: w.dir, Mask: w.mask.Values}
	}
	return &cassette.Recorder{Info: info, Agent: agent, To: w.tape, Root: w.dir, Mask: w.mask.Values}
}
