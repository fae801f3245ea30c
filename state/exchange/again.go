package exchange

import (
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/statefile"
)

// Members of a form that tell a later import of the same file what changed since: the place of the
// file, and digests of the record and of the task that it became. Without a place there are none.
const (
	fromKey   = "from"
	recordSum = "record"
	taskSum   = "task"
)

// sourcesKey is the member of state.json with the files that were imported, as they were then.
const sourcesKey = "imported_from"

// ImportedFrom returns the files that were imported into a state and their SHA-256 at that time, by
// their path from the project root.
func ImportedFrom(d *statefile.Document) map[string]string {
	out := map[string]string{}
	list := d.Tree.Get(sourcesKey)
	for i := 0; list.Is(jsonx.Array) && i < len(list.Elems); i++ {
		e := list.Elems[i]
		out[statefile.TextOf(e, "file")] = statefile.TextOf(e, "sha256")
	}
	return out
}

// storeSource remembers which file is imported.
func (a *adder) storeSource() error {
	place := a.m.opt.Place
	if place == "" {
		return nil
	}

	sources := ImportedFrom(a.Base)
	if sources[place] == a.m.Digest {
		return nil
	}

	sources[place] = a.m.Digest
	var files []string
	for file := range sources {
		files = append(files, file)
	}
	slices.Sort(files)

	list := make([]any, len(files))
	for i, file := range files {
		list[i] = new(jsonx.Object).Set("file", file).Set("sha256", sources[file])
	}

	raw, err := jsonx.Marshal(list, "  ")
	a.setMember(sourcesKey, raw)
	return err
}

// sumLength is enough of a digest to tell two versions of a record apart.
const sumLength = 16

// digestOfRecord is a digest of a record in its source, whatever its layout.
func digestOfRecord(v *jsonx.Value, archived bool) string {
	text := jsonx.AppendValue(nil, v)
	if archived {
		text = append(text, "archived"...)
	}
	return formats.Sum(text)[:sumLength]
}

// digestOfTask is a digest of the members of a task that tercet knows.
func digestOfTask(t *formats.Task) string {
	one := *t
	one.Dependencies = append([]int{}, t.Dependencies...)
	one.Artifacts = append([]formats.Artifact{}, t.Artifacts...)
	text, err := jsonx.Marshal(statefile.TaskObject(&one), "")
	if err != nil {
		return "" // it differs from every digest
	}
	return formats.Sum(text)[:sumLength]
}

// importedRecord is what a task remembers of the record that it was imported from.
type importedRecord struct{ from, record, task string }

// importedBefore returns the record that an active or archived task was imported from; false if the
// task was not imported, or from a file outside the project.
func (a *adder) importedBefore(n int) (importedRecord, bool) {
	for _, d := range []*statefile.Document{a.Base, a.Archive} {
		if d.Find(n) == nil {
			continue
		}
		form := d.Value(n).Get(formKey)
		was := importedRecord{
			from:   statefile.TextOf(form, fromKey),
			record: statefile.TextOf(form, recordSum),
			task:   statefile.TextOf(form, taskSum),
		}
		return was, was.from != ""
	}
	return importedRecord{}, false
}

// keepOurs leaves a task as it is here, and remembers the record so that it is no conflict again.
func (a *adder) keepOurs(n int, sum string) error {
	v := a.Base.Value(n)
	t := statefile.RawTask{Task: *a.Base.Find(n), Raw: v.Raw(a.Base.Src)}
	form := new(jsonx.Object)
	for _, m := range v.Get(formKey).Members {
		form.Set(m.Key, m.Value)
	}

	if err := t.SetMember(formKey, form.Set(recordSum, sum)); err != nil {
		return err
	}
	a.out.Replaced = append(a.out.Replaced, Added{RawTask: t, FormOnly: true})
	return nil
}

// recordOrigin adds to the form of a task where its record is, and what record and task are now. A
// source that uses the member itself keeps its own.
func (t *record) recordOrigin() error {
	if t.sum == "" {
		return nil
	}
	v, err := jsonx.Parse(t.Raw, jsonx.Limits{})
	if err != nil {
		return err
	}

	form := new(jsonx.Object)
	if old := v.Get(formKey); old != nil {
		if !old.Is(jsonx.Dict) || old.Get("as") == nil {
			return nil
		}
		for i := range old.Members {
			form.Set(old.Members[i].Key, old.Members[i].Value)
		}
	}

	form.Set(fromKey, t.source.opt.Place).Set(recordSum, t.sum).Set(taskSum, digestOfTask(&t.Task))
	return t.SetMember(formKey, form)
}
