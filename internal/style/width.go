package style

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// Width is the number of columns of a text on a terminal. East Asian wide characters and most emoji
// count two, combining marks and invisible characters none, a tab four, any other one.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// Prose is Wrap for Markdown; it leaves code, tables and patches unbroken, so that users can copy
// them.
func Prose(text string, columns int) string {
	if columns < minColumns || Width(text) <= columns || IsPatch(text) {
		return text
	}
	doc, _ := md.Parse([]byte(text))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !doc.InCode(i+1) && !strings.HasPrefix(strings.TrimLeft(line, " "), "|") {
			lines[i] = wrapLine(line, columns)
		}
	}
	return strings.Join(lines, "\n")
}

// Wrap breaks lines that are wider than a number of columns at blanks. It indents the continuation
// to the line's last column, which begins after two blanks, or to its first word, in a list after
// the mark. A last column too far to the right goes on the next line, indented by four. It never
// breaks a word.
func Wrap(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if columns >= minColumns {
			lines[i] = wrapLine(line, columns)
		}
	}
	return strings.Join(lines, "\n")
}

// wrapLine does to one line what Wrap says.
func wrapLine(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	words := strings.TrimLeft(line, " ")
	indent := len(line) - len(words)
	if indent > columns/2 {
		return wrapLine("    "+words, columns)
	}

	at := strings.LastIndex(line, "  ") // before the last column
	if at < indent || at <= 0 || line[at-1] == '.' {
		return wrapWords(line, indent+len(listed().FindString(words)), columns)
	}
	last := line[at+2:]
	lastAt := Width(line[:at+2])
	if lastAt <= columns*3/5 && lastAt+widestWord(last) <= columns {
		return wrapWords(line, lastAt, columns)
	}
	below := strings.Repeat(" ", indent+4) + last
	return wrapLine(strings.TrimRight(line[:at], " "), columns) + "\n" + wrapLine(below, columns)
}

