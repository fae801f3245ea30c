package templates

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/internal/lazy"
)

const (
	// characters of a description, as the formats of commands and subagents have it
	maxDescription = 120
	maxPurpose     = 2000 // characters of a purpose
	maxName        = 32
)

// Patterns of names, Windows device names, and lines that need no quotes in YAML.
var (
	nameForm   = lazy.Regexp(`^[a-z][a-z0-9-]*$`)
	deviceForm = lazy.Regexp(`^(?:con|prn|aux|nul|(?:com|lpt)[0-9])$`)
	argForm    = lazy.Regexp(`^[a-z][a-z0-9_]*$`)
	plainForm  = lazy.Regexp(`^[A-Za-z][A-Za-z0-9 ,.()/'-]*$`)
)

// ValidName reports whether a command or a subagent may have the name. It must be a valid file
// name, also on Windows with its device names.
func ValidName(s string) bool {
	return nameForm().MatchString(s) && len(s) <= maxName && !deviceForm().MatchString(s)
}

// cleanLine converts a text to one line. Control characters and runs of blanks become one blank. It
// drops bidirectional controls and characters that YAML does not allow.
func cleanLine(s string) string {
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

// shorten cuts a line to a number of characters, at a blank if one is near.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	s = string([]rune(s)[:limit-1])
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ") + "…"
}

// yamlScalar writes a clean line as a YAML scalar. It escapes what other agent CLIs expand.
func yamlScalar(s string) string {
	// a single word could be true or null
	if plainForm().MatchString(s) && strings.Contains(strings.TrimSpace(s), " ") {
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

// yamlLiteral writes a clean line as a value in a step, where a leading `$` and `${{` would be read
// as jq.
func yamlLiteral(s string) string {
	if !strings.ContainsAny(s, "${}") {
		return yamlScalar(s)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) //nolint:errcheck // a string always encodes
	return yamlScalar("${{ " + strings.TrimSpace(b.String()) + " }}")
}

// yamlWord writes a name as a YAML scalar, in quotes if YAML would give it another type.
func yamlWord(s string) string {
	if slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, s) {
		return `"` + s + `"`
	}
	return s
}

// escapeMarkdown writes a clean line as Markdown that shows exactly that text, in the middle of a
// line. Marks of Markdown or other agent CLIs become character references.
func escapeMarkdown(s string) string {
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
