package journal

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is one way in which programs print a known value.
type encoding struct {
	plain string                // literal text; empty: use expr
	hint  string                // unescaped part; a text without it is not searched
	expr  func() *regexp.Regexp // nil with plain
}

// mask replaces the value in a text.
func (f encoding) mask(s string) string {
	switch {
	case f.plain != "":
		return strings.ReplaceAll(s, f.plain, Masked)
	case strings.Contains(s, f.hint):
		return f.expr().ReplaceAllLiteralString(s, Masked)
	}
	return s
}

// encodingsOf returns the encodings of a value: plain, escaped for JSON, shells and URLs, and
// base64.
func encodingsOf(value string) []encoding {
	forms := []encoding{{plain: value}}
	for _, part := range splitLong(value) {
		var e expression
		for rest := part; rest != ""; {
			r, size := utf8.DecodeRuneInString(rest)
			e.addCharacter(r, rest[:size])
			rest = rest[size:]
		}
		if e.escapes {
			forms = append(forms, e.toEncoding())
		}
	}

	for shift := range 3 {
		forms = append(forms, base64Encodings(value, shift)...)
	}
	return forms
}

// maxPart bounds the part of a value that one regular expression finds, in bytes.
const maxPart = 1 << 10

// splitLong splits a long value between characters into parts of similar length, which are masked
// separately.
func splitLong(value string) []string {
	var out []string
	for n := len(value)/maxPart + 1; n > 1; n-- {
		cut := len(value) / n
		for cut < len(value) && !utf8.RuneStart(value[cut]) {
			cut++
		}
		out = append(out, value[:cut])
		value = value[cut:]
	}
	return append(out, value)
}

// base64Encodings returns the base64 encodings of a value after shift other bytes, such as a user
// name before a password. Characters that also depend on other bytes are left out.
func base64Encodings(value string, shift int) []encoding {
	code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
	first := (shift*8 + 5) / 6
	last := (shift + len(value)) * 8 / 6

	var forms []encoding
	at := first
	list := splitLong(code[first:last])
	for i, part := range list {
		var e expression
		for _, r := range part {
			if at > first && (at%64 == 0 || at%76 == 0) {
				e.addLineBreak()
			}
			e.addBase64(r)
			at++
		}
		if i == len(list)-1 {
			e.addPadding()
		}
		forms = append(forms, e.toEncoding())
	}
	return forms
}

// expression builds the regular expression of an encoding.
type expression struct {
	strings.Builder
	escapes   bool // it matches more than the value itself
	run, hint string
}

func (e *expression) toEncoding() encoding {
	expr := e.String()
	return encoding{
		hint: e.hint,
		expr: sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile(expr)
		}),
	}
}

// addLiteral adds a character that is never escaped.
func (e *expression) addLiteral(s string) {
	e.WriteString(regexp.QuoteMeta(s))
	e.run += s
	if len(e.run) > len(e.hint) {
		e.hint = e.run
	}
}

// addAlternatives adds a character in one of several encodings.
func (e *expression) addAlternatives(forms ...string) {
	e.WriteString("(?:" + strings.Join(forms, "|") + ")")
	e.run = ""
}

// Text may be escaped repeatedly: a return in a line of JSON has two backslashes where its file has
// one.
const (
	escaped      = `\\+`
	maybeEscaped = `\\*`
	lineEnds     = `(?:\\+[rn]|[\r\n])*`
)

// escapeLetters maps control characters to the letters of their escapes.
var escapeLetters = map[rune]string{
	'\a': "a",
	'\b': "b",
	'\t': "t",
	'\n': "n",
	'\v': "v",
	'\f': "f",
	'\r': "r",
}

// addCharacter adds a character of a value. bytes is its UTF-8, or one byte that is not UTF-8.
func (e *expression) addCharacter(r rune, bytes string) {
	if r < utf8.RuneSelf &&
		(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.') {
		e.addLiteral(bytes)
		return
	}

	e.escapes = true
	var percent, hex, octal strings.Builder
	for _, b := range []byte(bytes) {
		fmt.Fprintf(&percent, "%%(?i:%02x)", b)
		fmt.Fprintf(&hex, "%sx(?i:%02x)", escaped, b)
		fmt.Fprintf(&octal, "%s0?%03o", escaped, b)
	}

	raw := maybeEscaped + regexp.QuoteMeta(bytes)
	if r == utf8.RuneError {
		raw = `\x{fffd}` // also replaces a byte that is not UTF-8
	}
	forms := []string{raw, percent.String(), hex.String(), octal.String()}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		forms = append(forms, fmt.Sprintf("%su(?i:%04x)%su(?i:%04x)", escaped, high, escaped, low))
	}
	forms = append(forms, fmt.Sprintf("%s(?i:u%04x|u\\{0*%x\\}|u%08x)", escaped, r, r, r))
	if letter, ok := escapeLetters[r]; ok {
		forms = append(forms, escaped+letter)
	}
	switch r {
	case ' ':
		forms = append(forms, `\+`)
	case '\'':
		forms = append(forms, `'`+escaped+`''`, `'\\*"'\\*"'`)
	}

	e.addAlternatives(forms...)
}

// addBase64 adds a character of base64, also as in the URL alphabet.
func (e *expression) addBase64(r rune) {
	switch r {
	case '+':
		e.addAlternatives(`\+`, `-`, `%2[Bb]`, escaped+`u002[Bb]`)
	case '/':
		e.addAlternatives(maybeEscaped+`/`, `_`, `%2[Ff]`)
	default:
		e.addLiteral(string(r))
	}
}

// addLineBreak allows a line break at this place.
func (e *expression) addLineBreak() {
	e.WriteString(lineEnds)
	e.run = ""
}

// addPadding allows the last character of base64 and its padding.
func (e *expression) addPadding() {
	e.WriteString(`(?:[\w+/-]?(?:=|%3[Dd]|\\+u003[Dd]){1,2})?`)
	e.run = ""
}
