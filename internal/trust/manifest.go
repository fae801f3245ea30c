package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/order"
)

// Limits of a manifest.
const (
	MaxFiles       = 10_000
	MaxBytes int64 = 256 << 20 // of one file
	// in bytes; texts up to this size are stored to show later changes
	maxKeptText = 256 << 10
)

// File is one file of a project that can start a process.
type File struct {
	// slash-separated, relative to the project root; <0xFF> replaces a byte that is not UTF-8
	Path   string
	SHA256 string // of its content, in hex; of Problem if that is set
	Size   int64
	// Problem says why the file cannot be read; empty: it was read. Such a file never starts.
	Problem string
	text    []byte // the content if it is stored, else nil
}

// Manifest is what the user approves: files with their content, sorted by path.
type Manifest struct{ Files []File }

// Read makes the manifest of the named files below root. It is complete: it omits only names that
// do not exist or are not below root. An unreadable file is listed with the reason, and needs
// approval once it is readable.
func Read(root *os.Root, names []string) (Manifest, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > MaxFiles {
		return Manifest{}, tooManyError("files that can start a program", MaxFiles)
	}

	m := Manifest{Files: make([]File, 0, len(names))}
	for _, name := range names {
		f, ok, err := readFile(root, name)
		if err != nil {
			return Manifest{}, err
		}
		if ok {
			m.Files = append(m.Files, f)
		}
	}

	order.Stable(m.Files, func(x, y File) int {
		return strings.Compare(x.Path, y.Path)
	})
	return m, nil
}

func tooManyError(what string, most int64) error {
	return formats.Fail(formats.CodeIO, "", "expected at most %d %s, got more", most, what)
}

// displayPath is a path for display, with <0xFF> for a byte that is not UTF-8. If another file
// really has that name, neither counts as approved.
func displayPath(name string) string {
	var b strings.Builder
	for i, r := range name {
		if _, size := utf8.DecodeRuneInString(name[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "<0x%02X>", name[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readFile reads a file of the project for the manifest. ok is false if there is no such file; a
// file that cannot be read is listed with its problem.
func readFile(root *os.Root, name string) (file File, ok bool, err error) {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return File{}, false, nil
	}

	file = File{Path: displayPath(name)}
	f, err := atomicfile.Open(root, name)
	if err != nil {
		link, failed := root.Lstat(local)
		// absent, or behind a link out of the project
		if failed != nil && !errors.Is(failed, fs.ErrPermission) {
			return File{}, false, nil
		}
		file.Problem = "cannot be read"
		target, failed := root.Readlink(local)
		if failed == nil && link != nil && link.Mode()&fs.ModeSymlink != 0 {
			file.Problem += ": link to " + strconv.Quote(target)
		}
		file.SHA256 = formats.Sum([]byte(file.Problem))
		return file, true, nil
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return File{}, false, err
	}

	sum := sha256.New()
	to := io.TeeReader(io.LimitReader(f, MaxBytes+1), sum)
	head, err := io.ReadAll(io.LimitReader(to, maxKeptText+1))
	if err != nil {
		return File{}, false, err
	}

	rest, err := io.Copy(io.Discard, to)
	file.Size = int64(len(head)) + rest
	if err == nil && file.Size > MaxBytes {
		err = tooManyError("bytes in "+name, MaxBytes)
	}
	if err != nil {
		return File{}, false, err
	}

	file.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if file.Size <= maxKeptText && utf8.Valid(head) {
		file.text = head
	}
	return file, true, nil
}

// NewFile returns the File for content that the caller wrote.
func NewFile(path string, data []byte) File {
	f := File{
		Path:   path,
		SHA256: formats.Sum(data),
		Size:   int64(len(data)),
	}
	if len(data) <= maxKeptText && utf8.Valid(data) {
		f.text = data
	}
	return f
}

// Hash is the SHA-256 over one line for each file. It identifies exactly these files with this
// content.
func (m Manifest) Hash() string {
	var b strings.Builder
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%s %q\n", f.SHA256, f.Path)
	}
	return formats.Sum([]byte(b.String()))
}

// File finds a file by its path; false if the manifest has none of that path.
func (m Manifest) File(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(m.Files, path, func(f File, p string) int {
		return strings.Compare(f.Path, p)
	})
	if !ok {
		return File{}, false
	}
	return m.Files[i], true
}
