package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/statefile"
)

// Damage is a class of defects in an imported file.
type Damage string

// The classes of damage. Stream, trailing comma and duplicate key can be repaired. A note is not
// damage: it says how something was read.
const (
	DamageTruncated     Damage = "truncated"
	DamageStream        Damage = "object_stream"
	DamageTrailingComma Damage = "trailing_comma"
	DamageWrong         Damage = "wrong_document"
	DamageDuplicateKey  Damage = "duplicate_key"
	DamageDuplicateTask Damage = "duplicate_task"
	DamageConflict      Damage = "conflict_markers"
	DamageSyntax        Damage = "syntax"
	DamageValue         Damage = "value"
	DamageFile          Damage = "file"
	DamageNote          Damage = "note"
)

// Finding is one observation about an imported file.
type Finding struct {
	Class   Damage      `json:"class"`
	Pos     formats.Pos `json:"pos"`
	Message string      `json:"message"`
	Help    string      `json:"help,omitempty"`
	Mended  bool        `json:"mended"` // it no longer prevents the import
	// LeftOut means that this one record or file is not imported; the import goes on without it,
	// unless it is strict.
	LeftOut bool `json:"left_out"`
}

// Import is the result of reading a file of tasks: tercet's own, or one with active_projects. The
// file does not change.
type Import struct {
	File       string    `json:"file"`
	Digest     string    `json:"sha256"`
	Shape      string    `json:"shape"` // tercet, active_projects, tasks; empty if unknown
	Findings   []Finding `json:"findings"`
	NextNumber int       `json:"next_number"`

	kept       map[string]int // of Kept
	src        []byte
	places     *statefile.Places // of src, once one is asked for
	opt        Options
	titles     map[int][]string // of TODO.md, by number
	duplicates map[int]bool     // the numbers that the file has more than once
	tasks      []record
	unknown    []jsonx.Change // members that a state does not have
	fileForm
}

// record is one record of a file that became a task.
type record struct {
	statefile.RawTask
	source   *Import
	offset   int    // of the record in the source
	archived bool   // archived in the source
	sum      string // of the record in the source; empty if the place of the file is unknown
}

// Kept counts by kind what has no place in a task of this format, of the records that became tasks.
// It is kept as it is, and exported again.
func (m *Import) Kept() map[string]int {
	out := maps.Clone(m.kept)
	if m.opt.Archive != nil {
		for kind, n := range m.opt.Archive.kept {
			out[kind] += n
		}
	}
	return out
}

// Count returns the number of tasks.
func (m *Import) Count() int {
	return len(m.tasks)
}

// Options say how to read a file.
type Options struct {
	Repair bool // repair what can be repaired without guessing
	Fresh  bool // of two tasks with one number, the second gets a new one
	// Strict refuses the whole file if something would be left out or refers to a task that does
	// not exist.
	Strict bool
	// Folders are the tasks' documents: paths change to their new place, and each is linked to its
	// task.
	Folders Folders
	// Todo is the TODO.md next to the file, for titles of tasks that have only a slug; may be nil.
	Todo []byte
	// Archive is the archive next to the file; may be nil. Its tasks are imported into the archive.
	Archive *Import
	// Place is the path of the file from the project root, by which another import of it is known;
	// empty for a file outside. That of the archive is the same.
	Place string
}

// ArchiveName is the path of the archive, relative to the folder of an imported state.
const ArchiveName = "archive/state.json"

// The shapes of a file of tasks.
const (
	ShapeTercet   = "tercet"
	ShapeProjects = "active_projects"
	ShapeTasks    = "tasks" // bare tasks, in an array or as a stream
)

// Tasks returns the tasks as an import would write them.
func (m *Import) Tasks() []formats.Task {
	out := make([]formats.Task, len(m.tasks))
	for i := range m.tasks {
		out[i] = m.tasks[i].Task
	}
	return out
}

// Err is nil if the file can be imported; else a *formats.Diagnostics with every finding that
// prevents it.
func (m *Import) Err() error {
	d := &formats.Diagnostics{
		Sources: map[string][]byte{m.File: m.src},
		Of:      formats.CodeInvalidState,
	}
	for _, f := range m.Findings {
		if m.preventsImport(f) {
			d.List = append(d.List, statefile.Finding(formats.SeverityError, m.File, f.Pos, f.Help,
				strings.ReplaceAll(string(f.Class), "_", " ")+": "+f.Message))
		}
	}

	if len(d.List) == 0 {
		return nil
	}
	return d
}

