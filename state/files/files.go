package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/huge"
)

// The limits of files, in bytes.
const (
	MaxState = 64 << 20
	MaxPlan  = 4 << 20
	MaxDoc   = 4 << 20
	MaxAudit = 1 << 30
)

// Open opens a regular file inside the root for reading. It refuses a FIFO or a device without
// blocking.
func Open(root *os.Root, name string, limit int64) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()

	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is %s, %w", name, KindOf(info.Mode()), errNotRegular)
	case info.Size() > limit:
		err = fmt.Errorf("%s has %d bytes, expected at most %d", name, info.Size(), limit)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}

	return f, info, nil
}

// Read reads a regular file inside the root.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	data, _, err := ReadInfo(root, name, limit)
	return data, err
}

// ReadIfExists is like Read but returns nil if there is no file.
func ReadIfExists(root *os.Root, name string, limit int64) ([]byte, error) {
	data, err := Read(root, name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, Failure("reading", name, err)
	}
	return data, nil
}

// ReadInfo is like Read but also returns the identity of the file that was read.
func ReadInfo(root *os.Root, name string, limit int64) (
	data []byte, info fs.FileInfo, err error,
) {
	f, info, err := Open(root, name, limit)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	out := bytes.NewBuffer(huge.List[byte](int(info.Size()) + bytes.MinRead))
	if n, err := out.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, nil, err
	} else if n > limit {
		return nil, nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}

	return out.Bytes(), info, nil
}

// Same reports whether a file is unchanged since it was read.
func Same(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() &&
		a.ModTime().Equal(b.ModTime())
}

// PathFault says why a path may not be stored or opened, or is empty.
func PathFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case strings.HasPrefix(name, "/"):
		return "it is absolute"
	case !utf8.ValidString(name):
		return "it is not UTF-8"
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return "it has control characters"
	case strings.ContainsAny(name, "\\:"):
		return "it has a backslash or a colon"
	case path.Clean(name) != name:
		return "it is not in its shortest form"
	}

	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "it leads outside"
		case len(part) > 255:
			return "a name in it has more than 255 bytes"
		case part != "." && strings.HasSuffix(part, "."), strings.HasSuffix(part, " "):
			return "a name in it ends with a period or a space"
		case windowsName(part):
			return part + " is a device on Windows"
		}
	}

	return ""
}

func windowsName(part string) bool {
	base, _, _ := strings.Cut(strings.ToLower(part), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) &&
		base[3] >= '0' &&
		base[3] <= '9'
}

// maxLinks bounds the symbolic links that are followed to the real state file.
const maxLinks = 8

// ResolveLinks follows symbolic links inside the root to the file that will be replaced, because a
// rename over a link would replace the link. It refuses a link that leads outside.
func ResolveLinks(root *os.Root, name string) (string, error) {
	for range maxLinks {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", Failure("reading", name, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return name, nil
		}
		to, err := root.Readlink(name)
		if err != nil {
			return "", Failure("reading", name, err)
		}
		next := path.Join(path.Dir(name), to)
		if path.IsAbs(to) || PathFault(next) != "" {
			return "", formats.Fail(formats.CodeDenied,
				"keep the file inside the project, or link to it with a relative path",
				"%s is a link to %s, outside the project root", name, to)
		}
		name = next
	}
	return "", formats.Fail(formats.CodeIO, "",
		"%s is a chain of more than %d links", name, maxLinks)
}

// Failure is the error of reading or writing a file.
func Failure(doing, name string, err error) error {
	failed := &formats.Failure{
		Code:    formats.CodeIO,
		Message: doing + " " + name,
		Err:     err,
	}
	if errors.Is(err, errNotRegular) {
		failed.Help = "move it away, or put the file back in its place"
	}
	return failed
}

var errNotRegular = errors.New("expected a regular file")

// KindOf describes what is there instead of a regular file.
func KindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	}
	return "a special file"
}
