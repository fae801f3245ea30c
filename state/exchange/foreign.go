package exchange

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/nearest"
	"tercet/state/files"
	"tercet/state/statefile"
)

// addRecords converts the records of a list and remembers which task each became.
func (m *Import) addRecords(name string, records []*jsonx.Value, status formats.TaskStatus) {
	if len(records) == 0 && name == listBare {
		return
	}

	list := recordList{list: name}
	for _, v := range records {
		p := sourceRecord{value: v}
		if t, ok := m.readRecord(v, status); ok {
			p.n = t.Task.Number
			if m.opt.Place != "" {
				t.sum = digestOfRecord(v, t.archived)
			}
			m.tasks = append(m.tasks, t)
		}
		list.records = append(list.records, p)
	}

	m.lists = append(m.lists, list)
}

// readRecord reads one record. A valid task of this format keeps its bytes; any other is read
// leniently. What is not a task is reported and left out.
func (m *Import) readRecord(v *jsonx.Value, status formats.TaskStatus) (record, bool) {
	t := record{
		source:   m,
		offset:   v.Start,
		archived: status == formats.Completed,
	}
	if !v.Is(jsonx.Dict) {
		m.reportSkipped(v.Start, "expected a task, got "+v.Kind.String(), "")
		return t, false
	}

	f := foreignTask{
		m:    m,
		v:    v,
		used: map[string]bool{},
	}
	if n, at := f.number(); n > statefile.MaxForeign {
		f.fail(at, "give it a lower one by hand",
			"expected a task number up to %d, got %d", statefile.MaxForeign, n)
		return t, false
	}

	if task, ok := statefile.DecodeTask(m.src, v); ok && len(task.Slug) <= statefile.MaxSlug {
		t.Task = task
		t.Raw = v.Raw(m.src)
		if _, err := jsonx.Parse(t.Raw, jsonx.Limits{}); err != nil {
			t.Raw = jsonx.AppendValue(nil, v) // the text was repaired, so its bytes are not JSON
		}
		return t, true
	}

	f = foreignTask{
		m:    m,
		v:    v,
		used: map[string]bool{},
	}
	if !f.readTask(&t.Task, status) {
		return t, false
	}

	t.Raw = f.encode(&t.Task)
	return t, t.Raw != nil
}

// foreignTask reads one task of another system.
type foreignTask struct {
	m          *Import
	v          *jsonx.Value
	used       map[string]bool // keys of the source that were consumed
	taskNumber int             // 0 while unknown
	ok         bool

	// the source values of the last artifacts, in order; those found in the folder come first
	linked     []*jsonx.Value
	unlinkable []any // artifacts that cannot be linked
}

func (f *foreignTask) where() string {
	if f.taskNumber == 0 {
		return ""
	}
	return "task " + strconv.Itoa(f.taskNumber) + ": "
}

func (f *foreignTask) fail(v *jsonx.Value, help, format string, args ...any) {
	f.ok = false
	f.m.reportSkipped(v.Start, f.where()+fmt.Sprintf(format, args...), help)
}

func (f *foreignTask) note(v *jsonx.Value, format string, args ...any) {
	f.m.report(DamageNote, v.Start, f.where()+fmt.Sprintf(format, args...), "")
}

// get returns the value of the first of the keys that is present and not empty.
func (f *foreignTask) get(keys ...string) *jsonx.Value {
	for _, key := range keys {
		for i := range f.v.Members {
			m := &f.v.Members[i]
			if !strings.EqualFold(m.Key, key) || f.used[m.Key] {
				continue
			}
			if s, text := m.Value.Str(); text && s == "" || m.Value.Is(jsonx.Null) {
				f.used[m.Key] = true // empty, so nothing is lost without it
				continue
			}
			f.used[m.Key] = true
			return m.Value
		}
	}
	return nil
}

