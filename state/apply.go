package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/state/files"
	"tercet/state/statefile"
)

// apply does nothing: a phase is set before a draft is made, because it does not touch state.json.
func (SetPhase) apply(*draft) error {
	return nil
}

func (op UpdateStatus) timeout() time.Duration {
	if op.Lease == nil {
		return 0
	}
	return op.Lease.Timeout
}

func (op CreateTasks) apply(d *draft) error {
	if len(op.Tasks) == 0 {
		return d.noTasks()
	}
	for i := range op.Tasks {
		if err := d.create(op.Tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) create(n NewTask) error {
	title, err := d.cleanTitle(n.Title)
	if err != nil {
		return err
	}

	slug := cmp.Or(n.Slug, statefile.Slug(title))
	if slug != statefile.Slug(slug) {
		return d.invalidOp(0, "", "expected slug of a-z, 0-9 and _, got %q", n.Slug)
	}
	for _, s := range []string{n.Language, n.Priority, n.Effort, n.Issue} {
		if err := d.checkText(s, ""); err != nil {
			return err
		}
	}

	if err := d.checkText(n.Description, lineBreaks); err != nil {
		return err
	}
	t := &formats.Task{
		Number:       d.nextNumber,
		Title:        title,
		Slug:         slug,
		Status:       formats.NotStarted,
		Language:     n.Language,
		Priority:     n.Priority,
		Effort:       n.Effort,
		Description:  n.Description,
		Dependencies: slices.Clone(n.Dependencies),
		Created:      timestamp(d.now),
		Updated:      timestamp(d.now),
		Artifacts:    []formats.Artifact{},
		Session:      d.tx.Session,
		Issue:        n.Issue,
	}

	t.Priority = cmp.Or(t.Priority, "medium")
	if t.Dependencies == nil {
		t.Dependencies = []int{}
	}
	if n.Parent != 0 {
		t.Parent = &n.Parent
	}

	d.nextNumber++
	d.created = append(d.created, t)
	d.numbers = append(d.numbers, t.Number)
	d.addVerdict(t, "", true)
	return nil
}

func (d *draft) cleanTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if title == "" {
		return "", d.invalidOp(0, "", "expected a title, got none")
	}
	if len(title) > statefile.MaxTitle {
		return "", d.invalidOp(0, "shorten it, and put the rest into the description",
			"expected title of at most %d bytes, got %d", statefile.MaxTitle, len(title))
	}
	return title, d.checkText(title, "")
}

// checkText refuses invalid UTF-8, and control characters other than the allowed ones.
func (d *draft) checkText(s, allowed string) error {
	if strings.ToValidUTF8(s, "") != s {
		return d.invalidOp(0, "write it in UTF-8, or leave those bytes out",
			"expected text in UTF-8, got other bytes")
	}
	at := strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune(allowed, r)
	})
	if at < 0 {
		return nil
	}

	r, _ := utf8.DecodeRuneInString(s[at:])
	line := strings.Count(s[:at], "\n")
	return d.invalidOp(0, "leave the character out",
		"expected text without control characters, got %U in line %d, column %d",
		r, line+1, at-strings.LastIndexByte(s[:at], '\n'))
}

// lineBreaks are the control characters that a text of several lines may have.
const lineBreaks = "\n\r\t"

func (op DivideTask) apply(d *draft) error {
	if len(op.Parts) == 0 {
		return d.invalidOp(op.Task, "", "expected at least one part, got none")
	}
	if err := (UpdateStatus{Tasks: []int{op.Task}, To: formats.Expanded}).apply(d); err != nil {
		return err
	}
	parent := d.peek(op.Task)
	for _, part := range op.Parts {
		part.Parent = op.Task
		part.Language = cmp.Or(part.Language, parent.Language)
		part.Priority = cmp.Or(part.Priority, parent.Priority)
		if err := d.create(part); err != nil {
			return err
		}
	}
	return nil
}

