package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/internal/shell"
)

// buildScript converts a shell mark to a script for sh. Arguments are references to variables,
// quoted to fit their place, so that a shell reads their text as text. A script in which a program
// could read an argument as a program, as its name or as an option is refused; see shell.Refusal.
func (e *expansion) buildScript(p Part) *Script {
	s := &Script{Source: p.Text, Pos: p.Pos}

	if sh := e.command.Shell; sh != "" && sh != "sh" && sh != "bash" {
		s.Refused = "it is written for " + oneLine(sh)
	}
	w := &shellWriter{expansion: e, script: s}
	w.findSpots(p.Parts)
	for i, part := range p.Parts {
		spot := w.spots[i]
		switch {
		case spot == nil:
			w.out.WriteString(w.fixedText(part))
		case spot.isLiteral():
			w.out.WriteString(spot.literal())
		case spot.quote != '#': // comments need no reference
			w.writeArgument(spot)
		}
	}
	s.Text = w.out.String()
	s.Refused = cmp.Or(s.Refused, w.refusal())
	return s
}

// shellWriter writes a script.
type shellWriter struct {
	*expansion
	script     *Script
	out        strings.Builder
	src        string // the script with a token in place of each argument
	file       *syntax.File
	tokens     string           // prefix of the tokens
	spots      map[int]*argSpot // by index of the piece
	references int              // number of references written

	arguments []shell.Argument
}

// argSpot is a place of an argument in a script.
type argSpot struct {
	*expansion
	part            Part
	text            string // the argument
	token           string // the token in its place
	offset          int    // offset in src
	quote           byte   // ' " or # for a comment; 0: none
	escaped         bool   // a backslash precedes it
	inName          bool   // it is part of a name
	inArithmetic    bool   // it is in arithmetic, where sh allows no quotes
	inHereDoc       bool   // it is in the text of a here-document, where quotes are text
	inQuotedHereDoc bool   // its here-document has a quoted delimiter, so that sh fills nothing in
}

// Limits of a script that takes arguments.
const (
	maxReferences = 1000     // references to arguments
	maxRead       = 64 << 10 // bytes
)

// isLiteral reports whether what looks like an argument is literal text: $1 in single quotes is a
// column of awk.
func (s *argSpot) isLiteral() bool {
	column := s.quote == '\'' && s.part.Kind == Nth && s.part.Name == "" &&
		strings.HasPrefix(s.part.Text, "$") &&
		!strings.HasPrefix(s.part.Text, "$A")
	return column || s.escaped || s.part.Name == "$"
}

// literal is the literal text in the script. A shell removes the backslash before a dollar sign,
// but not in single quotes.
func (s *argSpot) literal() string {
	if s.part.Name == "$" && s.quote == '\'' {
		return "$"
	}
	return s.part.Text
}

// folderVariables are the variables with tercet's own folders.
var folderVariables = []string{
	"CLAUDE_SKILL_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR", "workspaceFolder",
}

// words are the words that a shell gets for the argument. Unquoted, a text of several words is as
// many words, as in the tool, and an empty one is none.
func (s *argSpot) words() []string {
	switch {
	case s.quote != 0, s.inHereDoc, s.isLiteral():
	case s.text == "":
		return nil
	case s.part.Rest:
		return s.expansion.words[s.part.Index:]
	case s.part.Kind == All && !s.part.Whole && len(s.expansion.words) > 0:
		return s.expansion.words
	case s.part.Kind == All && !s.part.Whole:
		return shellWords(s.text)
	}
	return []string{s.text}
}

// fixedText is the text of a piece that is no argument, or of one without a value, which stays as
// written.
func (w *shellWriter) fixedText(p Part) string {
	if p.Kind == Literal {
		return p.Text
	}
	return w.text(p)
}

// findSpots finds the places of arguments in a script.
func (w *shellWriter) findSpots(parts []Part) {
	w.tokens = "tercetArg"
	for strings.Contains(w.script.Source, w.tokens) {
		w.tokens += "X"
	}

	w.spots = map[int]*argSpot{}
	var order []*argSpot
	var src strings.Builder
	for i, p := range parts {
		v, ok := w.value(p)
		if p.Kind == Literal || !ok && !w.tool.emptyMissing {
			src.WriteString(w.fixedText(p))
			continue
		}
		s := &argSpot{
			expansion: w.expansion,
			part:      p,
			text:      v,
			token:     fmt.Sprintf("%s%d_", w.tokens, i),
			offset:    src.Len(),
		}
		w.spots[i] = s
		order = append(order, s)
		src.WriteString(s.token)
	}

	w.src = src.String()
	if len(order) == 0 || len(w.src) > maxRead {
		return
	}
	file, err := parseShell(w.src)
	if err != nil {
		return
	}

	w.file = file
	var around []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		around = append(around, n)
		from, _ := slices.BinarySearchFunc(order, int(
			n.Pos().Offset(),
		), func(s *argSpot, at int) int { return s.offset - at })
		switch n.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.Comment:
			for _, s := range order[from:] {
				if s.offset >= int(n.End().Offset()) {
					break
				}
				s.findContext(around, w.src)
			}
		}
		return true
	})
}

