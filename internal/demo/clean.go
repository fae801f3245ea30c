package demo

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/proc"
)

const (
	tempPrefix = "tercet-demo-"
	// markFile holds a marked. git leaves it alone, and no commit takes it in.
	markFile = ".git/tercet-demo"
)

// mark names the folder that a mark was made in, and the process whose demo it is.
type mark struct {
	Dir string    `json:"dir"`
	By  proc.Proc `json:"by"`
}

// writeMark marks a folder as one of a demo. git makes its repository around the mark.
func writeMark(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	if err := root.MkdirAll(path.Dir(markFile), 0o755); err != nil {
		return err
	}
	m := mark{Dir: dir}
	m.By, err = proc.Identify(os.Getpid())
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Create(root, markFile, text, 0o644)
}

// Clean removes a folder that a demo made: the named one, else the one that you are in. It gives
// the whole name.
func Clean(name string) (string, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if ok, err := removeDemo(filepath.Split(dir)); ok || err != nil {
		return dir, err
	}
	help := "look at it, and remove it by hand"
	left, err := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	if name == "" && err == nil {
		help = strings.Join(append([]string{"tercet demo --clean DIR; demos left"}, left...), " ")
	}
	return "", formats.Fail(formats.CodeUsage, help,
		"expected a folder that 'tercet demo' made, got %s", dir)
}

// removeDemo removes a folder of another one if a demo made it. No link is followed.
func removeDemo(parent, name string) (bool, error) {
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
		name:           fs.FileMode.IsDir,
		path.Dir(file): fs.FileMode.IsDir,
		file:           fs.FileMode.IsRegular,
	} {
		if info, err := root.Lstat(dir); err != nil || !is(info.Mode()) {
			return false, nil // a folder without the mark is not ours
		}
	}

	text, err := root.ReadFile(file)
	var m mark
	if err != nil || json.Unmarshal(text, &m) != nil || m.Dir != filepath.Join(at, name) {
		return false, nil // a copy of a demo is the user's
	}
	// it still runs, or is the demo of a prompt that is open
	if m.By.PID != os.Getpid() && proc.IsAlive(m.By) {
		return false, nil
	}
	if err := root.RemoveAll(name); err != nil {
		return false, formats.Broken(
			formats.CodeIO,
			filepath.Join(at, name),
			err,
			"remove it by hand",
		)
	}
	return true, nil
}
