package record

import (
	"encoding/json"
	"slices"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// FieldKind is the form of a field's value.
type FieldKind string

// The forms of a field's value.
const (
	FieldText FieldKind = "text"
	FieldList FieldKind = "list"
	FieldMap  FieldKind = "map"
)

// Field is one field of a record, in one of three forms.
type Field struct {
	Key   string
	Pos   md.Pos
	Kind  FieldKind
	Items []string // the text, the items of a list, or a map's lines "key: text"
	plain bool     // not a literal: a placeholder in it was not intended
}

// IsPlaceholder reports whether the whole value is the placeholder of a template. A JSON object or
// a link is a value.
func (f *Field) IsPlaceholder() bool {
	value := func(s string) bool {
		return !placeholderForm().MatchString(s) || json.Valid([]byte(s)) ||
			strings.Contains(s, "://")
	}
	return f.plain && len(f.Items) > 0 && !slices.ContainsFunc(f.Items, value)
}

var placeholderForm = lazy.Regexp(`^(?s:\{.*\}|<.*>)$`)

// Value is the field as plain JSON: a string, a list of strings, or a map of strings. In the map
// the last pair of a key counts.
func (f *Field) Value() any {
	switch f.Kind {
	case FieldList:
		out := make([]any, len(f.Items))
		for i, item := range f.Items {
			out[i] = item
		}
		return out
	case FieldMap:
		out := make(map[string]any, len(f.Items))
		for _, pair := range f.Items {
			key, text, _ := SplitPair(pair)
			out[key] = text
		}
		return out
	case FieldText:
	}
	return f.String()
}

// String is the field as one text; "; " joins items.
func (f *Field) String() string {
	return strings.Join(f.Items, "; ")
}

// SplitPair splits a text at the first ": " outside brackets: "SPEC: a.md" is a pair, "SPEC.md
// (last_updated: d)" is not.
func SplitPair(text string) (key, value string, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':':
			if depth != 0 || i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\t' {
				continue
			}
			if key = strings.TrimSpace(text[:i]); key == "" {
				return "", "", false
			}
			return key, strings.TrimSpace(text[i+1:]), true
		}
	}
	return "", "", false
}

// Record is the fields of one record.
type Record struct {
	Fields  []Field
	Elided  bool     // a line "..." stands for fields left out
	Skipped []md.Pos // lines inside the fence that are not fields
	End     int      // index of the line behind the record
}

// Bounds say where a record stands in a text.
type Bounds struct {
	From  int    // index of the first line
	Base  int    // least indentation of the fields
	Fence string // the record ends with this fence; empty: at a blank line
	// Ends reports whether a line ends the record.
	Ends func(line string) bool
}

// Read reads the fields of a record.
func Read(lines []string, in Bounds) Record {
	r := recordReader{
		Bounds: in,
		lines:  lines,
		at:     in.From,
		indent: -1,
	}
	r.read()
	return Record{r.fields, r.elided, r.skipped, r.at}
}

// recordReader parses the fields of one record from the current line.
type recordReader struct {
	Bounds

	lines   []string
	at      int // the current line
	indent  int // of the fields, -1 before the first one
	fields  []Field
	elided  bool
	skipped []md.Pos
}

// maxFields bounds the fields of one record.
const maxFields = 1000

func (r *recordReader) read() {
	inList := false // the last field has several lines: a blank line does not end the record
	for len(r.fields) < maxFields {
		line, indent, ok := r.lineAt(r.at)
		switch {
		case !ok, line == "" && r.Fence == "" && !inList:
			return
		case line == "":
			r.at++
		case strings.HasPrefix(line, "...") && indent >= r.Base:
			r.elided = true
			r.at++
		default:
			f, ok := r.parseField(r.lines[r.at])
			if !ok && r.Fence == "" {
				return
			}
			r.at++
			if !ok {
				r.skip(indent)
				continue
			}
			inList = r.parseValue(&f)
			r.fields = append(r.fields, f)
		}
	}
}

