package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// Args is what the user typed after the command's name.
type Args struct {
	Raw string // the text
	// words from a shell; nil if the line is one text, which the tool's own rules split
	Words []string
	// Vars are values of the tool's own variables by name; unknown ones stay as written.
	Vars map[string]string
}

// Output is a piece of the expanded prompt: a text, a script to replace by its output, or a file.
type Output struct {
	Text    string
	Script  *Script
	Include *File
}

// Script is a command of a file. Text refers to arguments through variables; their values are in
// Env.
type Script struct {
	Source string   // the mark as written in the file
	Text   string   // for sh
	Env    []string // KEY=VALUE
	// Refused is why the script may not run; empty if it may.
	Refused string
	Pos     formats.Pos
}

// File is a reference to a file.
type File struct {
	Source string // as written
	Path   string // relative to the project root, not yet checked
	// Inline means that the content replaces the reference, which may name a folder. Otherwise the
	// reference stays and the content follows at the end.
	Inline bool
	Pos    formats.Pos
}

// Text is the reference with the arguments substituted.
func (f *File) Text() string {
	if f.Inline {
		return f.Source
	}
	return "@" + f.Path
}

// Expand substitutes the arguments. It scans each piece of the file once, and never the inserted
// text. A missing required argument is a *formats.Failure with code USAGE.
func (c *Command) Expand(a Args) ([]Output, error) {
	t := toolFor(c.Dialect)
	e := &expansion{
		command: c,
		tool:    t,
		raw:     strings.TrimSpace(a.Raw),
		words:   a.Words,
		vars:    a.Vars,
	}

	if e.words == nil && t.words != nil {
		e.words = t.words(e.raw)
	}

	e.bindNames()
	var out []Output

	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, Output{Text: text.String()})
			text.Reset()
		}
	}

	for _, p := range c.Parts {
		switch p.Kind {
		case Shell:
			flush()
			out = append(out, Output{Script: e.buildScript(p)})
		case Include:
			flush()
			file := &File{
				Source: p.Text,
				Path:   e.joinParts(p.Parts),
				Inline: c.Dialect == Gemini,
				Pos:    p.Pos,
			}
			out = append(out, Output{Include: file})
		case Literal, All, Nth, Named, Variable:
			text.WriteString(e.text(p))
		}
	}

	if len(e.missing) > 0 {
		return nil, formats.Fail(formats.CodeUsage, "usage: "+c.namedUsage(),
			"/%s: missing %s", c.Name, strings.Join(e.missing, ", "))
	}

	lost := !slices.ContainsFunc(t.appendWithout, c.usesKind)
	if t.appendUnfilled {
		lost = !e.usedArguments
	}
	if e.raw != "" && lost {
		text.WriteString("\n\n" + strings.Replace(t.lead, "NAME", c.Name, 1) + e.raw)
	}
	text.WriteString(e.unboundText)
	flush()
	return out, nil
}

// namedUsage shows the usage of named arguments.
func (c *Command) namedUsage() string {
	var b strings.Builder
	b.WriteString("/" + c.Name)
	seen := map[string]bool{}
	eachPart(c.Parts, func(p *Part) {
		if p.Kind != Named || seen[p.Name] {
			return
		}
		seen[p.Name] = true
		fmt.Fprintf(&b, " %s=%q", p.Name, cmp.Or(p.Hint, "..."))
	})
	return b.String()
}

// expansion is one substitution.
type expansion struct {
	command       *Command
	tool          tool
	raw           string
	words         []string
	vars          map[string]string
	named         map[string]string
	missing       []string
	unboundText   string // words without a name, appended to the text
	usedArguments bool   // a mark took a value of the arguments
}

