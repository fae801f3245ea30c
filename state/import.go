package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Damage is a class of defects in an imported file.
type Damage string

// The classes of damage. Stream, trailing comma and duplicate key can be repaired; a note is no
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
	// LeftOut says that this one record or file does not come along; the import goes on without it,
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

	src    []byte
	opt    ImportOptions
	titles map[int][]string // of TODO.md, by number
	twice  map[int]bool     // the numbers that the file has more than once
	tasks  []restored
	rest   []jsonx.Change // members of the file that are none of a state
	formed
}

// ImportOptions say how to read a file.
type ImportOptions struct {
	Repair bool // repair what can be repaired without guessing
	Fresh  bool // of two tasks with one number, the second gets a new one
	// refuse the whole file for what would be left out, and for references to tasks that do not
	// exist
	Strict bool
	// Folders are the tasks' documents: paths change to their new place, and each is linked to its
	// task.
	Folders Folders
	// the TODO.md beside the file, for titles of tasks that have only a slug; nil: none
	Todo []byte
	// Archive is the archive beside the file; nil: none. Its tasks are imported into the archive.
	Archive *Import
}

// Beside is the path of the archive, relative to the folder of an imported state.
const Beside = "archive/state.json"

// The shapes of a file of tasks.
const (
	ShapeTercet   = "tercet"
	ShapeProjects = "active_projects"
	ShapeTasks    = "tasks" // bare tasks, in an array or as a stream
)

// Tasks gives the tasks as an import would write them.
func (m *Import) Tasks() []formats.Task {
	out := make([]formats.Task, len(m.tasks))
	for i := range m.tasks {
		out[i] = m.tasks[i].task
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
		if m.prevents(f) {
			d.List = append(d.List, finding(formats.SeverityError, m.File, f.Pos, f.Help,
				strings.ReplaceAll(string(f.Class), "_", " ")+": "+f.Message))
		}
	}
	if len(d.List) == 0 {
		return nil
	}
	return d
}

// prevents tells whether nothing can be imported because of a finding. Where not one record can be
// read, the file is wrong, and not the record; that an archive has none is no fault of the state
// that it lies beside.
func (m *Import) prevents(f Finding) bool {
	if f.Mended {
		return false
	}
	if !f.LeftOut || m.opt.Strict {
		return true
	}
	return f.Class == DamageValue && len(m.tasks) == 0 && !m.archive
}

// LeftOut counts the records and files that do not come along, those of the archive included.
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

// ReadImport reads a file of tasks in any shape and reports its defects by class. Repair fixes
// streams, trailing commas, duplicate keys and duplicate numbers in the result, never in the file.
// A record that is no task, or has a value that cannot be read, is left out and kept as it is.
func ReadImport(file string, src []byte, opt ImportOptions) *Import {
	m := &Import{
		File:     file,
		Digest:   formats.Sum(src),
		Findings: []Finding{},
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
	if at := conflictMarker(src); at >= 0 {
		m.find(DamageConflict, at, "the file holds both sides of an unfinished merge",
			"take one side or both: tercet state merge --ours, --theirs or --union FILE")
		return m
	}

	tree, err := jsonx.Parse(src, jsonx.Limits{})
	values := []*jsonx.Value{tree}
	if err != nil {
		values = m.diagnose(err)
	}
	if len(values) > 0 {
		m.values(values)
	}
	if opt.Archive != nil && m.Shape != "" {
		m.join(opt.Archive)
	}
	return m
}

// join takes the tasks of the archive along. One that is active too is kept there with repair; with
// fresh numbers both stay.
func (m *Import) join(archive *Import) {
	active := map[int]*restored{}
	for i := range m.tasks {
		active[m.tasks[i].task.Number] = &m.tasks[i]
	}

	for _, t := range archive.tasks {
		n := t.task.Number
		t.done = true
		if there := active[n]; there != nil {
			if sameTask(&there.task, &t.task) {
				archive.leaveOut(t.at)
				continue
			}
			text := fmt.Sprintf("task %d stands in %s too, and the two differ", n, archive.File)
			if m.opt.Fresh {
				fresh := max(m.fresh(), archive.fresh())
				if err := t.rename(map[int]int{n: fresh}); err != nil {
					m.find(DamageValue, there.at, err.Error(), "")
				}
				m.NextNumber = fresh + 1
				text += fmt.Sprintf("; %q of the archive is task %d here", t.task.Title, fresh)
			}
			if !m.opt.Fresh {
				text += "; the active one is kept"
				archive.leaveOut(t.at)
			}
			m.find(DamageDuplicateTask, there.at, text, "")
			if !m.opt.Fresh {
				continue
			}
		}
		m.tasks = append(m.tasks, t)
	}
}

func (m *Import) find(class Damage, offset int, message, help string) {
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
		Pos:     position(m.src, offset),
		Message: message,
		Help:    help,
		Mended:  mended,
		LeftOut: leftOut,
	})
}

