package commands

import (
	"fmt"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/nearest"
)

// Entry names one command that can be routed to.
type Entry struct{ Name, File, Source string }

// Catalog gives menus, descriptions and help texts, all made from the files' frontmatter.
type Catalog struct {
	Library *Library
	Entries []Entry
}

// List describes every command that is not hidden, by name. A file that does not compile is listed with what is wrong.
func (c *Catalog) List() []formats.CommandInfo {
	var out []formats.CommandInfo
	for _, e := range c.Entries {
		info := formats.CommandInfo{Name: e.Name, File: e.File, Source: e.Source, Usage: "/" + e.Name}
		prog, err := c.Library.Load(e.Source, e.File)
		if err != nil {
			info.Description = "does not compile: run 'tercet lint " + display(e.Source, e.File) + "'"
			out = append(out, info)
			continue
		}
		if prog.Hidden {
			continue
		}
		info.Description, info.Examples = prog.Description, prog.Examples
		info.Usage = argspec.Usage(e.Name, prog.Args)
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b formats.CommandInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Text is the help of one command; `/name --help` shows the same.
func (c *Catalog) Text(name string) (string, error) {
	name = strings.TrimPrefix(name, "/")
	names := make([]string, 0, len(c.Entries))
	for _, e := range c.Entries {
		if e.Name == name {
			prog, err := c.Library.Load(e.Source, e.File)
			if err != nil {
				return "", err
			}
			return help(e, prog), nil
		}
		names = append(names, e.Name)
	}
	help := nearest.Help(name, names)
	if help == "" {
		help = "/help lists the commands"
	}
	return "", &formats.Failure{Code: formats.CodeUsage, Message: fmt.Sprintf("unknown command '/%s'", name), Help: help}
}

func help(e Entry, p *compile.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nusage: %s\n", p.Description, argspec.Usage(e.Name, p.Args))
	if len(p.Args) > 0 {
		b.WriteString("\narguments:\n")
		wide := 0
		for _, a := range p.Args {
			wide = max(wide, len(label(a)))
		}
		for _, a := range p.Args {
			fmt.Fprintf(&b, "  %-*s  %s\n", wide, label(a), describe(a))
		}
	}
	if p.During != nil {
		fmt.Fprintf(&b, "\nthe task is %s while it runs", p.During.Status)
		if p.Allow != nil {
			words := make([]string, len(p.Allow))
			for i, s := range p.Allow {
				words[i] = s.String()
			}
			fmt.Fprintf(&b, "; it starts from %s", strings.Join(words, ", "))
		}
		b.WriteString("\n")
	}
	if len(p.Examples) > 0 {
		b.WriteString("\nexamples:\n")
		for _, ex := range p.Examples {
			fmt.Fprintf(&b, "  %s\n", ex)
		}
	}
	fmt.Fprintf(&b, "\nfile: %s\n", display(e.Source, e.File))
	return b.String()
}

func label(a argspec.Spec) string {
	switch {
	case a.Flag:
		return "--" + strings.ReplaceAll(a.Name, "_", "-")
	case a.Required:
		return "<" + a.Name + ">"
	}
	return "[" + a.Name + "]"
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
