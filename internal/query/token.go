package query

import (
	"slices"
	"strings"

	"tercet/internal/lazy"
)

// token is a name or a variable in the source of a query. gojq's tree has no positions, so the
// names of the tree are looked up among the tokens, in order.
type token struct {
	// with the $ of a variable or the @ of a format; a dot at the start of a path of the input
	text   string
	offset int
}

// inCode is what code is made of: space, a comment, a format, a number, a name or a variable, a
// path's dots, any other byte. A comment ends at a line break without a backslash before it.
var inCode = lazy.Regexp(`^(?:[ \t\r\n]+|#(?:\\\r\n|\\(?s:.)|[^\r\n\\])*\\?|@\w*|` +
	`\d[\d.]*(?:[eE][-+]?\d*)?|\$?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)?|\.\.|\.\w*|(?s:.))`)

// inString is a string, from its inside, up to its end or its next interpolation.
var inString = lazy.Regexp(`^(?:[^"\\]|\\[^(])*(?:"|\\\()`)

// keywords are the words that are followed by a term.
var keywords = []string{
	"and", "or", "if", "then", "elif", "else", "try", "catch", "reduce", "foreach", "as",
}

// tokens returns the names, keywords, formats and variables of src in order. Fields (.name),
// strings and comments are left out, but not the code in interpolations. unclosed is the offset of
// an unterminated string, or -1.
func tokens(src string) (out []token, unclosed int) {
	// number of open parentheses of the interpolation, for each enclosing string
	var open []int
	term := false // the preceding token ends a term
	for i := 0; i < len(src); {
		word := inCode().FindString(src[i:])
		at := i
		i += len(word)
		text := false
		n := len(open) - 1
		c := word[0]
		switch {
		case strings.ContainsRune(" \t\r\n#", rune(c)):
			continue
		case c == '"':
			text = true
		case c == '(' && n >= 0:
			open[n]++
		case c == ')' && n >= 0 && open[n] > 0:
			open[n]--
		case c == ')' && n >= 0:
			open = open[:n]
			text = true
		case c == '.' && !term && word != "..":
			if len(word) > 1 && isDigit(word[1]) {
				break // a number
			}
			out = append(out, token{text: ".", offset: at})
		case c == '@', c == '$' && len(word) > 1, isNameStart(c):
			out = append(out, token{text: word, offset: at})
		}
		last := word[len(word)-1]
		term = strings.IndexByte(`)]}?"`, last) >= 0 || word[0] == '.' || word[0] == '@' ||
			(isNameStart(last) || isDigit(last)) && !slices.Contains(keywords, word)
		if text {
			rest := inString().FindString(src[i:])
			if rest == "" {
				return out, i - strings.Count(word, `"`)
			}
			i += len(rest)
			if term = rest[len(rest)-1] == '"'; !term {
				open = append(open, 0)
			}
		}
	}

	if len(open) > 0 {
		return out, len(src)
	}
	return out, -1
}

func isDigit(c byte) bool {
	return '0' <= c && c <= '9'
}

func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}
