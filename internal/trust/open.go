package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"

	"tercet/internal/atomicfile"
)

// FS returns a folder of the project as a file system. It refuses links out of the project, and
// everything except files and folders. A file that is read to its end must have its approved
// content; content that is read before the verdict is compared later. All files that are read
// through it must be listed.
func (g *Gate) FS(dir string) fs.FS {
	return fileTree{g.Root, dir, g.checkRead}
}

// Files returns the whole project with the same rules, but without comparing content, for files
// that start nothing.
func (g *Gate) Files() fs.FS {
	return fileTree{g.Root, ".", nil}
}

type fileTree struct {
	root  *os.Root
	dir   string
	check func(name, sum string) error // may be nil
}

func (t fileTree) Open(name string) (fs.File, error) {
	at := path.Join(t.dir, name)
	f, err := atomicfile.Open(t.root, at)
	if err != nil {
		return nil, err
	}

	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.IsDir() || t.check == nil {
		return f, nil
	}

	return &verifiedFile{
		File:  f,
		check: t.check,
		name:  displayPath(at),
		sum:   sha256.New(),
	}, nil
}

// Stat follows links inside the project.
func (t fileTree) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(t.root.FS(), path.Join(t.dir, name))
}

func (t fileTree) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(atomicfile.FS(t.root), path.Join(t.dir, name))
}

// verifiedFile is a file whose content is compared when it has been read to the end.
type verifiedFile struct {
	*os.File
	check func(name, sum string) error
	name  string
	sum   hash.Hash
}

// Read implements fs.File.
func (h *verifiedFile) Read(p []byte) (int, error) {
	n, err := h.File.Read(p)
	h.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if bad := h.check(h.name, hex.EncodeToString(h.sum.Sum(nil))); bad != nil {
			return n, bad
		}
	}
	return n, err
}
