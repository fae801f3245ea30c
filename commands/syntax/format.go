package syntax

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/internal/md"
)

// maxLine is the widest line that a value in brackets may make before it is written in lines of its
// own.
const maxLine = 160

// Format prints a file with its blocks and frontmatter in the standard form: two columns a level,
// one space after a colon and a comma. Short values in brackets stay on one line. Keys keep their
// order, scalars their quotes, and prose every byte.
func Format(f *File) []byte {
	return FormatText(f.Src)
}

// FormatText is Format for text. Parts that cannot be read stay as they are.
func FormatText(src []byte) []byte {
	doc, _ := md.Parse(src)
	if doc.Text == nil {
		return src
	}

	lines := bytes.SplitAfter(src, []byte{'\n'})
	var out bytes.Buffer
	next := 1
	// A carriage return that ends no line would be taken for the half of a line's end once its
	// neighbour is gone.
	stray := func(body []byte) bool { return bytes.IndexByte(body, '\r') >= 0 }
	replace := func(first, last int, body []byte) {
		for ; next < first; next++ {
			out.Write(lines[next-1])
		}

		end := "\n"
		if bytes.HasSuffix(lines[max(first-2, 0)], []byte("\r\n")) {
			end = "\r\n"
		}
		out.WriteString(strings.ReplaceAll(string(formatYAML(body)), "\n", end))
		next = last + 1
	}

	first := doc.FrontSpan.Start.Line + 1
	if doc.HasFront && first < doc.FrontSpan.End.Line && !stray(doc.FrontText) {
		replace(first, doc.FrontSpan.End.Line-1, doc.FrontText)
	}
	for i := range doc.Blocks {
		b := &doc.Blocks[i]
		closed := strings.HasPrefix(doc.Line(b.End.Line), "```")
		if isFormatBlock(b) && closed && b.BodyPos.Line < b.End.Line &&
			!bytes.Contains(b.Body, []byte("```")) && !stray(b.Body) {
			replace(b.BodyPos.Line, b.End.Line-1, b.Body)
		}
	}

	for ; next <= len(lines); next++ {
		out.Write(lines[next-1])
	}
	return out.Bytes()
}

// isFormatBlock tells whether a fence is a block of the format in the left margin.
func isFormatBlock(b *md.Block) bool {
	if b.Kind != md.Fence || !b.Fenced || b.Depth > 0 || b.Indent > 0 {
		return false
	}

	fields := strings.Fields(b.Info)
	return len(fields) == 2 && fields[0] == "yaml" && slices.Contains(blockWords, fields[1])
}

