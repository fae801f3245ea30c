package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"path"
	"slices"

	"tercet/internal/lazy"
)

// exportMark is the line by which a file says that tercet export wrote it. It is at the beginning:
// in the frontmatter, or as a comment of TOML. The hash is that of the file without it.
var exportMark = lazy.Regexp(
	`\A(?:\x{feff})?(?:---\r?\n)?# Written by 'tercet export [^\n]{0,200}; sha256:([0-9a-f]*)\r?\n`)

// maxMarkBytes bounds the position of the mark, in bytes.
const maxMarkBytes = 512

// ExportMark is the first line of an exported file, or the line after its opening ---; Seal
// completes it.
func ExportMark(tool string) string {
	return "# Written by 'tercet export --for " + tool +
		"'; change the command in tercet instead; sha256:\n"
}

// Seal writes the hash of a file into its mark.
func Seal(text string) []byte {
	at := exportMark().FindStringSubmatchIndex(text)
	if at == nil {
		return []byte(text)
	}
	bare := text[:at[2]] + text[at[3]:]
	return []byte(bare[:at[2]] + hexSHA256(bare) + bare[at[2]:])
}

// Exported reports whether tercet export wrote a file, and whether it is unchanged.
func Exported(src []byte) (exported, intact bool) {
	at := exportMark().FindSubmatchIndex(src)
	if at == nil {
		return false, false
	}
	return true, string(src[at[2]:at[3]]) == hexSHA256(string(src[:at[2]])+string(src[at[3]:]))
}

func hexSHA256(text string) string {
	all := sha256.Sum256([]byte(text))
	return hex.EncodeToString(all[:])
}

// unexportedFS is a folder of another tool without the files that tercet export wrote: as
// commands they would call themselves.
type unexportedFS struct {
	fs.FS
	place Place
	skip  func(Place, string) // is called for each; may be nil
}

// Stat implements fs.StatFS.
func (l unexportedFS) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(l.FS, name)
}

// ReadDir implements fs.ReadDirFS.
func (l unexportedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(l.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		file := path.Join(name, e.Name())
		if _, ok := l.place.Name(file); !ok || e.IsDir() || !l.isExported(file) {
			return false
		}
		if l.skip != nil {
			l.skip(l.place, file)
		}
		return true
	}), err
}

// isExported reads only the beginning of a file: the recorder of file contents ignores files that
// are not read to their end.
func (l unexportedFS) isExported(file string) bool {
	info, err := fs.Stat(l.FS, file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}

	f, err := l.Open(file)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // reason: it was only read
	head := make([]byte, min(maxMarkBytes, max(info.Size()-1, 0)))
	n, _ := io.ReadFull(f, head) //nolint:errcheck // reason: what cannot be read has no mark
	return exportMark().Match(head[:n])
}
