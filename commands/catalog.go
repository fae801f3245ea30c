package commands

import (
	"fmt"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/order"
)

// Entry is one command that a line can name. Behind is set if another file hides this command's
// plain name: that file, with its source in front.
type Entry struct{ Name, File, Source, Behind string }

// Catalog gives menus, descriptions and help texts, all made from the files' frontmatter.
type Catalog struct {
	Library *Library
	Entries []Entry
	// Find gives the command for a name, in any of its spellings.
	Find func(name string) (Entry, error)
}

// List describes every command that is not hidden, sorted by name. An entry whose file does not
// compile carries the error.
func (c *Catalog) List() []formats.CommandInfo {
	out := make([]formats.CommandInfo, 0, len(c.Entries))
	for _, e := range c.Entries {
		info := formats.CommandInfo{
			Name:      e.Name,
			File:      e.File,
			Source:    e.Source,
			Usage:     "/" + e.Name,
			Arguments: []formats.ArgumentInfo{},
		}
		src, err := c.Library.Open(e.Source, e.File)
		if err != nil {
			info.Description = "cannot be read: " + err.Error()
			info.Broken = true
			out = append(out, info)
			continue
		}
		front, err := c.Library.describe(&info, e, src)
		switch {
		case err != nil:
			info.Broken = true
			info.Description = "does not compile: run 'tercet lint " + display(e.Source, e.File) +
				"'"
		case front.Hidden:
			continue
		default:
			info.Description = front.Description.Text
			info.Examples = front.Examples
			info.Pack = front.Subagents.Text
		}
		if e.Behind != "" {
			info.Description += " (its plain name is that of " + e.Behind + ")"
		}
		out = append(out, info)
	}

	order.Stable(out, func(a, b formats.CommandInfo) int {
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// describe compiles a file, and says how it is called.
func (l *Library) describe(
	info *formats.CommandInfo, e Entry, src []byte,
) (_ *syntax.Front, err error) {
	var prog *compile.Program
	if place, ok := l.foreignPlace(e.Source, e.File, src); ok {
		c, bad := dialect.Parse(place, e.File, src)
		if bad != nil {
			return nil, bad
		}
		f := Flow(c)
		if f == nil {
			info.Usage = c.Usage()
			if words, ok := strings.CutPrefix(info.Usage, "/"+c.Name+" "); ok {
				rest := argspec.Spec{Name: "arguments", Type: argspec.Text, Description: words}
				info.Arguments = []formats.ArgumentInfo{rest.Info()}
			}
			return &syntax.Front{
				Hidden:      c.Hidden,
				Description: syntax.Word{Text: c.Description},
			}, nil
		}
		prog, err = compile.Compile(f, l.Env)
	} else {
		prog, err = l.Compile(display(e.Source, e.File), src)
	}

	if err != nil {
		return nil, err
	}

	info.Usage = argspec.Usage(e.Name, prog.Args)
	info.Arguments = argspec.Infos(prog.Args)
	return &prog.File.Front, nil
}

// Text is the help of one command, as in `/name --help`.
func (c *Catalog) Text(name string) (string, error) {
	e, err := c.Find(strings.TrimPrefix(name, "/"))
	if err != nil {
		return "", err
	}
	return c.TextOf(e)
}

// TextOf is the help of the command in one file, also if another command of the same name hides it.
func (c *Catalog) TextOf(e Entry) (string, error) {
	prog, prompt, err := c.Library.Load(e.Source, e.File)
	switch {
	case err != nil:
		return "", err
	case prompt != nil:
		return promptHelp(e, prompt), nil
	}
	return help(e, prog), nil
}

// promptHelp is the help of a command of another tool.
func promptHelp(e Entry, c *dialect.Command) string {
	return fmt.Sprintf("%s\n\nusage: %s\n\narguments: %s\n\nfile: %s (%s)\n",
		c.Description, c.Usage(), c.Rules(), display(e.Source, e.File), c.Dialect)
}

func help(e Entry, p *compile.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nusage: %s\n",
		p.File.Front.Description.Text, argspec.Usage(e.Name, p.Args))

	if len(p.Args) > 0 {
		b.WriteString("\narguments:\n")
		wide := 0
		for _, a := range p.Args {
			wide = max(wide, len(a.Label()))
		}
		for _, a := range p.Args {
			fmt.Fprintf(&b, "  %-*s  %s\n", wide, a.Label(), describe(a))
		}
	}

	if during, _ := p.During(); during != "" {
		fmt.Fprintf(&b, "\nthe task is %s while it runs", during)
		if p.Allow != nil {
			words := make([]string, len(p.Allow))
			for i, s := range p.Allow {
				words[i] = s.String()
			}
			fmt.Fprintf(&b, "; it starts from %s", strings.Join(words, ", "))
		}
		b.WriteString("\n")
	}

	if examples := p.File.Front.Examples; len(examples) > 0 {
		b.WriteString("\nexamples:\n")
		for _, ex := range examples {
			fmt.Fprintf(&b, "  %s\n", ex)
		}
	}

	fmt.Fprintf(&b, "\nfile: %s\n", display(e.Source, e.File))
	return b.String()
}

func describe(a argspec.Spec) string {
	parts := []string{a.Type.String()}
	if len(a.Values) > 0 {
		parts = []string{strings.Join(a.Values, "|")}
	}

	if a.Required {
		parts = append(parts, "required")
	}
	if a.Default != nil {
		parts = append(parts, fmt.Sprintf("default %v", a.Default))
	}
	if a.Description != "" {
		parts = append(parts, a.Description)
	}

	return strings.Join(parts, "; ")
}
