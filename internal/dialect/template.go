package dialect

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// PartKind is the kind of a template's piece.
type PartKind uint8

// The kinds of pieces.
const (
	Literal  PartKind = iota
	All               // all arguments as typed
	Nth               // one of the arguments
	Named             // an argument with a name
	Variable          // a variable of the tool
	Shell             // a command, replaced by its output
	Include           // a file
)

// Part is a piece of a template.
type Part struct {
	Kind  PartKind
	Text  string // as it is written in the file
	Index int    // of Nth: index from 0
	Rest  bool   // of Nth: this word and all later ones
	Name  string // of Named and Variable
	Hint  string // of Named: the file's description
	Whole bool   // of All in a command: always one word
	Parts []Part // of Shell and Include: the content of the mark
	Pos   formats.Pos
}

// mark is how a tool writes one kind of piece.
type mark struct {
	form func() *regexp.Regexp // at the start of a text
	not  string                // characters that may not stand before it
	// read gives the piece for what the form found; false if it is none. Its Text is what was
	// found, unless read sets it.
	read  func(s *scan, found []string) (Part, bool)
	piece Part // without read
}

// scan cuts a text into pieces, once, from left to right.
type scan struct {
	text  string
	i     int
	marks []mark
	inner []mark   // what may stand inside of commands and paths
	names []string // of arguments that the head declares
	notes *notes
	// fenced tells that the tool reads marks in code blocks too; else they are examples.
	fenced bool

	line      int // of the file
	lineStart int // offset of it in text
	fence     string
	block     bool // fences opened by three backticks and ! are commands
	out       []Part
	from      int // start of the literal that is being read
}

// cut reads a body whose first line is line of the file.
func (t tool) cut(n *notes, body string, line int, names []string) []Part {
	marks := slices.Concat(t.marks, t.inner)
	s := &scan{
		text:   body,
		marks:  marks,
		inner:  t.inner,
		names:  names,
		notes:  n,
		line:   line,
		block:  t.block,
		fenced: t.fenced,
	}
	return s.run()
}

// within cuts the inside of a mark, in which no further mark is read.
func (s *scan) within(text string) []Part {
	in := &scan{
		text:  text,
		marks: s.inner,
		names: s.names,
		notes: s.notes,
		line:  s.line,
	}
	return in.run()
}

