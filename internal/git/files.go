package git

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/internal/atomicfile"
)

// The functions of this file read git's files and start no process. Each answers only where the
// files leave no doubt; otherwise the caller asks git.

// unambiguousDirs is gitDirs for functions that read git's files themselves. Both folders are empty
// where git may use another repository or other files: a variable redirects it, the nearest .git is
// broken, or refs are in a reftable.
func (r *Repo) unambiguousDirs() (own, common string) {
	if r.isRedirectedByEnv() {
		return "", ""
	}
	dir, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return "", ""
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
		dir = filepath.Dir(dir)
	}

	own, common = gitDirs(dir)
	if nearest, _ := gitDirsAt(dir); own == "" || own != nearest {
		return "", ""
	}
	_, err = os.Lstat(filepath.Join(common, "reftable"))
	if !errors.Is(err, fs.ErrNotExist) {
		return "", ""
	}
	return own, common
}

// isHash reports whether text is a whole hash, of SHA-1 or SHA-256.
func isHash(text string) bool {
	return (len(text) == shortestHash || len(text) == longestHash) &&
		strings.Trim(text, "0123456789abcdef") == ""
}

// refInFiles returns what a branch, by its full name, points to: a hash, or empty if there is no
// such branch. ok is false if git has to be asked.
func (r *Repo) refInFiles(ref string) (hash string, ok bool) {
	_, common := r.unambiguousDirs()
	if common == "" {
		return "", false
	}
	return branchTarget(common, ref)
}

// branchTarget is refInFiles for the repository in the folder common.
func branchTarget(common, ref string) (hash string, ok bool) {
	name, isBranch := strings.CutPrefix(ref, branchPrefix)
	if !isBranch || CheckBranch(name) != nil {
		return "", false
	}
	file := filepath.Join(common, filepath.FromSlash(ref))
	info, err := os.Lstat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		hash = strings.TrimSuffix(readSmall(file), "\n")
		return hash, isHash(hash)
	case err == nil && !info.IsDir(), err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false
	}

	// git writes packed refs before it removes a branch's own file, so this order misses none.
	packed := filepath.Join(common, "packed-refs")
	info, err = os.Lstat(packed)
	if errors.Is(err, fs.ErrNotExist) {
		return "", true
	}
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	for line := range strings.Lines(readSmall(packed)) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == ref {
			return hash, isHash(hash)
		}
	}
	return "", true
}

// headInFiles returns the branch that is checked out, by its full name, or the hash if HEAD is
// detached. Both are empty if git has to be asked.
func headInFiles(own string) (ref, hash string) {
	file := filepath.Join(own, "HEAD")
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return "", ""
	}
	text := strings.TrimSuffix(readSmall(file), "\n")
	if ref, ok := strings.CutPrefix(text, "ref: "); ok && strings.HasPrefix(ref, branchPrefix) {
		return ref, ""
	}
	if isHash(text) {
		return "", text
	}
	return "", ""
}

// branchInFiles returns the name of the checked-out branch, empty if HEAD is detached. ok is false
// if git has to be asked.
func (r *Repo) branchInFiles() (name string, ok bool) {
	own, common := r.unambiguousDirs()
	if own == "" {
		return "", false
	}
	ref, hash := headInFiles(own)
	if hash != "" {
		return "", true
	}
	if _, certain := branchTarget(common, ref); !certain {
		return "", false
	}
	return strings.TrimPrefix(ref, branchPrefix), true
}

// commitInFiles returns the hash of the commit that HEAD, a branch by its full name, or a whole
// hash names. It is empty if git has to be asked.
func (r *Repo) commitInFiles(rev string) string {
	own, common := r.unambiguousDirs()
	if own == "" {
		return ""
	}
	hash := rev
	if rev == "HEAD" {
		rev, hash = headInFiles(own)
	}
	if strings.HasPrefix(rev, branchPrefix) {
		hash, _ = branchTarget(common, rev)
	}
	if !isHash(hash) {
		return ""
	}
	if _, known := r.Cache.commitTree(common, hash); known && rev != hash {
		return hash // a branch names it, so the repository still has it
	}
	if !strings.HasPrefix(looseObject(common, hash), "commit ") {
		return ""
	}
	return hash
}

