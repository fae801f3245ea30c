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

// markRule is how a tool writes one kind of piece.
type markRule struct {
	form func() *regexp.Regexp // at the start of a text
	not  string                // characters that may not precede it
	// read converts a match to a piece; false if it is not one. The Text is the match, unless read
	// sets it.
	read  func(s *scan, found []string) (Part, bool)
	piece Part // without read
}

// scan splits a text into pieces, once, from left to right.
type scan struct {
	text  string
	i     int
	marks []markRule
	inner []markRule // marks allowed inside commands and paths
	names []string   // arguments declared in the head
	notes *notes
	// marksInFences means that the tool also reads marks in code blocks; otherwise they are
	// examples.
	marksInFences bool

	line          int // of the file
	lineStart     int // offset of it in text
	fence         string
	blockCommands bool // fences opened by three backticks and ! are commands
	out           []Part
	literalStart  int // start of the literal that is being read
}

// parseTemplate parses a body whose first line is line of the file.
func (t tool) parseTemplate(n *notes, body string, line int, names []string) []Part {
	marks := slices.Concat(t.marks, t.inner)

	s := &scan{
		text:          body,
		marks:         marks,
		inner:         t.inner,
		names:         names,
		notes:         n,
		line:          line,
		blockCommands: t.blockCommands,
		marksInFences: t.marksInFences,
	}
	return s.run()
}

// parseInner parses the inside of a mark, in which only inner marks are read.
func (s *scan) parseInner(text string) []Part {
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
		case s.i == s.lineStart && s.trackFence():
		case c == '\n':
			s.i++
			s.line = s.line + 1
			s.lineStart = s.i
		case strings.IndexByte(`$!@{\`, c) < 0 || !s.tryMark():
			s.i++
		}
	}

	s.flush()
	return s.out
}

// tryMark reads a mark at the present position.
func (s *scan) tryMark() bool {
	for _, m := range s.marks {
		found := m.form().FindStringSubmatch(s.text[s.i:min(len(s.text), s.i+maxScript)])
		if found == nil || strings.IndexByte(m.not, s.precedingByte()) >= 0 {
			continue
		}
		p := m.piece
		ok := true
		if m.read != nil {
			p, ok = m.read(s, found)
		}

		if ok {
			p.Text = cmp.Or(p.Text, found[0])
			s.emit(p)
			return true
		}
	}
	return false
}

func (s *scan) emit(p Part) {
	s.flush()
	p.Pos = s.pos()
	s.out = append(s.out, p)

	if n := strings.Count(p.Text, "\n"); n > 0 {
		s.line += n
		s.lineStart = s.i + strings.LastIndexByte(p.Text, '\n') + 1
	}

	s.i += len(p.Text)
	s.literalStart = s.i
}

func (s *scan) flush() {
	if s.literalStart < s.i {
		s.out = append(s.out, Part{Kind: Literal, Text: s.text[s.literalStart:s.i]})
	}
	s.literalStart = s.i
}

func (s *scan) rest() string {
	return s.text[s.i:]
}

func (s *scan) pos() formats.Pos {
	return formats.Pos{Line: s.line, Col: s.i - s.lineStart + 1}
}

// precedingByte is the preceding character, or a line feed at the start.
func (s *scan) precedingByte() byte {
	if s.i == 0 {
		return '\n'
	}
	return s.text[s.i-1]
}

var (
	blockLine = lazy.Regexp("^ {0,3}(`{3,}|~{3,})(.*)")
	blockEnd  = lazy.Regexp("(?m)^[ \\t]*`{3,}[ \\t]*$")
)

