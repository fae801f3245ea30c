package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/commands/compile"
	"tercet/formats"
)

// contracts is what command files are checked against: the subagents, and the schemas that lie in the project.
type contracts struct {
	compile.Env
	root *os.Root
}

// Schema reads a file of the project that holds a JSON Schema. No link leads out of the project.
func (c contracts) Schema(name string) (data []byte, err error) {
	name = filepath.FromSlash(name)
	info, err := c.root.Stat(name)
	if of, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) {
		return nil, formats.Fail(formats.CodeInvalidCommand, "put the file itself into the project", "%v", of.Err)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, formats.Fail(formats.CodeInvalidCommand, "", "it is not a plain file")
	}
	f, err := c.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, formats.MaxSchema+1))
	if err == nil && len(data) > formats.MaxSchema {
		return nil, formats.Fail(formats.CodeInvalidCommand, "", "it is larger than %d bytes", formats.MaxSchema)
	}
	return data, err
}
