package git

import (
	"io/fs"
	"os"
	"path/filepath"
)

// checkRegular refuses a repository in which a pipe or a device is where git expects a file: git
// would block on it. It checks the repository of Dir and what git reads in the folders from Dir up
// to the top of the working tree, and starts nothing. Loose objects and other folders are covered
// by the timeout of a call.
func (r *Repo) checkRegular() error {
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
		if err := checkRegularFile(name); err != nil {
			return err
		}
	}

	own, common := gitDirsAt(dir)
	if err := checkRegularDir(own); err != nil || own == common {
		return err
	}
	return checkRegularDir(common)
}

// checkRegularDir checks the files of a repository's folder that git reads in every call.
func checkRegularDir(dir string) error {
	entries, _ := os.ReadDir(dir) //nolint:errcheck // git reports what it cannot read
	for _, e := range entries {
		if err := checkRegularEntry(filepath.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	for _, below := range []string{"info", "logs", "refs", "objects/info", "objects/pack"} {
		err := filepath.WalkDir(
			filepath.Join(dir, below),
			func(name string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil //nolint:nilerr // git reports what it cannot read
				}
				return checkRegularEntry(name, d)
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func checkRegularEntry(name string, e fs.DirEntry) error {
	if e.IsDir() || e.Type().IsRegular() {
		return nil
	}
	return checkRegularFile(name)
}

// checkRegularFile refuses an existing path that is neither a regular file nor a folder.
func checkRegularFile(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() || info.Mode().IsRegular() {
		return nil //nolint:nilerr // a missing file is fine
	}
	return &IrregularError{Path: name, Mode: info.Mode().Type()}
}
