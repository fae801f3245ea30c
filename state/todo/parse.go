package todo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/huge"
)

// todoText is TODO.md as parsed. It is lossless: the concatenated pieces are the file.
type todoText struct {
	serial  uint64 // of the state that it shows; 0 if known is false
	hasHead bool   // the first line is tercet's
	intact  bool   // what tercet rendered was not edited
	pieces  []todoPiece
}

// todoKind is what a piece of TODO.md is.
type todoKind uint8

const (
	// rendered text between the tasks: first line, title, headings, blank lines
	todoFrame todoKind = iota
	todoTask           // the lines of one task
	todoNote           // text of the user
)

// todoPiece is one or more whole lines of TODO.md.
type todoPiece struct {
	kind todoKind
	line int // from 1
	raw  string
	item *todoItem // of a task
	// section and task are the anchor of a note: the title, the heading of a status, or a task.
	section  formats.TaskStatus
	task     int
	trailing bool // below a heading of the user: stays at the end
}

func (p *todoPiece) sameAnchor(o *todoPiece) bool {
	return p.task == o.task && p.section == o.section && p.trailing == o.trailing
}

// todoItem is one task in TODO.md.
type todoItem struct {
	line      int
	section   formats.TaskStatus // of the heading above, empty if that is not a status
	checked   bool
	number    int // 0: a task that the user wrote by hand
	text      string
	blocked   string
	artifacts []formats.Artifact
}

// parseTodo parses TODO.md. Any text is valid: what is not understood is a note.
func parseTodo(src []byte) *todoText {
	t := &todoText{}
	p := todoParser{out: t}
	body := string(src)
	if serial, sha, rest, ok := parseHead(src); ok {
		t.serial = serial
		t.hasHead = true
		t.intact = isUnedited(sha, rest)
		p.line = 1
		t.pieces = append(t.pieces, todoPiece{
			kind: todoFrame,
			line: 1,
			raw:  string(src[:len(src)-len(rest)]),
		})
		body = string(rest)
	}

	t.pieces = append(huge.List[todoPiece](len(t.pieces)+strings.Count(body, "\n")+1), t.pieces...)
	for line := range strings.Lines(body) {
		p.line++
		p.parseLine(line)
	}

	if p.fence != "" {
		// An unclosed code block would swallow every task after it.
		last := &t.pieces[len(t.pieces)-1]
		last.section = ""
		last.task = 0
		last.trailing = true
	}
	return t
}

// bytes returns the file.
func (t *todoText) bytes() []byte {
	var out []byte
	for i := range t.pieces {
		out = append(out, t.pieces[i].raw...)
	}
	return out
}

func (t *todoText) items() []*todoItem {
	var out []*todoItem
	for i := range t.pieces {
		if t.pieces[i].item != nil {
			out = append(out, t.pieces[i].item)
		}
	}
	return out
}

// notes returns the user's text for the next rendering.
func (t *todoText) notes() []todoPiece {
	var out []todoPiece
	for _, p := range t.pieces {
		if p.kind != todoNote || strings.TrimSpace(p.raw) == "" {
			continue
		}
		if n := len(out); n > 0 && out[n-1].sameAnchor(&p) {
			out[n-1].raw += p.raw
			continue
		}
		out = append(out, p)
	}

	for i := range out {
		out[i].raw = strings.Trim(plainBreaks(out[i].raw), "\n")
	}
	return out
}

