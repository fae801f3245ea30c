package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"tercet/formats"
)

// hole stands in the text of a word for a part that is not known before the command runs. No shell
// word can hold it.
const hole = "\x00"

// word is one word of a command as far as it can be known.
type word struct {
	text  string   // quotes removed; hole for each part that is not known
	vars  []string // names of variables whose value is not known
	glob  bool     // has an unquoted * ? or [
	tilde bool     // begins with an unquoted ~
	pos   formats.Pos
	// where the text inside plain quotes begins; zero where text and source differ
	inner formats.Pos
	// fetched tells that a command or process substitution in it brings text in from elsewhere.
	fetched bool
	code    bool // has a command or process substitution
	split   bool // an argument stands in it outside of quotes
	braces  bool // it has braces, which are not expanded where arguments are followed
}

func (w word) known() bool {
	return !strings.Contains(w.text, hole)
}

// value is what a variable holds that it is assigned to.
func (w word) value() string {
	if w.known() {
		return w.text
	}
	return hole
}

// fields gives the words that a shell would make of ws, braces expanded.
func (s *scan) fields(ws []*syntax.Word) []word {
	var out []word
	for _, w := range ws {
		pos := s.here
		if len(w.Parts) > 0 {
			// asked before braces are split: a group whose first word is empty has no place
			pos = s.posOf(w.Pos())
		}
		if s.args != nil {
			whole := *w
			one := s.word(w)
			one.braces = syntax.SplitBraces(&whole)
			out = append(out, one)
			continue
		}
		if !syntax.SplitBraces(w) {
			out = append(out, s.word(w))
			continue
		}

		n := 0
		for one, err := range expand.BracesSeq(nil, w) {
			n++
			if err != nil || n > maxBraces {
				out = append(out, word{text: hole, pos: pos})
				break
			}
			b := s.word(one)
			b.pos = pos
			b.inner = formats.Pos{}
			out = append(out, b)
		}
	}

	return out
}

// maxBraces bounds what one word with braces may become.
const maxBraces = 64

