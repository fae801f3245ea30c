package demo

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/proc"
)

const (
	tempPrefix = "tercet-demo-"
	// markFile holds a marked. git leaves it alone, and no commit takes it in.
	markFile = ".git/tercet-demo"
)

// marked names the folder that a mark was made in, and the process whose demo it is.
type marked struct {
	Dir string    `json:"dir"`
	By  proc.Proc `json:"by"`
}

// mark marks a folder as one of a demo. git makes its repository around the mark.
func mark(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	if err := root.MkdirAll(path.Dir(markFile), 0o755); err != nil {
		return err
	}
	m := marked{Dir: dir}
	if m.By, err = proc.Facts(os.Getpid()); err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Create(root, markFile, text, 0o644)
}

// Clean removes the folders that demos made in the temporary folder of this machine, and gives their names. With a name
// it removes only that folder, and refuses a folder that no demo made.
func Clean(name string) (removed []string, err error) {
	if name != "" {
		dir, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		ok, err := remove(filepath.Dir(dir), filepath.Base(dir))
		if err == nil && !ok {
			err = formats.Fail(formats.CodeUsage, "look at it, and remove it by hand",
				"expected a folder that 'tercet demo' made, got %s", dir)
		}
		return []string{dir}, err
	}
	names, err := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range names {
		ok, one := remove(filepath.Split(dir))
		if err = errors.Join(err, one); ok {
			removed = append(removed, dir)
		}
	}
	return removed, err
}

// remove removes a folder of another one if a demo made it. No link is followed.
func remove(parent, name string) (bool, error) {
	at, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return false, formats.Broken(formats.CodeIO, "folder of demos", err)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return false, formats.Broken(formats.CodeIO, "folder of demos", err)
	}
	defer root.Close() //nolint:errcheck // it is read and removed through; nothing is lost
	file := name + "/" + markFile
	for dir, is := range map[string]func(fs.FileMode) bool{
		name: fs.FileMode.IsDir, path.Dir(file): fs.FileMode.IsDir, file: fs.FileMode.IsRegular,
	} {
		if info, err := root.Lstat(dir); err != nil || !is(info.Mode()) {
			return false, nil // a folder without the mark is not ours
		}
	}
	text, err := root.ReadFile(file)
	var m marked
	if err != nil || json.Unmarshal(text, &m) != nil || m.Dir != filepath.Join(at, name) {
		return false, nil // a copy of a demo is the user's
	}
	if m.By.PID != os.Getpid() && proc.Alive(m.By) { // it still runs, or is the demo of a prompt that is open
		return false, nil
	}
	if err := root.RemoveAll(name); err != nil {
		return false, formats.Broken(formats.CodeIO, filepath.Join(at, name), err, "remove it by hand")
	}
	return true, nil
}
