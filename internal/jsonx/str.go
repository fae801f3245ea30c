package jsonx

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parseString reads the string whose opening quote is at p.i.
func (p *parser) parseString() (string, bool) {
	// what stands from there on is not in buf yet
	s := p.s
	from := p.i + 1
	buf := p.buf[:0]
	escapes := false
	for i := plainEnd(s, from); i < len(s); i = plainEnd(s, i) {
		var n int
		switch {
		case s[i] == '"' && !escapes:
			p.i = i + 1
			return s[from:i], true
		case s[i] == '"':
			p.i = i + 1
			p.buf = append(buf, s[from:i]...)
			if p.skim.discard {
				return "", true
			}
			return string(p.buf), true
		case s[i] == '\\':
			var r rune
			r, n = p.parseEscape(i)
			buf = utf8.AppendRune(append(buf, s[from:i]...), r)
			escapes = true
			from = i + n
		default:
			n = p.checkChar(i)
		}

		if n == 0 {
			return "", false
		}
		i += n
	}

	p.fail(p.i, "string without its closing quote")
	return "", false
}

// Bit masks for scanning eight bytes at a time.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	blanks = ' ' * ones
)

// plainEnd gives the first place from i on that does not hold printable ASCII without quotes and
// backslashes.
func plainEnd(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		// A quote, a backslash, a control character or a byte that is not ASCII leaves its highest
		// bit. Bytes behind it may leave theirs, but none before it.
		q := x ^ '"'*ones
		e := x ^ '\\'*ones
		if m := ((q - ones) | (e - ones) | (x - blanks) | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// checkChar checks a byte that is not printable ASCII and gives the size of its character, 0 if it
// may not stand in a string.
func (p *parser) checkChar(i int) int {
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

// parseEscape gives the character that the escape at i stands for, and its size, 0 if there is
// none.
func (p *parser) parseEscape(i int) (r rune, size int) {
	s := p.s[i:]
	if len(s) < 2 {
		p.fail(i, "escape without its character")
		return 0, 0
	}

	if at := strings.IndexByte(`"\/bfnrt`, s[1]); at >= 0 {
		return rune("\"\\/\b\f\n\r\t"[at]), 2
	}
	if s[1] != 'u' {
		_, size = utf8.DecodeRuneInString(s[1:])
		p.fail(i, "invalid escape "+quote(s[:1+size]))
		return 0, 0
	}

	r, ok := hex4(s)
	if !ok {
		p.fail(i, "invalid escape "+quote(s[:min(6, len(s))])+", expected four hexadecimal digits")
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}

	if low, ok := hex4(s[6:]); ok {
		if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
			return full, 12
		}
	}
	p.fail(i, "lone surrogate "+s[:6])
	return 0, 0
}

// hex4 reads the escape \uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