// word reads one word; the substitutions in it are scanned as commands.
func (s *scan) word(w *syntax.Word) word {
	out := word{}
	if w == nil {
		return out
	}
	if len(w.Parts) > 0 {
		out.pos = s.posOf(w.Pos())
	}

	if len(w.Parts) == 1 {
		same := false
		switch p := w.Parts[0].(type) {
		case *syntax.SglQuoted:
			same = !p.Dollar
		case *syntax.DblQuoted:
			if len(p.Parts) == 1 && !p.Dollar {
				l, ok := p.Parts[0].(*syntax.Lit)
				same = ok && !strings.Contains(l.Value, `\`)
			}
		}
		if same {
			out.inner = formats.Pos{Line: out.pos.Line, Col: out.pos.Col + 1}
		}
	}

	var b strings.Builder
	for i, part := range w.Parts {
		if l, ok := part.(*syntax.Lit); ok && i == 0 && strings.HasPrefix(l.Value, "~") {
			out.tilde = true
		}
		s.addPart(&out, &b, part, false)
	}

	out.text = b.String()
	return out
}

// addPart adds one part of a word to b.
func (s *scan) addPart(out *word, b *strings.Builder, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		out.glob = unescape(b, p.Value, quoted) || out.glob
	case *syntax.SglQuoted:
		if p.Dollar {
			b.WriteString(ansi(p.Value))
		} else {
			b.WriteString(p.Value)
		}
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			s.addPart(out, b, q, true)
		}
	case *syntax.ParamExp:
		s.addParam(out, b, p, quoted)
	case *syntax.CmdSubst:
		out.code = true
		printed := value{}
		if s.args != nil {
			printed = s.args.outputValue(p.Stmts)
		}
		s.scanSubstitution(out, p, p.Stmts)
		addComputed(s, out, b, printed, quoted)
	case *syntax.ProcSubst:
		out.code = true
		s.scanSubstitution(out, p, p.Stmts)
		addUnknownPart(s, out, b, p, quoted)
	case *syntax.ExtGlob:
		out.glob = true
		b.WriteString("*")
	default:
		s.scanInside(out, part)
		addUnknownPart(s, out, b, part, quoted)
	}
}

// addUnknownPart adds a part whose text only a run would show.
func addUnknownPart(s *scan, out *word, b *strings.Builder, part syntax.Node, quoted bool) {
	from := fixed
	if s.args != nil {
		from = s.args.trustOf(part)
	}
	addComputed(s, out, b, value{origin: from}, quoted)
}

// addComputed adds a part that is not known, or what an argument is in it.
func addComputed(s *scan, out *word, b *strings.Builder, v value, quoted bool) {
	if !v.holdsArgument() {
		b.WriteString(hole)
		return
	}
	b.WriteString(s.args.mark(v))
	out.split = out.split || !quoted
}

// scanInside scans the commands within an arithmetic or other part.
func (s *scan) scanInside(out *word, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CmdSubst); ok {
			s.scanSubstitution(out, c, c.Stmts)
			return false
		}
		return true
	})
}

// scanSubstitution scans the statements of a substitution, which run in a shell of their own.
func (s *scan) scanSubstitution(out *word, substitution syntax.Node, list []*syntax.Stmt) {
	if s.quiet {
		return
	}
	s.addUnknown(s.posOf(substitution.Pos()), "what its commands print shows only when it runs")
	from := len(s.out.list)
	s.inSubshell(func(c *scan) { c.scanStmts(list, nil) })
	out.fetched = out.fetched || anyFetches(s.out.list[from:])
}

// addParam adds the value of a variable, or a hole.
func (s *scan) addParam(out *word, b *strings.Builder, p *syntax.ParamExp, quoted bool) {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	s.scanInside(&word{}, p) // its substitutions are commands too

	if s.args != nil && p.Param != nil {
		if v, ok := s.args.parameterValue(p); ok {
			b.WriteString(s.args.mark(v))
			out.split = out.split || !quoted
			return
		}
	}

	value, set := s.vars[name]
	switch {
	case s.args != nil: // another round of a loop may have assigned it
		value = hole
	case p.Length:
		b.WriteString("0")
		return
	case p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.Excl ||
		p.Names != 0:
		value = hole
	case set:
	case name == "HOME" && s.place.Home != "":
		value = s.place.Home
	case name == "PWD" && s.dirKnown:
		value = s.dir
	case name == "TMPDIR":
		value = "/tmp"
	default:
		value = hole
	}

	b.WriteString(value)
	if value == hole {
		out.vars = append(out.vars, name)
	}
}

// unescape adds a literal without its backslashes and tells whether it has an unquoted glob.
func unescape(b *strings.Builder, lit string, quoted bool) bool {
	glob := false
	for i := 0; i < len(lit); i++ {
		c := lit[i]
		if c == '\\' && i+1 < len(lit) {
			next := lit[i+1]
			switch {
			case next == '\n':
				i++
				continue
			case !quoted || strings.IndexByte("$`\"\\", next) >= 0:
				b.WriteByte(next)
				i++
				continue
			}
		}

		if !quoted && (c == '*' || c == '?' || c == '[') {
			glob = true
		}
		if c != 0 {
			b.WriteByte(c)
		}
	}
	return glob
}

// ansi decodes the escapes of $'...' that can stand in a name.
func ansi(v string) string {
	out, _, err := expand.Format(nil, strings.ReplaceAll(v, "%", "%%"), nil)
	if err != nil {
		return v
	}
	return strings.ReplaceAll(out, hole, "")
}

func oneOf[T comparable](s T, list ...T) bool {
	return slices.Contains(list, s)
}

func hasAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

func joinWords(ws []word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// singleWord keeps the place of a text that is one word.
func singleWord(ws []word) word {
	if len(ws) == 1 {
		return ws[0]
	}
	return word{pos: ws[0].pos}
}
