package dialect

import (
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
)

// PartKind tells what a piece of a template is.
type PartKind uint8

// The kinds of pieces.
const (
	Literal  PartKind = iota
	All               // the arguments as they were typed
	Nth               // one of the arguments
	Named             // an argument that has a name
	Variable          // a value of the tool's surroundings
	Shell             // a command whose output stands in its place
	Include           // a file
)

// Part is a piece of a template.
type Part struct {
	Kind  PartKind
	Text  string // as it is written in the file
	Index int    // of Nth: position from 0
	Rest  bool   // of Nth: takes all words from there on
	Name  string // of Named and Variable
	Hint  string // of Named: what the file says about it
	Whole bool   // of All in a command: stands for one word, whatever is in it
	Parts []Part // of Shell and Include: what stands inside the mark
	Pos   formats.Pos
}

// mark tries to read a piece at the place where the scan is; width 0 means that none begins there.
type mark func(s *scan) (p Part, width int)

// scan cuts a text into pieces, once, from left to right.
type scan struct {
	text  string
	i     int
	marks []mark
	inner []mark   // what may stand inside of commands and paths
	names []string // of arguments that the head declares
	notes *notes

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
	s := &scan{text: body, marks: marks, inner: t.inner, names: names, notes: n, line: line, block: t.block}
	return s.run()
}

// within cuts the inside of a mark, in which no further mark is read.
func (s *scan) within(text string) []Part {
	in := &scan{text: text, marks: s.inner, names: s.names, notes: s.notes, line: s.line}
	return in.run()
}

func (s *scan) run() []Part {
	for s.i < len(s.text) {
		if s.i == s.lineStart && s.fenceLine() {
			continue
		}
		c := s.text[s.i]
		if c == '\n' {
			s.i++
			s.line, s.lineStart = s.line+1, s.i
			continue
		}
		if c != '$' && c != '!' && c != '@' && c != '{' {
			s.i++
			continue
		}
		if !s.try() {
			s.i++
		}
	}
	s.flush()
	return s.out
}

// try reads a piece at the present place.
func (s *scan) try() bool {
	for _, m := range s.marks {
		p, width := m(s)
		if width == 0 {
			continue
		}
		s.take(p, width)
		return true
	}
	return false
}

func (s *scan) take(p Part, width int) {
	s.flush()
	p.Text, p.Pos = s.text[s.i:s.i+width], s.pos()
	s.out = append(s.out, p)
	if n := strings.Count(p.Text, "\n"); n > 0 {
		s.line += n
		s.lineStart = s.i + strings.LastIndexByte(p.Text, '\n') + 1
	}
	s.i += width
	s.from = s.i
}

func (s *scan) flush() {
	if s.from < s.i {
		s.out = append(s.out, Part{Kind: Literal, Text: s.text[s.from:s.i]})
	}
	s.from = s.i
}

func (s *scan) rest() string { return s.text[s.i:] }

func (s *scan) pos() formats.Pos { return formats.Pos{Line: s.line, Col: s.i - s.lineStart + 1} }

// before is the character in front of the present place, a line feed at the start.
func (s *scan) before() byte {
	if s.i == 0 {
		return '\n'
	}
	return s.text[s.i-1]
}

