package jsonx

import (
	"bytes"
	"strings"
)

// Palette is the colours of JSON on a terminal, as parameters of SGR sequences: null, false, true,
// numbers, strings, arrays, objects, keys.
type Palette [8]string

// DefaultPalette is jq's.
func DefaultPalette() Palette {
	return Palette{"0;90", "0;39", "0;39", "0;39", "0;32", "1;39", "1;39", "34;1"}
}

// PaletteOf parses colours in the form of jq's JQ_COLORS: colours between colons, in the order of
// Palette. Missing ones keep their default; an invalid text changes nothing.
func PaletteOf(text string) (p Palette, ok bool) {
	p = DefaultPalette()
	if text == "" {
		return p, true
	}
	if strings.Trim(text, "0123456789;:") != "" {
		return p, false
	}
	for i, one := range strings.Split(text, ":") {
		if i < len(p) {
			p[i] = one
		}
	}
	return p, true
}

// bracketColor is the part that a bracket belongs to.
func bracketColor(c byte) int {
	if c == '{' || c == '}' {
		return 6
	}
	return 5
}

// AppendJSON appends JSON with colours; its own bytes stay the same.
func (p Palette) AppendJSON(dst, text []byte) []byte {
	paint := func(l string, part []byte) {
		if l == "" {
			dst = append(dst, part...)
			return
		}
		dst = append(append(append(append(dst, "\x1b["...), l...), 'm'), part...)
		dst = append(dst, "\x1b[0m"...)
	}

	var inside []byte // the brackets that are open
	key := false
	for len(text) > 0 {
		n := 1
		look := ""
		switch c := text[0]; c {
		case '{', '[':
			inside = append(inside, c)
			look = p[bracketColor(c)]
			key = c == '{'
		case '}', ']':
			inside = inside[:max(0, len(inside)-1)]
			look = p[bracketColor(c)]
			key = false
		case ',', ':':
			in := len(inside) > 0 && inside[len(inside)-1] == '{'
			look = p[5]
			key = c == ',' && in
			if in {
				look = p[6]
			}
		case '"':
			for n < len(text)-1 && text[n] != '"' {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(text))
			look = p[4]
			if key {
				look = p[7]
			}
		case ' ', '\t', '\n', '\r':
		default:
			if n = bytes.IndexAny(text, ",:]}\" \t\r\n"); n < 0 {
				n = len(text)
			}
			look = p[3]
			if bytes.IndexByte([]byte("nft"), c) >= 0 {
				look = p[strings.IndexByte("nft", c)]
			}
		}

		paint(look, text[:n])
		text = text[n:]
	}

	return dst
}