// trackFence tracks code fences; a block of commands becomes one piece.
func (s *scan) trackFence() bool {
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
	case s.blockCommands && run == "```" && info == "!":
		from := len(found[0]) + 1 // start of the commands
		if end := blockEnd().FindStringIndex(s.rest()[min(from, len(s.rest())):]); end != nil {
			body := s.rest()[from : from+end[0]]
			text := s.rest()[:from+end[1]]
			s.emit(Part{
				Kind:  Shell,
				Text:  text,
				Parts: s.parseInner(body),
			})
			return true
		}
		s.notes.add(warnMark, s.pos(), "close it with a line of three backticks",
			"block of commands is not closed and not run")
		s.blockCommands = false // no later fence closes a block
	case strings.IndexByte(info, '`') < 0:
		s.fence = run
	}

	return false
}

// maxScript bounds a mark, in bytes; anything longer is text. It bounds the time for hostile files.
const maxScript = 8 << 10

// Marks that several tools use.
var (
	allMark = markRule{
		form:  lazy.Regexp(`^\$ARGUMENTS\b`),
		not:   `\`,
		piece: Part{Kind: All},
	}
	indexMark = markRule{
		form: lazy.Regexp(`^\$ARGUMENTS\[(0|[1-9]\d{0,2})\]`),
		not:  `\`,
		read: numberedArg,
	}
	// numberMark is $N, but not a price ($5.00, $1,000).
	numberMark = markRule{
		form: lazy.Regexp(`^\$(0|[1-9]\d{0,2})`),
		not:  `\$`,
		read: func(s *scan, found []string) (Part, bool) {
			p, ok := numberedArg(s, found)
			return p, ok && !continuesNumber().MatchString(s.rest()[len(found[0]):])
		},
	}
	continuesNumber = lazy.Regexp(`^[.,]?\d`)
	// nameMark is $name for declared names.
	nameMark = markRule{
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
	fileMark = markRule{
		form: lazy.Regexp("^@([^ \\t\\n`,@{(<*\"'][^ \\t\\n`,]{0,510})"),
		not:  "`\\@" + nameBytes,
		read: func(s *scan, found []string) (Part, bool) {
			path := strings.TrimRight(found[1], ".;:!?)]}>\"'*")
			if s.fence != "" && !s.marksInFences {
				return Part{}, false
			}
			return Part{
				Kind:  Include,
				Text:  "@" + path,
				Parts: s.parseInner(path),
			}, path != ""
		},
	}
)

// escapeMark is a backslash that escapes the following mark and disappears.
var escapeMark = markRule{
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

// numberedArg is an argument by its number; Index is the written number until the base is known.
func numberedArg(_ *scan, found []string) (Part, bool) {
	n, err := strconv.Atoi(found[1])
	return Part{Kind: Nth, Index: n}, err == nil
}

// bracedMark is ${...}; read decides its meaning.
func bracedMark(read func(inside string) (Part, bool)) markRule {
	return markRule{
		form: lazy.Regexp(`^\$\{([^}\n]{0,500})\}`),
		not:  `\`,
		read: func(_ *scan, found []string) (Part, bool) {
			return read(found[1])
		},
	}
}

// commandMark is an exclamation mark followed by a command in backticks. In a code block it is an
// example.
func commandMark(lines bool) markRule {
	return markRule{
		form: lazy.Regexp("^!`([^`]+)`"),
		read: func(s *scan, found []string) (Part, bool) {
			if strings.IndexByte(" \t\n([{\"':>-*|=", s.precedingByte()) < 0 ||
				strings.TrimSpace(found[1]) == "" ||
				!lines && strings.Contains(found[1], "\n") {
				return Part{}, false
			}
			if s.fence != "" && !s.marksInFences {
				s.notes.add(warnMark, s.pos(), "move it out of the code block to run it",
					"shell mark inside a code block is an example and is not run")
				return Part{}, false
			}
			return Part{Kind: Shell, Parts: s.parseInner(found[1])}, true
		},
	}
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// eachPart calls f for every piece, including those inside commands and paths.
func eachPart(parts []Part, f func(*Part)) {
	for i := range parts {
		f(&parts[i])
		eachPart(parts[i].Parts, f)
	}
}
