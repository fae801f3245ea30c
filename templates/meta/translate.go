package meta

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/templates"
)

// translate drafts a command from a prompt command of another tool that has numbered steps or
// stages.
func (b *Builder) translate(file string, name any) (*draft, error) {
	c, err := b.prompt(file)
	if err != nil {
		return nil, err
	}

	d := &draft{source: file}
	d.Name = as[string](name)
	if d.Name == "" {
		d.Name = dialect.AgentName(c.Name[strings.LastIndexByte(c.Name, ':')+1:])
	}
	out, err := b.place(commandFolder, d.Name)
	if err != nil {
		return nil, err
	}

	t := &translation{file: file, command: c}
	if commands.Flow(c) != nil {
		return nil, formats.Fail(formats.CodePrecondition,
			"'tercet which "+c.Name+"' says how it runs", "%s runs as a workflow as it is", file)
	}

	t.read()
	if len(t.parts) == 0 {
		return nil, formats.Fail(formats.CodeValidationFailed,
			"it runs as it is: 'tercet which "+c.Name+"' says how",
			"expected numbered steps such as '1. Read the issue' in %s, got none", file)
	}
	// the tool puts them behind the text
	if c.Hint != "" && !t.whole && t.places+len(t.names) == 0 {
		t.whole = true
		t.before = append(
			t.before,
			templates.Piece{Text: "\nArguments: "},
			templates.Piece{Jq: "$args._raw"},
		)
	}
	foreign := map[dialect.PartKind]string{ // it stays as it is written
		dialect.Variable: "a variable of " + c.Dialect.String(),
		dialect.Shell:    "the output of a command",
		dialect.Include:  "the content of a file",
	}
	for _, p := range c.Parts {
		if what := foreign[p.Kind]; what != "" {
			text, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
			t.lose(p.Pos.Line, what+": "+formats.Clip(text, 80))
		}
	}

	for _, wish := range c.Unused() {
		t.lose(1, wish)
	}
	if c.Agent != "" {
		t.lose(1, "agent "+c.Agent+" is not used: name it in the steps that need it")
	}
	d.warnings = t.lost
	if len(t.lost) > 0 {
		d.leave("Finish /"+d.Name, strings.Join(t.lost, "; "))
	}
	for _, w := range c.Warnings {
		d.warnings = append(d.warnings, w.Error())
	}

	d.Args = t.arguments()
	src, err := templates.Translate(templates.Prompt{
		Name:    d.Name,
		Purpose: c.Description,
		Source:  file,
		Args:    d.Args,
		Before:  t.before,
		Parts:   t.parts,
	}, commands.MaxFile)
	d.files = []File{{Name: out, Data: src}}
	return d, err
}

// prompt reads a prompt command. One that lies in no folder of a tool is read by the rules of
// Claude Code, in TOML by those of Gemini CLI.
func (b *Builder) prompt(file string) (*dialect.Command, error) {
	if info, err := b.Root.Stat(filepath.FromSlash(file)); err != nil {
		return nil, formats.OnFile("read", file, err)
	} else if !info.Mode().IsRegular() {
		return nil, formats.Fail(formats.CodeValidationFailed, "",
			"expected a file as --from, got %s, which is none", file)
	}
	src, err := dialect.ReadFile(atomicfile.FS(b.Root), file)
	if err != nil {
		return nil, formats.OnFile("read", file, err)
	}
	place, inside, ok := dialect.PlaceOf(file)
	switch {
	case strings.HasPrefix(file, formats.Workspace+"/"):
		return nil, formats.Fail(formats.CodePrecondition, "edit it, or copy it",
			"%s is a file of tercet already", file)
	case !ok || place.Agents:
		place = dialect.Place{Dialect: dialect.Claude, Dir: path.Dir(file)}
		inside = path.Base(file)
		if path.Ext(file) == ".toml" {
			place.Dialect = dialect.Gemini
		}
	}
	place.Label = path.Clean(strings.TrimSuffix(file, inside))
	return dialect.Parse(place, inside, src)
}

// translation is a prompt on its way to steps.
type translation struct {
	file    string
	command *dialect.Command
	doc     *md.Document // its text
	titles  []int        // lines of the text that are headings
	steps   form         // a list inside one is text of it
	before  []templates.Piece
	parts   []templates.Part
	lost    []string
	places  int      // the most arguments that the prompt takes by place
	names   []string // of those that it takes by name
	whole   bool     // it takes the line as it was typed
	ended   bool     // a heading follows the steps
}

// form is how the steps of a prompt are written.
type form int

const (
	listed form = iota // lines with numbers
	titled             // headings with numbers
	staged             // what stands between <stage> tags
)

var (
	numbered = lazy.Regexp(
		`^ ?(#{1,6}\s+)?(?:\*\*)?(?:(?:[Ss]tep|STEP|Phase|Stage)\s+)?([0-9]{1,3})[.):](?:\*\*)?\s+(\S.*)$`,
	)
	stage    = lazy.Regexp(`^\s*<stage\b([^>]*)>`)
	stageTag = lazy.Regexp(`\b(?:name|title)="([^"]*)"`)
	asking   = lazy.Regexp(
		`(?i)^(ask (me|the user|for|whether|if)|confirm with|wait for|get (an )?approval)\b`,
	)
	strange = lazy.Regexp(`[^a-z0-9_]`)
)

