package prompt

import (
	"slices"
	"strings"
	"unicode"
)

// fencedMaterial wraps a text from another author: a line with its origin, then the text in a
// fence. The fence is longer than any run of backticks inside, so nothing in the text ends it.
func fencedMaterial(from, info, text string) string {
	text = strings.Trim(plainText(text), "\n")
	longest := 0
	run := 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return from + "\n\n" + fence + info + "\n" + text + "\n" + fence
}

// plainText is text that holds no other line break than \n and no control character that could hide
// something.
func plainText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f':
			return '\n'
		case unicode.IsControl(r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// inline is a name or a value for the middle of a line: on one line and without the mark that would
// end its quotes.
func inline(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(plainText(text)), " "), "`", "'")
}

// containFacet keeps the text of a facet in its section. It closes an open fence, and puts a
// backslash before a first-level heading that begins with the name of a facet.
func containFacet(text string) string {
	text = strings.Trim(plainText(text), "\n")
	var out strings.Builder
	open := ""
	for line := range strings.SplitSeq(text, "\n") {
		run, bare := fenceOf(line)
		switch {
		case open == "" && run != "":
			open = run
		case open != "" && bare && run != "" && run[0] == open[0] && len(run) >= len(open):
			open = ""
		case open == "" && opensSection(line):
			line = `\` + strings.TrimLeft(line, " ")
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	if open != "" {
		out.WriteString(open)
	}
	return strings.TrimRight(out.String(), "\n")
}

// fenceOf gives the run of marks that a line starts with, if it opens or closes a fence; bare tells
// that nothing follows.
func fenceOf(line string) (run string, bare bool) {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 || body == "" || body[0] != '`' && body[0] != '~' {
		return "", false
	}
	rest := strings.TrimLeft(body, body[:1])
	n := len(body) - len(rest)
	if n < 3 || body[0] == '`' && strings.Contains(rest, "`") {
		return "", false
	}
	return body[:n], strings.TrimSpace(rest) == ""
}

// opensSection tells a line that reads as the heading of a facet: "# Policy", and also "# Policy of
// the house" or "# **Policy**:".
func opensSection(line string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok || strings.HasPrefix(rest, "#") {
		return false
	}
	words := strings.FieldsFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r)
	})
	if len(words) == 0 {
		return false
	}
	return slices.ContainsFunc(Names(), func(name string) bool {
		return strings.EqualFold(name, words[0])
	})
}

// blockQuote puts the user's words into a quotation: every line starts with its mark, so that none
// is a heading or a fence.
func blockQuote(text string) string {
	lines := strings.Split(strings.Trim(plainText(text), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("> "+line, " ")
	}
	return strings.Join(lines, "\n")
}
