package offline

import (
	"cmp"
	_ "embed" // for the stop words
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/internal/md"
	"tercet/internal/order"
)

// wordKind says how a search word was written in the task, which is how much it tells about the
// place to look at.
type wordKind int

// The kinds of search words, the most specific last.
const (
	plainWord  wordKind = iota + 1 // a word of prose
	quotedText                     // text in quotes or backticks that is no identifier
	identifier                     // Name, name_of, nameOf, name()
	pathWord                       // a file or folder
)

// String is the kind in reports.
func (k wordKind) String() string {
	return wordKinds[k]
}

var wordKinds = [...]string{"nothing", "word", "quoted text", "identifier", "path"}

// searchWord is one thing to look for.
type searchWord struct {
	Text  string
	Kind  wordKind
	Title bool // it stands in the title, which says what it is about
}

// The limits of search words: their length in bytes, and how many are tried.
const (
	minPlain   = 3
	minName    = 3
	minQuoted  = 3
	maxWord    = 120
	maxWords   = 80
	quoteMarks = "`\"“”"
)

// searchWords reads the search words out of a title and a description: paths, identifiers and
// quoted text, and words of prose except stop words. Fenced code is left out, because it says what
// to do, not where. The order is by kind, then by place. A word stands once, with the kind that
// tells most. The parts of paths, identifiers and quoted texts count as words of prose too.
func searchWords(title, description string) []searchWord {
	c := collector{at: map[string]int{}, stop: strings.Fields(stopWords)}
	c.title = true
	c.addText(title)
	c.title = false
	c.addText(withoutFences(description))

	for _, w := range slices.Clone(c.list) {
		text := w.Text
		c.title = w.Title
		if w.Kind == pathWord {
			text = strings.TrimSuffix(text, path.Ext(text))
		}
		if w.Kind != plainWord {
			c.addPlain(text)
		}
	}

	order.Stable(c.list, func(a, b searchWord) int {
		return cmp.Compare(b.Kind, a.Kind)
	})
	return c.list[:min(len(c.list), maxWords)]
}

// collector gathers words in the order of their first appearance.
type collector struct {
	title bool // what is read now
	list  []searchWord
	at    map[string]int // place in list
	stop  []string       // words of prose that tell nothing
}

func (c *collector) add(text string, kind wordKind) {
	if text == "" || len(text) > maxWord {
		return
	}

	key := text
	if kind == plainWord {
		text = strings.ToLower(text)
		key = " " + string(stem([]byte(text)))
	}

	if i, ok := c.at[key]; ok {
		c.list[i].Kind = max(c.list[i].Kind, kind)
		return
	}
	c.at[key] = len(c.list)
	c.list = append(c.list, searchWord{text, kind, c.title})
}

// addText takes the quoted pieces out of s, reads each of them and then the prose between them.
func (c *collector) addText(s string) {
	var prose strings.Builder
	for s != "" {
		open := strings.IndexAny(s, quoteMarks)
		if open < 0 {
			break
		}

		mark, size := utf8.DecodeRuneInString(s[open:])
		inner, rest, ok := cutQuote(s[open+size:], mark)
		if !ok {
			prose.WriteString(s[:open] + " ")
			s = s[open+size:]
			continue
		}

		prose.WriteString(s[:open] + " \x00 ") // the mark keeps words on both sides apart
		c.addQuoted(inner, mark == '`')
		s = rest
	}
	prose.WriteString(s)

	for _, token := range strings.FieldsFunc(prose.String(), func(r rune) bool {
		return unicode.IsSpace(r) || r == 0
	}) {
		c.addToken(token)
	}
}

// cutQuote splits s, which begins after an opening mark, at the closing one. A quote does not go
// over a line's end.
func cutQuote(s string, mark rune) (inner, rest string, ok bool) {
	end := string(mark)
	if mark == '“' {
		end = "”"
	}
	inner, rest, ok = strings.Cut(s, end)
	return inner, rest, ok && !strings.Contains(inner, "\n")
}

// addQuoted reads the inside of quotes. A single path or identifier is that; anything else is a
// text to look for, with the identifiers in it.
func (c *collector) addQuoted(inner string, code bool) {
	inner = strings.TrimSpace(inner)
	if inner == "" {
		return
	}
	if isPath(inner) {
		c.add(inner, pathWord)
		return
	}

	if name := strings.TrimSuffix(inner, "()"); isDotted(name) {
		c.addDotted(name)
		return
	}

	alone := code && strings.Trim(inner, quoteMarks) != inner &&
		len(strings.FieldsFunc(inner, func(r rune) bool {
			return strings.ContainsRune(quoteMarks, r)
		})) == 1
	if len(inner) >= minQuoted && !alone {
		c.add(inner, quotedText)
	}
	if !code {
		return
	}

	c.addText(strings.ReplaceAll(inner, "`", " "))
	for _, name := range identifiers(inner) {
		if len(name) >= minName {
			c.addDotted(name)
		}
	}
}