// preventsImport reports whether a finding prevents the import. If no record is readable, the file
// is wrong and not the record. An archive without readable records does not prevent the import of
// its state.
func (m *Import) preventsImport(f Finding) bool {
	if f.Mended {
		return false
	}
	if !f.LeftOut || m.opt.Strict {
		return true
	}
	return f.Class == DamageValue && len(m.tasks) == 0 && !m.archive
}

// LeftOut counts the records and files that are not imported, including those of the archive.
func (m *Import) LeftOut() int {
	n := 0
	for _, f := range m.Findings {
		if f.LeftOut {
			n++
		}
	}
	if m.opt.Archive != nil {
		n += m.opt.Archive.LeftOut()
	}
	return n
}

// Read reads a file of tasks in any shape and reports its defects by class. Repair fixes
// streams, trailing commas, duplicate keys and duplicate numbers in the result, never in the file.
// A record that is not a task, or has an unreadable value, is left out and kept as it is.
func Read(file string, src []byte, opt Options) *Import {
	m := &Import{
		File:     file,
		Digest:   formats.Sum(src),
		Findings: []Finding{},
		kept:     map[string]int{},
		src:      src,
		opt:      opt,
	}
	for _, why := range opt.Folders.LeftOut {
		m.Findings = append(m.Findings, Finding{
			Class:   DamageFile,
			Message: why,
			LeftOut: true,
		})
	}

	m.titles = todoTitles(opt.Todo)
	if at := statefile.ConflictMarker(src); at >= 0 {
		m.report(DamageConflict, at, "the file holds both sides of an unfinished merge",
			"take one side or both: tercet state merge --ours, --theirs or --union FILE")
		return m
	}

	tree, err := jsonx.Parse(src, jsonx.Limits{})
	values := []*jsonx.Value{tree}
	if err != nil {
		values = m.diagnose(err)
	}
	if len(values) > 0 {
		m.readValues(values)
	}
	if opt.Archive != nil && m.Shape != "" {
		m.addArchive(opt.Archive)
	}
	return m
}

// addArchive adds the tasks of the archive. For a task that is also active, repair keeps the active
// one; with fresh numbers both are kept.
func (m *Import) addArchive(archive *Import) {
	active := map[int]*record{}
	for i := range m.tasks {
		active[m.tasks[i].Task.Number] = &m.tasks[i]
	}

	for _, t := range archive.tasks {
		n := t.Task.Number
		t.archived = true
		if there := active[n]; there != nil {
			if statefile.SameTask(&there.Task, &t.Task) {
				archive.keepRecord(t.offset)
				continue
			}

			text := fmt.Sprintf("task %d stands in %s too, and the two differ", n, archive.File)
			if m.opt.Fresh {
				fresh := max(m.freeNumber(), archive.freeNumber())
				if err := t.Renumber(map[int]int{n: fresh}); err != nil {
					m.report(DamageValue, there.offset, err.Error(), "")
				}
				m.NextNumber = fresh + 1
				text += fmt.Sprintf("; %q of the archive is task %d here", t.Task.Title, fresh)
			}
			if !m.opt.Fresh {
				text += "; the active one is kept"
				archive.keepRecord(t.offset)
			}
			m.report(DamageDuplicateTask, there.offset, text, "")
			if !m.opt.Fresh {
				continue
			}
		}
		m.tasks = append(m.tasks, t)
	}
}

func (m *Import) report(class Damage, offset int, message, help string) {
	mendable := class == DamageStream || class == DamageTrailingComma ||
		class == DamageDuplicateKey ||
		class == DamageDuplicateTask
	mended := class == DamageNote || m.opt.Repair && mendable ||
		m.opt.Fresh && class == DamageDuplicateTask

	leftOut := !mended && class == DamageDuplicateTask
	if leftOut {
		help = "keep both with --fresh-numbers; --repair agrees to this"
	}
	if !mended && help == "" && mendable {
		help = "let the import fix it with --repair"
	}

	m.Findings = append(m.Findings, Finding{
		Class:   class,
		Pos:     m.positionAt(offset),
		Message: message,
		Help:    help,
		Mended:  mended,
		LeftOut: leftOut,
	})
}

// reportSkipped reports a record that cannot be imported. The rest of the file can.
func (m *Import) reportSkipped(offset int, message, help string) {
	m.Findings = append(m.Findings, Finding{
		Class:   DamageValue,
		Pos:     m.positionAt(offset),
		Message: message,
		Help:    help,
		LeftOut: true,
	})
}

// positionAt gives line and column of an offset in the source.
func (m *Import) positionAt(offset int) formats.Pos {
	if m.places == nil {
		places := statefile.PlacesIn(m.src)
		m.places = &places
	}
	return m.places.At(offset)
}

