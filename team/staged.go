package team

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
)

// stagedDocuments are documents that came with lines of a journal. They are on the disk before the
// lines and in their places afterwards, so that a home that dies between, or whose disk is full,
// has both or neither.
type stagedDocuments struct {
	Seq   int               `json:"seq"` // of the last of the lines
	Files map[string][]byte `json:"files,omitempty"`
	Gone  []string          `json:"gone,omitempty"`
}

// stagedPath is where the documents of a run wait for their lines.
func stagedPath(run string) string {
	return path.Join(journal.Folder, run, "staged.json")
}

// stageDocuments writes documents to the disk that come with lines up to seq. It tells whether
// there are any.
func (k *Keeper) stageDocuments(l formats.SharedLines, seq int) (any bool, err error) {
	if len(l.Files)+len(l.Gone) == 0 {
		return false, nil
	}

	own := formats.Workspace + "/state.json"
	archive := formats.Workspace + "/archive/"
	check := func(name string) error {
		shared := k.project.Shares(l.Run, name)
		if !shared || name == own || strings.HasPrefix(name, archive) {
			return &formats.ValueError{What: "a document of run " + l.Run, Got: name}
		}
		return nil
	}

	for name := range l.Files {
		if err := check(name); err != nil {
			return false, err
		}
	}
	for _, name := range l.Gone {
		if err := check(name); err != nil {
			return false, err
		}
	}

	data, err := json.Marshal(stagedDocuments{Seq: seq, Files: l.Files, Gone: l.Gone})
	if err == nil {
		err = atomicfile.WriteIn(k.project.Root, stagedPath(l.Run), data,
			atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return false, formats.OnFile("write", stagedPath(l.Run), err)
	}
	return true, nil
}

// installStaged puts staged documents of a run in their places if the journal has got their lines,
// and drops them otherwise. The caller holds the lock of the run.
func (k *Keeper) installStaged(run string, r *teamRun) error {
	name := stagedPath(run)
	data, err := atomicfile.ReadFile(k.project.Root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return formats.OnFile("read", name, err)
	}

	var s stagedDocuments
	if err := json.Unmarshal(data, &s); err != nil {
		return formats.Broken(formats.CodeInvalidState, name, err)
	}

	if s.Seq == r.journal.Seq() {
		k.effects.Lock()
		err = k.installDocuments(s)
		k.effects.Unlock()
	}
	if err != nil {
		return err
	}

	if err := atomicfile.Remove(k.project.Root, name); err != nil {
		return formats.OnFile("remove", name, err)
	}
	return nil
}

// installDocuments puts documents in their places.
func (k *Keeper) installDocuments(s stagedDocuments) error {
	for name, data := range s.Files {
		dir := path.Dir(name)
		if err := atomicfile.MkdirAll(k.project.Root, dir, 0o755); err != nil {
			return formats.OnFile("make", dir, err)
		}
		err := atomicfile.WriteIn(k.project.Root, name, data, atomicfile.Options{Mode: 0o644})
		if err != nil {
			return formats.OnFile("write", name, err)
		}
	}

	for _, name := range s.Gone {
		err := k.project.Root.Remove(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return formats.OnFile("remove", name, err)
		}
	}
	return nil
}
