package project

import (
	"crypto/rand"
	"errors"
	"path/filepath"

	"tercet/internal/atomicfile"
	"tercet/internal/keys"
	"tercet/internal/packs"
)

// ChangePacks locks the packs, brings a change to its end that was killed, and gives the record.
func (p *Project) ChangePacks(do func(record packs.Record) error) error {
	cfg := p.StateConfig(0, nil)
	lock, err := cfg.Claim(packs.LockFile, p.Host.Session)
	if err != nil {
		return err
	}
	_, err = packs.Finish(p.Root, p.PackKey())
	var record packs.Record
	if err == nil {
		record, err = packs.Load(atomicfile.FS(p.Root))
	}
	if err == nil {
		err = do(record)
	}
	return errors.Join(err, lock.Close())
}

// PackKey is the key that seals a change of the packs.
func (p *Project) PackKey() []byte {
	return keys.Of(p.Host.StateHome(), rand.Text)("packs")
}

// finishPack brings a change of the packs to its end that was killed, unless another process is at
// it.
func (p *Project) finishPack() {
	_, err := p.Root.Lstat(filepath.FromSlash(packs.PendingFile))
	if err != nil || p.Host.InsideRun {
		return
	}
	lock, err := p.StateConfig(0, nil).Claim(packs.LockFile, p.Host.Session)
	if err != nil {
		return // it is under way
	}
	name, err := packs.Finish(p.Root, p.PackKey())
	if err = errors.Join(err, lock.Close()); err != nil {
		p.note("warning: %v", err)
	} else if name != "" {
		p.note("finished the change of pack %s that was begun and killed", name)
	}
}