// skip records that the previous line is not a field.
func (r *recordReader) skip(indent int) {
	r.skipped = append(r.skipped, md.Pos{Line: r.at, Col: indent + 1})
}

// lineAt returns a trimmed line of the record and its indentation. It is not ok at the end of the
// record: at the next header, and at the enclosing fence or, if that is unknown, at any fence.
func (r *recordReader) lineAt(n int) (text string, indent int, ok bool) {
	if n >= len(r.lines) {
		return "", 0, false
	}
	line := r.lines[n]
	if r.Ends(line) {
		return "", 0, false
	}
	run, info := FenceRun(line)
	ends := run != "" && (r.Fence == "" || info == "" && ClosesFence(run, r.Fence))
	return strings.TrimSpace(line), IndentWidth(line), !ends
}

// parseField parses "KEY: rest" at the indentation of the record; the rest is the beginning of its
// text.
func (r *recordReader) parseField(line string) (Field, bool) {
	indent := IndentWidth(line)
	if indent < r.Base || r.indent >= 0 && indent != r.indent {
		return Field{}, false
	}
	key, rest, ok := keyOf(line[indent:])
	if !ok {
		return Field{}, false
	}

	r.indent = indent
	at := md.Pos{Line: r.at + 1, Col: indent + 1}
	return Field{
		Key:   key,
		Pos:   at,
		Kind:  FieldText,
		Items: []string{StripComment(rest)},
		plain: true,
	}, true
}

// keyForm matches "KEY: rest" with a key of letters, digits and _ . / - that starts with a letter
// or _.
var keyForm = lazy.Regexp(`^([A-Za-z_][A-Za-z0-9_./-]*):((?:[ \t].*)?)$`)

func keyOf(s string) (key, rest string, ok bool) {
	form := keyForm().FindStringSubmatch(s)
	if form == nil {
		return "", "", false
	}
	// Two spaces before "#" make a comment, so those after the colon are kept.
	rest = strings.TrimSpace(form[2])
	if strings.HasPrefix(rest, "#") && len(form[2])-len(rest) > 1 {
		rest = StripComment(rest)
	}
	return form[1], rest, true
}

// parseValue parses the lines of a field, and reports whether it is a list, a map or a literal.
func (r *recordReader) parseValue(f *Field) bool {
	text := &f.Items[0]
	switch {
	case slices.Contains([]string{"|", "|-", "|+", ">", ">-", ">+"}, *text):
		*text = r.readLiteral()
		f.plain = false
		return true
	case *text != "":
		*text = r.joinContinuation(*text, r.indent)
		return false
	}

	next, indent, found := r.peek()
	item, dash := strings.CutPrefix(next, "-")
	_, _, isPair := SplitPair(next)
	switch {
	case !found:
		return false
	case dash && (item == "" || item[0] == ' ') && indent >= r.indent:
		f.Kind = FieldList
	case indent <= r.indent:
		return false
	case isPair:
		f.Kind = FieldMap
	default:
		*text = r.joinContinuation("", r.indent)
		return false
	}

	f.Items = r.readItems(f.Kind)
	return true
}

// peek moves to the next line, past blank lines only if a deeper list item follows, unless the
// record ends.
func (r *recordReader) peek() (text string, indent int, ok bool) {
	for n := r.at; ; n++ {
		text, indent, ok = r.lineAt(n)
		switch {
		case ok && text == "":
		case !ok, n > r.at && (indent <= r.indent || text[0] != '-'):
			return "", 0, false
		default:
			r.at = n
			return text, indent, true
		}
	}
}

// joinContinuation joins the following deeper lines with single spaces.
func (r *recordReader) joinContinuation(first string, indent int) string {
	parts := []string{first}
	for {
		text, deeper, ok := r.lineAt(r.at)
		if !ok || text == "" || deeper <= indent {
			return strings.TrimSpace(strings.Join(parts, " "))
		}
		if text = StripComment(text); text != "" {
			parts = append(parts, text)
		}
		r.at++
	}
}

