package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// RenderTodo writes the tasks as markdown, grouped by status. It keeps foreign notes at their
// place: after the title, a heading, a task, or at the end. The first line holds the serial and the
// SHA-256 of the rest, which reveals hand edits.
func RenderTodo(doc *Doc, notes ...todoPiece) []byte {
	var b bytes.Buffer
	b.Grow(lineGuess * len(doc.Tasks))
	left := anchored(doc, notes)
	take := func(section formats.TaskStatus, task int) []string {
		var out []string
		left = slices.DeleteFunc(left, func(p todoPiece) bool {
			if p.behind || p.section != section || p.task != task {
				return false
			}
			out = append(out, p.raw)
			return true
		})
		return out
	}
	paragraph := func(text string) {
		if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") {
			text = "<!-- a note -->\n" + text // which would else belong to the task above
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
		fmt.Fprintf(&b, "\n## %s\n", heading(s))
		for _, text := range take(s, 0) {
			paragraph(text)
		}
		b.WriteByte('\n')
		for _, t := range list {
			todoLine(&b, t)
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

// lineGuess is how many bytes a task is likely to have in TODO.md.
const lineGuess = 96

// anchored gives notes a place that there is: behind the title, if what they belonged to is gone.
func anchored(doc *Doc, notes []todoPiece) []todoPiece {
	if len(notes) == 0 {
		return nil
	}
	tasks := map[int]bool{0: true}
	sections := map[formats.TaskStatus]bool{"": true}
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

func todoLine(b *bytes.Buffer, t *formats.Task) {
	b.WriteString("- [ ] ")
	if t.Status.Terminal() {
		b.Truncate(b.Len() - len(" ] "))
		b.WriteString("x] ")
	}
	b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(t.Number), 10))
	b.WriteString(". ")
	todoLineText(b, t)
	b.WriteByte('\n')
	if t.BlockedReason != "" {
		b.WriteString("  - blocked: " + plainLine(t.BlockedReason) + "\n")
	}
	for i := range t.Artifacts {
		if a := &t.Artifacts[i]; !a.Deleted && a.Type.IsDocument() {
			b.WriteString("  - " + string(a.Type) + ": " + plainLine(a.Path) + "\n")
		}
	}
}

// todoLineText writes the text of a task's line.
func todoLineText(b *bytes.Buffer, t *formats.Task) {
	b.WriteString(plainLine(t.Title))
	before := " ("
	for _, n := range [...]string{t.Language, t.Priority, t.Effort} {
		if n != "" {
			b.WriteString(before)
			b.WriteString(plainLine(n))
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

// plainLine keeps a text on its line and from being taken for HTML.
func plainLine(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<", "\\<")
}

// isPlain tells whether a text has nothing that plainLine changes; it may say no where it could say
// yes.
func isPlain(s string) bool {
	space := true // where a space would be one too many
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

// todoHead reads the first line of TODO.md.
func todoHead(src []byte) (serial uint64, sha string, body []byte, ok bool) {
	line, body, found := bytes.Cut(src, []byte("\n"))
	if !found {
		return 0, "", nil, false
	}
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // of an editor
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

// EditedTodo reports whether a TODO.md was edited by hand.
func EditedTodo(src []byte) bool {
	_, sha, body, ok := todoHead(src)
	return !ok || !ours(sha, body)
}

// ours tells whether a body is as it was rendered. A checkout that turned its line breaks into
// those of Windows is no edit.
func ours(sha string, body []byte) bool {
	return sha == formats.Sum(body) || bytes.IndexByte(body, '\r') >= 0 &&
		sha == formats.Sum(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
}

// todoWait is how long the view waits for another process that writes it: that one writes the same
// or something newer.
const todoWait = 2 * time.Second

// renderTodo brings TODO.md up to date after a write. It never fails a write: what goes wrong is a
// warning. synced is the sha256 of an edited file whose edits are in the state now; empty: a file
// that was edited stays.
func (m *Manager) renderTodo(ctx context.Context, synced string) []string {
	// A writer after this write brings the view up to date itself.
	if c := m.wrote.Load(); synced == "" && c != nil {
		if info, err := m.cfg.Root.Stat(stateFile); err == nil && !sameFile(info, c.info) {
			return nil
		}
	}
	cfg := m.cfg
	cfg.LockTimeout = min(todoWait, cfg.lockTimeout())
	cfg.Notice = nil
	h, err := locker{cfg: cfg, file: todoLock}.take(context.WithoutCancel(ctx), "")
	if err != nil {
		return []string{"TODO.md was not written: " + err.Error()}
	}
	err = m.writeTodo(synced)
	if err = errors.Join(err, release(h)); err != nil {
		return []string{"TODO.md was not written: " + err.Error()}
	}
	return nil
}

// present gives the state as it is, without reading it if the file is the one that this manager
// wrote last.
func (m *Manager) present() (*Doc, error) {
	if c := m.wrote.Load(); c != nil {
		if info, err := m.cfg.Root.Stat(stateFile); err == nil && sameFile(info, c.info) {
			return &c.Doc, nil
		}
	}
	src, err := readFile(m.cfg.Root, stateFile, maxState)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(stateFile, src)
	if err != nil {
		return nil, err
	}
	return &doc.Doc, nil
}

// errTodoEdited says that the user changed TODO.md.
var errTodoEdited = errors.New("it was edited; run tercet task sync")

func (m *Manager) writeTodo(synced string) error {
	root := m.cfg.Root
	doc, err := m.present()
	if err != nil {
		return err
	}

	real, err := realName(root, todoFile)
	if err != nil {
		return err
	}
	if err := m.cfg.sweep(real); err != nil {
		return err
	}

	old, err := readFile(root, real, maxState)
	var notes []todoPiece
	switch {
	case err == nil && synced != "" && synced == formats.Sum(old):
	case errors.Is(err, fs.ErrNotExist), err == nil && bytes.IndexByte(old, 0) >= 0,
		err == nil && len(old) == 0:
		old = nil
		// It is not synced when it is written: a loss of power may leave nothing of it, or zeros,
		// which no editor writes.
	case err != nil:
		return err
	default:
		serial, sha, body, ok := todoHead(old)
		if !ok || !ours(sha, body) {
			return errTodoEdited
		}
		if serial >= doc.Serial {
			return nil
		}
	}

	if len(old) > 0 {
		notes = parseTodo(old).notes()
	}
	return atomicfile.WriteLoose(root, real, RenderTodo(doc, notes...), 0)
}

// MergeTodo merges two views, which are rendered again anyway. It takes the one with changed
// hand-written parts, or the newer one if there are none. ok is false if both have some.
func MergeTodo(base, ours, theirs []byte) ([]byte, bool) {
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
