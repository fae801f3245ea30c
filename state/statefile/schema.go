package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/huge"
	"tercet/internal/jsonx"
	"tercet/internal/nearest"
)

// Version is the version of the file format that this package reads and writes.
const Version = "1"

// The two files of the format, relative to the project root.
const (
	Path        = formats.Workspace + "/state.json"
	ArchivePath = formats.Workspace + "/archive/state.json"
)

// MaxTitle bounds a title, in bytes: it is one line of TODO.md and of every list.
const MaxTitle = 500

// Doc is the typed state, without unknown members.
type Doc struct {
	Version    string
	Lineage    string
	Serial     uint64
	NextNumber int
	Tasks      []formats.Task // with stored statuses, in file order
}

// Document is one state file: bytes, tree and typed content. It is immutable.
type Document struct {
	Doc
	File   string
	Src    []byte
	SHA    string
	Tree   *jsonx.Value
	List   *jsonx.Value   // the array; only its first and last element have members
	Values []*jsonx.Value // the extent of each task; full parses it
	Index  map[int]int    // number to index
	BOM    bool
	Info   fs.FileInfo // of the file that this manager wrote, else nil
}

// Full parses the JSON of a task. The whole tree of a large state would take too much memory.
func (d *Document) Full(i int) *jsonx.Value {
	v, err := jsonx.ParseAt(d.Src, d.Values[i], jsonx.Limits{})
	if err != nil {
		return d.Values[i] // unreachable: it was parsed before, and src does not change
	}
	return v
}

// Find returns the task with a number, or nil; d may be nil.
func (d *Document) Find(number int) *formats.Task {
	if d == nil {
		return nil
	}
	if i, ok := d.Index[number]; ok {
		return &d.Tasks[i]
	}
	return nil
}

// Highest returns the highest number of a task, or 0.
func (d *Document) Highest() int {
	top := 0
	for i := range d.Tasks {
		top = max(top, d.Tasks[i].Number)
	}
	return top
}

// Parse reads a state file strictly; the error is a *SyntaxError with every finding.
func Parse(file string, src []byte) (*Document, error) {
	d := &decoder{file: file, src: src}
	sum := make(chan string, 1)
	go func() { sum <- formats.Sum(src) }()

	expected := min(bytes.Count(src, []byte(`"number"`)), len(src)/bytesPerTask)
	// growing the list would take longer than reading
	tasks := huge.List[formats.Task](expected)

	tree, err := jsonx.ParseEach(src, jsonx.Limits{}, "tasks", func(i int, v *jsonx.Value) {
		tasks = append(tasks, formats.Task{})
		d.task(&tasks[i], v, i)
	})
	if err != nil {
		return nil, ParseFailure(file, src, err)
	}

	if err := CheckVersion(file, src, tree, Version); err != nil {
		return nil, err
	}

	doc := d.document(tree, tasks)
	if err := d.error(); err != nil {
		return nil, err
	}
	doc.SHA = <-sum
	return doc, nil
}

// bytesPerTask is a lower bound for a task that tercet has written.
const bytesPerTask = 200

// CheckVersion returns the error for a file that a newer version of tercet wrote, else nil.
func CheckVersion(file string, src []byte, tree *jsonx.Value, known string) *formats.Failure {
	v := tree.Get("version")
	word, _ := v.Str() // absent is empty
	f := formats.Newer(formats.CodeInvalidState, file, word, known)
	if f != nil {
		f.File = file
		f.Pos = Position(src, v.Start)
	}
	return f
}

// error returns the findings as an error, or nil.
func (d *decoder) error() error {
	if len(d.found) == 0 {
		return nil
	}
	return Invalid(d.file, d.src, d.found...)
}

// Invalid reports what is wrong with a file.
func Invalid(file string, src []byte, found ...formats.Diagnostic) *SyntaxError {
	list := &formats.Diagnostics{
		List:    found,
		Sources: map[string][]byte{file: src},
		Of:      formats.CodeInvalidState,
	}
	list.Sort()
	return &SyntaxError{List: list}
}