// fenceLine follows code fences; a block that is a command is taken as a whole.
func (s *scan) fenceLine() bool {
	line, _, _ := strings.Cut(s.rest(), "\n")
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 || len(trimmed) < 3 || trimmed[0] != '`' && trimmed[0] != '~' {
		return false
	}
	run := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
	if len(run) < 3 {
		return false
	}
	info := strings.TrimSpace(trimmed[len(run):])
	switch {
	case s.fence != "":
		if run[0] == s.fence[0] && len(run) >= len(s.fence) && info == "" {
			s.fence = ""
		}
	case s.block && run == "```" && info == "!":
		if body, width, ok := fenced(s.rest()); ok {
			s.take(Part{Kind: Shell, Parts: s.within(body)}, width)
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

// fenced gives the inside of a block that opens at the start of the text, and the bytes up to the end of its last line.
func fenced(text string) (body string, width int, ok bool) {
	first := strings.IndexByte(text, '\n')
	if first < 0 {
		return "", 0, false
	}
	for at := first + 1; at <= len(text); {
		line, _, more := strings.Cut(text[at:], "\n")
		if t := strings.TrimSpace(line); len(t) >= 3 && strings.Trim(t, "`") == "" {
			return text[first+1 : at], at + len(line), true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", 0, false
}

// Bounds of a mark inside a text; what is longer is no mark. They keep the reading of hostile files short.
const (
	maxScript   = 8 << 10
	maxVariable = 512
)

// The marks that tools share.

// allMark is $ARGUMENTS.
func allMark(s *scan) (Part, int) {
	const word = "$ARGUMENTS"
	rest := s.rest()
	if !strings.HasPrefix(rest, word) || s.before() == '\\' || len(rest) > len(word) && wordByte(rest[len(word)]) {
		return Part{}, 0
	}
	return Part{Kind: All}, len(word)
}

// indexMark is $ARGUMENTS[N]; Index is what is written and is settled when the base is known.
func indexMark(s *scan) (Part, int) {
	const word = "$ARGUMENTS["
	rest := s.rest()
	if !strings.HasPrefix(rest, word) || s.before() == '\\' {
		return Part{}, 0
	}
	n, width := number(rest[len(word):])
	if width == 0 || !strings.HasPrefix(rest[len(word)+width:], "]") {
		return Part{}, 0
	}
	return Part{Kind: Nth, Index: n}, len(word) + width + 1
}

// numberMark is $N. A price ($5.00, $1,000) is none.
func numberMark(s *scan) (Part, int) {
	rest := s.rest()
	if len(rest) < 2 || rest[0] != '$' || s.before() == '\\' || s.before() == '$' {
		return Part{}, 0
	}
	n, width := number(rest[1:])
	if width == 0 {
		return Part{}, 0
	}
	if after := rest[1+width:]; len(after) > 1 && (after[0] == '.' || after[0] == ',') && after[1] >= '0' &&
		after[1] <= '9' {
		return Part{}, 0
	}
	return Part{Kind: Nth, Index: n}, 1 + width
}

// number reads up to three digits.
func number(text string) (n, width int) {
	for width < len(text) && text[width] >= '0' && text[width] <= '9' {
		width++
	}
	if width == 0 || width > 3 || width > 1 && text[0] == '0' {
		return 0, 0
	}
	n, err := strconv.Atoi(text[:width])
	if err != nil {
		return 0, 0
	}
	return n, width
}

// nameMark is $name for declared names.
func nameMark(s *scan) (Part, int) {
	rest := s.rest()
	if rest[0] != '$' || s.before() == '\\' {
		return Part{}, 0
	}
	end := 1
	for end < len(rest) && wordByte(rest[end]) {
		end++
	}
	at := slices.Index(s.names, rest[1:end])
	if at < 0 {
		return Part{}, 0
	}
	return Part{Kind: Nth, Index: at, Name: rest[1:end]}, end
}

// bracedMark is ${...}; read tells what it stands for.
func bracedMark(read func(inside string) (Part, bool)) mark {
	return func(s *scan) (Part, int) {
		rest := s.rest()
		if !strings.HasPrefix(rest, "${") || s.before() == '\\' {
			return Part{}, 0
		}
		end := strings.IndexAny(rest[:min(len(rest), maxVariable)], "}\n")
		if end < 0 || rest[end] == '\n' {
			return Part{}, 0
		}
		p, ok := read(rest[2:end])
		if !ok {
			return Part{}, 0
		}
		return p, end + 1
	}
}

// commandMark is an exclamation mark with a command in backticks behind it. In a code block it is an example.
func commandMark(lines bool) mark {
	return func(s *scan) (Part, int) {
		rest := s.rest()
		if !strings.HasPrefix(rest, "!`") || strings.IndexByte(" \t\n([{\"':>-*|=", s.before()) < 0 {
			return Part{}, 0
		}
		end := strings.IndexByte(rest[2:min(len(rest), maxScript)], '`')
		if end <= 0 {
			return Part{}, 0
		}
		inside := rest[2 : 2+end]
		if strings.TrimSpace(inside) == "" || !lines && strings.Contains(inside, "\n") {
			return Part{}, 0
		}
		if s.fence != "" {
			s.notes.add(warnMark, s.pos(), "move it out of the code block to run it",
				"shell mark inside a code block is an example and is not run")
			return Part{}, 0
		}
		return Part{Kind: Shell, Parts: s.within(inside)}, end + 3
	}
}

// fileMark is @path: not after a word or a backtick, up to white space, a backtick or a comma.
func fileMark(s *scan) (Part, int) {
	rest := s.rest()
	if rest[0] != '@' || wordByte(s.before()) || s.before() == '`' || s.before() == '\\' || s.before() == '@' {
		return Part{}, 0
	}
	end := 1
	for end < min(len(rest), maxVariable) && strings.IndexByte(" \t\n`,", rest[end]) < 0 {
		end++
	}
	path := strings.TrimRight(rest[1:end], ".;:!?)]}>\"'*")
	if path == "" || strings.IndexByte("@{(<*\"'", path[0]) >= 0 {
		return Part{}, 0
	}
	return Part{Kind: Include, Parts: s.within(path)}, 1 + len(path)
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
