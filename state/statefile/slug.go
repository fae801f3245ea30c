package statefile

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// MaxSlug bounds a slug, in bytes.
const MaxSlug = 60

// Slug turns a title into a name for folder and branch: compatibility decomposition, then [a-z0-9_]
// with one underscore for every run of other characters. It has at most MaxSlug bytes, and is
// "task" if nothing is left. Slug(Slug(s)) == Slug(s).
func Slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(title) {
		switch {
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		case '\u0300' <= r && r <= '\u036f', r == '\'', r == '’':
			continue
		default:
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
		if b.Len() > MaxSlug {
			break
		}
	}

	out := b.String()
	if len(out) > MaxSlug {
		out = out[:MaxSlug]
		if at := strings.LastIndexByte(out, '_'); at > MaxSlug/2 {
			out = out[:at]
		}
		out = strings.TrimRight(out, "_")
	}
	if out == "" {
		return "task"
	}
	return out
}
