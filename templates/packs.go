package templates

import (
	"embed"
	"io/fs"
)

//go:embed packs
var packFiles embed.FS

// Packs holds the packs that tercet ships, a folder each.
func Packs() fs.FS {
	files, _ := fs.Sub(packFiles, "packs") //nolint:errcheck // reason: the folder's name is a valid one
	return files
}
