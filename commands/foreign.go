package commands

import (
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
)

// CodeAlmost warns about a file of another tool that has steps, but runs as a prompt.
const CodeAlmost = "W042"

// Flow reads the steps of another tool's command file; nil if the file is a prompt. A prompt that
// contains plain sentences gets a warning.
func Flow(c *dialect.Command) *syntax.File {
	if c.Flow == "" {
		return nil
	}
	f, runs := syntax.ReadForeign(c.File, []byte(c.Flow), syntax.Foreign{
		Command:     c.Name,
		Description: c.Description,
		Keys:        dialect.Keys(),
		Unknown:     dialect.CodeKey,
		Misnamed:    dialect.CodeName,
	})
	if runs {
		f.Front.Hidden = f.Front.Hidden || c.Hidden
		// of what a prompt has in its text, and of keys, the steps know better
		for _, w := range c.Warnings {
			if !slices.Contains([]string{dialect.CodeKey, "W034", "W035"}, w.Code) {
				f.Found = append(f.Found, w)
			}
		}
		return f
	}

	i := slices.IndexFunc(f.Found, func(d formats.Diagnostic) bool {
		return d.Code == syntax.CodeSentence
	})
	if i >= 0 {
		found := formats.Found(CodeAlmost, f.Found[i].Pos,
			"'tercet lint --adopt "+c.File+"' drafts a workflow of it",
			"runs as a prompt: %s", f.Found[i].Message)
		found.File = c.File
		c.Warnings = append(c.Warnings, found)
	}
	return nil
}

// loadForeign compiles a file of another tool: its steps, or its prompt as one step.
func (l *Library) loadForeign(
	p dialect.Place,
	inside string,
	src []byte,
) (*compile.Program, *dialect.Command, error) {
	c, err := dialect.Parse(p, inside, src)
	if err != nil {
		return nil, nil, err
	}
	if f := Flow(c); f != nil {
		prog, err := compile.Compile(f, l.Env)
		return prog, nil, err
	}
	prog, err := l.promptProgram(c, c.Text(), "")
	return prog, c, err
}
