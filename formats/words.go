package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"tercet/internal/jsonx"
	"tercet/internal/lazy"
	"tercet/internal/md"
)

// placeOf returns the position of an offset; columns count bytes.
func placeOf(src []byte, offset int) Pos {
	head := src[:min(max(offset, 0), len(src))]
	return Pos{
		Line: 1 + bytes.Count(head, []byte{'\n'}),
		Col:  len(head) - bytes.LastIndexByte(head, '\n'),
	}
}

// syntaxError returns position and message of an error of package jsonx.
func syntaxError(src []byte, err error) (at Pos, msg string) {
	if syntax, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		return placeOf(src, syntax.Offset), syntax.Msg
	}
	return Pos{Line: 1, Col: 1}, err.Error()
}

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

// canonical returns the name in a list that a text spells, ignoring case, spaces and "and" for "&";
// else the text itself.
func canonical(text string, names []string) (name string, known bool) {
	got := spelling(text)
	for _, n := range names {
		if spelling(n) == got {
			return n, true
		}
	}
	return text, false
}

func spelling(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(s), "&", " & "), "/", " / ")
	words := strings.Fields(s)
	for i, w := range words {
		if w == "and" {
			words[i] = "&"
		}
	}
	return strings.Trim(strings.Join(words, " "), " :")
}

// placeholder reports whether a line is only a placeholder. Square brackets are data where a value
// may be a status mark.
func placeholder(line string, brackets bool) bool {
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
			if !placeholder(line, true) {
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

// TypeName is the JSON type of a plain value.
func TypeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int, int64, float64, *big.Int, json.Number:
		return "number"
	case map[string]any:
		return "object"
	case []any, []string, []int, []map[string]any:
		return "array"
	}
	return fmt.Sprintf("a value of Go type %T", value)
}