// metadataKeys are the members of a task that the user sets.
var metadataKeys = []string{
	"title", "description", "priority", "effort", "language", "dependencies", "parent",
}

func (op UpdateMetadata) apply(d *draft) error {
	t, err := d.editTask(op.Task)
	if err != nil {
		return err
	}
	if len(op.Fields) == 0 {
		return d.invalidOp(op.Task, "", "expected at least one field, got none")
	}

	before := *t
	var all error
	for _, key := range slices.Sorted(maps.Keys(op.Fields)) {
		all = errors.Join(all, d.setField(op, t, key))
	}
	if all != nil {
		return all
	}

	changed := !statefile.SameTask(&before, t)
	if changed {
		d.touch(t)
	}
	d.addVerdict(t, t.Status, changed)
	return nil
}

func (d *draft) setField(op UpdateMetadata, t *formats.Task, key string) error {
	value := op.Fields[key]
	refuse := func(format string, args ...any) error {
		return d.invalidOp(t.Number, "", "%s", key+": "+fmt.Sprintf(format, args...))
	}
	switch key {
	case "dependencies":
		var list []int
		if !convertJSON(value, &list) {
			return refuse("expected list of task numbers, got %v", value)
		}
		t.Dependencies = list
		return nil
	case "parent":
		var parent *int
		if !convertJSON(value, &parent) || parent != nil && *parent < 1 {
			return refuse("expected task number or null, got %v", value)
		}
		t.Parent = parent
		return nil
	}

	target := map[string]*string{
		"title":       &t.Title,
		"description": &t.Description,
		"priority":    &t.Priority,
		"effort":      &t.Effort,
		"language":    &t.Language,
	}[key]
	if target == nil {
		help := nearest.Help(key, metadataKeys)
		if slices.Contains(statefile.TaskKeys(), key) {
			help = "tercet writes it; a command such as /plan or /todo changes the status"
		}
		help = cmp.Or(help, "the fields are "+strings.Join(metadataKeys, ", "))
		return d.invalidOp(t.Number, help,
			"expected a field that can be set, got %q", key)
	}

	text, ok := value.(string)
	if !ok {
		return refuse("expected text, got %v", value)
	}

	allowed := ""
	err := error(nil)
	switch key {
	case "title":
		text, err = d.cleanTitle(text)
	case "description":
		allowed = lineBreaks
	}
	if err == nil {
		err = d.checkText(text, allowed)
	}

	*target = text
	return err
}

// convertJSON converts a value that came from an option, from JSON or from Go.
func convertJSON(value, into any) bool {
	raw, err := json.Marshal(value)
	return err == nil && json.Unmarshal(raw, into) == nil
}

func (op LinkArtifacts) apply(d *draft) error {
	t, err := d.editTask(op.Task)
	if err != nil {
		return err
	}
	if len(op.Artifacts) == 0 {
		return d.invalidOp(op.Task, "", "expected at least one artifact, got none")
	}

	changed, err := d.link(t, op.Artifacts)
	if err != nil {
		return err
	}
	if changed {
		d.touch(t)
	}
	d.addVerdict(t, t.Status, changed)
	return nil
}

