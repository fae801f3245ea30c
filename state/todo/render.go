package todo

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/huge"
	"tercet/state/statefile"
)

// Render writes the tasks as markdown, grouped by status. It keeps the user's notes in the old
// file at their place: after the title, a heading, a task, or at the end. The first line has the
// serial and the SHA-256 of the rest, which reveals hand edits.
func Render(doc *statefile.Doc, old []byte) []byte {
	b := bytes.NewBuffer(huge.List[byte](lineSizeHint * len(doc.Tasks)))
	var left []todoPiece
	if len(old) > 0 {
		left = reanchor(doc, parseTodo(old).notes())
	}

	take := func(section formats.TaskStatus, task int) []string {
		var out []string
		left = slices.DeleteFunc(left, func(p todoPiece) bool {
			if p.trailing || p.section != section || p.task != task {
				return false
			}
			out = append(out, p.raw)
			return true
		})
		return out
	}

	paragraph := func(text string) {
		if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") {
			text = "<!-- a note -->\n" + text // else it would belong to the task above
		}
		b.WriteString("\n" + text + "\n")
	}

	b.WriteString("# Tasks\n")
	for _, text := range take("", 0) {
		paragraph(text)
	}

	if len(doc.Tasks) == 0 {
		b.WriteString("\nNone.\n")
	}
	groups := map[formats.TaskStatus][]*formats.Task{}
	for i := range doc.Tasks {
		t := &doc.Tasks[i]
		groups[t.Status] = append(groups[t.Status], t)
	}

	for _, s := range formats.TaskStatuses() {
		list := groups[s]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b *formats.Task) int {
			return a.Number - b.Number
		})
		fmt.Fprintf(b, "\n## %s\n", heading(s))
		for _, text := range take(s, 0) {
			paragraph(text)
		}
		b.WriteByte('\n')
		for _, t := range list {
			writeTask(b, t)
			if len(left) > 0 {
				for _, text := range take("", t.Number) {
					b.WriteString(text + "\n")
				}
			}
		}
	}

	for _, p := range left {
		paragraph(p.raw)
	}
	head := fmt.Sprintf("<!-- tercet: serial %d sha256 %s -->\n",
		doc.Serial, formats.Sum(b.Bytes()))
	return append([]byte(head), b.Bytes()...)
}

// lineSizeHint is the typical size of a task in TODO.md, in bytes.
const lineSizeHint = 96

// reanchor moves notes whose task or section is gone to the place after the title, which belongs to
// neither.
func reanchor(doc *statefile.Doc, notes []todoPiece) []todoPiece {
	if len(notes) == 0 {
		return nil
	}
	tasks := map[int]bool{0: true}                    // 0: of no task
	sections := map[formats.TaskStatus]bool{"": true} // empty: in no section

	for i := range doc.Tasks {
		tasks[doc.Tasks[i].Number] = true
		sections[doc.Tasks[i].Status] = true
	}

	out := slices.Clone(notes)
	for i := range out {
		if !tasks[out[i].task] || !sections[out[i].section] {
			out[i].task = 0
			out[i].section = ""
		}
	}
	return out
}

func heading(s formats.TaskStatus) string {
	words := strings.ReplaceAll(s.String(), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

func writeTask(b *bytes.Buffer, t *formats.Task) {
	b.WriteString("- [ ] ")
	if t.Status.Terminal() {
		b.Truncate(b.Len() - len(" ] "))
		b.WriteString("x] ")
	}

	b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(t.Number), 10))
	b.WriteString(". ")
	writeTaskText(b, t)
	b.WriteByte('\n')

	if t.BlockedReason != "" {
		b.WriteString("  - blocked: " + escapeLine(t.BlockedReason) + "\n")
	}
	for i := range t.Artifacts {
		if a := &t.Artifacts[i]; !a.Deleted && a.Type.IsDocument() {
			b.WriteString("  - " + string(a.Type) + ": " + escapeLine(a.Path) + "\n")
		}
	}
}

// writeTaskText writes the text of a task's line.
func writeTaskText(b *bytes.Buffer, t *formats.Task) {
	b.WriteString(escapeLine(t.Title))

	before := " ("
	for _, n := range [...]string{t.Language, t.Priority, t.Effort} {
		if n != "" {
			b.WriteString(before)
			b.WriteString(escapeLine(n))
			before = ", "
		}
	}
	if before == ", " {
		b.WriteByte(')')
	}

	if t.Parent != nil {
		b.WriteString(", part of ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(*t.Parent), 10))
	}

	before = ", after "
	for _, n := range t.Dependencies {
		b.WriteString(before)
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(n), 10))
		before = ", "
	}
}

// escapeLine puts a text on one line and keeps it from being read as HTML.
func escapeLine(s string) string {
	if needsNoEscape(s) {
		return s
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<", "\\<")
}

// needsNoEscape reports whether escapeLine leaves a text unchanged. It may report false where it
// could report true.
func needsNoEscape(s string) bool {
	space := true // a space here would be collapsed
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ':
			if space {
				return false
			}
			space = true
		case c < ' ', c == '<', c >= 0x80:
			return false
		default:
			space = false
		}
	}
	return !space || s == ""
}

// parseHead reads the first line of TODO.md.
func parseHead(src []byte) (serial uint64, sha string, body []byte, ok bool) {
	line, body, found := bytes.Cut(src, []byte("\n"))
	if !found {
		return 0, "", nil, false
	}

	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // added by an editor
	rest, ok := strings.CutPrefix(
		string(bytes.TrimSuffix(line, []byte("\r"))),
		"<!-- tercet: serial ",
	)

	rest, end := strings.CutSuffix(rest, " -->")
	word, sha, cut := strings.Cut(rest, " sha256 ")

	n, err := strconv.ParseUint(word, 10, 64)
	if !ok || !end || !cut || err != nil {
		return 0, "", nil, false
	}
	return n, sha, body, true
}

// Version returns the serial of the state that a TODO.md shows. intact is false if the file was
// edited by hand.
func Version(src []byte) (serial uint64, intact bool) {
	serial, sha, body, ok := parseHead(src)
	return serial, ok && isUnedited(sha, body)
}

// isUnedited reports whether a body is as it was rendered. A checkout that converted line breaks to
// those of Windows is not an edit.
func isUnedited(sha string, body []byte) bool {
	return sha == formats.Sum(body) || bytes.IndexByte(body, '\r') >= 0 &&
		sha == formats.Sum(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
}

// Merge merges two versions of TODO.md, which is rendered again anyway. It returns the one with
// changed hand-written parts, or the newer one if there are none. ok is false if both have some.
func Merge(base, ours, theirs []byte) ([]byte, bool) {
	was := parseTodo(base)
	a := parseTodo(ours)
	b := parseTodo(theirs)

	byHand := func(t *todoText) string {
		if !t.intact {
			return string(t.bytes())
		}
		var out strings.Builder
		for _, n := range t.notes() {
			out.WriteString(n.raw + "\n\n")
		}
		return out.String()
	}

	x := byHand(a)
	y := byHand(b)
	before := byHand(was)

	switch {
	case x == y && b.serial > a.serial, x == before && x != y:
		return theirs, true
	case x == y, y == before:
		return ours, true
	}
	return nil, false
}
