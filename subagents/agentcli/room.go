package agentcli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// Confine puts an agent CLI's command into a sandbox, or says which limits the CLI enforces itself,
// and names the tier.
type Confine func(
	ctx context.Context, r formats.Request, c proc.Command, room sandbox.Room,
) (proc.Command, string, error)

// Footprint is what an agent CLI uses of the machine besides the tree that it works in.
type Footprint struct {
	// Known means that the rest is complete. Without it no sandbox is put around the CLI unless the
	// configuration asks for one.
	Known bool
	// Stores hold its sessions, its logs, a login that it renews.
	Stores []Store
	// Sandboxes means that it runs each command in a sandbox of its own.
	Sandboxes bool
	// Make are folders outside of Stores that have to be there, absolute.
	Make []string
}

// Store is a folder or file in which an agent CLI stores its own data. It is Path below the folder
// in the variable Var, or below Home in the home folder if Var is not set.
type Store struct {
	Var, Home, Path string
	File            bool
	Required        bool   // it does not start where the folder is missing
	Keep            string // what in it decides what the CLI does or runs, with blanks between
}

// dir is where it is for a user with these variables.
func (s Store) dir(lookup func(string) string) string {
	dir := lookup(s.Var)
	if s.Var == "" || dir == "" {
		dir = filepath.Join(lookup("HOME"), filepath.FromSlash(s.Home))
	}
	return filepath.Join(dir, filepath.FromSlash(s.Path))
}

// footprintOf gives that of a program which is a driver's or an adapter's. A program whose name
// begins like a driver's starts sandboxes as that one does; its data is not known.
func footprintOf(program string) Footprint {
	var like Footprint
	for _, d := range Drivers() {
		if program == d.Name || slices.Contains(d.Adapters, program) {
			return d.Footprint
		}
		if strings.HasPrefix(program, d.Name) {
			like.Sandboxes = d.Footprint.Sandboxes
			like.Make = d.Footprint.Make
		}
	}
	return like
}

// room of a call: with a private home everything is in that folder.
func (c *CLI) room(call Call) sandbox.Room {
	used := c.Driver.Footprint
	room := sandbox.Room{
		Tree:  call.Grant.Write || call.Grant.Shell,
		Net:   call.Grant.Net,
		Nest:  used.Sandboxes,
		Known: used.Known || call.Home != "",
		Make:  slices.Clone(used.Make),
	}
	if call.Home != "" {
		return room
	}

	for _, s := range used.Stores {
		dir := s.dir(call.Lookup)
		if !filepath.IsAbs(dir) || slices.Contains(room.Write, dir) {
			continue
		}
		room.Write = append(room.Write, dir)
		if !s.File {
			room.Make = append(room.Make, dir)
		}
		for k := range strings.FieldsSeq(s.Keep) {
			room.Keep = append(room.Keep, filepath.Join(dir, k))
		}
	}

	return room
}
