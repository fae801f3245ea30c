package git

import (
	"io/fs"
	"os"
	"path/filepath"
)

// regular refuses a repository in which a pipe or a device stands where git expects a file: git
// would wait for it. It looks at the repository of Dir and at what git reads in the folders from
// Dir up to the top of the working tree, and starts nothing. Loose objects and other folders of the
// working tree are left to the time that a call may take.
func (r *Repo) regular() error {
	dir := r.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	var inTree []string
	for {
		for _, name := range []string{".gitignore", ".gitattributes", ".mailmap"} {
			inTree = append(inTree, filepath.Join(dir, name))
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}

	for _, name := range inTree {
		if err := regularFile(name); err != nil {
			return err
		}
	}

	own, common := homeAt(dir)
	if err := regularFolder(own); err != nil || own == common {
		return err
	}
	return regularFolder(common)
}

// regularFolder looks at the files of a repository's folder that git reads whatever it is asked.
func regularFolder(dir string) error {
	entries, _ := os.ReadDir(dir) //nolint:errcheck // git tells of what it cannot read
	for _, e := range entries {
		if err := regularEntry(filepath.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	for _, below := range []string{"info", "logs", "refs", "objects/info", "objects/pack"} {
		err := filepath.WalkDir(
			filepath.Join(dir, below),
			func(name string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil //nolint:nilerr // git tells of what it cannot read
				}
				return regularEntry(name, d)
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func regularEntry(name string, e fs.DirEntry) error {
	if e.IsDir() || e.Type().IsRegular() {
		return nil
	}
	return regularFile(name)
}

// regularFile refuses what is there and neither a regular file nor a folder.
func regularFile(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() || info.Mode().IsRegular() {
		return nil //nolint:nilerr // what is not there is no hindrance
	}
	return &IrregularError{Path: name, Mode: info.Mode().Type()}
}