// plainBreaks ends each line with a line feed alone. It removes all carriage returns before it: one
// that stayed at the end of a note would become half of the next rendering's line break. Inside a
// line they are ordinary characters.
func plainBreaks(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

type todoParser struct {
	out     *todoText
	line    int
	section formats.TaskStatus
	foreign bool   // below a heading that is not a status
	titled  bool   // the title was seen
	fence   string // of the open code block
	item    *todoItem
}

func (p *todoParser) parseLine(line string) {
	text := strings.TrimRight(line, " \t\r\n")
	indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
	trimmed := strings.TrimLeft(text, " \t")

	switch {
	case p.fence != "":
		if strings.HasPrefix(trimmed, p.fence) && strings.Trim(trimmed, p.fence[:1]) == "" {
			p.fence = ""
		}
		p.addNote(line, indented)
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.fence = trimmed[:3]
		p.addNote(line, indented)
	case text == "":
		p.addBlank(line)
	case !p.titled && text == "# Tasks", text == "None." && p.section == "" && !p.foreign:
		p.titled = true
		p.item = nil
		p.add(todoPiece{kind: todoFrame, raw: line})
	case strings.HasPrefix(text, "#") && strings.HasPrefix(strings.TrimLeft(text, "#"), " "):
		p.parseHeading(line, text)
	case indented && p.item != nil:
		if p.parseSubItem(trimmed) {
			p.extend(todoTask, line)
			return
		}
		p.addNote(line, true)
	default:
		item := parseTaskLine(text)
		if item != nil && (item.number > 0 || !p.foreign && !item.checked) {
			item.line = p.line
			item.section = p.section
			p.item = item
			p.add(todoPiece{
				kind: todoTask,
				raw:  line,
				item: item,
			})
			return
		}
		p.addNote(line, false)
	}
}

func (p *todoParser) add(piece todoPiece) {
	piece.line = p.line
	p.out.pieces = append(p.out.pieces, piece)
}

// extend adds a line to the previous piece if it has the same kind.
func (p *todoParser) extend(kind todoKind, line string) {
	last := &p.out.pieces[len(p.out.pieces)-1]
	if last.kind == kind {
		last.raw += line
		return
	}
	p.add(todoPiece{kind: kind, raw: line})
}

// addBlank adds an empty line to the note around it; elsewhere it belongs to the rendering.
func (p *todoParser) addBlank(line string) {
	if n := len(p.out.pieces); n > 0 && p.out.pieces[n-1].kind == todoNote {
		p.out.pieces[n-1].raw += line
		return
	}
	p.add(todoPiece{kind: todoFrame, raw: line})
}

func (p *todoParser) addNote(line string, indented bool) {
	piece := todoPiece{
		kind:     todoNote,
		raw:      line,
		section:  p.section,
		trailing: p.foreign,
	}
	if indented && p.item != nil {
		piece.task = p.item.number
		piece.section = ""
		piece.trailing = false
		if p.item.number == 0 {
			piece.section = p.section
			piece.trailing = p.foreign
		}
	} else {
		p.item = nil
	}

	if n := len(p.out.pieces); n > 0 {
		if last := &p.out.pieces[n-1]; last.kind == todoNote && last.sameAnchor(&piece) {
			last.raw += line
			return
		}
	}
	p.add(piece)
}

func (p *todoParser) parseHeading(line, text string) {
	p.item = nil
	if name, second := strings.CutPrefix(text, "## "); second {
		if s, err := formats.LooseTaskStatus(name); err == nil {
			p.section = s
			p.foreign = false
			p.add(todoPiece{kind: todoFrame, raw: line})
			return
		}
	}

	// A heading of the user: the text below is left alone, up to the next status heading.
	p.foreign = true
	p.section = ""
	p.addNote(line, false)
}

// parseSubItem reads an indented item below a task.
func (p *todoParser) parseSubItem(text string) bool {
	rest, ok := strings.CutPrefix(text, "- ")
	key, value, found := strings.Cut(rest, ": ")
	if !ok || !found || value == "" || p.item.number == 0 {
		return false
	}

	if key == "blocked" && p.item.blocked == "" {
		p.item.blocked = unescapeLine(value)
		return true
	}

	kind := formats.ArtifactType(key)
	if !slices.Contains(formats.ArtifactTypes(), kind) || !kind.IsDocument() {
		return false
	}
	p.item.artifacts = append(p.item.artifacts,
		formats.Artifact{Type: kind, Path: unescapeLine(value)})
	return true
}

// parseTaskLine parses the line of a task: "- [ ] 12. Title (go, high), after 3". It returns nil
// for any other line.
func parseTaskLine(text string) *todoItem {
	rest, ok := strings.CutPrefix(text, "- [")
	if !ok {
		rest, ok = strings.CutPrefix(text, "* [")
	}
	if !ok || len(rest) < 4 || rest[1] != ']' || rest[2] != ' ' ||
		!strings.ContainsRune(" xX", rune(rest[0])) {
		return nil
	}

	item := &todoItem{checked: rest[0] != ' ', text: rest[3:]}
	if !needsNoEscape(item.text) {
		item.text = strings.Join(strings.Fields(item.text), " ")
	}

	digits := len(item.text) - len(strings.TrimLeft(item.text, "0123456789"))
	if after, dot := strings.CutPrefix(item.text[digits:], ". "); dot && digits > 0 && digits < 16 {
		if n, err := strconv.Atoi(item.text[:digits]); err == nil && n > 0 {
			item.number = n
			item.text = strings.TrimSpace(after)
		}
	}

	if item.text == "" {
		return nil
	}
	return item
}

// Fields is the parsed text of a task's line.
type Fields struct {
	Title, Language, Priority, Effort string
	Parent                            int
	Dependencies                      []int
}

// parseFields parses the text of a task's line. It tells the words in brackets apart by the task's
// previous values, by the words for priorities, and by a leading digit of an effort.
func parseFields(text string, before *formats.Task) (Fields, error) {
	f := Fields{}
	if at := strings.LastIndex(text, ", after "); at >= 0 {
		if list, ok := numberList(text[at+len(", after "):]); ok {
			f.Dependencies = list
			text = text[:at]
		}
	}

	if at := strings.LastIndex(text, ", part of "); at >= 0 {
		if n, err := strconv.Atoi(text[at+len(", part of "):]); err == nil && n > 0 {
			f.Parent = n
			text = text[:at]
		}
	}

	open := strings.LastIndex(text, " (")
	if open > 0 && strings.HasSuffix(text, ")") {
		words := strings.Split(text[open+2:len(text)-1], ", ")
		taken, err := f.parseBrackets(words, before)
		if err != nil {
			return f, err
		}
		if taken {
			text = text[:open]
		}
	}

	f.Title = unescapeLine(strings.TrimSpace(text))
	return f, nil
}

func priorities() []string {
	return []string{"low", "medium", "high", "critical"}
}

// parseBrackets reads language, priority and effort; false if the brackets belong to the title.
func (f *Fields) parseBrackets(words []string, before *formats.Task) (bool, error) {
	if before == nil {
		before = &formats.Task{}
	} else if before.Language == "" && before.Priority == "" && before.Effort == "" &&
		!slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(priorities(), w)
		}) {
		return false, nil
	}
	if before.Number == 0 &&
		!slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(priorities(), w)
		}) {
		return false, nil
	}

	for i, w := range words {
		into := &f.Language
		plain := unescapeLine(w)
		switch {
		case w == "":
			return false, nil
		case plain == before.Language && f.Language == "":
		case plain == before.Priority && f.Priority == "", slices.Contains(priorities(), w):
			into = &f.Priority
		case plain == before.Effort && f.Effort == "", w[0] >= '0' && w[0] <= '9', i == 2:
			into = &f.Effort
		case i == 1 && f.Language != "":
			into = &f.Priority
		}
		if *into != "" {
			return false, fmt.Errorf("expected (language, priority, effort), got (%s)",
				strings.Join(words, ", "))
		}
		*into = unescapeLine(w)
	}

	return true, nil
}

func numberList(text string) ([]int, bool) {
	var out []int
	for word := range strings.SplitSeq(text, ", ") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

// unescapeLine reverses escapeLine for a text of one line.
func unescapeLine(s string) string {
	return strings.ReplaceAll(s, "\\<", "<")
}