// wrapWords breaks a line before each word that does not fit any more. The lines that follow are
// indented.
func wrapWords(line string, indent, columns int) string {
	var b strings.Builder
	at := 0
	for n, word := range joinQuoted(strings.Split(line, " "), columns-indent) {
		switch {
		case n == 0:
		case word != "" && at > indent && at+1+Width(word) > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += Width(word)
	}
	return b.String()
}

// joinQuoted joins the words between two quotes where they fit on a line. It joins those of a line
// for tercet, which users copy, also where they do not.
func joinQuoted(words []string, most int) (out []string) {
	for i := 0; i < len(words); {
		n := 1
		begin := strings.TrimLeft(words[i], "(")
		if begin != "" && strings.ContainsAny(begin[:1], "'`") {
			closes := func(word string) bool {
				return strings.HasSuffix(strings.TrimRight(word, ".,:;?)"), begin[:1])
			}
			at := slices.IndexFunc(words[i:], closes)
			copied := begin[1:] == "tercet"
			if at > 0 && (copied || Width(strings.Join(words[i:i+at+1], " ")) <= most) {
				n = at + 1
			}
		}
		if i > 0 && endsWithCommand(words[i-1], words[i:]) {
			n = len(words) - i
		}
		if n == 1 {
			n = max(n, commandLen(words[i:], most))
		}
		out = append(out, strings.Join(words[i:i+n], " "))
		i += n
	}
	return out
}

// commandLen is how many words at the beginning are a slash command as a shell is given it, such as
// "tercet /plan 1": up to a comma, if they fit on a line. 0: none.
func commandLen(words []string, most int) int {
	if words[0] != "tercet" || len(words) < 2 || !strings.HasPrefix(words[1], "/") {
		return 0
	}
	n := 1 + slices.IndexFunc(words, func(word string) bool {
		return strings.ContainsAny(word[max(0, len(word)-1):], ",;:")
	})
	if n == 0 {
		n = len(words)
	}
	if Width(strings.Join(words[:n], " ")) > most {
		return 0
	}
	return n
}

// endsWithCommand reports whether a text ends with a line for tercet: all words behind a colon, or
// behind "such as".
func endsWithCommand(before string, words []string) bool {
	begins := strings.HasSuffix(before, ":") && words[0] == "tercet" ||
		before == "as" && strings.HasPrefix(words[0], "/")
	return begins && !slices.ContainsFunc(words, func(word string) bool {
		return strings.HasSuffix(word, ",") || strings.HasSuffix(word, ";") || word == "or"
	})
}

// listed is the mark of an element of a list.
var listed = lazy.Regexp(`^([-*+]|[0-9]+[.)]) `)

// widestWord is how wide the widest word of a text is.
func widestWord(text string) int {
	n := 0
	for word := range strings.FieldsSeq(text) {
		n = max(n, Width(word))
	}
	return n
}

// Cut shortens a text to a number of columns; an ellipsis replaces the rest.
func Cut(text string, columns int) string {
	return Sheet{UTF8: true}.Cut(text, columns)
}

// Cut is the function Cut with the sheet's ellipsis.
func (s Sheet) Cut(text string, columns int) string {
	if columns < 1 || Width(text) <= columns {
		return text
	}
	more := s.Mark("…")
	at := 0
	keep := columns - Width(more)
	if keep < 1 {
		more = ""
		keep = columns
	}
	for i, r := range text {
		at += runeWidth(r)
		if at > keep {
			return text[:i] + more
		}
	}
	return text
}

// Around is Cut for a line in which byte at must stay visible, and gives its column.
func Around(line string, at, columns int) (shown string, column int) {
	over := Width(line[:at]) - columns/2
	if columns < minColumns || Width(line) <= columns || over <= 0 {
		return Cut(line, columns), Width(line[:at])
	}
	for i, r := range line {
		if over < 0 {
			at -= i
			line = "…" + line[i:]
			break
		}
		over -= runeWidth(r)
	}
	return Cut(line, columns), 1 + Width(line[len("…"):len("…")+at])
}

// minColumns is what a line can be broken in; where less is told, nothing is known.
const minColumns = 20

// Fit reduces column widths until all columns, with two blanks between, fit into a total. The
// widest lose first; the first column, the row's name, loses nothing. ok is false if it had to cut.
func Fit(widths []int, columns int) (fits bool) {
	const least = 6
	for fits = true; columns >= minColumns; fits = false {
		sum := -2
		widest := len(widths) - 1
		for i, w := range widths {
			sum += w + 2
			if i > 0 && w > widths[widest] {
				widest = i
			}
		}
		if sum <= columns {
			return fits
		}
		if widest < 1 || widths[widest] <= least {
			return false
		}
		widths[widest]--
	}
	return true
}

func runeWidth(r rune) int {
	switch {
	case r == '	':
		return 4
	case r < utf8.RuneSelf:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case slices.ContainsFunc(wide, func(p [2]rune) bool { return r >= p[0] && r <= p[1] }):
		return 2
	}
	return 1
}

// wide are the characters that take two columns: those with the Unicode property East Asian Width W
// and F, rounded to whole blocks.
var wide = [][2]rune{
	{0x1100, 0x115F}, // Hangul Jamo, leading
	{0x2E80, 0x303E}, // CJK radicals to CJK symbols
	{0x3041, 0xA4CF}, // kana to Yi
	{0xA960, 0xA97F}, // Hangul Jamo Extended-A
	{0xAC00, 0xD7A3}, // Hangul syllables
	{0xF900, 0xFAFF}, // CJK compatibility ideographs
	{0xFE30, 0xFE6F}, // CJK compatibility forms
	{0xFF01, 0xFF60}, // fullwidth forms
	{0xFFE0, 0xFFE6},
	{0x1F300, 0x1F64F}, // pictographs, emoticons
	{0x1F680, 0x1F6FF},
	{0x1F900, 0x1FAFF},
	{0x20000, 0x3FFFD}, // CJK extensions
}
