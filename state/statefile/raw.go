package statefile

import (
	"cmp"
	"errors"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// RawTask is a task with its bytes.
type RawTask struct {
	Task formats.Task
	Raw  []byte
}

// Renumber changes the number of a task and its references, also in its raw bytes.
func (t *RawTask) Renumber(numbers map[int]int) (err error) {
	if n, ok := numbers[t.Task.Number]; ok {
		t.Task.Number = n
		err = t.SetMember("number", n)
	}

	deps := slices.Clone(t.Task.Dependencies)
	for i, n := range deps {
		deps[i] = cmp.Or(numbers[n], n)
	}
	if !slices.Equal(deps, t.Task.Dependencies) {
		t.Task.Dependencies = deps
		err = errors.Join(err, t.SetMember("dependencies", deps))
	}

	if t.Task.Parent != nil && numbers[*t.Task.Parent] != 0 {
		to := numbers[*t.Task.Parent]
		t.Task.Parent = &to
		err = errors.Join(err, t.SetMember("parent", to))
	}
	return err
}

// SetMember replaces a member in the raw bytes of the task.
func (t *RawTask) SetMember(key string, value any) error {
	v, err := jsonx.Parse(t.Raw, jsonx.Limits{})
	if err != nil {
		return err
	}

	raw, err := jsonx.Marshal(value, "")
	if err != nil {
		return err
	}

	t.Raw, err = jsonx.Splice(
		t.Raw,
		jsonx.EditMembers(t.Raw, v, []jsonx.Change{{Key: key, Raw: raw}}),
	)
	return err
}