// treeInFiles returns the tree of a commit; empty if git has to be asked.
func (r *Repo) treeInFiles(rev string) string {
	hash := r.commitInFiles(rev)
	if hash == "" {
		return ""
	}
	_, common := r.unambiguousDirs()
	_, text, _ := strings.Cut(looseObject(common, hash), "\x00")
	first, _, _ := strings.Cut(text, "\n")
	tree, ok := strings.CutPrefix(first, "tree ")
	if !ok || !isHash(tree) {
		return ""
	}
	return tree
}

// The index: a header, the entries, and extensions. See gitformat-index(5).
const (
	indexHeaderSize    = 12
	indexModeOffset    = 24 // where an entry has its mode
	indexFlagsOffset   = 60 // where it has its flags, behind a hash of SHA-1
	indexNameOffset    = 62 // where its name begins, without further flags
	indexExtendedFlag  = 0x4000
	indexSubmoduleMode = 0o160000 // the mode of a submodule
	indexFolderMode    = 0o040000 // the mode of a folder, in a sparse index
	indexChecksumSize  = 20
)

// submodulesInIndex returns the folders of submodules. ok is false if git has to be asked: the
// index has another version, other hashes, or entries elsewhere.
func (r *Repo) submodulesInIndex() (folders []string, ok bool) {
	own, common := r.unambiguousDirs()
	if own == "" {
		return nil, false
	}
	index := filepath.Join(own, "index")
	if r.Index != "" {
		index = r.Index
	}

	config := strings.ToLower(readSmall(filepath.Join(common, "config")))
	if strings.Contains(config, "objectformat") || strings.Contains(config, "include") {
		return nil, false
	}
	data, err := atomicfile.ReadPath(index)
	if err != nil || len(data) < indexHeaderSize+indexChecksumSize || string(data[:4]) != "DIRC" {
		return nil, false
	}
	if version := binary.BigEndian.Uint32(data[4:]); version != 2 && version != 3 {
		return nil, false
	}

	rest := data[indexHeaderSize : len(data)-indexChecksumSize]
	for range binary.BigEndian.Uint32(data[8:]) {
		if len(rest) <= indexNameOffset {
			return nil, false
		}
		mode := binary.BigEndian.Uint32(rest[indexModeOffset:])
		begin := indexNameOffset
		if binary.BigEndian.Uint16(rest[indexFlagsOffset:])&indexExtendedFlag != 0 {
			begin += 2
		}
		length := bytes.IndexByte(rest[begin:], 0)
		size := (begin+length)/8*8 + 8 // one to eight NUL follow a name
		if length < 0 || size > len(rest) || mode == indexFolderMode {
			return nil, false
		}
		if mode == indexSubmoduleMode {
			folders = append(folders, string(rest[begin:begin+length]))
		}
		rest = rest[size:]
	}

	// The name of an optional extension begins in upper case. Any other one may change what the
	// entries mean.
	for len(rest) >= 8 {
		size := int(binary.BigEndian.Uint32(rest[4:]))
		if rest[0] >= 'a' || size > len(rest)-8 {
			return nil, false
		}
		rest = rest[8+size:]
	}
	return slices.Compact(folders), len(rest) == 0
}

// objectPrefixSize is how many bytes of an object are read: its kind, its size, and a commit's
// tree.
const objectPrefixSize = 128

// looseObject returns the beginning of an object that has a file of its own, as git stores it:
// kind, size, NUL, content. It is empty for any other.
func looseObject(common, hash string) string {
	file, err := atomicfile.OpenPath(filepath.Join(common, "objects", hash[:2], hash[2:]))
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // only read

	z, err := zlib.NewReader(file)
	if err != nil {
		return ""
	}
	start := make([]byte, objectPrefixSize)
	n, err := io.ReadFull(z, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(start[:n])
}
