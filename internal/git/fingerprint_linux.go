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

// maxHashedFiles bounds the files of a fingerprint. Above it git is faster, because git skips
// ignored files.
const maxHashedFiles = 20_000

// StatFingerprint is a fingerprint of the working tree in Dir: the kind, size, inode and times of
// each file, ignored ones too, and what HEAD names. It reads no content and starts no process.
// Equal fingerprints mean that nothing has changed: ctime reveals a program that restores the other
// times. skip are entries of Dir to leave out. If ok is false ask git instead: there are too many
// files, or one cannot be read.
func (r *Repo) StatFingerprint(skip ...string) (fingerprint string, ok bool) {
	own, common := gitDirs(r.Dir)
	if own == "" {
		return "", false
	}
	h := statHasher{sum: sha256.New()}

	head := filepath.Join(own, "HEAD")
	names := []string{
		head,
		filepath.Join(common, "packed-refs"),
		filepath.Join(common, "reftable", "tables.list"),
		filepath.Join(own, "reftable", "tables.list"),
	}
	ref, onBranch := strings.CutPrefix(strings.TrimSpace(readSmall(head)), "ref: ")
	if onBranch {
		names = append(names, filepath.Join(common, filepath.FromSlash(ref)))
	}
	for _, name := range names {
		if _, ok := h.addFile(unix.AT_FDCWD, name); !ok {
			return "", false
		}
	}

	if !h.addFolder(unix.AT_FDCWD, r.Dir, append(slices.Clone(skip), ".git")...) {
		return "", false
	}
	return hex.EncodeToString(h.sum.Sum(nil)), true
}

// statHasher hashes the metadata of files. It asks for each file by its name in an open folder,
// which costs the kernel a fraction of what a whole path costs.
type statHasher struct {
	sum   hash.Hash
	files int
	line  []byte
}

// addFile hashes the name and the metadata of a file, and returns its mode. A missing file is
// hashed as missing; ok is false if the metadata of a file cannot be read.
func (h *statHasher) addFile(folder int, name string) (mode uint32, ok bool) {
	var st unix.Stat_t
	err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	h.line = append(append(h.line[:0], name...), 0)
	if err == nil {
		for _, n := range []int64{
			int64(st.Mode), st.Size, int64(st.Ino), st.Mtim.Nano(), st.Ctim.Nano(),
		} {
			h.line = binary.LittleEndian.AppendUint64(h.line, uint64(n))
		}
	}
	// The length separates the entries of two files.
	h.line = binary.LittleEndian.AppendUint32(h.line, uint32(len(h.line)))
	h.sum.Write(h.line)
	return st.Mode, err == nil || os.IsNotExist(err)
}

// addFolder hashes the files in a folder and in all folders below. skip are entries of the folder
// itself to leave out.
func (h *statHasher) addFolder(parent int, dir string, skip ...string) bool {
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
		h.files++
		mode, ok := h.addFile(fd, name)
		if !ok || h.files > maxHashedFiles {
			return false
		}
		isFolder := mode&unix.S_IFMT == unix.S_IFDIR
		if isFolder && !h.addFolder(fd, name) {
			return false
		}
	}
	h.sum.Write([]byte{0}) // the end of the folder
	return true
}
