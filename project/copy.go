package project

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// CopyFiles copies what of the project decides what runs: its own files and those of other tools.
func (p *Project) CopyFiles(to *os.Root) error {
	_, folders, err := p.listOwnFiles()
	if err != nil {
		return err
	}

	for _, name := range []string{"subagents", "facets", "templates"} {
		folders = append(folders, formats.Workspace+"/"+name)
	}
	for _, name := range append(folders, ConfigFile) {
		err := fs.WalkDir(p.Trust.FS("."), name, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || d.IsDir():
				return err
			}
			data, err := fs.ReadFile(p.Trust.FS("."), name)
			if err != nil {
				return err
			}
			return WriteFile(to, name, data)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// WriteFile writes a file of a temporary workspace, and makes its folders.
func WriteFile(to *os.Root, name string, data []byte) error {
	if err := to.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteLoose(to, name, data, 0o644)
}
