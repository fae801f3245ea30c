package state

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Export gives the state in a shape: tercet is the file as it is, active_projects what other systems read.
func (r *Reader) Export(ctx context.Context, shape string) ([]byte, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	switch shape {
	case ShapeTercet:
		return slices.Clone(d.src), nil
	case ShapeProjects:
		archive, _, err := readArchive(r.cfg, archiveFile)
		if err != nil {
			return nil, err
		}
		return exportProjects(d, archive)
	}
	return nil, formats.Fail(formats.CodeUsage, "", "expected shape %s or %s, got %q", ShapeTercet, ShapeProjects, shape)
}

// exportProjects gives the active tasks, and as completed projects those that are completed and those in the archive,
// if there is one.
func exportProjects(d, archive *document) ([]byte, error) {
	active, done := []any{}, []any{}
	for i := range d.Tasks {
		o := project(d, i)
		if d.Tasks[i].Status == formats.Completed {
			done = append(done, o)
		} else {
			active = append(active, o)
		}
	}
	if archive != nil {
		for i := range archive.Tasks {
			done = append(done, project(archive, i))
		}
	}
	file := new(jsonx.Object).Set("next_project_number", d.NextNumber).Set("active_projects", active).
		Set("completed_projects", done)
	if beside := d.tree.Get(importedKey); beside.Is(jsonx.Dict) {
		for i := range beside.Members {
			file.Set(beside.Members[i].Key, beside.Members[i].Value)
		}
	}
	out, err := jsonx.Marshal(file, "  ")
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeBug, Message: "encoding the projects", Err: err}
	}
	return append(out, '\n'), nil
}

// projectKeys are the words of the other shape that differ.
var projectKeys = map[string]string{
	"number": "project_number", "slug": "project_name", "parent": "parent_task", "updated": "last_updated",
}

// blockedKeys are the words of others for why a task is blocked, besides blocked_reason.
var blockedKeys = []string{"blocking_reason", "blocker_reason", "blocker", "blocked_on", "blocked_by"}

// project writes one task in the words of the other shape; members that this format does not know go along.
func project(d *document, i int) *jsonx.Object {
	o := new(jsonx.Object)
	t, v := &d.Tasks[i], d.values[i]
	for k, value := range taskValues(t) {
		key := taskKeys[k]
		switch {
		case value == nil && (key == "prior" || key == "lease" || key == issueKey):
		case key == "artifacts" && v.Get(key).Is(jsonx.Array):
			o.Set(key, json.RawMessage(v.Get(key).Raw(d.src))) // with what others keep in them
		default:
			o.Set(cmp.Or(projectKeys[key], key), value)
		}
	}
	for j := range v.Members {
		m := &v.Members[j]
		switch {
		case m.Key != issueKey && slices.Contains(taskKeys, m.Key),
			slices.Contains(slices.Collect(maps.Values(projectKeys)), m.Key):
		case t.BlockedReason == "" && slices.Contains(blockedKeys, m.Key) && textOf(v, m.Key) != "":
			o.Set(m.Key, nil) // it was taken over, and holds no more
		default:
			o.Set(m.Key, json.RawMessage(m.Value.Raw(d.src)))
		}
	}
	return o
}
