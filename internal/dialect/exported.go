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

// exportMark is the line by which a file says that tercet export wrote it. It stands at the
// beginning: in the frontmatter, or as a comment of TOML. The hash is that of the file without it.
var exportMark = lazy.Regexp(
	`\A(?:\x{feff})?(?:---\r?\n)?# Written by 'tercet export [^\n]{0,200}; sha256:([0-9a-f]*)\r?\n`)

// markedWithin is how many bytes of a file the mark may take.
const markedWithin = 512

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
	return []byte(bare[:at[2]] + sum(bare) + bare[at[2]:])
}

// Exported reports whether tercet export wrote a file, and whether it is unchanged.
func Exported(src []byte) (exported, intact bool) {
	at := exportMark().FindSubmatchIndex(src)
	if at == nil {
		return false, false
	}
	return true, string(src[at[2]:at[3]]) == sum(string(src[:at[2]])+string(src[at[3]:]))
}

func sum(text string) string {
	all := sha256.Sum256([]byte(text))
	return hex.EncodeToString(all[:])
}

// loaded is a folder of another tool without the files that tercet export wrote: as commands they
// would call themselves.
type loaded struct {
	fs.FS
	place Place
	skip  func(Place, string) // is told of each; may be nil
}

// Stat implements fs.StatFS.
func (l loaded) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(l.FS, name)
}

// ReadDir implements fs.ReadDirFS.
func (l loaded) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(l.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		file := path.Join(name, e.Name())
		if _, ok := l.place.Name(file); !ok || e.IsDir() || !l.written(file) {
			return false
		}
		if l.skip != nil {
			l.skip(l.place, file)
		}
		return true
	}), err
}

// written looks at the beginning of a file, and never at its end: who watches what is read does not
// count that.
func (l loaded) written(file string) bool {
	info, err := fs.Stat(l.FS, file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := l.Open(file)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // reason: it was only read
	head := make([]byte, min(markedWithin, max(info.Size()-1, 0)))
	n, _ := io.ReadFull(f, head) //nolint:errcheck // reason: what cannot be read has no mark
	return exportMark().Match(head[:n])
}
