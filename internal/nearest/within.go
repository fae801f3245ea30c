package nearest

import (
	"strings"
	"unicode/utf8"
)

// Within tells whether the letters of a word stand in a text in their order, whatever their case, and how well they
// fit: 0 for the whole text, 1 for its beginning, 2 for a part in one piece, 3 for letters of which the first begins
// it, 4 for anything else.
func Within(word, text string) (rank int, ok bool) {
	word, text = strings.ToLower(word), strings.ToLower(text)
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
