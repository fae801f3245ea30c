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

// Export returns the state in a shape: tercet is the file itself, active_projects the shape of
// other systems. foreignArchive asks for the archive of an imported system.
func (r *Reader) Export(ctx context.Context, shape string, foreignArchive bool) ([]byte, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case shape == ShapeTercet && !foreignArchive:
		return slices.Clone(d.src), nil
	case shape == ShapeProjects:
		archive, _, err := readArchive(r.cfg, archiveFile)
		if err != nil {
			return nil, err
		}
		return exportProjects(r.effectiveDocument(d), archive, foreignArchive)
	}
	if foreignArchive && shape == ShapeTercet {
		return nil, formats.Fail(formats.CodeUsage, "",
			"expected --shape %s with --archive", ShapeProjects)
	}
	return nil, formats.Fail(formats.CodeUsage, "",
		"expected shape %s or %s, got %q", ShapeTercet, ShapeProjects, shape)
}

// effectiveDocument returns a copy of a document whose tasks have their effective statuses.
func (r *Reader) effectiveDocument(d *document) *document {
	out := *d
	out.Tasks = slices.Clone(d.Tasks)
	now := r.cfg.now()
	for i := range out.Tasks {
		out.Tasks[i].Status, _ = r.cfg.effective(&d.Tasks[i], now)
	}
	return &out
}

// projectKeys are the keys that differ in the other shape.
var projectKeys = map[string]string{
	"number":  "project_number",
	"slug":    "project_name",
	"parent":  "parent_task",
	"updated": "last_updated",
}

// blockedKeys are the keys of other systems for why a task is blocked, besides blocked_reason.
var blockedKeys = []string{
	"blocking_reason", "blocker_reason", "blocker", "blocked_on", "blocked_by",
}

// project encodes one task in the other shape; unknown members are kept.
func project(t *formats.Task, v *jsonx.Value, src []byte) *jsonx.Object {
	o := new(jsonx.Object)
	for k, value := range taskValues(t) {
		key := taskKeys[k]
		switch {
		case value == nil && (key == "prior" || key == "lease" || key == issueKey):
		case key == "artifacts" && v.Get(key).Is(jsonx.Array):
			o.Set(key, json.RawMessage(v.Get(key).Raw(src))) // with unknown members
		default:
			o.Set(cmp.Or(projectKeys[key], key), value)
		}
	}
	for j := range v.Members {
		m := &v.Members[j]
		switch {
		case m.Key == formKey, m.Key != issueKey && slices.Contains(taskKeys, m.Key),
			slices.Contains(slices.Collect(maps.Values(projectKeys)), m.Key):
		case t.BlockedReason == "" && slices.Contains(blockedKeys, m.Key) && textOf(v, m.Key) != "":
			o.Set(m.Key, nil) // it was imported as blocked_reason, which is empty now
		default:
			o.Set(m.Key, json.RawMessage(m.Value.Raw(src)))
		}
	}
	return o
}
