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

// withRunFolder calls do with a folder below the project root and the folder of a run, which is
// created if necessary.
func (m *Manager) withRunFolder(
	run, below string, do func(root *os.Root, dir string) error,
) (err error) {
	if !isValidRunID(run) {
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

// runFilePath is the absolute path of a file in the folder of a run.
func (m *Manager) runFilePath(run, name string) (string, error) {
	err := m.withRunFolder(run, "", func(*os.Root, string) error { return nil })
	return filepath.Join(m.Root, filepath.FromSlash(runFolder(run)), name), err
}

// writeRunFile stores a value in the folder of a run.
func (m *Manager) writeRunFile(run, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return m.withRunFolder(run, path.Dir(name), func(root *os.Root, dir string) error {
		file := path.Join(dir, path.Base(name))
		return atomicfile.WriteIn(root, file, data, atomicfile.Options{Mode: 0o600})
	})
}

// loadRunFile reads a value from the folder of a run and reports whether it exists. An incomplete
// file counts as missing: the process ended while writing it, before anything depended on it.
func (m *Manager) loadRunFile(run, name string, into any) (bool, error) {
	file, err := m.runFilePath(run, name)
	if err != nil {
		return false, err
	}
	data, err := atomicfile.ReadPath(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && json.Unmarshal(data, into) == nil, err
}

// checkoutChangesName is the file with what the user had changed in the checkout when a run began
// to work there.
const checkoutChangesName = "foreign.json"
