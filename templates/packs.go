package templates

import (
	"embed"
	"io/fs"
)

//go:embed packs
var packFiles embed.FS

// Packs is the shipped packs, one folder each.
func Packs() fs.FS {
	files, _ := fs.Sub(packFiles, "packs") //nolint:errcheck // reason: the folder's name is a valid one
	return files
}