// parseShell parses a script as bash does.
func parseShell(src string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(
		strings.NewReader(src),
		"",
	)
}

// findContext finds the syntax around an argument from its enclosing nodes, the innermost last.
func (s *argSpot) findContext(around []syntax.Node, src string) {
	last := len(around) - 1
	switch n := around[last].(type) {
	case *syntax.Comment:
		s.quote = '#'
		return
	case *syntax.SglQuoted:
		// what $'...' means differs by shell
		s.quote = '\''
		s.inName = n.Dollar
	case *syntax.Lit:
		before := src[:s.offset]
		s.escaped = (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
		switch parent := around[last-1].(type) {
		case *syntax.Word, *syntax.DblQuoted:
		case *syntax.Assign:
			s.inName = n == parent.Name
		default:
			s.inName = true
		}
	}

	for i := last - 1; i >= 0; i-- {
		switch n := around[i].(type) {
		case *syntax.DblQuoted:
			s.quote = cmp.Or(s.quote, '"')
		case *syntax.Redirect:
			s.inHereDoc = n.Hdoc != nil && n.Hdoc == around[i+1]
			delimiter := n.Word.Lit() // empty: a part of it is in quotes
			s.inQuotedHereDoc = s.inHereDoc && (delimiter == "" || strings.Contains(delimiter, `\`))
			s.inName = s.inName || n.Hdoc != nil && !s.inHereDoc // its delimiter
		case *syntax.Stmt:
			return
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.CStyleLoop:
			s.inArithmetic = true
		case *syntax.CmdSubst:
			return
		}
	}
}

// refusal says why the script may not run with its arguments, or is empty. A script without
// arguments is not checked.
func (w *shellWriter) refusal() string {
	if w.script.Refused != "" {
		return ""
	}
	known := false
	named := false
	asIs := false
	for _, s := range w.spots {
		if s.isLiteral() || s.quote == '#' || s.text == "" {
			continue
		}
		if strings.IndexByte(s.text, 0) >= 0 {
			return "an argument holds a NUL byte"
		}
		known = true
		named = named || s.inName
		asIs = asIs || s.inQuotedHereDoc
	}

	switch {
	case !known:
		return ""
	case w.references > maxReferences:
		return fmt.Sprintf("it holds more than %d arguments", maxReferences)
	case w.file == nil:
		return "an argument would stand in a script that cannot be read"
	case named:
		return "an argument would be a part of a name"
	case asIs:
		return "an argument would stand in a here-document with a quoted delimiter, " +
			"which the shell leaves as it is; take the quotes off"
	case strings.Contains(w.script.Source, shell.ArgumentPrefix):
		return "it names the variables in which tercet hands arguments on"
	}

	return shell.Refusal(w.out.String(), w.arguments)
}

// writeArgument writes the references for one argument.
func (w *shellWriter) writeArgument(s *argSpot) {
	form := map[byte]string{'"': "${%s}", '\'': `'"${%s}"'`, 0: `"${%s}"`}[s.quote]
	if s.inArithmetic && s.quote == 0 || s.inHereDoc {
		form = "${%s}"
	}
	if s.inQuotedHereDoc && s.text == "" {
		return
	}

	texts := s.words()
	if s.part.Kind != Variable {
		w.references += len(texts)
	}
	if w.references > maxReferences {
		return
	}
	for i, one := range texts {
		if i > 0 {
			w.out.WriteByte(' ')
		}
		fmt.Fprintf(&w.out, form, w.variable(one, s.isFolder()))
	}
}

// isFolder reports whether the argument is one of tercet's own folders.
func (s *argSpot) isFolder() bool {
	return s.part.Kind == Variable && slices.Contains(folderVariables, s.part.Name)
}

// variable returns the name of the variable with that value.
func (w *shellWriter) variable(value string, folder bool) string {
	for i, a := range w.arguments {
		if a.Value == value {
			w.arguments[i].Folder = a.Folder && folder
			return a.Name
		}
	}

	name := fmt.Sprintf("%s%d", shell.ArgumentPrefix, len(w.arguments)+1)
	w.arguments = append(w.arguments, shell.Argument{
		Name:   name,
		Value:  value,
		Folder: folder,
	})
	w.script.Env = append(w.script.Env, name+"="+value)
	return name
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
