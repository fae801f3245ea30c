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

// translate converts a prompt command of another tool with numbered steps or stages to a draft.
func (b *Builder) translate(file string, name any) (*draft, error) {
	c, src, err := b.readPrompt(file)
	if err != nil {
		return nil, err
	}

	d := &draft{source: file, prompt: src}
	d.Name = formats.As[string](name)
	if d.Name == "" {
		d.Name = dialect.AgentName(c.Name[strings.LastIndexByte(c.Name, ':')+1:])
	}
	out, err := b.newPath(commandFolder, d.Name)
	if err != nil {
		return nil, err
	}

	t := &translation{file: file, command: c}
	if commands.Flow(c) != nil {
		return nil, formats.Fail(formats.CodePrecondition,
			"'tercet which "+c.Name+"' says how it runs", "%s runs as a workflow as it is", file)
	}

	t.readParts()
	if len(t.parts) == 0 {
		return nil, formats.Fail(formats.CodeValidationFailed,
			"it runs as it is: 'tercet which "+c.Name+"' says how",
			"expected numbered steps such as '1. Read the issue' in %s, got none", file)
	}
	// the tool appends them to the text
	if c.Hint != "" && !t.wholeLine && t.positional+len(t.names) == 0 {
		t.wholeLine = true
		t.before = append(
			t.before,
			templates.Piece{Text: "\nArguments: "},
			templates.Piece{Jq: "$args._raw"},
		)
	}
	foreign := map[dialect.PartKind]string{ // stays as written
		dialect.Variable: "a variable of " + c.Dialect.String(),
		dialect.Shell:    "the output of a command",
		dialect.Include:  "the content of a file",
	}
	for _, p := range c.Parts {
		if what := foreign[p.Kind]; what != "" {
			text, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
			t.noteLost(p.Pos.Line, what+": "+formats.Clip(text, 80))
		}
	}

	for _, wish := range c.Unused() {
		t.noteLost(1, wish)
	}

	if c.Agent != "" {
		t.noteLost(1, "agent "+c.Agent+" is not used: name it in the steps that need it")
	}
	if t.needsOutline(b.Agents) {
		return d, b.composeOutline(d, t, out)
	}

	d.warnings = t.untranslated
	if len(t.untranslated) > 0 {
		d.addFollowUp("Finish /"+d.Name, strings.Join(t.untranslated, "; "))
	}
	for _, w := range c.Warnings {
		d.warnings = append(d.warnings, w.Error())
	}

	d.lines = t.describeSteps()
	d.Args = t.promptArgs()
	src, err = templates.Translate(templates.Prompt{
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

// describeSteps says what became of the lines of a prompt whose steps keep their text.
func (t *translation) describeSteps() []Lines {
	t.setPartEnds(t.command.Text())
	var out []Lines
	at := t.command.Line
	other := func(to int) {
		if at <= to {
			out = append(out, Lines{From: at, To: to, Becomes: []string{"each step gets it"}})
		}
	}

	for i, p := range t.parts {
		other(p.Line - 1)
		does := "delegate: general"
		if p.Gate {
			does = "gate: " + p.Title
		}

		out = append(out, Lines{
			From:    p.Line,
			To:      t.last[i],
			Title:   p.Title,
			Becomes: []string{fmt.Sprintf("step %d, %s", i+1, does)},
		})
		at = t.last[i] + 1
	}
	other(t.command.Line + strings.Count(strings.TrimRight(t.command.Text(), "\n"), "\n"))
	return out
}

// readPrompt reads a prompt command. Outside the folders of tools, the rules of Claude Code apply,
// or for TOML those of Gemini CLI.
func (b *Builder) readPrompt(file string) (*dialect.Command, []byte, error) {
	if info, err := b.Root.Stat(filepath.FromSlash(file)); err != nil {
		return nil, nil, formats.OnFile("read", file, err)
	} else if !info.Mode().IsRegular() {
		return nil, nil, formats.Fail(formats.CodeValidationFailed, "",
			"expected a file as --from, got %s, which is none", file)
	}
	src, err := dialect.ReadFile(atomicfile.FS(b.Root), file)
	if err != nil {
		return nil, nil, formats.OnFile("read", file, err)
	}

	place, inside, ok := dialect.PlaceOf(file)
	switch {
	case strings.HasPrefix(file, formats.Workspace+"/"):
		return nil, nil, formats.Fail(formats.CodePrecondition, "edit it, or copy it",
			"%s is a file of tercet already", file)
	case !ok || place.Agents:
		place = dialect.Place{Dialect: dialect.Claude, Dir: path.Dir(file)}
		inside = path.Base(file)
		if path.Ext(file) == ".toml" {
			place.Dialect = dialect.Gemini
		}
	}

	place.Label = path.Clean(strings.TrimSuffix(file, inside))
	c, err := dialect.Parse(place, inside, src)
	return c, src, err
}

// translation is the conversion of a prompt to steps.
type translation struct {
	file         string
	command      *dialect.Command
	doc          *md.Document // parsed text
	titles       []int        // lines with headings
	steps        form         // form of the steps; a list inside one is text
	before       []templates.Piece
	parts        []templates.Part
	untranslated []string
	positional   int      // number of positional arguments
	names        []string // names of named arguments
	wholeLine    bool     // it uses the raw line
	ended        bool     // a heading follows the steps
	last         []int    // the last line of each part
}

// form is how the steps of a prompt are written.
type form int

const (
	listed form = iota // lines with numbers
	titled             // headings with numbers
	staged             // text between <stage> tags
)

var (
	numberedLine = lazy.Regexp(
		`^ ?(#{1,6}\s+)?(?:\*\*)?(?:(?:[Ss]tep|STEP|Phase|Stage)\s+)?` +
			`([0-9]{1,3})[.):](?:\*\*)?\s+(\S.*)$`,
	)
	stageOpen = lazy.Regexp(`^\s*<(?:stage\b|step_[0-9]+\b)([^>]*)>`)
	stageEnd  = lazy.Regexp(`^\s*</(?:stage|step_[0-9]+)>\s*$`)
	stageTag  = lazy.Regexp(`\b(?:name|title)="([^"]*)"`)
	askPhrase = lazy.Regexp(
		`(?i)^(ask (me|the user|for|whether|if)|confirm with|wait for|get (an )?approval)\b`,
	)
	notIdentifier = lazy.Regexp(`[^a-z0-9_]`)
)

// readParts reads the prompt line by line, after it has found whether the steps are headings.
func (t *translation) readParts() {
	// problems of a prose text do not matter here
	t.doc, _ = md.Parse([]byte(t.command.Text()))
	count := 0
	for _, b := range t.doc.Blocks {
		if b.Kind != md.Heading {
			continue
		}
		t.titles = append(t.titles, b.Pos.Line)
		if numberedLine().MatchString(t.doc.Line(b.Pos.Line)) {
			count++
		}
	}

	if count > 1 {
		t.steps = titled
	}
	for line := range strings.SplitSeq(t.command.Text(), "\n") {
		if stageOpen().MatchString(line) {
			t.steps = staged
		}
	}

	var pieces []templates.Piece
	at := 1
	raw := ""
	for _, part := range t.command.Parts {
		if part.Kind != dialect.Literal {
			pieces = append(pieces, t.translateMark(part))
			raw += part.Text
			at += strings.Count(part.Text, "\n")
			continue
		}
		for line := range strings.SplitAfterSeq(part.Text, "\n") {
			pieces = append(pieces, templates.Piece{Text: line})
			raw += line
			if strings.HasSuffix(line, "\n") {
				t.readLine(at, raw, pieces)
				pieces = nil
				raw = ""
				at++
			}
		}
	}

	t.readLine(at, raw, pieces)
}

// readLine handles one line with its pieces. A step begins with the next number.
func (t *translation) readLine(at int, raw string, pieces []templates.Piece) {
	raw = strings.TrimRight(raw, "\r\n")
	title := slices.Contains(t.titles, at)
	m := numberedLine().FindStringSubmatch(raw)
	switch {
	case t.doc.InCode(at):
	case t.steps == staged:
		if t.readStageTag(at, raw) {
			return
		}
	case m != nil && m[2] == strconv.Itoa(len(t.parts)+1) && title == (t.steps == titled):
		name := strings.Trim(strings.NewReplacer("**", "", "`", "").Replace(m[3]), "#*: ")
		t.parts = append(t.parts, templates.Part{
			Line:  t.command.Line + at - 1,
			Title: name,
			Gate:  askPhrase().MatchString(name),
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

// readStageTag handles a line with the tag of a stage, which begins or ends a step; false for any
// other.
func (t *translation) readStageTag(at int, raw string) bool {
	if stageEnd().MatchString(raw) {
		t.ended = true
		return true
	}
	m := stageOpen().FindStringSubmatch(raw)
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
		Gate:  askPhrase().MatchString(name),
	})
	t.ended = false
	return true
}

// noteLost records what is not translated, as a comment of its step.
func (t *translation) noteLost(line int, what string) {
	what = fmt.Sprintf("%s:%d: not translated: %s", t.file, line, what)
	in := &t.parts[0]
	for i := range t.parts {
		if t.parts[i].Line <= line {
			in = &t.parts[i]
		}
	}

	t.untranslated = append(t.untranslated, what)
	in.Untranslated = append(in.Untranslated, what)
}

// translateMark translates the mark of an argument.
func (t *translation) translateMark(p dialect.Part) templates.Piece {
	out := templates.Piece{Text: p.Text}
	switch p.Kind {
	case dialect.All:
		t.wholeLine = true
		out.Jq = "$args._raw"
	case dialect.Nth:
		t.positional = max(t.positional, p.Index+1)
		out.Jq = fmt.Sprintf(`$args.word_%d // ""`, p.Index+1)
	case dialect.Named:
		name := notIdentifier().ReplaceAllString(strings.ToLower(p.Name), "_")
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

// promptArgs declares the arguments of the prompt.
func (t *translation) promptArgs() (out []templates.Arg) {
	for n := range t.positional {
		name := fmt.Sprintf("word_%d", n+1)
		out = append(out, templates.Arg{
			Name:       name,
			Type:       "string",
			Optional:   true,
			Positional: true,
		})
	}

	for _, name := range t.names {
		out = append(out, templates.Arg{
			Name:     name,
			Type:     "string",
			Optional: true,
		})
	}
	if t.wholeLine {
		out = append(out, t.restOfLine(len(out) > 0))
	}
	return out
}

// restOfLine declares the argument that takes what no other one does: a prompt with a mark for the
// whole line takes every line.
func (t *translation) restOfLine(besides bool) templates.Arg {
	name := "arguments"
	if besides {
		name = "rest"
	}

	for slices.Contains(t.names, name) {
		name += "_"
	}
	return templates.Arg{
		Name:     name,
		Type:     "text",
		Optional: true,
	}
}