// text returns a text. Numbers and booleans are taken as they are written.
func (f *foreignTask) text(keys ...string) string {
	v := f.get(keys...)
	if v == nil {
		return ""
	}
	if s, ok := v.Str(); ok {
		return s
	}
	if v.Is(jsonx.Number) || v.Is(jsonx.Bool) {
		return string(jsonx.AppendValue(nil, v))
	}

	if v.Is(jsonx.Array) {
		var parts []string
		for _, e := range v.Elems {
			if s, ok := e.Str(); ok {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "; ")
	}

	f.fail(v, "", "%s: expected text, got %s", keys[0], v.Kind)
	return ""
}

// integer reads a number that may be in quotes.
func (f *foreignTask) integer(v *jsonx.Value) (int, bool) {
	if n, ok := v.Int(); ok && n >= 0 && n < statefile.MaxNumber {
		return int(n), true
	}
	if s, ok := v.Str(); ok {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(s), "#"))
		if err == nil && n >= 0 {
			return n, true
		}
	}
	return 0, false
}

// number returns the task number and where it is in the source, or 0 if there is none.
func (f *foreignTask) number() (int, *jsonx.Value) {
	v := f.get("number", "project_number", "task_number", "id")
	n, _ := f.integer(v) // what cannot be read is 0
	return n, cmp.Or(v, f.v)
}

func (f *foreignTask) numbers(keys ...string) []int {
	out := []int{}
	v := f.get(keys...)
	if v == nil {
		return out
	}

	list := []*jsonx.Value{v}
	if v.Is(jsonx.Array) {
		list = v.Elems
	} else if s, ok := v.Str(); ok && (strings.EqualFold(s, "none") || s == "-") {
		return out
	}

	for _, e := range list {
		if n, ok := f.integer(e); ok && n > 0 {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
			continue
		}
		f.note(e, "%s: %s is no task number and is left out", keys[0], jsonx.AppendValue(nil, e))
	}
	return out
}

func (f *foreignTask) readTask(t *formats.Task, status formats.TaskStatus) bool {
	f.ok = true
	*t = formats.Task{}
	n, at := f.number()
	if n == 0 {
		f.fail(at, "give it one by hand", "expected a task number")
		return false
	}

	f.taskNumber = n
	t.Number = n
	f.readNames(t)
	t.Status = f.readStatus(status)
	t.Language = f.text("language")
	if t.Language == "lean4" {
		t.Language = "lean"
	}

	t.Priority = strings.ToLower(f.text("priority"))
	t.Effort = f.text("effort", "estimated_effort")
	t.Issue, _ = f.v.Get(statefile.IssueKey).Str()
	t.Dependencies = f.numbers("dependencies", "depends_on")
	if list := f.numbers("parent", "parent_task", "parent_number"); len(list) > 0 {
		t.Parent = &list[0]
	}

	t.Created = f.text("created", "created_at", "date_created")
	t.Updated = f.text("updated", "last_updated", "updated_at", "last_modified")
	t.BlockedReason = f.text(append([]string{"blocked_reason"}, blockedKeys...)...)
	t.Session = f.text("session_id")
	t.Artifacts = f.readArtifacts(t.Slug)

	if v := f.get("lease"); v != nil {
		lease, ok := statefile.DecodeLease(v)
		if !ok {
			f.note(v, "its lease cannot be read and is left out")
		}
		t.Lease = lease
	}
	if v := f.get("prior"); v != nil {
		word, _ := v.Str() // anything else is no status
		prior, err := formats.LooseTaskStatus(word)
		if err != nil {
			f.fail(v, "", "prior: %v", err)
		}
		t.Prior = prior
	}

	f.settleStatus(t)
	return f.ok
}

