package state

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Resolution says what to do with a field that both sides changed.
type Resolution string

// The resolutions: leave markers for the user, take one side, or take the side whose task was
// updated later.
const (
	ResolveNone   Resolution = ""
	ResolveOurs   Resolution = "ours"
	ResolveTheirs Resolution = "theirs"
	ResolveUnion  Resolution = "union"
)

// Conflict is one disagreement between two sides of a merge.
type Conflict struct {
	Task   int    `json:"task"`  // 0: a member of the state itself
	Field  string `json:"field"` // empty: the whole task
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// String is the conflict in one line.
func (c Conflict) String() string {
	where := "the file"
	if c.Task != 0 {
		where = "task " + number(c.Task)
	}
	if c.Field == "" {
		return where + " was removed on one side and changed on the other"
	}
	return fmt.Sprintf("%s: %s is %s on our side and %s on theirs",
		where, c.Field, orNothing(c.Ours), orNothing(c.Theirs))
}

func orNothing(s string) string {
	if s == "" {
		return "gone"
	}
	return s
}

// Merged is the merged text of a file of the state.
type Merged struct {
	Data       []byte
	Conflicts  []Conflict
	Renumbered map[int]int // new tasks of their side whose number was taken: old to new number
	Marked     bool        // Data holds conflict markers, so it is not JSON
}

// Sources are the three texts of a merge. Base may be empty.
type Sources struct {
	Name               string
	Base, Ours, Theirs []byte
	// Keep forbids new numbers for new tasks of their side: in the archive, numbers must match
	// state.json.
	Keep bool
}

// Merge merges two states with a common base, by task and field: a conflict is only one field of
// one task that both sides changed. New tasks of their side with a taken number get a new one, and
// references follow. Layout and members are those of our side.
func Merge(s Sources, how Resolution) (_ *Merged, err error) {
	m := &merger{
		how:    how,
		keep:   s.Keep,
		out:    &Merged{Renumbered: map[int]int{}},
		theirs: map[int][]byte{},
	}
	if len(bytes.TrimSpace(s.Base)) > 0 {
		if m.o, err = parseDocument(s.Name, s.Base); err != nil {
			return nil, err
		}
	}
	if m.a, err = parseDocument(s.Name, s.Ours); err != nil {
		return nil, err
	}
	if m.b, err = parseDocument(s.Name, s.Theirs); err != nil {
		return nil, err
	}
	if err := m.renumber(); err != nil {
		return nil, err
	}
	if err := m.run(); err != nil {
		return nil, err
	}
	return m.out, m.mark(s.Name)
}

// merger is one merge: o is the text before both sides, nil if there is none.
type merger struct {
	o, a, b *document
	how     Resolution
	keep    bool
	out     *Merged
	next    int
	edits   []jsonx.Edit
	elems   jsonx.ElemChanges
	theirs  map[int][]byte // task with a conflict to what it is on their side
}

// renumber gives new tasks of their side other numbers where ours has them.
func (m *merger) renumber() error {
	m.next = max(m.a.NextNumber, m.b.NextNumber, m.a.highest()+1, m.b.highest()+1)
	for i := range m.b.Tasks {
		theirs := &m.b.Tasks[i]
		ours := m.a.find(theirs.Number)
		// or one task came to both sides
		if ours == nil || m.o.value(theirs.Number) != nil || sameTask(ours, theirs) ||
			ours.Created != "" && ours.Created == theirs.Created &&
				(ours.Title == theirs.Title || ours.Slug == theirs.Slug) {
			continue
		}
		if m.keep {
			continue
		}
		m.out.Renumbered[theirs.Number] = m.next
		m.next++
	}

	if len(m.out.Renumbered) == 0 {
		return nil
	}
	var edits []jsonx.Edit
	for i := range m.b.Tasks {
		t := restored{task: m.b.Tasks[i], raw: m.b.values[i].Raw(m.b.src)}
		if err := t.rename(m.out.Renumbered); err != nil {
			return err
		}
		edits = append(edits, jsonx.Edit{
			Start: m.b.values[i].Start,
			End:   m.b.values[i].End,
			Text:  t.raw,
		})
	}

	src, err := jsonx.Splice(m.b.src, edits)
	if err != nil {
		return err
	}
	m.b, err = parseDocument(m.b.file, src)
	return err
}

func (m *merger) run() error {
	m.top()
	for i := range m.a.Tasks {
		if err := m.ours(i); err != nil {
			return err
		}
	}

	e := encoder{src: m.a.src, tasks: m.a.tasks}
	style := e.style()
	for i := range m.b.Tasks {
		n := m.b.Tasks[i].Number
		if m.a.find(n) != nil {
			continue
		}
		if was := m.o.value(n); was != nil {
			if compact(was) == compact(m.b.full(i)) || m.how == ResolveOurs {
				continue // our side removed it
			}
			m.out.Conflicts = append(m.out.Conflicts, Conflict{Task: n})
		}
		raw, err := style.relay(m.b.values[i].Raw(m.b.src))
		if err != nil {
			return err
		}
		m.elems.Append = append(m.elems.Append, raw)
	}

	m.edits = append(m.edits, jsonx.EditElems(m.a.src, m.a.tasks, m.elems)...)
	slices.SortStableFunc(m.edits, func(x, y jsonx.Edit) int {
		return cmp.Compare(x.Start, y.Start)
	})
	data, err := jsonx.Splice(m.a.src, m.edits)
	if err != nil {
		return err
	}

	doc, err := parseDocument(m.a.file, data)
	if err != nil {
		return err
	}
	sorted := slices.IsSortedFunc(doc.Tasks, func(x, y formats.Task) int {
		return cmp.Compare(x.Number, y.Number)
	})
	if style.oneLine && !sorted {
		if data, err = layOut(data, LayoutLines); err != nil {
			return err
		}
	}
	m.circles(doc)
	m.out.Data = data
	return nil
}

// circles finds dependencies that each side had for itself, but that together lead back.
func (m *merger) circles(doc *document) {
	l := loops{next: dependenciesOf, task: doc.find}
	for i := range doc.Tasks {
		if loop := l.from(doc.Tasks[i].Number); loop != "" {
			m.out.Conflicts = append(m.out.Conflicts,
				Conflict{
					Task:   doc.Tasks[i].Number,
					Field:  "dependencies",
					Ours:   loop,
					Theirs: "the same circle",
				})
		}
	}
}

// top merges the members of the file itself.
func (m *merger) top() {
	set := []jsonx.Change{
		{Key: "serial", Raw: strconv.AppendUint(nil, max(m.a.Serial, m.b.Serial)+1, 10)},
		{Key: "next_number", Raw: strconv.AppendInt(nil, int64(m.next), 10)},
	}
	if m.next == m.a.NextNumber {
		set = set[:1]
	}
	var base *jsonx.Value
	if m.o != nil {
		base = m.o.tree
	}
	for _, key := range unionKeys(m.a.tree, m.b.tree) {
		if slices.Contains([]string{"serial", "next_number", "tasks"}, key) {
			continue
		}
		was := compact(base.Get(key))
		ours := compact(m.a.tree.Get(key))
		theirs := compact(m.b.tree.Get(key))
		switch {
		case ours == theirs || theirs == was:
		case ours == was || m.how == ResolveTheirs && key != "lineage":
			set = append(set, m.raw(key, m.b.tree.Get(key)))
		case m.how == ResolveNone:
			m.out.Conflicts = append(m.out.Conflicts, Conflict{
				Field:  key,
				Ours:   ours,
				Theirs: theirs,
			})
		}
	}

	m.edits = append(m.edits, jsonx.EditMembers(m.a.src, m.a.tree, set)...)
}

// raw is the change that sets a key to a value of their side; nil removes it.
func (m *merger) raw(key string, v *jsonx.Value) jsonx.Change {
	if v == nil {
		return jsonx.Change{Key: key}
	}
	return jsonx.Change{Key: key, Raw: v.Raw(m.b.src)}
}

// ours merges one task of our side.
func (m *merger) ours(i int) error {
	n := m.a.Tasks[i].Number
	mine := m.a.full(i)
	theirs := m.b.value(n)
	was := m.o.value(n)
	switch {
	case theirs == nil && was == nil:
		return nil
	case theirs == nil && (compact(mine) == compact(was) || m.how == ResolveTheirs):
		m.elems.Remove = append(m.elems.Remove, i)
		return nil
	case theirs == nil:
		m.out.Conflicts = append(m.out.Conflicts, Conflict{Task: n})
		return nil
	}

	f := fields{
		m:    m,
		o:    was,
		a:    mine,
		b:    theirs,
		task: n,
	}
	f.later = textOf(theirs, "updated") > textOf(mine, "updated")
	for _, group := range f.groups() {
		f.merge(group)
	}

	if len(f.clash) > 0 {
		// Who comes to choose a side sees when, and by whom, each was written.
		stamps := func(c jsonx.Change) bool {
			return c.Key == "updated" || c.Key == "session_id"
		}
		f.set = slices.DeleteFunc(f.set, stamps)
		f.clash = append(
			f.clash,
			m.raw("updated", theirs.Get("updated")),
			m.raw("session_id", theirs.Get("session_id")),
		)
	}
	m.edits = append(m.edits, jsonx.EditMembers(m.a.src, mine, f.set)...)
	if len(f.clash) == 0 {
		return nil
	}
	// What our side will be, with the fields of theirs where the two disagree.
	edits := jsonx.EditMembers(m.a.src, mine, append(slices.Clone(f.set), f.clash...))
	raw, err := edited(m.a.src, mine, edits)
	m.theirs[n] = raw
	return err
}

// fields merges the members of one task.
type fields struct {
	m       *merger
	o, a, b *jsonx.Value
	task    int
	later   bool           // their side was updated later
	set     []jsonx.Change // what our side takes from theirs
	clash   []jsonx.Change // what their side has where both changed
}

// groups lists the keys; those that say one thing together are merged together.
func (f *fields) groups() [][]string {
	together := []string{"status", "prior", "blocked_reason", "lease"}
	out := [][]string{together}
	for _, key := range unionKeys(f.a, f.b) {
		if !slices.Contains(together, key) {
			out = append(out, []string{key})
		}
	}
	return out
}

func join(v *jsonx.Value, keys []string) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = compact(v.Get(k))
		if parts[i] == "null" {
			parts[i] = "" // an absent member and null say the same of a task
		}
	}
	return strings.Join(parts, "\x00")
}