// readLiteral returns the following deeper lines without their common indentation.
func (r *recordReader) readLiteral() string {
	var body []string
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		if strings.TrimSpace(line) != "" && IndentWidth(line) <= r.indent {
			break
		}
		body = append(body, line)
		r.at++
	}

	for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
		r.at--
	}

	common := -1
	for _, line := range body {
		if w := IndentWidth(line); strings.TrimSpace(line) != "" && (common < 0 || w < common) {
			common = w
		}
	}

	for i, line := range body {
		body[i] = line[min(max(common, 0), len(line)):]
	}
	return strings.Join(body, "\n")
}

// readItems parses the lines of a list, "- text", or of a map, "key: text", each with deeper
// continuation lines. Blank lines may separate them.
func (r *recordReader) readItems(kind FieldKind) []string {
	wanted := func(text string, indent int) bool {
		if kind == FieldList {
			return indent >= r.indent && (strings.HasPrefix(text, "- ") || text == "-")
		}
		_, _, pair := SplitPair(text)
		return pair && indent > r.indent
	}
	out := []string{}
	for {
		text, indent, ok := r.nextMatching(wanted)
		if !ok {
			return out
		}
		if kind == FieldList {
			text = strings.TrimSpace(text[1:])
		}
		if text = r.joinContinuation(StripComment(text), indent); text != "" {
			out = append(out, text)
		}
	}
}

// nextMatching returns the next non-blank line and consumes it if it has the wanted form. It skips
// elisions, and inside a fence lines that are not fields.
func (r *recordReader) nextMatching(
	wanted func(text string, indent int) bool,
) (text string, indent int, ok bool) {
	for n := r.at; ; n++ {
		text, indent, ok = r.lineAt(n)
		switch {
		case ok && text == "":
		case !ok, n > r.at && r.Fence == "" && indent <= r.indent:
			return "", 0, false
		case strings.HasPrefix(text, "...") && indent >= r.indent:
			r.elided = true
			r.at = n + 1
		case !wanted(text, indent):
			if _, field := r.parseField(r.lines[n]); field || r.Fence == "" {
				return "", 0, false
			}
			r.at = n + 1
			r.skip(indent)
		default:
			r.at = n + 1
			return text, indent, true
		}
	}
}

// Lines splits a text into lines.
func Lines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
}

// IndentWidth is how many blanks and tabs a line begins with.
func IndentWidth(line string) int {
	return len(line) - len(strings.TrimLeft(line, " \t"))
}

// StripComment removes a comment: two or more spaces, "#", then a space or the end. After a single
// space it is data.
func StripComment(s string) string {
	if strings.HasPrefix(s, "# ") || s == "#" {
		return ""
	}
	i := 0
	for {
		at := strings.Index(s[i:], "  #")
		if at < 0 {
			return s
		}
		at += i
		if end := at + len("  #"); end == len(s) || s[end] == ' ' {
			return strings.TrimRight(s[:at], " \t")
		}
		i = at + 1
	}
}

// ClosesFence reports whether a run of fence marks closes the fence that another run opened.
func ClosesFence(r, run string) bool {
	return r[0] == run[0] && len(r) >= len(run)
}

// FenceRun parses a line that opens or closes a fence.
func FenceRun(line string) (run, info string) {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return line[:n], strings.TrimSpace(rest)
		}
	}
	return "", ""
}

// IsNone reports whether a text spells an empty list.
func IsNone(text string) bool {
	return slices.Contains([]string{"", "none", "[]", "-", "n/a"}, strings.ToLower(text))
}

// ParseBracketed parses "[a, 'b']".
func ParseBracketed(text string) ([]any, bool) {
	inner, open := strings.CutPrefix(text, "[")
	inner, end := strings.CutSuffix(inner, "]")
	out := []any{}
	for part := range strings.SplitSeq(inner, ",") {
		if part = strings.Trim(strings.TrimSpace(part), "`\"'"); part != "" {
			out = append(out, part)
		}
	}
	return out, open && end
}
