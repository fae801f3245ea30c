package statefile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/nearest"
)

// DecodeTask reads the task that v is in src; false if it is not valid.
func DecodeTask(src []byte, v *jsonx.Value) (t formats.Task, ok bool) {
	d := &decoder{src: src, brief: true}
	d.task(&t, v, 0)
	return t, len(d.found) == 0
}

// DecodeLease reads a lease; false if it is not valid.
func DecodeLease(v *jsonx.Value) (*formats.Lease, bool) {
	d := &decoder{brief: true}
	l := d.lease(v, "lease")
	if len(d.found) > 0 {
		return nil, false
	}
	return l, true
}

// DecodeNumbers reads a list of numbers, none if it is absent; false if it is not valid.
func DecodeNumbers(v *jsonx.Value) ([]int, bool) {
	if v == nil {
		return nil, true
	}
	d := &decoder{}
	list := d.numbers(v, "")
	return list, len(d.found) == 0
}

func (d *decoder) task(t *formats.Task, v *jsonx.Value, index int) {
	d.where = "tasks[" + strconv.Itoa(index) + "]: "
	defer func() { d.where = "" }()
	if !d.expectKind(v, "task", jsonx.Dict, "object") {
		return
	}

	if n, ok := v.Get("number").Int(); ok && n > 0 {
		d.where = "task " + strconv.Itoa(int(n)) + ": "
	}

	for i := range v.Members {
		d.taskMember(t, &v.Members[i])
	}
	d.requireKeys(v, "number", "title", "status")

	if t.Slug == "" {
		t.Slug = Slug(t.Title)
	}
	if t.Dependencies == nil {
		t.Dependencies = []int{}
	}
	if t.Artifacts == nil {
		t.Artifacts = []formats.Artifact{}
	}
}

func (d *decoder) taskMember(t *formats.Task, m *jsonx.Member) {
	v := m.Value
	switch m.Key {
	case "number":
		t.Number = int(d.natural(v, m.Key))
		if n, ok := v.Int(); ok && n == 0 {
			d.fail(v, "number: expected integer from 1, got 0")
		}
	case "title":
		t.Title = d.text(v, m.Key)
	case "status":
		t.Status = d.status(v, m.Key)
	case "prior":
		if !v.Is(jsonx.Null) {
			t.Prior = d.status(v, m.Key)
		}
	case "slug":
		t.Slug = d.slug(v, m.Key)
	case "language":
		t.Language = d.optionalText(v, m.Key)
	case "priority":
		t.Priority = d.optionalText(v, m.Key)
	case "effort":
		t.Effort = d.optionalText(v, m.Key)
	case "description":
		t.Description = d.optionalText(v, m.Key)
	case "created":
		t.Created = d.optionalText(v, m.Key)
	case "updated":
		t.Updated = d.optionalText(v, m.Key)
	case "blocked_reason":
		t.BlockedReason = d.optionalText(v, m.Key)
	case "session_id":
		t.Session = d.optionalText(v, m.Key)
	case IssueKey:
		if v.Is(jsonx.String) {
			t.Issue = d.text(v, m.Key)
		}
	case NotesKey:
		if v.Is(jsonx.String) { // anything else is a member like any unknown one
			t.Notes = d.text(v, m.Key)
		}
	case "dependencies":
		t.Dependencies = d.numbers(v, m.Key)
	case "parent":
		if !v.Is(jsonx.Null) {
			n := int(d.natural(v, m.Key))
			t.Parent = &n
		}
	case "artifacts":
		t.Artifacts = d.artifacts(v, m.Key)
	case "lease":
		t.Lease = d.lease(v, m.Key)
	default:
		d.checkUnknownKey(m, TaskKeys())
	}
}

func (d *decoder) status(v *jsonx.Value, key string) formats.TaskStatus {
	word := d.text(v, key)
	if !v.Is(jsonx.String) {
		return ""
	}

	s, err := formats.ParseTaskStatus(word)
	if err != nil {
		names := make([]string, 0, len(formats.TaskStatuses()))
		for _, one := range formats.TaskStatuses() {
			names = append(names, one.String())
		}
		help := cmp.Or(nearest.Help(word, names), "the statuses are "+strings.Join(names, ", "))
		d.failAt(v.Start, help, d.where+key+": "+err.Error())
	}

	return s
}

