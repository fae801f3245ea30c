package templates

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"io/fs"

	"golang.org/x/tools/txtar"
)

// packArchive is a compressed txtar archive of the folders of packs/ that are shipped. As files
// they would be half a megabyte more of the program, because the scripted answers of their tests
// resemble each other. TestPackArchive compares it with the folders; with -update it writes it
// anew.
//
//go:embed packs.txtar.gz
var packArchive []byte

// Packs unpacks the shipped packs, one folder each. The caller may read them in several goroutines.
func Packs() (fs.FS, error) {
	r, err := gzip.NewReader(bytes.NewReader(packArchive))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return txtar.FS(txtar.Parse(text))
}