// diagnose finds why a text is not JSON and returns the values that can be read from it.
func (m *Import) diagnose(cause error) []*jsonx.Value {
	s := repairer{src: m.src, text: bytes.Clone(m.src)}
	s.scan()
	for _, at := range s.commas {
		m.report(DamageTrailingComma, at, "a comma before the end of a list", "")
	}

	for _, k := range s.duplicates {
		m.report(
			DamageDuplicateKey,
			k.at,
			fmt.Sprintf("key %q stands twice in one object; the last one counts", k.key),
			"",
		)
	}

	if s.open && !m.reportTruncated(&s) {
		return nil
	}
	var out []*jsonx.Value
	stream := jsonx.NewStream(s.text, jsonx.Limits{Duplicates: true})
	for {
		v, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			at := len(m.src)
			msg := err.Error()
			if e, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
				at = e.Offset
				msg = e.Msg
			}
			m.report(DamageSyntax, at, msg, "fix this place by hand")
			return nil
		}
		out = append(out, v)
	}

	if len(out) == 0 {
		m.report(DamageWrong, 0, "the file is empty", "")
		return nil
	}
	if len(out) > 1 {
		m.report(
			DamageStream,
			out[1].Start,
			fmt.Sprintf("%d values stand one after the other, expected one", len(out)),
			"",
		)
	}
	if len(m.Findings) == 0 {
		m.report(DamageSyntax, 0, cause.Error(), "fix this place by hand")
		return nil
	}
	return out
}

// reportTruncated reports that the file ends early. With repair it drops what follows the last
// complete task and closes what is open. It returns false if the file cannot be used.
func (m *Import) reportTruncated(s *repairer) bool {
	end := len(bytes.TrimRight(m.src, " \t\r\n"))
	message := fmt.Sprintf(
		"the file ends in the middle; whole objects before the cut: %d", s.complete,
	)

	f := Finding{
		Class:   DamageTruncated,
		Pos:     statefile.Position(m.src, end),
		Message: message,
		Help:    "take a whole copy of the file: a backup, or what git has",
	}

	if s.cut > 0 {
		f.Help += "; what is whole in it can be taken over with --repair"
	}

	if s.cut > 0 && m.opt.Repair {
		f.Mended = true
		f.Help = ""
		at := statefile.Position(m.src, s.cut)
		f.Message = fmt.Sprintf(
			"the file ends in the middle; everything after %d:%d, %d bytes%s, is left out",
			at.Line, at.Col, end-s.cut, lostTask(m.src[s.cut:end]),
		)
		s.text = append(s.text[:s.cut:s.cut], s.closers...)
	}

	m.Findings = append(m.Findings, f)
	return f.Mended
}

// lostTask names the task in which a text breaks off, if its number is readable.
func lostTask(text []byte) string {
	for _, key := range []string{`"number"`, `"project_number"`, `"task_number"`} {
		_, rest, ok := bytes.Cut(text, []byte(key))
		rest, colon := bytes.CutPrefix(bytes.TrimSpace(rest), []byte(":"))
		rest = bytes.TrimSpace(rest)
		digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
		// more digits may be missing after the last one
		if ok && colon && digits > 0 && digits < len(rest) {
			return ", the beginning of task " + string(rest[:digits])
		}
	}
	return ""
}

// readValues reads one document, bare tasks, or a document followed by tasks.
func (m *Import) readValues(list []*jsonx.Value) {
	var docs, tasks []*jsonx.Value
	m.duplicates = map[int]bool{}
	for _, v := range list {
		within := append([]*jsonx.Value{v}, v.Elems...)
		for _, key := range []string{listActive, listCompleted, listArchived, "tasks"} {
			if one := v.Get(key); one != nil {
				within = append(within, one.Elems...)
			}
		}

		for _, t := range within {
			n, _ := (&foreignTask{v: t, used: map[string]bool{}}).number()
			_, there := m.duplicates[n]
			m.duplicates[n] = there
		}

		switch {
		case looksLikeTask(v):
			tasks = append(tasks, v)
		default:
			docs = append(docs, v)
		}
	}

	if len(docs) > 1 {
		m.report(DamageWrong, docs[1].Start, "more than one document that is no task",
			"split the file and import the one you want")
		return
	}
	if len(docs) == 1 {
		m.readDocument(docs[0])
	} else {
		m.Shape = ShapeTasks
	}

	m.addRecords(listBare, tasks, "")
	m.dedupe()
}