// formatYAML formats the lines of one block. What would be read otherwise afterwards is left as it
// is.
func formatYAML(body []byte) []byte {
	n, problems := md.ParseYAML(body, md.Pos{Line: 1, Col: 1})
	if n == nil || len(problems) > 0 || n.Kind != md.Map || n.Style != md.BlockStyle {
		return body
	}

	w := writer{lines: strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")}
	w.block(n)
	out := []byte(w.String())
	again, problems := md.ParseYAML(out, md.Pos{Line: 1, Col: 1})
	if len(problems) > 0 || !reflect.DeepEqual(n.Any(), again.Any()) {
		return body
	}
	return out
}

// writer prints one block.
type writer struct {
	strings.Builder
	lines []string // of the source
}

// block prints the keys of the top level, each with the comments before it. A key whose lines hold
// a comment stays as it is.
func (w *writer) block(n *md.Node) {
	at := 0 // lines printed
	for i, e := range n.Entries {
		first := e.Key.Pos.Line - 1
		last := len(w.lines)
		if i+1 < len(n.Entries) {
			last = n.Entries[i+1].Key.Pos.Line - 1
		}

		w.between(at, first, i == 0)
		end := min(max(e.Value.End.Line, e.Key.End.Line), last)
		style := e.Value.Style
		if e.Value.Kind != md.Scalar || style == md.Literal || style == md.Folded {
			for end > first+1 && strings.TrimSpace(w.lines[end-1]) == "" {
				end--
			}
		}
		if hasComment(w.lines[first:end], e) || !isPrintable(e.Value) {
			for _, line := range w.lines[first:end] {
				w.WriteString(line + "\n")
			}
		} else {
			w.entry(e, 0)
		}
		at = end
	}

	w.between(at, len(w.lines), true)
}

// between prints what stands between two keys: comments, and at most one blank line.
func (w *writer) between(from, to int, edge bool) {
	blank := false
	for i := from; i < to; i++ {
		line := strings.TrimSpace(w.lines[i])
		if line == "" {
			blank = true
			continue
		}
		if blank && (!edge || w.Len() > 0) {
			w.WriteByte('\n')
		}
		w.WriteString(line + "\n")
		blank = false
	}
	if blank && !edge {
		w.WriteByte('\n')
	}
}

// hasComment tells whether the lines of a key hold a comment: a # behind a space that belongs to no
// scalar.
func hasComment(lines []string, e md.Entry) bool {
	if !strings.Contains(strings.Join(lines, "\n"), "#") {
		return false
	}

	marks := strings.Count(strings.Join(lines, "\n"), "#")
	var count func(n *md.Node) int
	count = func(n *md.Node) int {
		sum := strings.Count(n.Source(), "#")
		for _, e := range n.Entries {
			sum += count(e.Key) + count(e.Value)
		}
		for _, item := range n.Items {
			sum += count(item)
		}
		return sum
	}
	return marks != count(e.Key)+count(e.Value)
}

// isPrintable tells whether a value can be printed anew: a scalar over several lines only if it is
// a block scalar.
func isPrintable(n *md.Node) bool {
	if n.Kind == md.Scalar {
		multi := strings.Contains(n.Source(), "\n")
		isBlock := n.Style == md.Literal || n.Style == md.Folded
		return !multi ||
			isBlock && !strings.ContainsAny(strings.SplitN(n.Source(), "\n", 2)[0], "123456789#")
	}
	return !slices.ContainsFunc(n.Entries, func(e md.Entry) bool {
		return strings.Contains(e.Key.Source(), "\n") || e.Key.Kind != md.Scalar ||
			!isPrintable(e.Value)
	}) &&
		!slices.ContainsFunc(n.Items, func(item *md.Node) bool {
			return !isPrintable(item) || item.Absent()
		})
}

// entry prints "key: value" at an indentation.
func (w *writer) entry(e md.Entry, indent int) {
	w.WriteString(strings.Repeat(" ", indent))
	w.pair(e, indent)
}

// pair prints "key: value" behind what is already on the line; indent is the column of the key.
func (w *writer) pair(e md.Entry, indent int) {
	w.WriteString(e.Key.Source() + ":")
	w.value(e.Value, indent+utf8.RuneCountInString(e.Key.Source()+":"), indent)
}

// value prints a value behind its key, which stands at indent, or behind a dash there; used is the
// width up to it.
func (w *writer) value(v *md.Node, used, indent int) {
	switch {
	case v.Absent():
		w.WriteByte('\n')
	case v.Kind == md.Scalar:
		w.scalar(v, indent)
	case fitsOnLine(v, used):
		w.WriteString(" " + flow(v) + "\n")
	default:
		w.WriteByte('\n')
		w.collection(v, indent+2)
	}
}

// fitsOnLine tells whether a map or a list stands on the line of which so much is used.
func fitsOnLine(v *md.Node, used int) bool {
	return len(v.Entries)+len(v.Items) == 0 ||
		v.Style == md.FlowStyle && used+utf8.RuneCountInString(" "+flow(v)) <= maxLine
}

// scalar prints a scalar behind its key; the lines of a block scalar are indented by two columns
// more than the key.
func (w *writer) scalar(v *md.Node, indent int) {
	header, text, isBlock := strings.Cut(v.Source(), "\n")
	w.WriteString(" " + strings.TrimSpace(header) + "\n")
	if !isBlock {
		return
	}

	lines := strings.Split(text, "\n")
	old := -1
	for _, line := range lines {
		width := len(line) - len(strings.TrimLeft(line, " "))
		if width < len(line) && (old < 0 || width < old) {
			old = width
		}
	}

	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			w.WriteByte('\n')
			continue
		}
		w.WriteString(strings.Repeat(" ", indent+2) + line[max(old, 0):] + "\n")
	}
}

// collection prints a map or a list in lines of its own.
func (w *writer) collection(n *md.Node, indent int) {
	for _, e := range n.Entries {
		w.entry(e, indent)
	}
	for _, item := range n.Items {
		w.WriteString(strings.Repeat(" ", indent) + "-")
		if item.Kind != md.Map || fitsOnLine(item, indent+1) {
			w.value(item, indent+1, indent)
			continue
		}
		lead := " " // the first key follows the dash
		for _, e := range item.Entries {
			w.WriteString(lead)
			w.pair(e, indent+2)
			lead = strings.Repeat(" ", indent+2)
		}
	}
}

// flow prints a value on one line.
func flow(n *md.Node) string {
	var parts []string
	switch n.Kind {
	case md.Map:
		for _, e := range n.Entries {
			if e.Value.Absent() {
				parts = append(parts, e.Key.Source()+":")
				continue
			}
			parts = append(parts, e.Key.Source()+": "+flow(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case md.List:
		for _, item := range n.Items {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case md.Scalar:
	}
	return n.Source()
}
