package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/nearest"
)

// Command is a command file of another tool: a prompt with places for arguments.
type Command struct {
	Name         string // slash name, without slash
	nameInPlugin string // the name without that of a plugin
	File         string // name in messages
	Dialect      Dialect
	Description  string // default: the first line of the text
	Hint         string // the file's hint about its arguments
	Agent        string // the requested agent; empty: the default worker
	// Routing are the agents by the language of the task; "" is the one for any other language.
	Routing    map[string]string
	Model      string
	Tools      []string      // the tools that it names, as written
	Timeout    time.Duration // of the one step; 0: not set
	Wishes     formats.Wishes
	Names      []string    // of the arguments, in order
	AgentPos   formats.Pos // of the key that names the agent; else the first line
	Line       int         // line of the file on which the text begins
	Base       int         // number of the first argument: 0 or 1
	Shell      string      // shell of its commands; empty: sh
	Hidden     bool        // the user should not call it
	Hooks      bool        // it requests hooks, which never run
	unfollowed []string    // what of its tools no runner can enforce, one a line
	Parts      []Part
	Extra      map[string]any // keys unknown to the tool
	Lenient    bool           // the head was malformed and read line by line
	// Flow is the file in tercet's own format, with the same line numbers, if it has a workflow
	// section; else it is empty.
	Flow     string
	Warnings []formats.Diagnostic
}

// Parse reads a command file. The error is a *formats.Diagnostics that says why the file is not
// one; all other findings are Warnings.
func Parse(p Place, inside string, src []byte) (*Command, error) {
	name, _ := p.Name(inside)
	bare, _ := p.nameInPlugin(inside)
	c := &Command{
		Name:         name,
		nameInPlugin: bare,
		File:         p.Label + "/" + inside,
		Dialect:      p.Dialect,
		Base:         1,
	}
	if p.At != nil {
		c.File = p.Label
	}
	n := &notes{file: c.File}
	h, ok := n.readHead(p, src)
	if !ok {
		return nil, p.relocate(inside, n.asError(src))
	}

	keys := keySet(h.keys)
	c.Lenient = h.lenient
	c.Line = h.line
	c.Description = oneLine(keys.text("description"))
	c.Hint = keys.hint()
	c.Model = keys.text("model")
	c.Agent = keys.text("agent")
	c.Timeout = keys.duration(n, "timeout")
	c.Routing = keys.agentsByLanguage()
	c.Names = keys.list("arguments")
	c.AgentPos = formats.Pos{Line: 1, Col: 1}
	if k, ok := keys.get("agent"); ok && !k.Pos.IsZero() {
		c.AgentPos = k.Pos
	}
	_, c.Hooks = keys.get("hooks")
	t := toolFor(p.Dialect)
	c.keepUnknownKeys(keys, t.keys+" timeout routing", n)
	c.readWishes(keys)
	c.Parts = t.parseTemplate(n, h.body, h.line, c.Names)

	if strings.TrimSpace(h.body) == "" {
		n.add(
			codeEmpty,
			formats.Pos{Line: 1, Col: 1},
			"write what the command asks for",
			"file has no text",
		)
		return nil, p.relocate(inside, n.asError(src))
	}

	if t.finish != nil {
		t.finish(c, keys, n)
	}

	if flow := flowSection().MatchString(h.body); flow && p.At == nil {
		c.Flow = h.flow()
	} else if flow { // its steps would have no lines in the file
		n.add(
			codeAlmost,
			formats.Pos{Line: 1, Col: 1},
			"move it into .opencode/commands/"+name+".md, where its steps run",
			"runs as a prompt: a text in JSON is no workflow",
		)
	}

	c.Description = cmp.Or(c.Description, firstLine(h.body))
	d := &formats.Diagnostics{List: n.list}
	if p.At != nil {
		d = p.relocate(inside, d)
		c.AgentPos = p.At(inside, c.AgentPos)
		eachPart(c.Parts, func(part *Part) { part.Pos = p.At(inside, part.Pos) })
	}
	d.Sort()
	c.Warnings = d.List
	return c, nil
}

