package team

import (
	"errors"
	"syscall"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
)

// noteDisk remembers an error that says that the disk of the home takes nothing more.
func (k *Keeper) noteDisk(err error) {
	for _, sign := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO,
	} {
		if errors.Is(err, sign) {
			k.mu.Lock()
			k.diskFull = true
			k.mu.Unlock()
			return
		}
	}
}

// Writable is why the home cannot make anything durable; nil: it can. It tries to write only if
// something failed before.
func (k *Keeper) Writable() error {
	k.mu.Lock()
	full := k.diskFull
	k.mu.Unlock()
	if !full {
		return nil
	}

	const (
		name = journal.Folder + "/.team.space"
		room = 64 << 10 // for the lines and documents of some steps
	)

	err := atomicfile.WriteIn(
		k.project.Root, name, make([]byte, room), atomicfile.Options{Mode: 0o600},
	)
	if err == nil {
		err = k.project.Root.Remove(name)
	}
	if err != nil {
		return formats.Broken(formats.CodeTransient, "the home cannot write to its disk", err,
			"make room there: the runs of the team go on by themselves")
	}
	k.mu.Lock()
	k.diskFull = false
	k.mu.Unlock()
	return nil
}