// read goes over the prompt line by line, once it is known whether the steps are headings.
func (t *translation) read() {
	// problems of a text for readers do not matter here
	t.doc, _ = md.Parse([]byte(t.command.Text()))
	count := 0
	for _, b := range t.doc.Blocks {
		if b.Kind != md.Heading {
			continue
		}
		t.titles = append(t.titles, b.Pos.Line)
		if numbered().MatchString(t.doc.Line(b.Pos.Line)) {
			count++
		}
	}

	if count > 1 {
		t.steps = titled
	}
	for line := range strings.SplitSeq(t.command.Text(), "\n") {
		if stage().MatchString(line) {
			t.steps = staged
		}
	}

	var pieces []templates.Piece
	at := 1
	raw := ""
	for _, part := range t.command.Parts {
		if part.Kind != dialect.Literal {
			pieces = append(pieces, t.piece(part))
			raw += part.Text
			at += strings.Count(part.Text, "\n")
			continue
		}
		for line := range strings.SplitAfterSeq(part.Text, "\n") {
			pieces = append(pieces, templates.Piece{Text: line})
			raw += line
			if strings.HasSuffix(line, "\n") {
				t.line(at, raw, pieces)
				pieces = nil
				raw = ""
				at++
			}
		}
	}

	t.line(at, raw, pieces)
}

// line takes one line with its pieces. A step begins with the next number.
func (t *translation) line(at int, raw string, pieces []templates.Piece) {
	raw = strings.TrimRight(raw, "\r\n")
	title := slices.Contains(t.titles, at)
	m := numbered().FindStringSubmatch(raw)
	switch {
	case t.doc.InCode(at):
	case t.steps == staged:
		if t.stage(at, raw) {
			return
		}
	case m != nil && m[2] == strconv.Itoa(len(t.parts)+1) && title == (t.steps == titled):
		name := strings.Trim(strings.NewReplacer("**", "", "`", "").Replace(m[3]), "#*: ")
		t.parts = append(t.parts, templates.Part{
			Line:  t.command.Line + at - 1,
			Title: name,
			Gate:  asking().MatchString(name),
		})
		t.ended = false
		pieces[0].Text = strings.TrimPrefix(pieces[0].Text, raw[:len(raw)-len(m[3])])
	case title && t.steps == listed && len(t.parts) > 0:
		t.ended = true
	}

	if len(t.parts) == 0 || t.ended {
		t.before = append(t.before, pieces...)
		return
	}
	part := &t.parts[len(t.parts)-1]
	part.Pieces = append(part.Pieces, pieces...)
}

// stage takes a line with the tag of a stage, which begins or ends a step; false for any other.
func (t *translation) stage(at int, raw string) bool {
	if strings.TrimSpace(raw) == "</stage>" {
		t.ended = true
		return true
	}
	m := stage().FindStringSubmatch(raw)
	if m == nil {
		return false
	}
	name := fmt.Sprintf("Stage %d", len(t.parts)+1)
	if named := stageTag().FindStringSubmatch(m[1]); named != nil && named[1] != "" {
		name = named[1]
	}
	t.parts = append(t.parts, templates.Part{
		Line:  t.command.Line + at - 1,
		Title: name,
		Gate:  asking().MatchString(name),
	})
	t.ended = false
	return true
}

// lose notes what is not translated, which is a comment of the step in which it stands.
func (t *translation) lose(line int, what string) {
	what = fmt.Sprintf("%s:%d: not translated: %s", t.file, line, what)
	in := &t.parts[0]
	for i := range t.parts {
		if t.parts[i].Line <= line {
			in = &t.parts[i]
		}
	}
	t.lost = append(t.lost, what)
	in.Lost = append(in.Lost, what)
}

// piece translates what stands for an argument.
func (t *translation) piece(p dialect.Part) templates.Piece {
	out := templates.Piece{Text: p.Text}
	switch p.Kind {
	case dialect.All:
		t.whole = true
		out.Jq = "$args._raw"
	case dialect.Nth:
		t.places = max(t.places, p.Index+1)
		out.Jq = fmt.Sprintf(`$args.word_%d // ""`, p.Index+1)
	case dialect.Named:
		name := strange().ReplaceAllString(strings.ToLower(p.Name), "_")
		if name[0] < 'a' || name == "help" {
			name = "the_" + strings.TrimLeft(name, "_")
		}
		if !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
		out.Jq = "$args." + name + ` // ""`
	case dialect.Literal, dialect.Variable, dialect.Shell, dialect.Include:
		// stay as they are written
	}
	return out
}

// arguments declares what the prompt takes.
func (t *translation) arguments() (out []templates.Arg) {
	for n := range t.places {
		name := fmt.Sprintf("word_%d", n+1)
		out = append(out, templates.Arg{
			Name:     name,
			Type:     "string",
			Optional: true,
			Placed:   true,
		})
	}
	for _, name := range t.names {
		out = append(out, templates.Arg{
			Name:     name,
			Type:     "string",
			Optional: true,
		})
	}
	if t.whole && len(out) == 0 {
		out = append(out, templates.Arg{
			Name:     "arguments",
			Type:     "text",
			Optional: true,
		})
	}
	return out
}
