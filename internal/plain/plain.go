// Package plain makes untrusted text (files, agents, tools, names, titles) safe for a terminal.
//
// Promise: its results hold no control characters, and none that hide or reorder text; it shows
// these escaped, and leaves plain text alone. JSON keeps its meaning. It will not decide where a
// text goes, and shortens none.
//
// Concurrency: its functions are pure. A Writer belongs to one goroutine at a time.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// continuationMark stands before each further line of a message, so that no line of a stranger
// begins like one of tercet's own.
const continuationMark = "\n  > "

// Passage is text of several lines that stands on lines of its own. Any other argument of an
// answer, a note or a prompt stands within one line.
type Passage string

// Text makes untrusted text safe for a terminal: it escapes control characters, marks that reorder
// or hide text, and invalid UTF-8. Line feeds and tabs stay.
func Text(s string) string {
	return escapeRunes(s, unsafeRune)
}

// Line is Text for a single line or cell: it also escapes line feeds and tabs.
func Line(s string) string {
	return escapeRunes(s, func(r rune) bool { return r == '\n' || r == '\t' || unsafeRune(r) })
}

// Message is Text for a message; it marks further lines.
func Message(s string) string {
	return strings.ReplaceAll(Text(strings.TrimRight(s, "\n")), "\n", continuationMark)
}

// Sprintf is fmt.Sprintf with each argument made safe for one line.
func Sprintf(format string, args ...any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = arg
		switch v := arg.(type) {
		case Passage:
			shown[i] = string(v)
		case error:
			shown[i] = Line(v.Error())
		case fmt.Stringer:
			shown[i] = Line(v.String())
		default:
			if text := reflect.ValueOf(arg); text.Kind() == reflect.String {
				shown[i] = Line(text.String())
			}
		}
	}
	return Text(fmt.Sprintf(format, shown...))
}

// JSON escapes control characters in a JSON document. They occur only in strings, so the document
// keeps its meaning.
func JSON(doc []byte) []byte {
	if bytes.IndexFunc(doc, unsafeRune) < 0 && utf8.Valid(doc) {
		return doc
	}
	var b bytes.Buffer
	for _, r := range string(doc) {
		switch {
		case r == '\r': // a line ending: inside of a string it would be no JSON
			b.WriteRune(r)
		case !unsafeRune(r):
			b.WriteRune(r)
		case r > 0xffff:
			high := (r-0x10000)>>10 + 0xd800
			low := (r-0x10000)&0x3ff + 0xdc00
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

func escapeRunes(s string, hide func(rune) bool) string {
	if strings.IndexFunc(s, hide) < 0 && utf8.ValidString(s) {
		return s
	}

	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[0])
		case hide(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

// unsafeRune tells what must not reach a terminal: C0 and C1 except line feed and tab, and the ends
// of lines and paragraphs. Marks of direction, marks of zero width and tags have no shape of their
// own, so they must not either. Marks of numbers that are seen are text.
func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x7f && r >= 0x20:
		return false
	case unicode.In(
		r,
		unicode.Cc,
		unicode.Zl,
		unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point,
	):
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Writer writes safe text to a terminal. A character split over two writes appears with the second.
type Writer struct {
	To   io.Writer
	rest []byte
}

// Write implements io.Writer.
func (s *Writer) Write(p []byte) (int, error) {
	data := append(s.rest, p...) //nolint:gocritic // rest is cut out of data again below
	cut := len(data)
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if tail := data[len(data)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				cut -= i
			}
			break
		}
	}

	s.rest = bytes.Clone(data[cut:])
	if _, err := io.WriteString(s.To, Text(string(data[:cut]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