// bindNames binds words to names. NAME=value comes first; a tool with positional values then binds
// the remaining words in order, and the last name gets the rest.
func (e *expansion) bindNames() {
	e.named = map[string]string{}
	var names []string
	eachPart(e.command.Parts, func(p *Part) {
		if p.Kind == Named && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	})

	if len(names) == 0 {
		return
	}
	if e.command.Dialect == Copilot {
		e.bindColons(names)
	}

	var left []string
	for _, w := range e.words {
		name, value, ok := strings.Cut(w, "=")
		if ok && slices.Contains(names, name) {
			e.named[name] = value
			continue
		}
		left = append(left, w)
	}

	e.words = left
	if e.command.Dialect != Copilot {
		return
	}

	open := slices.DeleteFunc(names, func(name string) bool {
		_, ok := e.named[name]
		return ok
	})

	if len(open) == 0 && len(left) > 0 {
		e.unboundText = "\n\n" + strings.Join(left, " ")
	}
	for i, name := range open[:min(len(open), len(left))] {
		e.named[name] = left[i]
		if i == len(open)-1 {
			e.named[name] = strings.Join(left[i:], " ")
		}
	}
}

// bindColons binds values written as "name: value", each up to the next name.
func (e *expansion) bindColons(names []string) {
	var left []string
	current := ""
	for _, w := range e.words {
		name, value, ok := strings.Cut(w, ":")
		given, _, isGiven := strings.Cut(w, "=")
		switch {
		case ok && slices.Contains(names, name) && !strings.HasPrefix(value, "//"):
			current = name
			e.named[name] = strings.TrimSpace(value)
		case isGiven && slices.Contains(names, given):
			current = ""
			left = append(left, w)
		case current != "":
			e.named[current] = strings.TrimSpace(e.named[current] + " " + w)
		default:
			left = append(left, w)
		}
	}
	e.words = left
}

// value returns the value of a piece; false if it was not given.
func (e *expansion) value(p Part) (string, bool) {
	switch p.Kind {
	case Literal:
		return p.Text, true
	case All:
		e.usedArguments = true
		return e.raw, true
	case Nth:
		if p.Index >= len(e.words) {
			return "", false
		}
		e.usedArguments = true
		if p.Rest {
			return strings.Join(e.words[p.Index:], " "), true
		}
		return e.words[p.Index], true
	case Named:
		v, ok := e.named[p.Name]
		if !ok && !slices.Contains(e.missing, p.Name) {
			e.missing = append(e.missing, p.Name)
		}
		return v, ok
	case Variable:
		if p.Name == "$" {
			return "$", true
		}
		v, ok := e.vars[p.Name]
		return v, ok
	case Shell, Include:
	}

	return "", false
}

// text is the replacement of a piece; one without a value stays as written or is empty, depending
// on the tool.
func (e *expansion) text(p Part) string {
	v, ok := e.value(p)
	switch {
	case ok:
		return v
	case e.tool.emptyMissing && p.Kind == Nth:
		return ""
	}
	return p.Text
}

func (e *expansion) joinParts(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(e.text(p))
	}
	return b.String()
}

// Texts that a shell splits into words, and the escapes inside double quotes.
var (
	shellPiece = lazy.Regexp(
		`(?s)[ \t\n\r]+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|[^ \t\n\r'"\\]+|.`,
	)
	quoteEscape = lazy.Regexp("\\\\([\"\\\\$`])")
)

// shellWords splits a text as a shell does: quotes group words and are removed, a backslash escapes
// the next character. Nothing is expanded. An unmatched quote is an ordinary character.
func shellWords(raw string) []string {
	var out []string
	var word strings.Builder
	open := false // inside a word
	for _, p := range shellPiece().FindAllStringSubmatch(raw, -1) {
		text := p[0]
		switch {
		case strings.TrimLeft(text, " \t\n\r") == "":
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
			continue
		case len(text) > 1 && text[0] == '\'':
			text = p[1]
		case len(text) > 1 && text[0] == '"':
			text = quoteEscape().ReplaceAllString(p[2], "$1")
		case p[3] != "":
			text = p[3]
		}
		word.WriteString(text)
		open = true
	}

	if open {
		out = append(out, word.String())
	}
	return out
}