// addToken reads one word of prose without the punctuation around it.
func (c *collector) addToken(token string) {
	call := strings.Contains(token, "()")
	token = strings.TrimFunc(token, func(r rune) bool {
		return notInName(r) && r != '/' && r != '.'
	})
	token = strings.TrimRight(token, ".")
	token = strings.TrimSuffix(strings.TrimSuffix(token, "'s"), "’s")

	switch {
	case isPath(token):
		c.add(token, pathWord)
	case len(token) >= minName && isDotted(token) && (call || looksLikeCode(token)):
		c.addDotted(token)
	default:
		c.addPlain(token)
	}
}

// addPlain adds the words that a text is made of.
func (c *collector) addPlain(text string) {
	for _, name := range strings.FieldsFunc(text, notInName) {
		for part := range splitName(name) {
			if len(part) >= minPlain && isName(part) &&
				!slices.Contains(c.stop, strings.ToLower(part)) {
				c.add(part, plainWord)
			}
		}
	}
}

// addDotted adds an identifier; of pages.Expand the last part is what a search has to find.
func (c *collector) addDotted(name string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		c.add(name, quotedText)
		name = name[i+1:]
	}
	c.add(name, identifier)
}

// identifiers lists the dotted names in a piece of code, those in quotes excepted.
func identifiers(code string) []string {
	var out []string
	for i, piece := range strings.Split(code, `"`) {
		if i%2 == 1 {
			continue
		}
		for _, name := range strings.FieldsFunc(piece, func(r rune) bool {
			return notInName(r) && r != '.'
		}) {
			if name = strings.Trim(name, "."); isDotted(name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// isName tells whether s has the form of an identifier.
func isName(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return s != "" && !unicode.IsDigit(first) && !strings.ContainsFunc(s, notInName)
}

// isDotted tells whether s is an identifier or several joined by dots.
func isDotted(s string) bool {
	return !slices.ContainsFunc(strings.Split(
		s, ".",
	), func(part string) bool { return !isName(part) })
}

// looksLikeCode tells identifiers from words of prose. The sign is an underscore, a digit, a
// capital after a small letter, or a dot between names longer than those of "e.g".
func looksLikeCode(s string) bool {
	if first, rest, dotted := strings.Cut(s, "."); dotted {
		return len(first) > 1 && len(rest) > 1
	}
	lower := false
	for i, r := range s {
		switch {
		case r == '_' || unicode.IsDigit(r):
			return true
		case i > 0 && unicode.IsUpper(r) && lower:
			return true
		}
		lower = lower || unicode.IsLower(r)
	}
	return false
}

// isPath tells whether s names a file or a folder: a slash between names, or a name with a short
// extension such as main.go. Addresses of web pages are none.
func isPath(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\"'`()<>{}[]|*?,;=&$!#%^") ||
		strings.Contains(s, "://") ||
		strings.Contains(s, "//") {
		return false
	}

	if strings.Contains(s, "/") {
		return strings.Trim(s, "/.") != "" && strings.ContainsFunc(s, unicode.IsLetter) &&
			(strings.Contains(s, ".") || strings.Count(strings.Trim(s, "/"), "/") > 1 ||
				strings.HasSuffix(s, "/"))
	}

	i := strings.LastIndexByte(s, '.')
	return i > 0 && slices.Contains(strings.Fields(extensions), s[i+1:])
}

// extensions are the endings by which a name without a slash is taken for a file and not for a
// dotted identifier.
const extensions = "bash c cc cfg conf cpp cs css csv go h hpp html ini java js json jsx kt lean " +
	"lock lua md mod php " +
	"pl proto py rb rs scala sh sql sum swift tex tmpl toml ts tsx txt vue xml yaml yml zig"

// withoutFences drops the fenced code of a markdown text.
func withoutFences(s string) string {
	doc, _ := md.Parse([]byte(s))
	lines := strings.SplitAfter(s, "\n")
	for _, b := range slices.Backward(doc.Blocks) {
		if b.Kind == md.Fence && b.Fenced {
			lines = slices.Delete(lines, b.Pos.Line-1, min(b.End.Line, len(lines)))
		}
	}
	return strings.Join(lines, "")
}

// stopWords are words of prose that say nothing about the place of a defect.
//
//go:embed stopwords.txt
var stopWords string
