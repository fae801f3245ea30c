package templates

import (
	"embed"
	"io/fs"
)

//go:embed packs/*/pack.yaml packs/*/commands packs/*/subagents packs/*/tests packs/flows/templates
var packFiles embed.FS

// Packs is the shipped packs, one folder each.
func Packs() fs.FS {
	files, _ := fs.Sub(packFiles, "packs") //nolint:errcheck // reason: the folder's name is a valid one
	return files
}
