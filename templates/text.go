package templates

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxDescription = 120  // characters of a description, as the formats of commands and subagents have it
	maxPurpose     = 2000 // characters of a purpose
	maxName        = 32
)

// ValidName tells whether a command or a subagent may have the name. A file must be able to have it too, also in a copy
// on Windows, where some names are devices.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || i > 0 && (c == '-' || c >= '0' && c <= '9') {
			continue
		}
		return false
	}
	return s != "" && len(s) <= maxName && !device(s)
}

// device tells whether Windows keeps a name in lower case for a device.
func device(s string) bool {
	switch s {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(s) == 4 && (s[:3] == "com" || s[:3] == "lpt") && s[3] >= '0' && s[3] <= '9'
}

// clean makes one line out of a text: control characters and runs of blanks become one blank; marks that turn the
// direction of writing and characters that YAML does not have are left out.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF', r&0xFFFE == 0xFFFE:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// cut shortens a line to a number of characters, at a blank if one is near.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	s = string([]rune(s)[:limit-1])
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ") + "…"
}

// plain tells whether a line may stand in YAML as it is: words of letters and digits with the marks of a sentence.
func plain(s string) bool {
	letter := func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }
	for i, r := range s {
		if letter(r) || i > 0 && (r >= '0' && r <= '9' || strings.ContainsRune(" ,.()/'-", r)) {
			continue
		}
		return false
	}
	return strings.Contains(strings.TrimSpace(s), " ") // one word could be true or null
}

// scalar writes a clean line as a YAML scalar. What other agent CLIs expand is escaped.
func scalar(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '$', r == '@', r == '!' && strings.HasPrefix(s[i+1:], "`"):
			fmt.Fprintf(&b, `\x%02x`, r)
		case r != ' ' && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// literal writes a clean line as a value in a step, where a `$` at the start and `${{` would be read as jq.
func literal(s string) (string, error) {
	if !strings.ContainsAny(s, "${}") {
		return scalar(s), nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", err
	}
	return scalar("${{ " + strings.TrimSpace(b.String()) + " }}"), nil
}

// word writes a name as a YAML scalar; quotes keep one that YAML takes for a value of another type.
func word(s string) string {
	switch s {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return `"` + s + `"`
	}
	return s
}

// prose writes a clean line as Markdown that shows just that text, in the middle of a line. Marks that Markdown or
// another agent CLI reads become character references.
func prose(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("&<>`*_[]\\~{}$@#|", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
