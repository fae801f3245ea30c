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

// A form is one way in which programs print a known value.
type form struct {
	plain string                // what the text holds, byte for byte; empty: what expr finds
	hint  string                // part that no escaping changes; a text without it is not searched
	expr  func() *regexp.Regexp // nil with plain
}

// mask replaces the form in a text.
func (f form) mask(s string) string {
	switch {
	case f.plain != "":
		return strings.ReplaceAll(s, f.plain, Masked)
	case strings.Contains(s, f.hint):
		return f.expr().ReplaceAllLiteralString(s, Masked)
	}
	return s
}

// formsOf gives the forms of a value: as it is, escaped as JSON, shells and URLs do, and in base64.
func formsOf(value string) []form {
	forms := []form{{plain: value}}
	for _, part := range parts(value) {
		var e expression
		for rest := part; rest != ""; {
			r, size := utf8.DecodeRuneInString(rest)
			e.character(r, rest[:size])
			rest = rest[size:]
		}
		if e.escapes {
			forms = append(forms, e.form())
		}
	}
	for shift := range 3 {
		forms = append(forms, encoded(value, shift)...)
	}
	return forms
}

// mostInForm bounds the part of a value that one regular expression finds.
const mostInForm = 1 << 10

// parts cuts a long value between characters into parts of about the same length, each of which is
// masked by itself.
func parts(value string) []string {
	var out []string
	for n := len(value)/mostInForm + 1; n > 1; n-- {
		cut := len(value) / n
		for cut < len(value) && !utf8.RuneStart(value[cut]) {
			cut++
		}
		out = append(out, value[:cut])
		value = value[cut:]
	}
	return append(out, value)
}

// encoded gives the forms of a value in base64 that begins with shift other bytes, as a user's name
// before a password does. Characters that also depend on other bytes are left out.
func encoded(value string, shift int) []form {
	code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
	first := (shift*8 + 5) / 6
	last := (shift + len(value)) * 8 / 6
	var forms []form
	at := first
	list := parts(code[first:last])
	for i, part := range list {
		var e expression
		for _, r := range part {
			if at > first && (at%64 == 0 || at%76 == 0) {
				e.broken()
			}
			e.code(r)
			at++
		}
		if i == len(list)-1 {
			e.padded()
		}
		forms = append(forms, e.form())
	}
	return forms
}

// expression is the regular expression of a form while it is put together.
type expression struct {
	strings.Builder
	escapes   bool // it finds more than the value itself
	run, hint string
}

func (e *expression) form() form {
	expr := e.String()
	return form{
		hint: e.hint,
		expr: sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile(expr)
		}),
	}
}

// literal adds a character that nothing escapes.
func (e *expression) literal(s string) {
	e.WriteString(regexp.QuoteMeta(s))
	e.run += s
	if len(e.run) > len(e.hint) {
		e.hint = e.run
	}
}

// either adds a character in one of several forms.
func (e *expression) either(forms ...string) {
	e.WriteString("(?:" + strings.Join(forms, "|") + ")")
	e.run = ""
}

// Text may be escaped more than once: a return in a line of JSON has two backslashes where its file
// has one.
const (
	escaped  = `\\+`
	anyhow   = `\\*`
	lineEnds = `(?:\\+[rn]|[\r\n])*`
)

// letters are the escapes of control characters.
var letters = map[rune]string{
	'\a': "a",
	'\b': "b",
	'\t': "t",
	'\n': "n",
	'\v': "v",
	'\f': "f",
	'\r': "r",
}

// character adds a character of a value. bytes are those of its UTF-8, or one that is no UTF-8.
func (e *expression) character(r rune, bytes string) {
	if r < utf8.RuneSelf &&
		(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.') {
		e.literal(bytes)
		return
	}

	e.escapes = true
	percent := ""
	hex := ""
	octal := ""
	for _, b := range []byte(bytes) {
		percent += fmt.Sprintf("%%(?i:%02x)", b)
		hex += fmt.Sprintf("%sx(?i:%02x)", escaped, b)
		octal += fmt.Sprintf("%s0?%03o", escaped, b)
	}

	raw := anyhow + regexp.QuoteMeta(bytes)
	if r == utf8.RuneError {
		raw = `\x{fffd}` // which also stands for a byte that is no UTF-8
	}
	forms := []string{raw, percent, hex, octal}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		forms = append(forms, fmt.Sprintf("%su(?i:%04x)%su(?i:%04x)", escaped, high, escaped, low))
	}
	forms = append(forms, fmt.Sprintf("%s(?i:u%04x|u\\{0*%x\\}|u%08x)", escaped, r, r, r))
	if letter, ok := letters[r]; ok {
		forms = append(forms, escaped+letter)
	}
	switch r {
	case ' ':
		forms = append(forms, `\+`)
	case '\'':
		forms = append(forms, `'`+escaped+`''`, `'\\*"'\\*"'`)
	}

	e.either(forms...)
}

// code adds a character of base64, in the alphabet for URLs too.
func (e *expression) code(r rune) {
	switch r {
	case '+':
		e.either(`\+`, `-`, `%2[Bb]`, escaped+`u002[Bb]`)
	case '/':
		e.either(anyhow+`/`, `_`, `%2[Ff]`)
	default:
		e.literal(string(r))
	}
}

// broken adds an end of a line that may stand here.
func (e *expression) broken() {
	e.WriteString(lineEnds)
	e.run = ""
}

// padded adds the last character of base64 if the value ends there.
func (e *expression) padded() {
	e.WriteString(`(?:[\w+/-]?(?:=|%3[Dd]|\\+u003[Dd]){1,2})?`)
	e.run = ""
}