func (s *scan) run() []Part {
	for s.i < len(s.text) {
		c := s.text[s.i]
		switch {
		case s.i == s.lineStart && s.fenceLine():
		case c == '\n':
			s.i++
			s.line = s.line + 1
			s.lineStart = s.i
		case strings.IndexByte(`$!@{\`, c) < 0 || !s.try():
			s.i++
		}
	}
	s.flush()
	return s.out
}

// try reads a piece at the present place.
func (s *scan) try() bool {
	for _, m := range s.marks {
		found := m.form().FindStringSubmatch(s.text[s.i:min(len(s.text), s.i+maxScript)])
		if found == nil || strings.IndexByte(m.not, s.before()) >= 0 {
			continue
		}
		p := m.piece
		ok := true
		if m.read != nil {
			p, ok = m.read(s, found)
		}
		if ok {
			p.Text = cmp.Or(p.Text, found[0])
			s.take(p)
			return true
		}
	}
	return false
}

func (s *scan) take(p Part) {
	s.flush()
	p.Pos = s.pos()
	s.out = append(s.out, p)
	if n := strings.Count(p.Text, "\n"); n > 0 {
		s.line += n
		s.lineStart = s.i + strings.LastIndexByte(p.Text, '\n') + 1
	}
	s.i += len(p.Text)
	s.from = s.i
}

func (s *scan) flush() {
	if s.from < s.i {
		s.out = append(s.out, Part{Kind: Literal, Text: s.text[s.from:s.i]})
	}
	s.from = s.i
}

func (s *scan) rest() string {
	return s.text[s.i:]
}

func (s *scan) pos() formats.Pos {
	return formats.Pos{Line: s.line, Col: s.i - s.lineStart + 1}
}

// before is the character in front of the present place, a line feed at the start.
func (s *scan) before() byte {
	if s.i == 0 {
		return '\n'
	}
	return s.text[s.i-1]
}

var (
	blockLine = lazy.Regexp("^ {0,3}(`{3,}|~{3,})(.*)")
	blockEnd  = lazy.Regexp("(?m)^[ \\t]*`{3,}[ \\t]*$")
)

// fenceLine follows code fences; a block that is a command is taken as a whole.
func (s *scan) fenceLine() bool {
	found := blockLine().FindStringSubmatch(s.rest())
	if found == nil {
		return false
	}

	run := found[1]
	info := strings.TrimSpace(found[2])
	switch {
	case s.fence != "":
		if run[0] == s.fence[0] && len(run) >= len(s.fence) && info == "" {
			s.fence = ""
		}
	case s.block && run == "```" && info == "!":
		from := len(found[0]) + 1 // of the commands
		if end := blockEnd().FindStringIndex(s.rest()[min(from, len(s.rest())):]); end != nil {
			body := s.rest()[from : from+end[0]]
			text := s.rest()[:from+end[1]]
			s.take(Part{
				Kind:  Shell,
				Text:  text,
				Parts: s.within(body),
			})
			return true
		}
		s.notes.add(warnMark, s.pos(), "close it with a line of three backticks",
			"block of commands is not closed and not run")
		s.block = false // nothing below closes another one
	case strings.IndexByte(info, '`') < 0:
		s.fence = run
	}

	return false
}

// maxScript bounds a mark; what is longer is none. It keeps the reading of hostile files short.
const maxScript = 8 << 10

// Marks that several tools use.
var (
	allMark = mark{
		form:  lazy.Regexp(`^\$ARGUMENTS\b`),
		not:   `\`,
		piece: Part{Kind: All},
	}
	indexMark = mark{
		form: lazy.Regexp(`^\$ARGUMENTS\[(0|[1-9]\d{0,2})\]`),
		not:  `\`,
		read: numbered,
	}
	// numberMark is $N. A price ($5.00, $1,000) is none.
	numberMark = mark{
		form: lazy.Regexp(`^\$(0|[1-9]\d{0,2})`),
		not:  `\$`,
		read: func(s *scan, found []string) (Part, bool) {
			p, ok := numbered(s, found)
			return p, ok && !goesOn().MatchString(s.rest()[len(found[0]):])
		},
	}
	goesOn = lazy.Regexp(`^[.,]?\d`)
	// nameMark is $name for declared names.
	nameMark = mark{
		form: lazy.Regexp(`^\$(\w+)`),
		not:  `\`,
		read: func(s *scan, found []string) (Part, bool) {
			at := slices.Index(s.names, found[1])
			return Part{
				Kind:  Nth,
				Index: at,
				Name:  found[1],
			}, at >= 0
		},
	}
	// fileMark is @path: not after a word or a backtick, up to white space, a backtick or a comma.
	fileMark = mark{
		form: lazy.Regexp("^@([^ \\t\\n`,@{(<*\"'][^ \\t\\n`,]{0,510})"),
		not:  "`\\@" + nameBytes,
		read: func(s *scan, found []string) (Part, bool) {
			path := strings.TrimRight(found[1], ".;:!?)]}>\"'*")
			if s.fence != "" && !s.fenced {
				return Part{}, false
			}
			return Part{
				Kind:  Include,
				Text:  "@" + path,
				Parts: s.within(path),
			}, path != ""
		},
	}
)

// escapeMark is a backslash that takes the meaning from the mark behind it, and disappears.
var escapeMark = mark{
	form: lazy.Regexp(`^\\\$`),
	read: func(s *scan, found []string) (Part, bool) {
		rest := s.rest()[len(found[0]):]
		name := escapedName().FindString(rest)
		_, variable := claudeVariable(strings.Trim(rest[:strings.IndexByte(rest, '}')+1], "{}"))
		numbered := rest != "" && rest[0] >= '0' && rest[0] <= '9'
		return Part{Kind: Variable, Name: "$"},
			numbered || name == "ARGUMENTS" || slices.Contains(s.names, name) ||
				variable && rest[0] == '{'
	},
}

var escapedName = lazy.Regexp(`^\w+`)

// numbered is an argument by its number; Index is what is written and is settled when the base is
// known.
func numbered(_ *scan, found []string) (Part, bool) {
	n, err := strconv.Atoi(found[1])
	return Part{Kind: Nth, Index: n}, err == nil
}

// bracedMark is ${...}; read tells what it stands for.
func bracedMark(read func(inside string) (Part, bool)) mark {
	return mark{
		form: lazy.Regexp(`^\$\{([^}\n]{0,500})\}`),
		not:  `\`,
		read: func(_ *scan, found []string) (Part, bool) {
			return read(found[1])
		},
	}
}

// commandMark is an exclamation mark with a command in backticks behind it. In a code block it is
// an example.
func commandMark(lines bool) mark {
	return mark{
		form: lazy.Regexp("^!`([^`]+)`"),
		read: func(s *scan, found []string) (Part, bool) {
			if strings.IndexByte(" \t\n([{\"':>-*|=", s.before()) < 0 ||
				strings.TrimSpace(found[1]) == "" ||
				!lines && strings.Contains(found[1], "\n") {
				return Part{}, false
			}
			if s.fence != "" && !s.fenced {
				s.notes.add(warnMark, s.pos(), "move it out of the code block to run it",
					"shell mark inside a code block is an example and is not run")
				return Part{}, false
			}
			return Part{Kind: Shell, Parts: s.within(found[1])}, true
		},
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// each calls f for every piece, those inside of commands and paths included.
func each(parts []Part, f func(*Part)) {
	for i := range parts {
		f(&parts[i])
		each(parts[i].Parts, f)
	}
}
