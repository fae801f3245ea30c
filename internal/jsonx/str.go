package jsonx

import (
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string whose opening quote is at p.i.
func (p *parser) str() (string, bool) {
	s, start := p.s, p.i+1
	for i := plainEnd(s, start); i < len(s); i = plainEnd(s, i) {
		switch s[i] {
		case '"':
			p.i = i + 1
			return s[start:i], true
		case '\\':
			return p.escaped(start, i)
		}
		n := p.char(i)
		if n == 0 {
			return "", false
		}
		i += n
	}
	p.fail(start-1, "string without its closing quote")
	return "", false
}

// The bytes of a word of eight, for looking at eight bytes at a time.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	blanks = ' ' * ones
)

// plainEnd gives the first place from i on that does not hold printable ASCII without quotes and backslashes.
func plainEnd(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		// A quote, a backslash, a control character or what is not ASCII leaves the highest bit of its byte; so may some
		// behind it, but none before it.
		q, e := x^'"'*ones, x^'\\'*ones
		if m := ((q - ones) | (e - ones) | (x - blanks) | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// char checks a byte that is not printable ASCII and gives the size of its character, 0 if it may not stand in a
// string.
func (p *parser) char(i int) int {
	c := p.s[i]
	if c == '\n' || c == '\r' {
		p.fail(i, "line break in a string")
		return 0
	}
	if c < ' ' {
		p.fail(i, fmt.Sprintf("control character 0x%02x in a string", c))
		return 0
	}
	r, size := utf8.DecodeRuneInString(p.s[i:])
	if r == utf8.RuneError && size == 1 {
		p.fail(i, fmt.Sprintf("invalid UTF-8 byte 0x%02x", c))
		return 0
	}
	return size
}

// escaped goes on with a string from its first escape, at i.
func (p *parser) escaped(start, i int) (string, bool) {
	s := p.s
	buf := append(p.skim.buf[:0], s[start:i]...)
	defer func() { p.skim.buf = buf }()
	for i < len(s) {
		end := plainEnd(s, i)
		buf = append(buf, s[i:end]...)
		if i = end; i == len(s) {
			break
		}
		switch s[i] {
		case '"':
			p.i = i + 1
			if p.skim.hollow {
				return "", true
			}
			return string(buf), true
		case '\\':
			var ok bool
			if buf, i, ok = p.escape(buf, i); !ok {
				return "", false
			}
		default:
			n := p.char(i)
			if n == 0 {
				return "", false
			}
			buf = append(buf, s[i:i+n]...)
			i += n
		}
	}
	p.fail(start-1, "string without its closing quote")
	return "", false
}

// escape decodes the escape at i and gives the offset after it.
func (p *parser) escape(buf []byte, i int) ([]byte, int, bool) {
	s := p.s
	if i+1 >= len(s) {
		p.fail(i, "escape without its character")
		return nil, 0, false
	}
	switch c := s[i+1]; c {
	case '"', '\\', '/':
		return append(buf, c), i + 2, true
	case 'b':
		return append(buf, '\b'), i + 2, true
	case 'f':
		return append(buf, '\f'), i + 2, true
	case 'n':
		return append(buf, '\n'), i + 2, true
	case 'r':
		return append(buf, '\r'), i + 2, true
	case 't':
		return append(buf, '\t'), i + 2, true
	case 'u':
		return p.unicode(buf, i)
	}
	_, size := utf8.DecodeRuneInString(s[i+1:])
	p.fail(i, fmt.Sprintf("invalid escape %s", quote(s[i:i+1+size])))
	return nil, 0, false
}

func (p *parser) unicode(buf []byte, i int) ([]byte, int, bool) {
	s := p.s
	r, ok := hex4(s, i)
	if !ok {
		p.fail(i, fmt.Sprintf("invalid escape %s, expected four hexadecimal digits", quote(s[i:min(i+6, len(s))])))
		return nil, 0, false
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(buf, r), i + 6, true
	}
	if low, ok := hex4(s, i+6); ok {
		if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
			return utf8.AppendRune(buf, full), i + 12, true
		}
	}
	p.fail(i, fmt.Sprintf("lone surrogate %s", s[i:i+6]))
	return nil, 0, false
}

// hex4 reads the escape \uXXXX at i.
func hex4(s string, i int) (rune, bool) {
	if i+6 > len(s) || s[i] != '\\' || s[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[i+2 : i+6]) {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
