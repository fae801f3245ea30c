package compile

import (
	"cmp"
	"errors"
	"io/fs"
	"path"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/schema"
)

// Schemas is optional for an Env: it reads a project file that holds a JSON Schema. The path is
// relative to the project root and stays inside it.
type Schemas interface {
	Schema(path string) ([]byte, error)
}

// compileSchema compiles a JSON Schema of the file, nil without one or where it is wrong.
func (c *compiler) compileSchema(s *syntax.Shape) *schema.Schema {
	if s == nil {
		return nil
	}
	if out, done := c.prog.facts.schemas[s]; done {
		return out
	}

	c.prog.facts.schemas[s] = nil
	root := s.Root
	if src := c.readSchemaFile(s); src != nil {
		var err error
		root, err = schema.Read(src)
		if broken, ok := errors.AsType[*formats.Failure](err); ok {
			d := formats.Found(CodeSchema, broken.Pos, "a schema is one JSON object",
				"%s", broken.Message)
			d.File = s.File
			c.add(d)
		}
	}
	if root == nil {
		return nil
	}

	out, faults := schema.Compile(root)
	c.prog.facts.schemas[s] = out
	for _, f := range faults {
		f.Code = CodeSchema
		f.File = cmp.Or(s.File, c.file.Name)
		c.add(f)
	}

	return out
}

// readSchemaFile reads the file that a schema stands in, if it does. What it holds is a part of the
// program.
func (c *compiler) readSchemaFile(s *syntax.Shape) []byte {
	if s.File == "" {
		return nil
	}
	if !fs.ValidPath(s.File) || s.File == "." || path.Ext(s.File) != ".json" {
		c.report(s.Pos, CodeSchemaFile,
			"write it relative to the project root, such as schemas/review.json",
			"expected the path of a .json file inside the project, got %.100q", s.File)
		return nil
	}

	from, ok := c.env.(Schemas)
	if !ok {
		c.report(s.Pos, CodeSchemaFile, "write the schema in its place", "no file can be read here")
		return nil
	}

	src, err := from.Schema(s.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.report(s.Pos, CodeSchemaFile, "the path is relative to the project root",
			"no file stands at %.100q", s.File)
		return nil
	case err != nil:
		c.report(s.Pos, CodeSchemaFile, formats.HelpOf(err), "%.100q cannot be read: %v", s.File,
			err)
		return nil
	}

	c.prog.files = append(append(c.prog.files, s.File+"\x00"...), src...)
	c.list.Sources[s.File] = src
	return src
}
