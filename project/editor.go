package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"

	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
)

// The files that let VS Code check config.yaml.
const (
	editorSettings = ".vscode/settings.json"
	settingsSchema = ".vscode/tercet-config.schema.json"
)

// EditorFile is a file that an editor reads, with its path below the project root.
type EditorFile struct {
	Path string
	Text []byte
}

// EditorFiles gives those files that have to be written for VS Code to check config.yaml by its
// schema. Settings that are there are kept; it fails if they cannot be read.
func EditorFiles(dir string) (out []EditorFile, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost

	have := map[string][]byte{}
	for _, name := range []string{editorSettings, settingsSchema} {
		have[name], err = atomicfile.ReadFile(root, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, IOFailure(err)
		}
	}

	settings, err := dialect.AddSetting(
		editorSettings,
		have[editorSettings],
		"yaml.schemas",
		"./"+settingsSchema,
		ConfigFile,
	)
	if err != nil {
		return nil, err
	}
	doc, err := Schema("config")
	if err != nil {
		return nil, err
	}
	schema, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}

	if schema = append(schema, '\n'); !bytes.Equal(schema, have[settingsSchema]) {
		out = append(out, EditorFile{settingsSchema, schema})
	}
	if settings != nil {
		out = append(out, EditorFile{editorSettings, settings})
	}
	return out, nil
}

// WriteEditorFiles writes the files of an editor below a folder and lists them; with dry it only
// lists.
func WriteEditorFiles(dir string, files []EditorFile, dry bool) (names []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // only read through; nothing is lost

	for _, f := range files {
		names = append(names, f.Path)
		if dry {
			continue
		}
		if err := atomicfile.MkdirAll(root, path.Dir(f.Path), 0o755); err != nil {
			return nil, IOFailure(err)
		}
		if err := atomicfile.WriteIn(root, f.Path, f.Text, atomicfile.Options{}); err != nil {
			return nil, IOFailure(err)
		}
	}
	return names, nil
}