// readNames finds title, slug and description.
func (f *foreignTask) readNames(t *formats.Task) {
	t.Description = f.text("description")
	name := f.text("project_name", "slug")

	t.Title = oneLine(f.text("title", "name"))

	if t.Title == "" {
		t.Title = f.m.todoTitle(t.Number, name)
		if t.Title != "" {
			f.note(f.v, "its title is taken from TODO.md")
		}
	}
	t.Title = cmp.Or(t.Title, oneLine(strings.ReplaceAll(name, "_", " ")))
	if t.Title == "" {
		first, _, _ := strings.Cut(t.Description, "\n")
		t.Title = oneLine(first)
	}
	if t.Title == "" {
		t.Title = "Task " + strconv.Itoa(t.Number)
		f.note(f.v, "it has neither title nor description")
	}

	t.Slug = statefile.Slug(t.Title)
	for _, key := range []string{"project_name", "slug"} {
		s := statefile.TextOf(f.v, key)
		switch {
		case s == "" || statefile.SlugFault(s) != "":
		case len(s) > statefile.MaxSlug:
			t.Slug = statefile.Slug(s) // a longer one can name no folder
		default:
			t.Slug = s
		}
	}
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > statefile.MaxTitle {
		s = strings.ToValidUTF8(s[:statefile.MaxTitle], "")
	}
	return s
}

func (f *foreignTask) readStatus(fallback formats.TaskStatus) formats.TaskStatus {
	v := f.get("status")
	word, _ := v.Str() // absent is empty
	if word == "" {
		if fallback == "" {
			fallback = formats.NotStarted
			f.note(f.v, "it has no status and is taken as %s", fallback)
		}
		return fallback
	}

	s, err := formats.LooseTaskStatus(word)
	if err != nil {
		var names []string
		for _, one := range formats.TaskStatuses() {
			names = append(names, one.String())
		}
		// for an archived task the status is not needed here, and the export restores the word
		if fallback != "" {
			f.note(v, "status %q is not known here and is read as %s", word, formats.Abandoned)
			return formats.Abandoned
		}
		f.fail(
			v,
			cmp.Or(
				nearest.Help(word, names),
				"import a copy with one of these: "+strings.Join(names, ", "),
			),
			"status: %v",
			err,
		)
		return formats.NotStarted
	}
	if s.String() != word {
		f.note(v, "status %q is read as %s", word, s)
	}
	return s
}

// settleStatus replaces an in-progress status without a lease by one at which work can begin.
func (f *foreignTask) settleStatus(t *formats.Task) {
	from := t.Status
	switch {
	case !t.Status.InProgress() || t.Lease != nil:
		return
	case t.Prior != "":
		t.Status = t.Prior
		t.Prior = ""
	case t.Status == formats.Implementing:
		t.Status = formats.Partial
	case t.Status == formats.Revising, t.Newest(formats.ArtifactPlan) != nil:
		t.Status = formats.Planned
	case t.Newest(formats.ArtifactReport) != nil:
		t.Status = formats.Researched
	default:
		t.Status = formats.NotStarted
	}
	f.note(f.v, "nobody works on it any more: %s is taken as %s", from, t.Status)
}

// unlinkableKey is the member of a task that keeps the artifacts of its source that cannot be
// linked.
const unlinkableKey = "artifacts_left_out"

// readArtifacts reads a list of paths or objects, or an object of paths by type. A path that leads
// outside is kept in a member of its own. Other documents in the task's folder come first, because
// the last document of a type counts as the newest, and the source says which one that is. If
// several tasks share a number, the slug tells their folders apart.
func (f *foreignTask) readArtifacts(slug string) (out []formats.Artifact) {
	out = []formats.Artifact{}
	seen := map[string]bool{} // paths
	v := f.get("artifacts")
	add := func(kind string, e *jsonx.Value) {
		a := formats.Artifact{Type: formats.ArtifactType(strings.ToLower(kind))}
		if s, ok := e.Str(); ok {
			a.Path = s
		} else if e.Is(jsonx.Dict) {
			a.Path = statefile.TextOf(e, "path")
			a.Summary = statefile.TextOf(e, "summary")
			a.Created = statefile.TextOf(e, "created")
			a.Deleted, _ = e.Get("deleted").Bool() // absent is false
			if t := statefile.TextOf(e, "type"); t != "" {
				a.Type = formats.ArtifactType(strings.ToLower(t))
			}
		}
		if a.Type == "research" || a.Type == "research_report" {
			a.Type = formats.ArtifactReport
		}
		if !slices.Contains(formats.ArtifactTypes(), a.Type) {
			a.Type = formats.GuessArtifactType(a.Path)
		}

		a.Path = f.m.opt.Folders.newPath(a.Path)
		if why := files.PathFault(a.Path); why != "" {
			f.note(e, "artifact %s is left out: %s", jsonx.AppendValue(nil, e), why)
			f.unlinkable = append(f.unlinkable, e)
			return
		}
		if !seen[a.Path] {
			seen[a.Path] = true
			out = append(out, a)
			f.linked = append(f.linked, e)
		}
	}

	defer func() {
		var found []formats.Artifact
		for _, a := range f.m.opt.Folders.Documents[f.taskNumber] {
			own := !f.m.duplicates[f.taskNumber] || strings.Contains(a.Path, "_"+slug+"/")
			if own && !seen[a.Path] {
				found = append(found, a)
			}
		}
		out = append(found, out...)
	}()

	switch {
	case v.Is(jsonx.Array):
		for _, e := range v.Elems {
			add("", e)
		}
	case v.Is(jsonx.Dict):
		for i := range v.Members {
			add(v.Members[i].Key, v.Members[i].Value)
		}
	case v.Is(jsonx.String):
		add("", v)
	}

	return out
}

