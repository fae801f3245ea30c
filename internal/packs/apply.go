package packs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// PendingFile holds a decided change until all of it is written. LockFile is locked meanwhile.
const (
	PendingFile = formats.Workspace + "/packs.pending"
	LockFile    = formats.Workspace + "/packs.lock"
)

// pending is what PendingFile holds. The mac is by the user's key: one that came with a repository
// changes nothing.
type pending struct {
	Schema string `json:"schema"`
	Pack   string `json:"pack"`
	Ops    []op   `json:"ops"`
	MAC    string `json:"mac"`
}

func (p pending) computeMAC(key []byte) string {
	p.MAC = ""
	text, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}

// Apply applies a plan completely, unless the files have changed since.
func (p Plan) Apply(root *os.Root, key []byte) error {
	ops := p.orderedOps()
	if len(ops) == 0 {
		return nil
	}

	for _, o := range ops {
		if now, err := fileSum(root, o.Path); err != nil || now != o.Before {
			return errors.Join(err, formats.Fail(formats.CodePrecondition, "run the command again",
				"%s was changed meanwhile; nothing was written", o.Path))
		}
	}

	begun := pending{
		Schema: schema,
		Pack:   p.Pack.Name,
		Ops:    ops,
	}
	begun.MAC = begun.computeMAC(key)
	text, err := json.Marshal(begun)
	if err == nil {
		options := atomicfile.Options{Mode: 0o600}
		err = atomicfile.WriteIn(root, PendingFile, append(text, '\n'), options)
	}
	if err != nil {
		return formats.OnFile("write", PendingFile, err)
	}
	return begun.finishOrUndo(root)
}

// Finish completes a change whose process was killed. It gives the pack's name; empty if there was
// none. A change that cannot be completed is taken back, so that the error is told once.
func Finish(root *os.Root, key []byte) (pack string, err error) {
	data, err := atomicfile.ReadFile(root, PendingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", atomicfile.Sweep(root, formats.Workspace, path.Base(PendingFile))
	}
	var p pending
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && !hmac.Equal([]byte(p.MAC), []byte(p.computeMAC(key))) {
		err = errors.New("you did not begin this change here")
	}
	if err != nil {
		return "", formats.Broken(
			formats.CodeInvalidState,
			PendingFile,
			err,
			"remove it: rm "+PendingFile,
		)
	}
	return p.Pack, p.finishOrUndo(root)
}

// finishOrUndo takes the change back if it cannot be finished.
func (p pending) finishOrUndo(root *os.Root) error {
	err := p.finish(root)
	if err == nil {
		return nil
	}
	if undoing := p.undo(root); undoing != nil {
		return errors.Join(err, undoing)
	}
	return &formats.Failure{
		Code:    formats.CodeOf(err),
		Message: "the change of pack " + p.Pack + " was taken back",
		Err:     err,
		Help:    "look at what stands there, then run the command again",
	}
}

// undo puts back what finish wrote. A file that was changed meanwhile stays.
func (p pending) undo(root *os.Root) error {
	for _, o := range slices.Backward(p.Ops) {
		if now, err := fileSum(root, o.Path); err != nil || now == o.Before || now != o.afterSum() {
			continue // nothing of this change stands there
		}
		var err error
		switch {
		case o.Before == "":
			err = atomicfile.Remove(root, o.Path)
		case formats.Sum(o.Previous) == o.Before:
			err = atomicfile.WriteIn(root, o.Path, o.Previous, atomicfile.Options{})
		}
		if err != nil {
			return formats.OnFile("take back", o.Path, err)
		}
	}

	if err := atomicfile.Remove(root, PendingFile); err != nil {
		return formats.OnFile("remove", PendingFile, err)
	}

	for _, o := range p.Ops { // folders that were made for it
		for dir := path.Dir(o.Path); o.Before == "" && strings.Count(dir, "/") > 1 &&
			root.Remove(dir) == nil; {
			dir = path.Dir(dir)
		}
	}
	return nil
}

// afterSum is the hash of what shall stand there, empty if nothing shall.
func (o op) afterSum() string {
	if o.Delete {
		return ""
	}
	return formats.Sum(o.After)
}

// finish writes what is not written yet. A file that is neither as it was nor as it shall be is a
// user's edit.
func (p pending) finish(root *os.Root) error {
	for _, o := range p.Ops {
		now, err := fileSum(root, o.Path)
		if err != nil {
			return err
		}

		switch {
		case now != o.Before:
		case o.Delete:
			if err = atomicfile.Remove(root, o.Path); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		default:
			if err = atomicfile.MkdirAll(root, path.Dir(o.Path), 0); err == nil {
				err = atomicfile.WriteIn(root, o.Path, o.After, atomicfile.Options{})
			}
		}
		if err == nil {
			err = atomicfile.Sweep(root, path.Dir(o.Path), path.Base(o.Path))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return formats.OnFile("write", o.Path, err)
		}
	}

	if err := atomicfile.Remove(root, PendingFile); err != nil {
		return formats.OnFile("remove", PendingFile, err)
	}
	for _, o := range p.Ops { // folders that nothing is left in
		for dir := path.Dir(o.Path); o.Delete && strings.Count(dir, "/") > 1 &&
			root.Remove(dir) == nil; {
			dir = path.Dir(dir)
		}
	}

	return nil
}

// fileSum is the hash of a file, empty if it is not there.
func fileSum(root *os.Root, name string) (string, error) {
	data, err := atomicfile.ReadFile(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", formats.Broken(formats.CodeIO, name, err)
	}
	return formats.Sum(data), nil
}