// link adds artifacts to a task, or updates those with the same path.
func (d *draft) link(t *formats.Task, list []formats.Artifact) (changed bool, err error) {
	for _, a := range list {
		if why := files.PathFault(a.Path); why != "" {
			return false, d.invalidOp(t.Number, "",
				"expected artifact path inside the project root, got %q: %s", a.Path, why)
		}
		if err := d.checkText(a.Summary, lineBreaks); err != nil {
			return false, err
		}
		a.Type = cmp.Or(a.Type, formats.GuessArtifactType(a.Path))
		if !slices.Contains(formats.ArtifactTypes(), a.Type) {
			help := fmt.Sprint("the types are ", formats.ArtifactTypes())
			return false, d.invalidOp(t.Number, help,
				"expected artifact type, got %q", a.Type)
		}
		if a.Type.IsDocument() && !a.Deleted && !d.tx.Force {
			if why, err := d.cfg.documentProblem(a.Path); err != nil {
				return false, err
			} else if why != "" {
				return false, noArtifact(t.Number, "", "", a.Path, why)
			}
		}

		at := slices.IndexFunc(t.Artifacts, func(old formats.Artifact) bool {
			return old.Path == a.Path
		})
		if at < 0 {
			a.Created = timestamp(d.now)
			t.Artifacts = append(t.Artifacts, a)
			changed = true
			continue
		}

		old := t.Artifacts[at]
		a.Summary = cmp.Or(a.Summary, old.Summary)
		a.Created = old.Created
		if a != old {
			t.Artifacts[at] = a
			changed = true
		}
	}

	return changed, nil
}

func (op SetLease) apply(d *draft) error {
	return d.forEachTask(op.Tasks, func(n int) error { return d.setOneLease(op, n) })
}

func (d *draft) noTasks() error {
	return d.invalidOp(0, "", "expected at least one task, got none")
}

// forEachTask applies an operation to its tasks and joins all errors.
func (d *draft) forEachTask(tasks []int, do func(int) error) error {
	if len(tasks) == 0 {
		return d.noTasks()
	}
	var all error
	for _, n := range tasks {
		all = errors.Join(all, do(n))
	}
	return all
}

func (d *draft) setOneLease(op SetLease, n int) error {
	t, err := d.editTask(n)
	if err != nil {
		return err
	}

	from, stale := d.cfg.effectiveStatus(t, d.now)
	switch {
	case op.Clear && stale && t.Prior != "":
		t.Status = t.Prior
		t.Prior = ""
		t.Lease = nil
		d.touch(t)
		d.addVerdict(t, from, true)
		return nil
	case op.Clear:
		d.addVerdict(t, from, false)
		return nil
	case op.IfHeld && !t.Status.InProgress():
		d.addVerdict(t, from, false)
		return nil
	case !t.Status.InProgress() || stale && (d.tx.Run == "" || t.Lease.Run != d.tx.Run):
		return d.invalidOp(n, "", "expected a task in progress, got one that is %s", from.String())
	}

	t.Lease = d.newLease(op.Timeout)
	t.Lease.Suspended = op.Suspended
	d.touch(t)
	d.addVerdict(t, from, true)
	return nil
}

func (op ArchiveTasks) apply(d *draft) error {
	archive, err := d.loadArchive()
	if err != nil {
		return err
	}
	return d.forEachTask(op.Tasks, func(n int) error {
		if d.peek(n) == nil && archive.Find(n) != nil {
			d.addVerdict(archive.Find(n), archive.Find(n).Status, false)
			return nil
		}
		t, err := d.editTask(n)
		if err != nil {
			return err
		}
		if !t.Status.Terminal() && !d.tx.Force {
			return d.invalidOp(n, "",
				"expected a completed or abandoned task, got one that is %s", t.Status.String())
		}
		d.removed[d.base.Index[n]] = true
		d.addVerdict(t, t.Status, true)
		return nil
	})
}

func (op UnarchiveTasks) apply(d *draft) error {
	archive, err := d.loadArchive()
	if err != nil {
		return err
	}

	err = d.forEachTask(op.Tasks, func(n int) error {
		t := d.peek(n)
		old := archive.Find(n)
		switch {
		case t != nil:
			d.addVerdict(t, t.Status, false)
		case old == nil:
			return noTask(n, false)
		default:
			d.restored = append(d.restored, statefile.RawTask{
				Task: *old,
				Raw:  archive.Value(n).Raw(archive.Src),
			})
			d.addVerdict(old, old.Status, true)
		}
		return nil
	})
	d.sortRestored()
	return err
}
