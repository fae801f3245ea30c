package subagents

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/lazy"
)

// folder is the private folder of one delegation, under runs/{run}. It is made anew for every
// delegation and is used by its goroutine only.
type folder struct {
	project *os.Root // the project root, not owned
	dir     string   // absolute path of the root
	path    string   // relative to the root, with slashes
	// own is the folder, nil until it is made, and out the documents' folder in it. Both are held
	// open from before the agent starts. Whatever the agent does to the path, reads through them
	// stay in the folder that was made.
	root, out *os.Root
}

const outName = "out"

// treeName is the folder of an agent that works in no tree.
const treeName = "tree"

// openFolder makes the folder of a delegation: {step}-{attempt}, or that name with .2, .3 ... when
// the step is run again. Agents without documents get none until something must be kept.
func (d *Dispatcher) openFolder(r formats.Request, withOut bool) (*folder, error) {
	if !isPlainName(r.Run) {
		return nil, notAName("run id", r.Run)
	}
	f := &folder{project: d.Root, dir: d.Dir}
	name := formats.FolderName(cmp.Or(r.Step, r.Agent))
	f.path = path.Join(runFolder(r.Run), fmt.Sprintf("%s-%d", name, max(r.Attempt, 1)))
	if !withOut {
		return f, nil
	}

	if err := f.make(); err != nil {
		return nil, err
	}

	err := f.root.Mkdir(outName, 0o700)
	if err == nil {
		f.out, err = f.root.OpenRoot(outName)
	}
	if err != nil {
		f.close()
		return nil, onFile("make", f.path+"/"+outName, err)
	}
	return f, nil
}

func (f *folder) make() error {
	if f.root != nil {
		return nil
	}
	if err := f.project.MkdirAll(path.Dir(f.path), 0o700); err != nil {
		return onFile("make", path.Dir(f.path), err)
	}
	first := f.path
	for n := 2; ; n++ {
		err := f.project.Mkdir(f.path, 0o700)
		if err == nil {
			f.root, err = f.project.OpenRoot(f.path)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) || n > 10_000 {
			return onFile("make", f.path, err)
		}
		f.path = fmt.Sprintf("%s.%d", first, n)
	}
}

// outPath is the absolute path of the documents' folder, empty without one.
func (f *folder) outPath() string {
	if f.out == nil {
		return ""
	}
	return filepath.Join(f.dir, filepath.FromSlash(f.path), outName)
}

// emptyTree makes the folder in which an agent works that is to see no tree, and gives its absolute
// path.
func (f *folder) emptyTree() (string, error) {
	if err := f.make(); err != nil {
		return "", err
	}
	if err := f.root.Mkdir(treeName, 0o700); err != nil {
		return "", onFile("make", f.path+"/"+treeName, err)
	}
	return filepath.Join(f.dir, filepath.FromSlash(f.path), treeName), nil
}

// write writes a text into the folder.
func (f *folder) write(name string, text []byte) error {
	if err := f.make(); err != nil {
		return err
	}
	if err := f.root.WriteFile(name, text, 0o600); err != nil {
		return onFile("keep", f.path+"/"+name, err)
	}
	return nil
}

// close removes what is empty, so that a run's folder shows only what there is to see.
func (f *folder) close() {
	if f.root == nil {
		return
	}
	if f.out != nil {
		_ = f.out.Close() //nolint:errcheck // reason: nothing was written through it
	}
	_ = f.root.Remove(outName)   //nolint:errcheck // reason: it stays when it holds something
	_ = f.root.Remove(treeName)  //nolint:errcheck // reason: as above
	_ = f.root.Close()           //nolint:errcheck // reason: nothing was written through it
	_ = f.project.Remove(f.path) //nolint:errcheck // reason: as above
}

func runFolder(run string) string {
	return formats.Workspace + "/runs/" + run
}

// unsafeChars is what stands in no name of a folder.
var unsafeChars = lazy.Regexp(`[^A-Za-z0-9_-]+`)

// isPlainName tells whether an id can be one element of a path.
func isPlainName(s string) bool {
	return s != "" && len(s) <= 60 && !unsafeChars().MatchString(s)
}
