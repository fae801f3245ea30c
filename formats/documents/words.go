package documents

import (
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// labelForm matches a labelled line; the label is bold or plain, at most 40 characters.
var labelForm = lazy.Regexp(
	"^(?:\\*\\*([^*_]{1,40})\\*\\*|__([^*_]{1,40})__|([^`*_\\[\\]<>(){}\"':]{1,40}):(?: |$))(.*)$")

// splitLabel parses a labelled line: "**Label**: value", "**Label:** value", "**Label**" or "Label:
// value". A plain label counts only if its value follows ": " or is missing.
func splitLabel(line string) (label, value string, ok bool) {
	form := labelForm().FindStringSubmatch(line)
	if form == nil {
		return "", "", false
	}

	label, inside := strings.CutSuffix(strings.TrimSpace(form[1]+form[2]+form[3]), ":")
	value, outside := strings.CutPrefix(strings.TrimSpace(form[4]), ":")

	label = strings.TrimSpace(label)
	if label == "" || form[3] == "" && value != "" && !inside && !outside {
		return "", "", false
	}
	return label, strings.TrimSpace(value), true
}

// matchName returns the name in a list that a text spells, ignoring case, spaces and "and" for "&";
// else the text itself.
func matchName(text string, names []string) (name string, known bool) {
	got := normalizeSpelling(text)
	for _, n := range names {
		if normalizeSpelling(n) == got {
			return n, true
		}
	}
	return text, false
}

func normalizeSpelling(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(s), "&", " & "), "/", " / ")
	words := strings.Fields(s)
	for i, w := range words {
		if w == "and" {
			words[i] = "&"
		}
	}
	return strings.Trim(strings.Join(words, " "), " :")
}

// isPlaceholder reports whether a line is only a placeholder. Square brackets are data where a
// value may be a status mark.
func isPlaceholder(line string, brackets bool) bool {
	line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "*_`"))
	return placeForm().MatchString(line) || brackets && bracketForm().MatchString(line)
}

var (
	placeForm   = lazy.Regexp(`^(?i:\{[^{}]*\}|<[^<>]*>|(?:tbd|tba|todo|fixme|…)?[.: ]*)$`)
	bracketForm = lazy.Regexp(`^\[[^\[\]]*\]$`)
)

// hasContent reports whether blocks have a line that is neither blank, comment, heading nor
// placeholder.
func hasContent(blocks []md.Block) bool {
	for i := range blocks {
		b := &blocks[i]
		text := withoutComments(b.Raw)
		switch b.Kind {
		case md.Fence:
			if strings.TrimSpace(string(b.Body)) != "" {
				return true
			}
			continue
		case md.Item:
			if b.Checked != nil {
				text = withoutComments(b.Text)
			}
		case md.Heading, md.Quote, md.Rule:
			continue
		case md.HTML, md.Paragraph:
		}
		for line := range strings.Lines(text) {
			if !isPlaceholder(line, true) {
				return true
			}
		}
	}
	return false
}

var comments = lazy.Regexp(`(?s)<!--.*?(?:-->|$)`)

func withoutComments(s string) string {
	return comments().ReplaceAllString(s, "")
}
