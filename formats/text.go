package formats

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Clip shortens a text to a number of characters; the last one is then an ellipsis.
func Clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// WithoutBOM is text without the UTF-8 byte order mark that some editors and shells write before
// it.
func WithoutBOM(text []byte) []byte {
	return bytes.TrimPrefix(text, []byte("\ufeff"))
}

// Prefixed adds a prefix to a non-empty text.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// Count formats a number with its noun: 1 file, 2 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// FirstLine is the first line of a text, shortened to a number of characters.
func FirstLine(s string, limit int) string {
	line, _, _ := strings.Cut(s, "\n")
	return Clip(line, limit)
}

// OneLine joins the lines of a text; control characters become spaces.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// As returns a decoded value if it is of type T, else the zero value.
func As[T any](v any) T {
	out, _ := v.(T) //nolint:errcheck // the zero value for another type
	return out
}

// FirstFew are the first of many names: a screen has no room for two hundred. The JSON document has
// them all.
func FirstFew(names []string, between string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, between)
	}
	return fmt.Sprintf("%s%sand %d more",
		strings.Join(names[:most], between), between, len(names)-most)
}
