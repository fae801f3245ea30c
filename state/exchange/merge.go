package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/order"
	"tercet/state/statefile"
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
		where = "task " + strconv.Itoa(c.Task)
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

// Merged is the result of a merge.
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
	// KeepNumbers forbids new numbers for new tasks of their side: in the archive, numbers must
	// match state.json.
	KeepNumbers bool
}

// Merge merges two states with a common base, by task and field: a conflict is only one field of
// one task that both sides changed. New tasks of their side with a taken number get a new one, and
// references follow. Layout and members are those of our side.
func Merge(s Sources, how Resolution) (_ *Merged, err error) {
	m := &merger{
		how:         how,
		keepNumbers: s.KeepNumbers,
		out:         &Merged{Renumbered: map[int]int{}},
		conflicted:  map[int][]byte{},
	}

	if len(bytes.TrimSpace(s.Base)) > 0 {
		m.base, err = statefile.Parse(s.Name, s.Base)
		if err != nil {
			return nil, err
		}
	}
	m.ours, err = statefile.Parse(s.Name, s.Ours)
	if err != nil {
		return nil, err
	}
	m.theirs, err = statefile.Parse(s.Name, s.Theirs)
	if err != nil {
		return nil, err
	}

	if err := m.renumber(); err != nil {
		return nil, err
	}
	if err := m.run(); err != nil {
		return nil, err
	}

	return m.out, m.writeMarkers(s.Name)
}

// merger is one merge; base is nil if there is none.
type merger struct {
	base, ours, theirs *statefile.Document
	how                Resolution
	keepNumbers        bool
	out                *Merged
	next               int
	edits              []jsonx.Edit
	elems              jsonx.ElemChanges
	conflicted         map[int][]byte // their side of each task with a conflict
}

// renumber returns new tasks of their side another number if ours has used it.
func (m *merger) renumber() error {
	m.next = max(m.ours.NextNumber, m.theirs.NextNumber, m.ours.Highest()+1, m.theirs.Highest()+1)
	for i := range m.theirs.Tasks {
		theirs := &m.theirs.Tasks[i]
		ours := m.ours.Find(theirs.Number)
		// the same task may have reached both sides
		if ours == nil || m.base.Value(theirs.Number) != nil || statefile.SameTask(ours, theirs) ||
			ours.Created != "" && ours.Created == theirs.Created &&
				(ours.Title == theirs.Title || ours.Slug == theirs.Slug) {
			continue
		}
		if m.keepNumbers {
			continue
		}
		m.out.Renumbered[theirs.Number] = m.next
		m.next++
	}

	if len(m.out.Renumbered) == 0 {
		return nil
	}
	var edits []jsonx.Edit
	for i := range m.theirs.Tasks {
		t := statefile.RawTask{Task: m.theirs.Tasks[i], Raw: m.theirs.Values[i].Raw(m.theirs.Src)}
		if err := t.Renumber(m.out.Renumbered); err != nil {
			return err
		}
		edits = append(edits, jsonx.Edit{
			Start: m.theirs.Values[i].Start,
			End:   m.theirs.Values[i].End,
			Text:  t.Raw,
		})
	}

	src, err := jsonx.Splice(m.theirs.Src, edits)
	if err != nil {
		return err
	}
	m.theirs, err = statefile.Parse(m.theirs.File, src)
	return err
}

// run merges the members of the document and the tasks, and lays the result out in our style.
func (m *merger) run() error {
	m.mergeMembers()
	for i := range m.ours.Tasks {
		if err := m.mergeTask(i); err != nil {
			return err
		}
	}

	style := m.ours.Style()
	for i := range m.theirs.Tasks {
		n := m.theirs.Tasks[i].Number
		if m.ours.Find(n) != nil {
			continue
		}
		if was := m.base.Value(n); was != nil {
			if statefile.Compact(was) == statefile.Compact(m.theirs.Full(i)) ||
				m.how == ResolveOurs {
				continue // our side removed it
			}
			m.out.Conflicts = append(m.out.Conflicts, Conflict{Task: n})
		}
		raw, err := style.Reformat(m.theirs.Values[i].Raw(m.theirs.Src))
		if err != nil {
			return err
		}
		m.elems.Append = append(m.elems.Append, raw)
	}

	m.edits = append(m.edits, jsonx.EditElems(m.ours.Src, m.ours.List, m.elems)...)
	order.Stable(m.edits, func(x, y jsonx.Edit) int {
		return cmp.Compare(x.Start, y.Start)
	})
	data, err := jsonx.Splice(m.ours.Src, m.edits)
	if err != nil {
		return err
	}

	doc, err := statefile.Parse(m.ours.File, data)
	if err != nil {
		return err
	}
	if style.OneLine && !doc.Sorted() {
		data, err = statefile.LayOut(data, statefile.LayoutLines)
		if err != nil {
			return err
		}
	}
	m.reportCycles(doc)
	m.out.Data = data
	return nil
}

