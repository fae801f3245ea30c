package argspec

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is one word of a line.
type Word struct {
	Text       string // without quotes and escapes
	Start, End int    // byte range in the line
	Quoted     bool   // it began with a quote, so it is not a flag
}

// Split splits a line into words at white space. A quote opens at the start of a word or after '=':
// " and ' alike, and the curly pairs “” and ‘’. A backslash escapes ", ', \ and space inside
// quotes, and a " or ' outside of them; elsewhere it is a plain character. Split expands nothing
// and knows no comments. The error is a *UsageError with places in raw.
func Split(raw string) ([]Word, error) {
	var words []Word
	for at := skipSpace(raw, 0); at < len(raw); {
		w, bad := lex(raw, at)
		if bad != nil {
			return nil, bad
		}
		words = append(words, w)
		at = skipSpace(raw, w.End)
	}
	return words, nil
}

// Join joins words into a line that Split splits into the same words; it quotes where needed.
func Join(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}

func quote(word string) string {
	if word != "" {
		w, err := lex(word, skipSpace(word, 0))
		if err == nil && w.End == len(word) && w.Text == word {
			return word
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

func skipSpace(s string, at int) int {
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += size
	}
	return at
}

// lex reads the word that starts at a byte which is no space.
func lex(raw string, start int) (Word, *UsageError) {
	w := Word{Start: start}
	text := make([]byte, 0, 16)
	at := start
	for at < len(raw) {
		r, size := utf8.DecodeRuneInString(raw[at:])
		if unicode.IsSpace(r) {
			break
		}
		if end := closing(r); end != 0 && (at == start || raw[at-1] == '=') {
			inside, after, ok := quoted(raw, at+size, end)
			if !ok {
				return w, &UsageError{
					Message: "missing closing quote for " + quoteUnprintable(string(r)),
					Pos:     at,
					End:     at + size,
				}
			}
			w.Quoted = w.Quoted || at == start
			text = append(text, inside...)
			at = after
			continue
		}
		if r == '\\' && at+1 < len(raw) && (raw[at+1] == '"' || raw[at+1] == '\'') {
			text = append(text, raw[at+1])
			at += 2
			continue
		}
		text = append(text, raw[at:at+size]...)
		at += size
	}

	w.Text = string(text)
	w.End = at
	return w, nil
}

// closing is the quote that ends what r opens, 0 if r opens nothing.
func closing(r rune) rune {
	switch r {
	case '"', '\'':
		return r
	case '“':
		return '”'
	case '‘':
		return '’'
	}
	return 0
}

// quoted reads up to the closing quote and gives the place after it.
func quoted(raw string, at int, end rune) (text []byte, after int, ok bool) {
	for at < len(raw) {
		r, size := utf8.DecodeRuneInString(raw[at:])
		if r == end {
			return text, at + size, true
		}
		if r == '\\' && at+1 < len(raw) && strings.IndexByte(`"'\ `, raw[at+1]) >= 0 {
			at++
			size = 1
		}
		text = append(text, raw[at:at+size]...)
		at += size
	}
	return nil, at, false
}