// ParseFailure is the error for a text that is not JSON.
func ParseFailure(file string, src []byte, err error) error {
	diag := Finding(formats.SeverityError, file, formats.Pos{}, "", err.Error())
	conflict := false
	if e, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		diag.Pos = Position(src, e.Offset)
		diag.Message = e.Msg
		conflict = e.Conflict
	}

	if at := ConflictMarker(src); at >= 0 {
		diag.Pos = Position(src, at)
		diag.Message = "merge conflict marker"
		conflict = true
	}

	out := Invalid(file, src, diag)
	out.Conflict = conflict
	return out
}

// ConflictMarker returns the offset of the first conflict marker, or -1.
func ConflictMarker(src []byte) int {
	if bytes.HasPrefix(src, []byte("<<<<<<< ")) {
		return 0
	}
	if at := bytes.Index(src, []byte("\n<<<<<<< ")); at >= 0 {
		return at + 1
	}
	return -1
}

// Position converts an offset to line and column, in bytes.
func Position(src []byte, offset int) formats.Pos {
	offset = min(max(offset, 0), len(src))
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	return formats.Pos{Line: 1 + bytes.Count(src[:start], []byte{'\n'}), Col: offset - start + 1}
}

// Places finds the places of many offsets in one text: Position looks through the text each time.
type Places struct {
	starts []int // of the lines
	length int   // of the text
}

// PlacesIn gives the places in a text.
func PlacesIn(src []byte) Places {
	p := Places{[]int{0}, len(src)}
	for i, c := range src {
		if c == '\n' {
			p.starts = append(p.starts, i+1)
		}
	}
	return p
}

// At converts an offset to line and column, in bytes.
func (p Places) At(offset int) formats.Pos {
	offset = min(max(offset, 0), p.length)
	line, begins := slices.BinarySearch(p.starts, offset)
	if !begins {
		line--
	}
	return formats.Pos{Line: line + 1, Col: offset - p.starts[line] + 1}
}

// decoder converts a tree to types and collects what is wrong.
type decoder struct {
	file  string
	src   []byte
	found []formats.Diagnostic
	where string // "task 196: " while a task is read
	brief bool   // only whether something is wrong is asked, not where
}

func (d *decoder) fail(v *jsonx.Value, format string, args ...any) {
	d.failAt(v.Start, "", d.where+fmt.Sprintf(format, args...))
}

func (d *decoder) failAt(offset int, help, message string) {
	if d.brief {
		d.found = append(d.found, formats.Diagnostic{})
		return
	}
	d.found = append(
		d.found,
		Finding(formats.SeverityError, d.file, Position(d.src, offset), help, message),
	)
}

// Finding makes a diagnostic about a file of the state.
func Finding(
	s formats.Severity,
	file string,
	at formats.Pos,
	help, message string,
) formats.Diagnostic {
	return formats.Diagnostic{
		Code:     string(formats.CodeInvalidState),
		Severity: s,
		File:     file,
		Pos:      at,
		Message:  message,
		Help:     help,
	}
}

// checkUnknownKey accepts an unknown key, unless it is a known one in another case.
func (d *decoder) checkUnknownKey(m *jsonx.Member, known []string) {
	for _, k := range known {
		if strings.EqualFold(k, m.Key) {
			d.failAt(
				m.KeyStart,
				nearest.Help(m.Key, known),
				fmt.Sprintf("%sexpected key %q, got %q", d.where, k, m.Key),
			)
			return
		}
	}
}

// TopKeys lists the members of the file itself.
func TopKeys() []string {
	return []string{"version", "lineage", "serial", "next_number", "tasks"}
}

