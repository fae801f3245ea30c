package query

import "strings"

// token is a name or a variable in the source of a query: what an error or a reference points at. gojq's tree has no
// positions, so the names of the tree are found again among these, in order.
type token struct {
	text   string // with the $ of a variable, the @ of a format; a dot where a path of the input begins
	offset int
}

// tokens gives the names, keywords, formats and variables of src in order. Fields (.name), strings and comments are
// left out; the code inside the interpolations of a string is not.
func tokens(src string) []token {
	s := lexer{src: src}
	s.scan()
	return s.out
}

type lexer struct {
	src  string
	i    int
	out  []token
	term bool  // what stands before this place is the end of a term
	open []int // for each string that is open around this place: how many parentheses its interpolation has open
	// unclosed is where the string starts that has no end, -1 if there is none.
	unclosed int
}

func (s *lexer) scan() {
	s.unclosed = -1
	for s.i < len(s.src) {
		c, term := s.src[s.i], true
		switch {
		case c == ' ', c == '\t', c == '\n', c == '\r':
			s.i++
			continue
		case c == '#':
			s.comment()
			continue
		case c == '"':
			s.text(s.i + 1)
		case c == '(':
			s.i++
			if n := len(s.open); n > 0 {
				s.open[n-1]++
			}
			term = false
		case c == ')':
			s.closing()
		case c == '@':
			end := s.while(s.i+1, namePart)
			s.out = append(s.out, token{text: s.src[s.i:end], offset: s.i})
			s.i = end
		case c == '.' && s.at(s.i+1, digit) && !s.term, digit(c):
			s.number()
		case strings.HasPrefix(s.src[s.i:], ".."):
			s.i += 2
		case c == '.':
			if !s.term {
				s.out = append(s.out, token{text: ".", offset: s.i})
			}
			s.i = s.while(s.i+1, namePart)
		case c == '$' && s.at(s.i+1, nameStart), nameStart(c):
			term = !s.name()
		default:
			s.i++
			term = c == ']' || c == '}' || c == '?'
		}
		s.term = term && s.src[s.i-1] != '(' // behind that an interpolation begins
	}
	if s.unclosed < 0 && len(s.open) > 0 {
		s.unclosed = len(s.src)
	}
}

func (s *lexer) closing() {
	s.i++
	n := len(s.open)
	if n == 0 {
		return
	}
	if s.open[n-1] > 0 {
		s.open[n-1]--
		return
	}
	s.open = s.open[:n-1]
	s.text(s.i)
}

// text goes through a string from the place i inside it up to its end or its next interpolation.
func (s *lexer) text(i int) {
	start := s.i
	for ; i < len(s.src); i++ {
		switch s.src[i] {
		case '"':
			s.i = i + 1
			return
		case '\\':
			if i++; i < len(s.src) && s.src[i] == '(' {
				s.open = append(s.open, 0)
				s.i = i + 1
				return
			}
		}
	}
	s.i = len(s.src)
	s.unclosed = start
}

// comment ends at a line break that has no backslash before it, as in jq.
func (s *lexer) comment() {
	for s.i++; s.i < len(s.src); s.i++ {
		switch s.src[s.i] {
		case '\n', '\r':
			return
		case '\\':
			if strings.HasPrefix(s.src[s.i+1:], "\r\n") {
				s.i++
			}
			s.i++
		}
	}
	s.i = min(s.i, len(s.src))
}

func (s *lexer) number() {
	i := s.while(s.i+1, func(c byte) bool { return digit(c) || c == '.' })
	if i < len(s.src) && (s.src[i] == 'e' || s.src[i] == 'E') {
		i++
		if i < len(s.src) && (s.src[i] == '+' || s.src[i] == '-') {
			i++
		}
		i = s.while(i, digit)
	}
	s.i = i
}

// name takes a name and tells whether it is a word that a term comes behind.
func (s *lexer) name() (keyword bool) {
	end := s.while(s.i+1, namePart)
	if strings.HasPrefix(s.src[end:], "::") && s.at(end+2, nameStart) {
		end = s.while(end+2, namePart)
	}
	s.out = append(s.out, token{text: s.src[s.i:end], offset: s.i})
	_, keyword = keywords[s.src[s.i:end]]
	s.i = end
	return keyword
}

// keywords are the words that a term comes behind.
var keywords = map[string]struct{}{
	"and": {}, "or": {}, "if": {}, "then": {}, "elif": {}, "else": {}, "try": {}, "catch": {}, "reduce": {},
	"foreach": {}, "as": {},
}

func (s *lexer) at(i int, is func(byte) bool) bool { return i < len(s.src) && is(s.src[i]) }

func (s *lexer) while(i int, is func(byte) bool) int {
	for i < len(s.src) && is(s.src[i]) {
		i++
	}
	return i
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func nameStart(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func namePart(c byte) bool { return nameStart(c) || digit(c) }