// slug checks the alphabet of a slug, because it becomes part of paths.
func (d *decoder) slug(v *jsonx.Value, key string) string {
	s := d.optionalText(v, key)
	if why := SlugFault(s); why != "" {
		d.fail(v, "%s: %s", key, why)
		return ""
	}
	return s
}

// SlugFault says why a text is no slug, or is empty.
func SlugFault(s string) string {
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return fmt.Sprintf("expected only a-z, 0-9, _ and -, got %q", s)
		}
	}
	if len(s) > 255-8 {
		return fmt.Sprintf("expected at most 247 bytes, got %d", len(s))
	}
	return ""
}

func (d *decoder) numbers(v *jsonx.Value, key string) []int {
	if v.Is(jsonx.Null) || !d.expectKind(v, key, jsonx.Array, "array of integers") {
		return nil
	}
	out := make([]int, len(v.Elems))
	for i, e := range v.Elems {
		out[i] = int(d.natural(e, key))
	}
	return out
}

func (d *decoder) artifacts(v *jsonx.Value, key string) []formats.Artifact {
	if v.Is(jsonx.Null) || !d.expectKind(v, key, jsonx.Array, "array") {
		return nil
	}

	out := make([]formats.Artifact, len(v.Elems))
	for i, e := range v.Elems {
		if !d.expectKind(e, key, jsonx.Dict, "object") {
			continue
		}
		for j := range e.Members {
			d.artifactMember(&out[i], &e.Members[j])
		}
		if out[i].Path == "" {
			d.fail(e, "artifacts: expected key %q", "path")
		}
	}
	return out
}

func (d *decoder) artifactMember(a *formats.Artifact, m *jsonx.Member) {
	v := m.Value
	switch m.Key {
	case "type":
		a.Type = formats.ArtifactType(d.text(v, "artifacts: type"))
	case "path":
		a.Path = d.text(v, "artifacts: path")
	case "summary":
		a.Summary = d.optionalText(v, "artifacts: summary")
	case "created":
		a.Created = d.optionalText(v, "artifacts: created")
	case "deleted":
		if !v.Is(jsonx.Null) && d.expectKind(v, "artifacts: deleted", jsonx.Bool, "boolean") {
			a.Deleted, _ = v.Bool() // kind has looked
		}
	default:
		d.checkUnknownKey(m, []string{"type", "path", "summary", "created", "deleted"})
	}
}

func (d *decoder) lease(v *jsonx.Value, key string) *formats.Lease {
	if v.Is(jsonx.Null) || !d.expectKind(v, key, jsonx.Dict, "object or null") {
		return nil
	}
	l := &formats.Lease{}

	texts := map[string]*string{
		"session_id": &l.Session,
		"run":        &l.Run,
		"host":       &l.Host,
		"boot_id":    &l.BootID,
		"pid_start":  &l.PIDStart,
		"taken":      &l.Taken,
	}
	numbers := map[string]*int{"pid": &l.PID, "timeout": &l.Timeout}

	for i := range v.Members {
		m := &v.Members[i]
		at := texts[m.Key]
		switch {
		case m.Key == "suspended":
			if d.expectKind(m.Value, "lease: suspended", jsonx.Bool, "true or false") {
				l.Suspended, _ = m.Value.Bool() // kind has looked
			}
		case at != nil:
			*at = d.optionalText(m.Value, "lease: "+m.Key)
		case numbers[m.Key] != nil:
			*numbers[m.Key] = int(d.natural(m.Value, "lease: "+m.Key))
		default:
			d.checkUnknownKey(m, []string{
				"session_id", "run", "host", "boot_id", "pid", "pid_start", "taken", "timeout",
				"suspended",
			})
		}
	}

	return l
}

// NotesKey is the member of a task for text that fits no other member.
const NotesKey = "notes"