// bad reports a record that cannot be taken over. The rest of the file can.
func (m *Import) bad(offset int, message, help string) {
	m.Findings = append(m.Findings, Finding{
		Class:   DamageValue,
		Pos:     position(m.src, offset),
		Message: message,
		Help:    help,
		LeftOut: true,
	})
}

// diagnose finds out why a text is not JSON and gives the values that can be read of it.
func (m *Import) diagnose(cause error) []*jsonx.Value {
	s := mender{src: m.src, text: bytes.Clone(m.src)}
	s.scan()
	for _, at := range s.commas {
		m.find(DamageTrailingComma, at, "a comma before the end of a list", "")
	}

	for _, k := range s.twice {
		m.find(
			DamageDuplicateKey,
			k.at,
			fmt.Sprintf("key %q stands twice in one object; the last one counts", k.key),
			"",
		)
	}

	if s.open && !m.salvage(&s) {
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
			m.find(DamageSyntax, at, msg, "fix this place by hand")
			return nil
		}
		out = append(out, v)
	}

	if len(out) == 0 {
		m.find(DamageWrong, 0, "the file is empty", "")
		return nil
	}
	if len(out) > 1 {
		m.find(
			DamageStream,
			out[1].Start,
			fmt.Sprintf("%d values stand one after the other, expected one", len(out)),
			"",
		)
	}
	if len(m.Findings) == 0 {
		m.find(DamageSyntax, 0, cause.Error(), "fix this place by hand")
		return nil
	}
	return out
}

// salvage says that the file ends in the middle. With repair it drops what follows the last whole
// task and closes what is open; it is false if the file cannot be used.
func (m *Import) salvage(s *mender) bool {
	end := len(bytes.TrimRight(m.src, " \t\r\n"))
	message := fmt.Sprintf("the file ends in the middle; whole objects before the cut: %d", s.whole)
	f := Finding{
		Class:   DamageTruncated,
		Pos:     position(m.src, end),
		Message: message,
		Help:    "take a whole copy of the file: a backup, or what git has",
	}
	if s.cut > 0 {
		f.Help += "; what is whole in it can be taken over with --repair"
	}
	if s.cut > 0 && m.opt.Repair {
		f.Mended = true
		f.Help = ""
		at := position(m.src, s.cut)
		f.Message = fmt.Sprintf(
			"the file ends in the middle; everything after %d:%d, %d bytes%s, is left out",
			at.Line, at.Col, end-s.cut, lostTask(m.src[s.cut:end]),
		)
		s.text = append(s.text[:s.cut:s.cut], s.closers...)
	}
	m.Findings = append(m.Findings, f)
	return f.Mended
}

// lostTask names the task that a text breaks off in, if it says which it is.
func lostTask(text []byte) string {
	for _, key := range []string{`"number"`, `"project_number"`, `"task_number"`} {
		_, rest, ok := bytes.Cut(text, []byte(key))
		rest, colon := bytes.CutPrefix(bytes.TrimSpace(rest), []byte(":"))
		rest = bytes.TrimSpace(rest)
		digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
		// the last digit may be cut off as well
		if ok && colon && digits > 0 && digits < len(rest) {
			return ", the beginning of task " + string(rest[:digits])
		}
	}
	return ""
}