// reportCycles reports dependencies that are fine on each side but form a cycle together.
func (m *merger) reportCycles(doc *statefile.Document) {
	l := statefile.Cycles{Next: statefile.DependenciesOf, Task: doc.Find}
	for i := range doc.Tasks {
		if loop := l.From(doc.Tasks[i].Number); loop != "" {
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

// mergeMembers merges the members of the file itself.
func (m *merger) mergeMembers() {
	set := []jsonx.Change{
		{Key: "serial", Raw: strconv.AppendUint(nil, max(m.ours.Serial, m.theirs.Serial)+1, 10)},
		{Key: "next_number", Raw: strconv.AppendInt(nil, int64(m.next), 10)},
	}
	if m.next == m.ours.NextNumber {
		set = set[:1]
	}

	var base *jsonx.Value
	if m.base != nil {
		base = m.base.Tree
	}

	for _, key := range statefile.UnionKeys(m.ours.Tree, m.theirs.Tree) {
		if slices.Contains([]string{"serial", "next_number", "tasks"}, key) {
			continue
		}
		was := statefile.Compact(base.Get(key))
		ours := statefile.Compact(m.ours.Tree.Get(key))
		theirs := statefile.Compact(m.theirs.Tree.Get(key))

		switch {
		case ours == theirs || theirs == was:
		case ours == was || m.how == ResolveTheirs && key != "lineage":
			set = append(set, m.changeToTheirs(key, m.theirs.Tree.Get(key)))
		case m.how == ResolveNone:
			m.out.Conflicts = append(m.out.Conflicts, Conflict{
				Field:  key,
				Ours:   ours,
				Theirs: theirs,
			})
		}
	}

	m.edits = append(m.edits, jsonx.EditMembers(m.ours.Src, m.ours.Tree, set)...)
}

// changeToTheirs returns the change that sets a key to their value; nil removes the key.
func (m *merger) changeToTheirs(key string, v *jsonx.Value) jsonx.Change {
	if v == nil {
		return jsonx.Change{Key: key}
	}
	return jsonx.Change{Key: key, Raw: v.Raw(m.theirs.Src)}
}

// mergeTask merges one task of our side.
func (m *merger) mergeTask(i int) error {
	n := m.ours.Tasks[i].Number
	mine := m.ours.Full(i)
	theirs := m.theirs.Value(n)
	was := m.base.Value(n)
	switch {
	case theirs == nil && was == nil:
		return nil
	case theirs == nil &&
		(statefile.Compact(mine) == statefile.Compact(was) || m.how == ResolveTheirs):
		m.elems.Remove = append(m.elems.Remove, i)
		return nil
	case theirs == nil:
		m.out.Conflicts = append(m.out.Conflicts, Conflict{Task: n})
		return nil
	}

	f := fieldMerge{
		m:      m,
		base:   was,
		ours:   mine,
		theirs: theirs,
		task:   n,
	}
	f.theirsNewer = statefile.TextOf(theirs, "updated") > statefile.TextOf(mine, "updated")
	for _, group := range f.groupKeys() {
		f.merge(group)
	}

	if len(f.conflicting) > 0 {
		// The user who chooses a side should see when, and by whom, each was written.
		stamps := func(c jsonx.Change) bool {
			return c.Key == "updated" || c.Key == "session_id"
		}
		f.set = slices.DeleteFunc(f.set, stamps)
		f.conflicting = append(
			f.conflicting,
			m.changeToTheirs("updated", theirs.Get("updated")),
			m.changeToTheirs("session_id", theirs.Get("session_id")),
		)
	}

	m.edits = append(m.edits, jsonx.EditMembers(m.ours.Src, mine, f.set)...)
	if len(f.conflicting) == 0 {
		return nil
	}
	// Our side with the conflicting fields of theirs.
	edits := jsonx.EditMembers(m.ours.Src, mine, append(slices.Clone(f.set), f.conflicting...))
	raw, err := statefile.EditValue(m.ours.Src, mine, edits)
	m.conflicted[n] = raw
	return err
}

// fieldMerge merges the members of one task.
type fieldMerge struct {
	m                  *merger
	base, ours, theirs *jsonx.Value
	task               int
	theirsNewer        bool           // their task was updated later
	set                []jsonx.Change // changes that are taken from their side
	conflicting        []jsonx.Change // their values of fields that both sides changed
}

// groupKeys lists the keys to merge. Keys that depend on each other form one group.
func (f *fieldMerge) groupKeys() [][]string {
	together := []string{"status", "prior", "blocked_reason", "lease"}
	out := [][]string{together}
	for _, key := range statefile.UnionKeys(f.ours, f.theirs) {
		if !slices.Contains(together, key) {
			out = append(out, []string{key})
		}
	}
	return out
}

func joinValues(v *jsonx.Value, keys []string) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = statefile.Compact(v.Get(k))
		if parts[i] == "null" {
			parts[i] = "" // an absent member and null are equivalent in a task
		}
	}
	return strings.Join(parts, "\x00")
}

func (f *fieldMerge) merge(keys []string) {
	was := joinValues(f.base, keys)
	ours := joinValues(f.ours, keys)
	theirs := joinValues(f.theirs, keys)

	take := func() {
		for _, k := range keys {
			if statefile.Compact(f.ours.Get(k)) != statefile.Compact(f.theirs.Get(k)) {
				f.set = append(f.set, f.m.changeToTheirs(k, f.theirs.Get(k)))
			}
		}
	}
	key := keys[0]

	switch {
	case ours == theirs || theirs == was && f.base != nil:
	case ours == was && f.base != nil:
		take()
	case f.base == nil && ours == "":
		take()
	case f.base == nil && theirs == "":
	case key == "updated" || key == "session_id":
		if f.theirsNewer {
			take()
		}
	case key == "dependencies" && f.mergeDependencies():
	case key == "artifacts" && f.mergeArtifacts():
	case f.m.how == ResolveTheirs || f.m.how == ResolveUnion && f.theirsNewer:
		take()
	case f.m.how == ResolveNone:
		for _, k := range keys {
			x := statefile.Compact(f.ours.Get(k))
			y := statefile.Compact(f.theirs.Get(k))
			if x != y {
				f.m.out.Conflicts = append(f.m.out.Conflicts, Conflict{
					Task:   f.task,
					Field:  k,
					Ours:   x,
					Theirs: y,
				})
				f.conflicting = append(f.conflicting, f.m.changeToTheirs(k, f.theirs.Get(k)))
			}
		}
	}
}

// mergeDependencies merges lists of numbers as sets: what either side added is in, what either side
// removed is out.
func (f *fieldMerge) mergeDependencies() bool {
	ours, ok := statefile.DecodeNumbers(f.ours.Get("dependencies"))
	theirs, theirsOK := statefile.DecodeNumbers(f.theirs.Get("dependencies"))
	was, wasOK := statefile.DecodeNumbers(f.base.Get("dependencies"))
	if !ok || !theirsOK || !wasOK {
		return false
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
	if err != nil {
		return false
	}
	f.set = append(f.set, jsonx.Change{Key: "dependencies", Raw: raw})
	return true
}

// mergeArtifacts merges by path. It returns false if both sides changed the same artifact.
func (f *fieldMerge) mergeArtifacts() bool {
	byPath := func(v *jsonx.Value) map[string]*jsonx.Value {
		out := map[string]*jsonx.Value{}
		if v = v.Get("artifacts"); v.Is(jsonx.Array) {
			for _, e := range v.Elems {
				out[statefile.TextOf(e, "path")] = e
			}
		}
		return out
	}
	was := byPath(f.base)
	ours := byPath(f.ours)
	theirs := byPath(f.theirs)

	list := []any{}
	for _, side := range []*jsonx.Value{f.ours, f.theirs} {
		v := side.Get("artifacts")
		if !v.Is(jsonx.Array) {
			continue
		}
		for _, e := range v.Elems {
			p := statefile.TextOf(e, "path")
			x := statefile.Compact(ours[p])
			y := statefile.Compact(theirs[p])
			o := statefile.Compact(was[p])
			switch {
			case side == f.theirs && x != "": // merged with ours
			case x == y, y == o && f.base != nil && x != "", o == "" && y == "", o == "" && x == "":
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

// writeMarkers writes both sides of each task with a conflict between markers, like git does for
// lines.
func (m *merger) writeMarkers(name string) error {
	if len(m.conflicted) == 0 {
		return nil
	}
	m.out.Marked = true
	doc, err := statefile.Parse(name, m.out.Data)
	if err != nil {
		return err
	}

	if !tasksOnOwnLines(doc) {
		data, err := statefile.LayOut(m.out.Data, statefile.LayoutLines)
		if err != nil {
			return err
		}
		doc, err = statefile.Parse(name, data)
		if err != nil {
			return err
		}
	}

	style := doc.Style()
	var edits []jsonx.Edit
	for i := range doc.Tasks {
		raw := m.conflicted[doc.Tasks[i].Number]
		if raw == nil {
			continue
		}
		v := doc.Values[i]
		start := bytes.LastIndexByte(doc.Src[:v.Start], '\n') + 1
		end := v.End + bytes.IndexByte(doc.Src[v.End:], '\n') + 1
		indent := doc.Src[start:v.Start]
		tail := doc.Src[v.End:end]

		laid, err := style.Reformat(raw)
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

	m.out.Data, err = jsonx.Splice(doc.Src, edits)
	return err
}

// tasksOnOwnLines reports whether every task begins and ends on lines of its own.
func tasksOnOwnLines(d *statefile.Document) bool {
	for _, v := range d.Values {
		start := bytes.LastIndexByte(d.Src[:v.Start], '\n') + 1
		end := bytes.IndexByte(d.Src[v.End:], '\n')
		if end < 0 || len(bytes.TrimSpace(d.Src[start:v.Start])) > 0 ||
			len(bytes.Trim(d.Src[v.End:v.End+end], ", \t\r")) > 0 {
			return false
		}
	}
	return true
}

// Unmark resolves a text with conflict markers to one side or to the merge of both. The result must
// be a valid state; union merges by task and field, and the later update wins.
func Unmark(name string, src []byte, how Resolution) (*Merged, error) {
	ours, theirs, base, ok := splitConflict(src)
	if !ok {
		return nil, formats.Fail(formats.CodePrecondition,
			"there is nothing to merge; look at it with: tercet state verify",
			"%s", name+" has no whole set of conflict markers")
	}

	pick := map[Resolution][]byte{ResolveOurs: ours, ResolveTheirs: theirs}[how]
	if pick != nil {
		if _, err := statefile.Parse(name, pick); err != nil {
			return nil, err
		}
		return &Merged{Data: pick, Renumbered: map[int]int{}}, nil
	}
	if how != ResolveUnion {
		return nil, formats.Fail(formats.CodeUsage, "",
			"expected ours, theirs or union, got %q", how)
	}
	if base != nil {
		if _, err := statefile.Parse(name, base); err != nil {
			base = nil // the base is optional
		}
	}
	return Merge(Sources{
		Name:   name,
		Base:   base,
		Ours:   ours,
		Theirs: theirs,
	}, ResolveUnion)
}

// splitConflict splits a text with conflict markers into its two sides, and the common base if the
// markers include it.
func splitConflict(src []byte) (ours, theirs, base []byte, ok bool) {
	const (
		both = iota
		inOurs
		inBase
		inTheirs
	)
	at := both
	based := false
	found := false
	for line := range bytes.Lines(src) {
		switch {
		case at == both && bytes.HasPrefix(line, []byte("<<<<<<< ")):
			at = inOurs
			found = true
			continue
		case at == inOurs && bytes.HasPrefix(line, []byte("||||||| ")):
			at = inBase
			based = true
			continue
		case (at == inOurs || at == inBase) &&
			bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("=======")):
			at = inTheirs
			continue
		case at == inTheirs && bytes.HasPrefix(line, []byte(">>>>>>> ")):
			at = both
			continue
		}
		if at == both || at == inOurs {
			ours = append(ours, line...)
		}
		if at == both || at == inTheirs {
			theirs = append(theirs, line...)
		}
		if at == both || at == inBase {
			base = append(base, line...)
		}
	}

	if !based {
		base = nil
	}
	return ours, theirs, base, found && at == both
}
