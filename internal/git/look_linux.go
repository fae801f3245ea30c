package git

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mostLooked bounds the files of a look. Above it git is faster, because it leaves out what is
// ignored.
const mostLooked = 20_000

// Look is a fingerprint of the working tree in Dir: the kind, size, inode and times of each file,
// ignored ones too, and what HEAD names. It reads no content and starts no process. While the looks
// are equal nothing has changed; ctime tells what a program hides by setting other times. skip are
// entries of Dir to leave out. Without ok ask git instead: there are too many files, or one cannot
// be read.
func (r *Repo) Look(skip ...string) (look string, ok bool) {
	own, common := gitDirs(r.Dir)
	if own == "" {
		return "", false
	}
	l := looker{sum: sha256.New()}
	head := filepath.Join(own, "HEAD")
	names := []string{
		head,
		filepath.Join(common, "packed-refs"),
		filepath.Join(common, "reftable", "tables.list"),
		filepath.Join(own, "reftable", "tables.list"),
	}
	if ref, named := strings.CutPrefix(strings.TrimSpace(readSmall(head)), "ref: "); named {
		names = append(names, filepath.Join(common, filepath.FromSlash(ref)))
	}
	for _, name := range names {
		if _, ok := l.note(unix.AT_FDCWD, name); !ok {
			return "", false
		}
	}

	if !l.folder(unix.AT_FDCWD, r.Dir, append(slices.Clone(skip), ".git")...) {
		return "", false
	}
	return hex.EncodeToString(l.sum.Sum(nil)), true
}

// looker hashes what a look is about. It asks for each file by its name in an open folder, which
// costs the kernel a fraction of what a whole path costs.
type looker struct {
	sum   hash.Hash
	files int
	line  []byte
}

// note hashes the name and the metadata of a file, and gives its mode. It is false for a file that
// cannot be asked about; one that is not there counts as such.
func (l *looker) note(folder int, name string) (mode uint32, ok bool) {
	var st unix.Stat_t
	err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	l.line = append(append(l.line[:0], name...), 0)
	if err == nil {
		for _, n := range []int64{
			int64(st.Mode), st.Size, int64(st.Ino), st.Mtim.Nano(), st.Ctim.Nano(),
		} {
			l.line = binary.LittleEndian.AppendUint64(l.line, uint64(n))
		}
	}
	// the length keeps two files apart
	l.line = binary.LittleEndian.AppendUint32(l.line, uint32(len(l.line)))
	l.sum.Write(l.line)
	return st.Mode, err == nil || os.IsNotExist(err)
}

// folder hashes the files in a folder and in all folders below. skip are entries of the folder
// itself to leave out.
func (l *looker) folder(parent int, dir string, skip ...string) bool {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(parent, dir, flags, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close() //nolint:errcheck // it was only read
	names, err := f.Readdirnames(-1)
	if err != nil {
		return false
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(skip, name) {
			continue
		}
		l.files++
		mode, ok := l.note(fd, name)
		if !ok || l.files > mostLooked {
			return false
		}
		inside := mode&unix.S_IFMT == unix.S_IFDIR
		if inside && !l.folder(fd, name) {
			return false
		}
	}
	l.sum.Write([]byte{0}) // the end of the folder
	return true
}