// encode writes the task in this format, with the other members of the source at the end.
func (f *foreignTask) encode(t *formats.Task) []byte {
	o := statefile.TaskObject(t)
	list := statefile.ArtifactObjects(t.Artifacts)
	linked := list[len(list)-len(f.linked):]
	for i, v := range f.linked {
		for _, m := range v.Members {
			if v.Is(jsonx.Dict) && !containsFold(statefile.ArtifactKeys(), m.Key) {
				//nolint:errcheck,forcetypeassert // ArtifactObjects made it
				linked[i].(*jsonx.Object).Set(m.Key, m.Value)
			}
		}
	}

	o.Set("artifacts", list)
	for i := range f.v.Members {
		m := &f.v.Members[i]
		if m.Key == statefile.IssueKey ||
			!containsFold(statefile.TaskKeys(), m.Key) &&
				!containsFold(slices.Collect(maps.Values(projectKeys)), m.Key) {
			o.Set(m.Key, m.Value)
			if !f.used[m.Key] {
				f.m.kept["member "+m.Key]++
			}
		}
	}

	f.m.kept["artifact path"] += len(f.unlinkable)
	if len(f.unlinkable) > 0 {
		o.Set(unlinkableKey, f.unlinkable)
	}
	raw, err := jsonx.Marshal(o, "")
	if err != nil {
		f.fail(f.v, "", "it cannot be written: %v", err)
		return nil
	}
	return raw
}

// containsFold reports whether a list has a key, ignoring case.
func containsFold(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
}

// where is the position of a record in its source, as the prefix of a message.
func (t *record) where() string {
	at := t.source.positionAt(t.offset)
	return fmt.Sprintf("%s:%d:%d: ", t.source.File, at.Line, at.Col)
}

// addNotes appends to the notes of a task, as text or as list elements, whichever the source has.
func (t *record) addNotes(notes []string) error {
	if len(notes) == 0 {
		return nil
	}
	v, err := jsonx.Parse(t.Raw, jsonx.Limits{})
	if err != nil {
		return err
	}

	old := v.Get(statefile.NotesKey)
	var now any
	text, isText := old.Str()
	switch {
	case old == nil || old.Is(jsonx.Null) || isText && text == "":
		now = strings.Join(notes, "\n")
	case isText:
		now = strings.TrimRight(text, "\n") + "\n" + strings.Join(notes, "\n")
	default:
		list := []any{old}
		if old.Is(jsonx.Array) {
			list = nil
			for _, e := range old.Elems {
				list = append(list, e)
			}
		}
		for _, one := range notes {
			list = append(list, one)
		}
		now = list
	}

	var was any
	if old != nil {
		was = old
	}
	//nolint:errcheck // a list stays in the raw bytes only
	t.Task.Notes, _ = now.(string)
	return t.overrideMember(statefile.NotesKey, statefile.NotesKey, was, now)
}