// values takes one document, bare tasks, or a document with tasks behind it.
func (m *Import) values(list []*jsonx.Value) {
	var docs, tasks []*jsonx.Value
	m.twice = map[int]bool{}
	for _, v := range list {
		within := append([]*jsonx.Value{v}, v.Elems...)
		for _, key := range []string{listActive, listCompleted, listArchived, "tasks"} {
			if one := v.Get(key); one != nil {
				within = append(within, one.Elems...)
			}
		}
		for _, t := range within {
			n, _ := (&foreign{v: t, used: map[string]bool{}}).number()
			_, there := m.twice[n]
			m.twice[n] = there
		}
		switch {
		case looksLikeTask(v):
			tasks = append(tasks, v)
		default:
			docs = append(docs, v)
		}
	}

	if len(docs) > 1 {
		m.find(DamageWrong, docs[1].Start, "more than one document that is no task",
			"split the file and import the one you want")
		return
	}
	if len(docs) == 1 {
		m.document(docs[0])
	} else {
		m.Shape = ShapeTasks
	}

	m.list(listBare, tasks, "")
	m.unique()
}

func looksLikeTask(v *jsonx.Value) bool {
	return v.Is(jsonx.Dict) &&
		(v.Get("number") != nil || v.Get("project_number") != nil || v.Get("task_number") != nil)
}

// document takes one document in whatever shape it has.
func (m *Import) document(tree *jsonx.Value) {
	lists := func(key string) bool {
		return tree.Is(jsonx.Dict) && tree.Get(key).Is(jsonx.Array)
	}
	switch {
	case slices.ContainsFunc([]string{listActive, listCompleted, listArchived}, lists):
		m.Shape = ShapeProjects
		m.tree = tree
		m.archive = !lists(listActive)
		m.beside(tree, listActive, listCompleted, listArchived, "next_project_number")
		m.next(tree.Get("next_project_number"))
		m.projects(listActive, "")
		m.projects(listCompleted, formats.Completed)
		m.projects(listArchived, formats.Completed)
	case tree.Is(jsonx.Dict) && tree.Get("tasks").Is(jsonx.Array):
		m.Shape = ShapeTercet
		if err := newer(m.File, m.src, tree, Version); err != nil {
			m.find(DamageWrong, tree.Get("version").Start, err.Message, err.Help)
			return
		}
		m.beside(tree, topKeys...)
		m.next(tree.Get("next_number"))
		m.list("tasks", tree.Get("tasks").Elems, "")
	case tree.Is(jsonx.Array) && slices.ContainsFunc(tree.Elems, looksLikeTask):
		m.Shape = ShapeTasks
		m.list(listBare, tree.Elems, "")
	default:
		m.find(
			DamageWrong,
			tree.Start,
			"expected a list of tasks or active_projects, got "+described(tree),
			"import a state.json",
		)
	}
}