func looksLikeTask(v *jsonx.Value) bool {
	return v.Is(jsonx.Dict) &&
		(v.Get("number") != nil || v.Get("project_number") != nil || v.Get("task_number") != nil)
}

// readDocument reads one document of any shape.
func (m *Import) readDocument(tree *jsonx.Value) {
	lists := func(key string) bool {
		return tree.Is(jsonx.Dict) && tree.Get(key).Is(jsonx.Array)
	}
	switch {
	case slices.ContainsFunc([]string{listActive, listCompleted, listArchived}, lists):
		m.Shape = ShapeProjects
		m.tree = tree
		m.archive = !lists(listActive)
		m.collectUnknown(tree, listActive, listCompleted, listArchived, "next_project_number")
		m.setNextNumber(tree.Get("next_project_number"))
		m.readProjects(listActive, "")
		m.readProjects(listCompleted, formats.Completed)
		m.readProjects(listArchived, formats.Completed)
	case tree.Is(jsonx.Dict) && tree.Get("tasks").Is(jsonx.Array):
		m.Shape = ShapeTercet
		if err := statefile.CheckVersion(m.File, m.src, tree, statefile.Version); err != nil {
			m.report(DamageWrong, tree.Get("version").Start, err.Message, err.Help)
			return
		}
		m.collectUnknown(tree, statefile.TopKeys()...)
		m.setNextNumber(tree.Get("next_number"))
		m.addRecords("tasks", tree.Get("tasks").Elems, "")
	case tree.Is(jsonx.Array) && slices.ContainsFunc(tree.Elems, looksLikeTask):
		m.Shape = ShapeTasks
		m.addRecords(listBare, tree.Elems, "")
	default:
		m.report(
			DamageWrong,
			tree.Start,
			"expected a list of tasks or active_projects, got "+describeValue(tree),
			"import a state.json",
		)
	}
}

func describeValue(v *jsonx.Value) string {
	if !v.Is(jsonx.Dict) {
		return "one " + v.Kind.String()
	}

	var keys []string
	for i := range v.Members {
		if i == 4 {
			keys = append(keys, "...")
			break
		}
		keys = append(keys, v.Members[i].Key)
	}

	if len(keys) == 0 {
		return "an empty object"
	}
	return "an object with the keys " + strings.Join(keys, ", ")
}

func (m *Import) setNextNumber(v *jsonx.Value) {
	if n, ok := v.Int(); ok && n > 0 && n < statefile.MaxForeign {
		m.NextNumber = int(n)
	}
}

// importedKey is the member of state.json for the unknown members of a file of another shape.
const importedKey = "imported"

// collectUnknown collects the unknown members of a document.
func (m *Import) collectUnknown(tree *jsonx.Value, known ...string) {
	for _, one := range tree.Members {
		if !slices.ContainsFunc(known, func(k string) bool {
			return strings.EqualFold(k, one.Key)
		}) {
			raw := jsonx.AppendValue(nil, one.Value)
			// It will be nested two levels deeper.
			if _, err := jsonx.Parse(raw, jsonx.Limits{Depth: jsonx.DefaultDepth - 2}); err != nil {
				m.report(
					DamageNote,
					one.KeyStart,
					fmt.Sprintf("member %q is left out: %v", one.Key, err),
					"",
				)
				continue
			}
			m.unknown = append(m.unknown, jsonx.Change{Key: one.Key, Raw: raw})
		}
	}
}

// dedupe makes each number stand for one task. Identical tasks are merged. Of two that differ it
// keeps the active one, else the newer, else the later in the file, and leaves out the record of
// the other. With fresh numbers both become tasks, the other one under a new number.
func (m *Import) dedupe() {
	seen := map[int]int{}
	unique := m.tasks[:0]
	for _, t := range m.tasks {
		n := t.Task.Number
		first, twice := seen[n]
		if !twice {
			seen[n] = len(unique)
			unique = append(unique, t)
			continue
		}

		old := unique[first]
		if statefile.SameTask(&old.Task, &t.Task) {
			m.keepRecord(t.offset)
			continue
		}

		rank := func(r *record) (int, string) {
			switch {
			case r.archived:
				return 0, r.Task.Updated
			case r.Task.Status.Terminal():
				return 1, r.Task.Updated
			}
			return 2, r.Task.Updated
		}
		a, before := rank(&old)
		b, after := rank(&t)

		why := "the later one"
		switch {
		case a != b:
			why = "the active one"
		case before != after:
			why = "the newer one"
		}

		winner := t
		loser := old
		if a > b || a == b && before > after {
			winner = old
			loser = t
		}
		unique[first] = winner

		text := fmt.Sprintf("task %d stands twice, first in line %d, and the two differ",
			n, m.positionAt(old.offset).Line)
		fresh := m.freeNumber()
		switch {
		case m.opt.Fresh:
			if err := loser.Renumber(map[int]int{n: fresh}); err != nil {
				m.report(DamageValue, loser.offset, err.Error(), "")
			}
			unique = append(unique, loser)
			m.renumber(loser.offset, fresh)
			m.NextNumber = fresh + 1
			text += fmt.Sprintf("; %q in line %d is task %d here",
				loser.Task.Title, m.positionAt(loser.offset).Line, fresh)
		default:
			m.keepRecord(loser.offset)
			text += fmt.Sprintf("; %s is kept: %q in line %d",
				why, winner.Task.Title, m.positionAt(winner.offset).Line)
		}
		m.report(DamageDuplicateTask, t.offset, text, "")
	}

	m.tasks = unique
	if len(unique) == 0 && m.Shape != "" && m.Err() == nil {
		m.report(DamageNote, 0, "the file has no tasks", "")
	}
}

