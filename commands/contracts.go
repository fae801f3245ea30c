package commands

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/schema"
)

// Contracts is what compile checks command files against: the subagents, and the JSON Schemas of
// the project.
type Contracts struct {
	compile.Env
	Root *os.Root
	Own  *documents.ProjectProfiles // profiles of the project; nil: the shipped ones
}

// Profiles implements compile.Profiles.
func (c Contracts) Profiles() []string {
	return c.Own.Names()
}

// ForLibrary implements compile.Workers.
func (c Contracts) ForLibrary(name string) string {
	if workers, ok := c.Env.(compile.Workers); ok {
		return workers.ForLibrary(name)
	}
	return name
}

// Schema reads a JSON Schema of the project. It refuses links out of the project.
func (c Contracts) Schema(name string) (data []byte, err error) {
	name = filepath.FromSlash(name)
	info, err := c.Root.Stat(name)
	if of, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) {
		return nil, formats.Fail(formats.CodeInvalidCommand, "put the file itself into the project",
			"%v", of.Err)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, formats.Fail(formats.CodeInvalidCommand, "", "it is not a plain file")
	}

	f, err := c.Root.Open(name)
	if err != nil {
		return nil, err
	}

	data, err = ReadAll(f, schema.MaxSize)
	if err == nil && len(data) > schema.MaxSize {
		return nil, formats.Fail(formats.CodeInvalidCommand, "",
			"it is larger than %d bytes", schema.MaxSize)
	}
	return data, err
}

// ReadAll reads a whole file and closes it. For a file above the limit it returns one byte more
// than the limit.
func ReadAll(f io.ReadCloser, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	return data, errors.Join(err, f.Close())
}