func (f *fields) merge(keys []string) {
	was := join(f.o, keys)
	ours := join(f.a, keys)
	theirs := join(f.b, keys)
	take := func() {
		for _, k := range keys {
			if compact(f.a.Get(k)) != compact(f.b.Get(k)) {
				f.set = append(f.set, f.m.raw(k, f.b.Get(k)))
			}
		}
	}
	key := keys[0]
	switch {
	case ours == theirs || theirs == was && f.o != nil:
	case ours == was && f.o != nil:
		take()
	case f.o == nil && ours == "":
		take()
	case f.o == nil && theirs == "":
	case key == "updated" || key == "session_id":
		if f.later {
			take()
		}
	case key == "dependencies" && f.dependencies():
	case key == "artifacts" && f.artifacts():
	case f.m.how == ResolveTheirs || f.m.how == ResolveUnion && f.later:
		take()
	case f.m.how == ResolveNone:
		for _, k := range keys {
			x := compact(f.a.Get(k))
			y := compact(f.b.Get(k))
			if x != y {
				f.m.out.Conflicts = append(f.m.out.Conflicts, Conflict{
					Task:   f.task,
					Field:  k,
					Ours:   x,
					Theirs: y,
				})
				f.clash = append(f.clash, f.m.raw(k, f.b.Get(k)))
			}
		}
	}
}