// relocate converts the positions of findings to those in the enclosing file. Source text and
// fixes are dropped.
func (p Place) relocate(inside string, d *formats.Diagnostics) *formats.Diagnostics {
	if p.At == nil {
		return d
	}
	out := &formats.Diagnostics{List: slices.Clone(d.List)}
	for i := range out.List {
		one := &out.List[i]
		one.Pos = p.At(inside, one.Pos)
		one.End = formats.Pos{}
		one.Fix = nil
	}
	return out
}

// readHead splits a file into its head and its text.
func (n *notes) readHead(p Place, src []byte) (head, bool) {
	if p.Dialect == Gemini && !p.Agents {
		return n.readGeminiHead(src)
	}
	return n.readMarkdown(src)
}

// keepUnknownKeys stores the keys that the tool does not have, and reports them once.
func (c *Command) keepUnknownKeys(keys keySet, names string, n *notes) {
	known := strings.Fields(names)
	var strange []string
	var first Key
	for _, k := range keys {
		if slices.Contains(known, k.Name) {
			continue
		}
		if c.Extra == nil {
			c.Extra = map[string]any{}
			first = k
		}
		c.Extra[k.Name] = k.Value
		strange = append(strange, k.Name)
	}

	switch len(strange) {
	case 0:
	case 1:
		n.add(warnKey, first.Pos, nearest.Help(strange[0], known),
			fmt.Sprintf("key %q means nothing to %s; it is kept", strange[0], c.Dialect))
	default:
		n.add(
			warnKey,
			first.Pos,
			"",
			fmt.Sprintf("keys %s mean nothing to %s; they are kept", listFirst(strange), c.Dialect),
		)
	}
}

// maxListed bounds the keys that one finding names.
const maxListed = 8

// listFirst names the first of many keys, and says how many more there are.
func listFirst(names []string) string {
	if len(names) <= maxListed+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf(
		"%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed,
	)
}

// oneLine is the first line of a text, at most maxDescription characters.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return formats.Clip(strings.TrimSpace(line), maxDescription)
}

const maxDescription = 120

// firstLine is the first line of a body with words, without heading marks.
func firstLine(body string) string {
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "<!--") || strings.HasPrefix(line, "```") {
			continue
		}
		if text := strings.TrimSpace(strings.TrimLeft(line, "#>-* ")); text != "" {
			return oneLine(text)
		}
	}
	return ""
}

// Text is the unexpanded text of the command.
func (c *Command) Text() string {
	var b strings.Builder
	for _, p := range c.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// usesKind reports whether the text has a piece of that kind.
func (c *Command) usesKind(kind PartKind) bool {
	return c.hasPart(func(p *Part) bool { return p.Kind == kind })
}

// hasPart reports whether the text has a matching piece.
func (c *Command) hasPart(fits func(*Part) bool) (found bool) {
	eachPart(c.Parts, func(p *Part) { found = found || fits(p) })
	return found
}

// Usage is the usage line of the command.
func (c *Command) Usage() string {
	out := "/" + c.Name
	switch {
	case c.Hint != "":
		return out + " " + c.Hint
	case len(c.Names) > 0:
		return out + " <" + strings.Join(c.Names, "> <") + ">"
	}

	highest := -1
	all := false
	eachPart(c.Parts, func(p *Part) {
		switch p.Kind {
		case Nth:
			highest = max(highest, p.Index)
		case All:
			all = true
		case Literal, Named, Variable, Shell, Include:
		}
	})

	for i := range min(highest+1, 9) {
		out += fmt.Sprintf(" [%d]", i+c.Base)
	}

	if all && highest < 0 {
		out += " [arguments]"
	}
	return out
}

// FirstArgument is the number of the first argument, if the prompts of the tool differ in it.
func (c *Command) FirstArgument() (base int, ok bool) { return c.Base, c.Dialect == Claude }
