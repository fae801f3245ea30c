package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// RenderTodo writes the tasks as markdown, grouped by status. The first line holds the serial and the sha256 of what follows
// it, by which a hand edit is known.
func RenderTodo(doc *Doc) []byte { return renderWith(doc, nil) }

// renderWith renders with the notes that others wrote, each where it belongs: behind the title, a heading or a task, or
// behind everything.
func renderWith(doc *Doc, notes []todoPiece) []byte {
	var b bytes.Buffer
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
		slices.SortFunc(list, func(a, b *formats.Task) int { return a.Number - b.Number })
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
	head := fmt.Sprintf("<!-- tercet: serial %d sha256 %s -->\n", doc.Serial, digest(b.Bytes()))
	return append([]byte(head), b.Bytes()...)
}

// anchored gives notes a place that there is: behind the title, if what they belonged to is gone.
func anchored(doc *Doc, notes []todoPiece) []todoPiece {
	if len(notes) == 0 {
		return nil
	}
	tasks, sections := map[int]bool{0: true}, map[formats.TaskStatus]bool{"": true}
	for i := range doc.Tasks {
		tasks[doc.Tasks[i].Number], sections[doc.Tasks[i].Status] = true, true
	}
	out := slices.Clone(notes)
	for i := range out {
		if !tasks[out[i].task] || !sections[out[i].section] {
			out[i].task, out[i].section = 0, ""
		}
	}
	return out
}

func heading(s formats.TaskStatus) string {
	words := strings.ReplaceAll(s.String(), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

func todoLine(b *bytes.Buffer, t *formats.Task) {
	box := " "
	if t.Status.Terminal() {
		box = "x"
	}
	fmt.Fprintf(b, "- [%s] %d. %s\n", box, t.Number, todoLineText(t))
	if t.BlockedReason != "" {
		fmt.Fprintf(b, "  - blocked: %s\n", plainLine(t.BlockedReason))
	}
	for _, a := range t.Artifacts {
		if !a.Deleted && a.Type.IsDocument() {
			fmt.Fprintf(b, "  - %s: %s\n", a.Type, plainLine(a.Path))
		}
	}
}

// todoLineText is the text of a task's line.
func todoLineText(t *formats.Task) string {
	var b strings.Builder
	b.WriteString(plainLine(t.Title))
	var notes []string
	for _, n := range []string{t.Language, t.Priority, t.Effort} {
		if n != "" {
			notes = append(notes, plainLine(n))
		}
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	if t.Parent != nil {
		fmt.Fprintf(&b, ", part of %d", *t.Parent)
	}
	if len(t.Dependencies) > 0 {
		words := make([]string, len(t.Dependencies))
		for i, n := range t.Dependencies {
			words[i] = strconv.Itoa(n)
		}
		b.WriteString(", after " + strings.Join(words, ", "))
	}
	return b.String()
}

// plainLine keeps a text on its line and from being taken for HTML.
func plainLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<", "\\<")
}

// todoHead reads the first line of TODO.md.
func todoHead(src []byte) (serial uint64, sha string, body []byte, ok bool) {
	line, body, found := bytes.Cut(src, []byte("\n"))
	if !found {
		return 0, "", nil, false
	}
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // of an editor
	rest, ok := strings.CutPrefix(string(bytes.TrimSuffix(line, []byte("\r"))), "<!-- tercet: serial ")
	rest, end := strings.CutSuffix(rest, " -->")
	word, sha, cut := strings.Cut(rest, " sha256 ")
	n, err := strconv.ParseUint(word, 10, 64)
	if !ok || !end || !cut || err != nil {
		return 0, "", nil, false
	}
	return n, sha, body, true
}

// ours tells whether a body is as it was rendered. A checkout that turned its line breaks into those of Windows is no edit.
func ours(sha string, body []byte) bool {
	return sha == digest(body) || bytes.IndexByte(body, '\r') >= 0 && sha == digest(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
}

// todoWait is how long the view waits for another process that writes it: that one writes the same or something newer.
const todoWait = 2 * time.Second

// renderTodo brings TODO.md up to date after a write. It never fails a write: what goes wrong is a warning.
// synced is the sha256 of an edited file whose edits are in the state now; empty: a file that was edited stays.
func (m *Manager) renderTodo(ctx context.Context, synced string) []string {
	// Whoever wrote after this write brings the view up to date after that.
	if mine, err := m.isLast(); err == nil && !mine && synced == "" {
		return nil
	}
	cfg := m.cfg
	cfg.LockTimeout = min(todoWait, max(cfg.LockTimeout, time.Millisecond))
	if m.cfg.LockTimeout == 0 {
		cfg.LockTimeout = todoWait
	}
	cfg.Notice = nil
	h, err := locker{cfg: cfg, file: todoLock}.take(context.WithoutCancel(ctx), "")
	if err != nil {
		return []string{"TODO.md was not written: " + err.Error()}
	}
	err = m.writeTodo(synced)
	if err = errors.Join(err, h.release()); err != nil {
		return []string{"TODO.md was not written: " + err.Error()}
	}
	return nil
}

// isLast tells whether the state is still the one that this manager wrote last.
func (m *Manager) isLast() (bool, error) {
	src, err := readFile(m.cfg.Root, stateFile, maxState)
	c := m.cache.Load()
	return err == nil && c != nil && bytes.Equal(c.src, src), err
}

// errTodoEdited says that a person changed TODO.md.
var errTodoEdited = errors.New("it was edited; run tercet sync")

func (m *Manager) writeTodo(synced string) error {
	root := m.cfg.Root
	state, err := readFile(root, stateFile, maxState)
	if err != nil {
		return err
	}
	doc := m.cache.Load()
	if doc == nil || !bytes.Equal(doc.src, state) {
		if doc, err = parseDocument(stateFile, state, doc); err != nil {
			return err
		}
	}
	real, err := realName(root, todoFile)
	if err != nil {
		return err
	}
	if err := atomicfile.Sweep(root, path.Dir(real), path.Base(real)); err != nil {
		return err
	}
	old, err := readFile(root, real, maxState)
	switch {
	case err == nil && synced != "" && synced == digest(old):
	case errors.Is(err, fs.ErrNotExist), err == nil && bytes.IndexByte(old, 0) >= 0, err == nil && len(old) == 0:
		old = nil
		// It is not synced when it is written: a loss of power may leave nothing of it, or zeros, which no person types.
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
	return atomicfile.WriteLoose(root, real, renderWith(&doc.Doc, parseTodo(old).notes()), 0)
}

// MergeTodo merges two views: they are rendered again anyway, so the one whose hand-written parts changed is taken, and of
// two that nobody touched the newer. It is false if people wrote into both.
func MergeTodo(base, ours, theirs []byte) ([]byte, bool) {
	was, a, b := parseTodo(base), parseTodo(ours), parseTodo(theirs)
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
	x, y, before := byHand(a), byHand(b), byHand(was)
	switch {
	case x == y && b.serial > a.serial, x == before && x != y:
		return theirs, true
	case x == y, y == before:
		return ours, true
	}
	return nil, false
}