func (d *decoder) document(tree *jsonx.Value, tasks []formats.Task) *Document {
	doc := &Document{
		File: d.file,
		Src:  d.src,
		Tree: tree,
		BOM:  bytes.HasPrefix(d.src, []byte("\xef\xbb\xbf")),
	}
	if !tree.Is(jsonx.Dict) {
		d.fail(tree, "expected an object, got %s", tree.Kind)
		return doc
	}
	if tree.Get("active_projects") != nil && tree.Get("tasks") == nil {
		d.failAt(tree.Start, "convert it with: tercet state import FILE",
			"expected tasks, got the shape with active_projects")
		return doc
	}

	for i := range tree.Members {
		m := &tree.Members[i]
		v := m.Value
		switch m.Key {
		case "version":
			doc.Version = d.text(v, m.Key)
			if v.Is(jsonx.String) && doc.Version != Version {
				d.fail(v, "expected version %q, got %q", Version, doc.Version)
			}
		case "lineage":
			doc.Lineage = d.text(v, m.Key)
			if v.Is(jsonx.String) && doc.Lineage == "" {
				d.fail(v, "lineage is empty")
			}
		case "serial":
			doc.Serial = uint64(d.natural(v, m.Key))
		case "next_number":
			doc.NextNumber = int(d.natural(v, m.Key))
		case "tasks":
			doc.List = v
			doc.Tasks = tasks
			d.tasks(doc, v)
		default:
			d.checkUnknownKey(m, TopKeys())
		}
	}

	d.requireKeys(tree, TopKeys()...)
	return doc
}

// requireKeys reports missing keys.
func (d *decoder) requireKeys(v *jsonx.Value, keys ...string) {
	for _, k := range keys {
		if v.Get(k) == nil {
			d.fail(v, "expected key %q", k)
		}
	}
}

func (d *decoder) tasks(doc *Document, v *jsonx.Value) {
	if !v.Is(jsonx.Array) {
		d.fail(v, "tasks: expected array, got %s", v.Kind)
		return
	}

	doc.Values = v.Elems
	doc.Index = make(map[int]int, len(v.Elems))
	for i, e := range v.Elems {
		n := doc.Tasks[i].Number
		if n == 0 {
			continue
		}
		if first, twice := doc.Index[n]; twice {
			at := Position(d.src, v.Elems[first].Start)
			d.failAt(e.Start, "give one of the two a number that no task has",
				fmt.Sprintf("task %d stands twice, first at %d:%d", n, at.Line, at.Col))
			continue
		}
		doc.Index[n] = i
	}

	if last := len(v.Elems) - 1; last >= 0 { // edits derive the layout of the list from these
		v.Elems[0] = doc.Full(0)
		v.Elems[last] = doc.Full(last)
	}
}

func (d *decoder) expectKind(v *jsonx.Value, key string, want jsonx.Kind, name string) bool {
	if v.Is(want) {
		return true
	}
	d.fail(v, "%s: expected %s, got %s", key, name, v.Kind)
	return false
}

func (d *decoder) text(v *jsonx.Value, key string) string {
	if !d.expectKind(v, key, jsonx.String, "string") {
		return ""
	}
	s, _ := v.Str() // kind has looked
	return s
}

// optionalText reads a string or null.
func (d *decoder) optionalText(v *jsonx.Value, key string) string {
	if v.Is(jsonx.Null) {
		return ""
	}
	if !d.expectKind(v, key, jsonx.String, "string or null") {
		return ""
	}
	s, _ := v.Str() // kind has looked
	return s
}

// MaxNumber bounds task numbers and serials to what every JSON reader represents exactly.
const MaxNumber = 1 << 53

// MaxForeign bounds them in a file from outside, so that the writes that count up from there stay
// below maxNumber.
const MaxForeign = 1 << 52

// CheckHeadroom refuses a file from outside whose numbers leave no room for writes.
func (d *Document) CheckHeadroom() error {
	for _, one := range []struct {
		key string
		n   uint64
	}{{"serial", d.Serial}, {"next_number", uint64(d.NextNumber)}, {"tasks", uint64(d.Highest())}} {
		if one.n > MaxForeign {
			dec := decoder{file: d.File, src: d.Src}
			dec.fail(d.Tree.Get(one.key), "%s: expected a number up to %d, got %d",
				one.key, MaxForeign, one.n)
			return dec.error()
		}
	}
	return nil
}

func (d *decoder) natural(v *jsonx.Value, key string) int64 {
	if !d.expectKind(v, key, jsonx.Number, "integer") {
		return 0
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > MaxNumber {
		d.fail(v, "%s: expected integer from 0, got %s", key, v.Raw(d.src))
		return 0
	}
	return n
}