func described(v *jsonx.Value) string {
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

func (m *Import) next(v *jsonx.Value) {
	if n, ok := v.Int(); ok && n > 0 && n < maxForeign {
		m.NextNumber = int(n)
	}
}

// importedKey is the member of state.json that holds what a file of another shape has beside its
// tasks.
const importedKey = "imported"

// beside keeps the members of a document that are not known.
func (m *Import) beside(tree *jsonx.Value, known ...string) {
	for _, one := range tree.Members {
		if !slices.ContainsFunc(known, func(k string) bool {
			return strings.EqualFold(k, one.Key)
		}) {
			raw := jsonx.AppendValue(nil, one.Value)
			// It will lie two levels down.
			if _, err := jsonx.Parse(raw, jsonx.Limits{Depth: jsonx.DefaultDepth - 2}); err != nil {
				m.find(
					DamageNote,
					one.KeyStart,
					fmt.Sprintf("member %q is left out: %v", one.Key, err),
					"",
				)
				continue
			}
			m.rest = append(m.rest, jsonx.Change{Key: one.Key, Raw: raw})
		}
	}
}

// unique holds that a number stands for one task. The same task twice is taken once. Of two that
// differ one is kept: the active one, else the newer, else the later in the file. The record of the
// other is left out. With fresh numbers both become tasks, the other one under a number of its own.
func (m *Import) unique() {
	seen := map[int]int{}
	kept := m.tasks[:0]
	for _, t := range m.tasks {
		n := t.task.Number
		first, twice := seen[n]
		if !twice {
			seen[n] = len(kept)
			kept = append(kept, t)
			continue
		}
		old := kept[first]
		if sameTask(&old.task, &t.task) {
			m.leaveOut(t.at)
			continue
		}
		rank := func(r *restored) (int, string) {
			switch {
			case r.done:
				return 0, r.task.Updated
			case r.task.Status.Terminal():
				return 1, r.task.Updated
			}
			return 2, r.task.Updated
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
		stays := t
		goes := old
		if a > b || a == b && before > after {
			stays = old
			goes = t
		}
		kept[first] = stays
		text := fmt.Sprintf("task %d stands twice, first in line %d, and the two differ",
			n, position(m.src, old.at).Line)
		fresh := m.fresh()
		switch {
		case m.opt.Fresh:
			if err := goes.rename(map[int]int{n: fresh}); err != nil {
				m.find(DamageValue, goes.at, err.Error(), "")
			}
			kept = append(kept, goes)
			m.renumber(goes.at, fresh)
			m.NextNumber = fresh + 1
			text += fmt.Sprintf("; %q in line %d is task %d here",
				goes.task.Title, position(m.src, goes.at).Line, fresh)
		default:
			m.leaveOut(goes.at)
			text += fmt.Sprintf("; %s is kept: %q in line %d",
				why, stays.task.Title, position(m.src, stays.at).Line)
		}
		m.find(DamageDuplicateTask, t.at, text, "")
	}

	m.tasks = kept
	if len(kept) == 0 && m.Shape != "" && m.Err() == nil {
		m.find(DamageNote, 0, "the file has no tasks", "")
	}
}

// title is what TODO.md calls a task. Of several tasks with one number the first word of the name
// decides.
func (m *Import) title(n int, name string) string {
	word, _, _ := strings.Cut(Slug(name), "_")
	for _, one := range m.titles[n] {
		if !m.twice[n] || strings.Contains("_"+Slug(one)+"_", "_"+word+"_") {
			return one
		}
	}
	return ""
}

// fresh is a number that no task of the file has.
func (m *Import) fresh() int {
	n := max(m.NextNumber, 1)
	for i := range m.tasks {
		n = max(n, m.tasks[i].task.Number+1)
	}
	return n
}

// mender looks at a text that is not JSON: where commas stand too many, which keys stand twice, and
// whether it ends early. The commas it blanks, so that offsets stay what they are.
type mender struct {
	src, text []byte
	commas    []int
	twice     []keyAt
	whole     int  // objects that were closed
	open      bool // the text ends inside a value
	// cut is the end of the last object that stands in a list, or alone, at the top of the text or
	// one level below. closers end what is open there.
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

func (s *mender) scan() {
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
			end := closing(s.src, i)
			if end < 0 {
				_, rest, _ := bytes.Cut(s.src[i:], []byte("\n"))
				s.open = len(bytes.TrimSpace(rest)) == 0
				return
			}
			if top != nil && top.dict && top.key {
				s.key(top, i, end)
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
				s.whole++
				s.mark(stack, i+1)
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

// mark notes the place behind a whole object that may be a task.
func (s *mender) mark(stack []*frame, end int) {
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

func (s *mender) key(top *frame, from, end int) {
	top.key = false
	v, err := jsonx.Parse(s.src[from:end+1], jsonx.Limits{})
	if err != nil {
		return
	}
	key, _ := v.Str() // it was parsed from quotes
	if top.keys[key] {
		s.twice = append(s.twice, keyAt{key, from})
	}
	top.keys[key] = true
}

// closing gives the quote that ends a string, -1 if there is none on its line.
func closing(src []byte, from int) int {
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
