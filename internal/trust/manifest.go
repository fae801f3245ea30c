package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a manifest.
const (
	MaxFiles       = 10_000
	MaxBytes int64 = 256 << 20 // of one file
	keptText       = 256 << 10 // a text up to this size is kept, to show later what changed
)

// File is one file of a project that can start a program.
type File struct {
	Path   string // slash-separated, relative to the project root
	SHA256 string // of its content, hex
	Size   int64
	text   []byte // the content if it is a text that is kept, else nil
}

// Manifest is what a person agrees to: files with their content, sorted by path.
type Manifest struct{ Files []File }

// Read makes the manifest of the named files below root. A name that is not there, is no regular file, or leads out of root
// is left out: nothing else may read it either.
func Read(root *os.Root, names []string) (Manifest, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > MaxFiles {
		return Manifest{}, &LimitError{What: "files that can start a program", Most: MaxFiles}
	}
	m := Manifest{Files: make([]File, 0, len(names))}
	for _, name := range names {
		f, ok, err := read(root, name)
		if err != nil {
			return Manifest{}, err
		}
		if ok {
			m.Files = append(m.Files, f)
		}
	}
	return m, nil
}

func read(root *os.Root, name string) (file File, ok bool, err error) {
	local := filepath.FromSlash(name)
	info, err := root.Stat(local)
	if err != nil || !info.Mode().IsRegular() {
		return File{}, false, nil // what cannot be reached cannot start anything
	}
	if info.Size() > MaxBytes {
		return File{}, false, &LimitError{What: "bytes in " + name, Most: MaxBytes}
	}
	f, err := root.Open(local)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && info.Mode().Perm()&0o111 == 0 {
		return File{}, false, nil // what cannot be read is no program's text; once it can be, it is asked about
	}
	if err != nil {
		return File{}, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	var head bytes.Buffer
	size, err := io.Copy(io.MultiWriter(sum, &capped{to: &head}), io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return File{}, false, err
	}
	file = File{Path: name, SHA256: hex.EncodeToString(sum.Sum(nil)), Size: size}
	if size <= keptText && utf8.Valid(head.Bytes()) {
		file.text = head.Bytes()
	}
	return file, true, nil
}

// capped keeps one byte more than a text may have, and counts the rest as written.
type capped struct{ to *bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if room := keptText + 1 - c.to.Len(); room > 0 {
		c.to.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// Sum is the sha256 of a content as a manifest has it.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Of is the file of a content that the caller has written.
func Of(path string, data []byte) File {
	f := File{Path: path, SHA256: Sum(data), Size: int64(len(data))}
	if len(data) <= keptText && utf8.Valid(data) {
		f.text = data
	}
	return f
}

// Hash stands for exactly these files with exactly this content: the sha256 over a line for each.
func (m Manifest) Hash() string {
	var b strings.Builder
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%s %q\n", f.SHA256, f.Path)
	}
	return Sum([]byte(b.String()))
}

// File finds a file by its path.
func (m Manifest) File(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(m.Files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return m.Files[i], true
}