// dependencies merges lists of numbers as sets: what either side added is in, what either removed
// is out.
func (f *fields) dependencies() bool {
	d := &decoder{}
	was := []int{}
	ours := d.numbers(f.a.Get("dependencies"), "")
	theirs := d.numbers(f.b.Get("dependencies"), "")
	if v := f.o.Get("dependencies"); v != nil {
		was = d.numbers(v, "")
	}
	out := slices.DeleteFunc(append([]int{}, ours...),
		func(n int) bool {
			return slices.Contains(was, n) && !slices.Contains(theirs, n)
		})
	for _, n := range theirs {
		if !slices.Contains(was, n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	raw, err := jsonx.MarshalLine(out)
	if err != nil || len(d.found) > 0 {
		return false
	}
	f.set = append(f.set, jsonx.Change{Key: "dependencies", Raw: raw})
	return true
}

// artifacts merges by path; false if both sides changed the same one.
func (f *fields) artifacts() bool {
	byPath := func(v *jsonx.Value) map[string]*jsonx.Value {
		out := map[string]*jsonx.Value{}
		if v = v.Get("artifacts"); v.Is(jsonx.Array) {
			for _, e := range v.Elems {
				out[textOf(e, "path")] = e
			}
		}
		return out
	}
	was := byPath(f.o)
	ours := byPath(f.a)
	theirs := byPath(f.b)
	list := []any{}
	for _, side := range []*jsonx.Value{f.a, f.b} {
		v := side.Get("artifacts")
		if !v.Is(jsonx.Array) {
			continue
		}
		for _, e := range v.Elems {
			p := textOf(e, "path")
			x := compact(ours[p])
			y := compact(theirs[p])
			o := compact(was[p])
			switch {
			case side == f.b && x != "": // merged with ours
			case x == y, y == o && f.o != nil && x != "", o == "" && y == "", o == "" && x == "":
				list = append(list, e)
			case x == o && y != "":
				list = append(list, theirs[p])
			case x == o || y == o: // removed on the other side
			default:
				return false
			}
		}
	}

	raw, err := jsonx.Marshal(list, "  ")
	if err != nil {
		return false
	}
	f.set = append(f.set, jsonx.Change{Key: "artifacts", Raw: raw})
	return true
}

// mark puts both sides of each task with a conflict between markers, one task after the other, as
// git does with lines.
func (m *merger) mark(name string) error {
	if len(m.theirs) == 0 {
		return nil
	}
	m.out.Marked = true
	doc, err := parseDocument(name, m.out.Data)
	if err != nil {
		return err
	}
	if !ownLines(doc) {
		data, err := layOut(m.out.Data, LayoutLines)
		if err != nil {
			return err
		}
		if doc, err = parseDocument(name, data); err != nil {
			return err
		}
	}
	e := encoder{src: doc.src, tasks: doc.tasks}
	style := e.style()
	var edits []jsonx.Edit
	for i := range doc.Tasks {
		raw := m.theirs[doc.Tasks[i].Number]
		if raw == nil {
			continue
		}
		v := doc.values[i]
		start := bytes.LastIndexByte(doc.src[:v.Start], '\n') + 1
		end := v.End + bytes.IndexByte(doc.src[v.End:], '\n') + 1
		indent := doc.src[start:v.Start]
		tail := doc.src[v.End:end]
		laid, err := style.relay(raw)
		if err != nil {
			return err
		}
		laid = bytes.ReplaceAll(laid, []byte("\n"), append([]byte("\n"), indent...))
		text := slices.Concat([]byte("=======\n"), indent, laid, tail, []byte(">>>>>>> theirs\n"))
		edits = append(edits, jsonx.Edit{
			Start: start,
			End:   start,
			Text:  []byte("<<<<<<< ours\n"),
		},
			jsonx.Edit{
				Start: end,
				End:   end,
				Text:  text,
			})
	}

	m.out.Data, err = jsonx.Splice(doc.src, edits)
	return err
}

// ownLines tells whether every task begins and ends on lines of its own.
func ownLines(d *document) bool {
	for _, v := range d.values {
		start := bytes.LastIndexByte(d.src[:v.Start], '\n') + 1
		end := bytes.IndexByte(d.src[v.End:], '\n')
		if end < 0 || len(bytes.TrimSpace(d.src[start:v.Start])) > 0 ||
			len(bytes.Trim(d.src[v.End:v.End+end], ", \t\r")) > 0 {
			return false
		}
	}
	return true
}

// Unmark takes one side, or both, of a text with conflict markers. The taken side must be a state;
// union merges the sides by task and field, and the later update wins.
func Unmark(name string, src []byte, how Resolution) (*Merged, error) {
	ours, theirs, base, ok := sides(src)
	if !ok {
		return nil, formats.Fail(formats.CodePrecondition,
			"there is nothing to merge; look at it with: tercet state verify",
			"%s", name+" has no whole set of conflict markers")
	}

	pick := map[Resolution][]byte{ResolveOurs: ours, ResolveTheirs: theirs}[how]
	if pick != nil {
		if _, err := parseDocument(name, pick); err != nil {
			return nil, err
		}
		return &Merged{Data: pick, Renumbered: map[int]int{}}, nil
	}
	if how != ResolveUnion {
		return nil, formats.Fail(formats.CodeUsage, "",
			"expected ours, theirs or union, got %q", how)
	}
	if base != nil {
		if _, err := parseDocument(name, base); err != nil {
			base = nil // it is only a help
		}
	}
	return Merge(Sources{
		Name:   name,
		Base:   base,
		Ours:   ours,
		Theirs: theirs,
	}, ResolveUnion)
}
