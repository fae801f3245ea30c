package worktree

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// runFolder is the folder of a run, relative to the project root.
func runFolder(run string) string {
	return path.Join(formats.Workspace, "runs", run)
}

// withRunFolder does something below the project root with the folder of a run, which is made if it is not
// there.
func (m *Manager) withRunFolder(
	run, below string, do func(root *os.Root, dir string) error,
) (err error) {
	if !validRunID(run) {
		return &formats.ValueError{What: "a run id", Got: run}
	}
	root, err := os.OpenRoot(m.Root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	dir := path.Join(runFolder(run), below)
	if err := atomicfile.MkdirAll(root, dir, 0o700); err != nil {
		return err
	}
	return do(root, dir)
}

// runFile is the absolute name of a file in the folder of a run.
func (m *Manager) runFile(run, name string) (string, error) {
	err := m.withRunFolder(run, "", func(*os.Root, string) error { return nil })
	return filepath.Join(m.Root, filepath.FromSlash(runFolder(run)), name), err
}

// write keeps a value in the folder of a run.
func (m *Manager) write(run, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return m.withRunFolder(run, path.Dir(name), func(root *os.Root, dir string) error {
		return atomicfile.WriteIn(root, path.Join(
			dir,
			path.Base(name),
		), data, atomicfile.Options{Mode: 0o600})
	})
}

// load reads a value out of the folder of a run and tells whether it was there. What is not whole
// is not there: it was being written when the process ended, before anything came of it.
func (m *Manager) load(run, name string, into any) (bool, error) {
	file, err := m.runFile(run, name)
	if err != nil {
		return false, err
	}
	data, err := atomicfile.ReadPath(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && json.Unmarshal(data, into) == nil, err
}

// foreignName is the record of what the user had changed in the checkout when a run began to work
// there.
const foreignName = "foreign.json"
