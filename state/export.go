package state

import (
	"context"
	"encoding/json"
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
	out, err := jsonx.Marshal(new(jsonx.Object).Set("next_project_number", d.NextNumber).Set("active_projects",
		active).Set("completed_projects", done), "  ")
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeBug, Message: "encoding the projects", Err: err}
	}
	return append(out, '\n'), nil
}

// project writes one task in the words of the other shape; members that this format does not know go along.
func project(d *document, i int) *jsonx.Object {
	t := &d.Tasks[i]
	o := new(jsonx.Object).
		Set("project_number", t.Number).Set("project_name", t.Slug).Set("title", t.Title).Set("status", t.Status.String()).
		Set("language", t.Language).Set("priority", t.Priority).Set("effort", t.Effort).Set("description", t.Description).
		Set("dependencies", append([]int{}, t.Dependencies...))
	if t.Parent != nil {
		o.Set("parent_task", *t.Parent)
	}
	o.Set("created", t.Created).Set("last_updated", t.Updated).Set("artifacts", artifactObjects(t.Artifacts))
	if t.BlockedReason != "" {
		o.Set("blocked_reason", t.BlockedReason)
	}
	if t.Prior != "" {
		o.Set("prior", t.Prior.String())
	}
	if t.Lease != nil {
		o.Set("lease", t.Lease)
	}
	if t.Session != "" {
		o.Set("session_id", t.Session)
	}
	for j := range d.values[i].Members {
		if m := &d.values[i].Members[j]; !slices.Contains(taskKeys, m.Key) {
			o.Set(m.Key, json.RawMessage(m.Value.Raw(d.src)))
		}
	}
	return o
}
