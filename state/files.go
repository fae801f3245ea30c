package state

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"tercet/internal/atomicfile"
	"tercet/state/files"
	"tercet/state/statefile"
)

// Open opens the state of a project for reading, with the same checks as every other reader.
func Open(root *os.Root) (*os.File, error) {
	f, _, err := files.Open(root, statefile.Path, files.MaxState)
	return f, err
}

// readState reads state.json at its resolved path. If it is missing, the error says what that
// means.
func (c Config) readState(resolved string) ([]byte, fs.FileInfo, error) {
	src, info, err := files.ReadInfo(c.Root, resolved, files.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, c.missingStateError()
	}
	if err != nil {
		return nil, nil, files.Failure("reading", statefile.Path, err)
	}
	return src, info, nil
}

// sweep removes the temporary files that killed writes of a file left next to it. The caller holds
// the lock for that file.
func (c Config) sweep(resolved string, more ...string) error {
	dir := path.Dir(resolved)
	if err := atomicfile.Sweep(c.Root, dir, append(more, path.Base(resolved))...); err != nil {
		return files.Failure("cleaning", dir, err)
	}
	return nil
}