// todoTitle is the title in TODO.md. If several tasks share the number, the first word of the name
// must match.
func (m *Import) todoTitle(n int, name string) string {
	word, _, _ := strings.Cut(statefile.Slug(name), "_")
	for _, one := range m.titles[n] {
		if !m.duplicates[n] || strings.Contains("_"+statefile.Slug(one)+"_", "_"+word+"_") {
			return one
		}
	}
	return ""
}

// freeNumber returns a number that no task of the file has.
func (m *Import) freeNumber() int {
	n := max(m.NextNumber, 1)
	for i := range m.tasks {
		n = max(n, m.tasks[i].Task.Number+1)
	}
	return n
}

// repairer scans a text that is not JSON for surplus commas, duplicate keys, and an early end. It
// overwrites the commas with blanks, so that offsets stay valid.
type repairer struct {
	src, text  []byte
	commas     []int
	duplicates []keyAt
	complete   int  // number of closed objects
	open       bool // the text ends inside a value
	// cut is the end of the last complete object that may be a task. closers close what is open
	// there.
	cut     int
	closers []byte
}

type keyAt struct {
	key string
	at  int
}

// frame is an array or an object that is open.
type frame struct {
	dict bool
	key  bool // a key comes next
	keys map[string]bool
}

func (s *repairer) scan() {
	var stack []*frame
	comma := -1
	for i := 0; i < len(s.src); i++ {
		c := s.src[i]
		var top *frame
		if len(stack) > 0 {
			top = stack[len(stack)-1]
		}

		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			end := closingQuote(s.src, i)
			if end < 0 {
				_, rest, _ := bytes.Cut(s.src[i:], []byte("\n"))
				s.open = len(bytes.TrimSpace(rest)) == 0
				return
			}
			if top != nil && top.dict && top.key {
				s.checkKey(top, i, end)
			}
			i = end
		case '{', '[':
			stack = append(stack, &frame{
				dict: c == '{',
				key:  c == '{',
				keys: map[string]bool{},
			})
		case '}', ']':
			if comma >= 0 {
				s.commas = append(s.commas, comma)
				s.text[comma] = ' '
			}
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			if c == '}' {
				s.complete++
				s.markCut(stack, i+1)
			}
		case ',':
			if top != nil {
				top.key = top.dict
			}
			if comma < 0 {
				comma = i
				continue
			}
		}
		comma = -1
	}

	s.open = len(stack) > 0
}

// markCut records the position after a complete object that may be a task: one in a list or at the
// top, at most one level down.
func (s *repairer) markCut(stack []*frame, end int) {
	if n := len(stack); n > 2 || n > 0 && stack[n-1].dict {
		return
	}

	s.cut = end
	s.closers = s.closers[:0]
	for _, f := range slices.Backward(stack) {
		if f.dict {
			s.closers = append(s.closers, '}')
		} else {
			s.closers = append(s.closers, ']')
		}
	}
}

func (s *repairer) checkKey(top *frame, from, end int) {
	top.key = false
	v, err := jsonx.Parse(s.src[from:end+1], jsonx.Limits{})
	if err != nil {
		return
	}

	key, _ := v.Str() // it was parsed from quotes
	if top.keys[key] {
		s.duplicates = append(s.duplicates, keyAt{key, from})
	}
	top.keys[key] = true
}

// closingQuote returns the position of the quote that ends a string, or -1 if there is none on its
// line.
func closingQuote(src []byte, from int) int {
	for i := from + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i
		case '\n':
			return -1
		}
	}
	return -1
}
