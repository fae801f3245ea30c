package nearest

import (
	"strings"
	"unicode/utf8"
)

// Within reports whether a text contains the letters of a word in order, ignoring case. rank tells
// how well: 0 whole text, 1 prefix, 2 substring, 3 scattered letters from the first on, 4 any
// other.
func Within(word, text string) (rank int, ok bool) {
	word = strings.ToLower(word)
	text = strings.ToLower(text)
	switch {
	case word == text:
		return 0, true
	case strings.HasPrefix(text, word):
		return 1, true
	case strings.Contains(text, word):
		return 2, true
	}

	rest := text
	for _, want := range word {
		at := strings.IndexRune(rest, want)
		if at < 0 {
			return 0, false
		}
		rest = rest[at+utf8.RuneLen(want):]
	}

	if word[0] == text[0] {
		return 3, true
	}
	return 4, true
}
