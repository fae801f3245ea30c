package state

import (
	"cmp"
	"errors"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// rawTask is a task with its bytes.
type rawTask struct {
	task formats.Task
	raw  []byte
}

// renumber changes the number of a task and its references, also in its raw bytes.
func (t *rawTask) renumber(numbers map[int]int) (err error) {
	if n, ok := numbers[t.task.Number]; ok {
		t.task.Number = n
		err = t.setMember("number", n)
	}
	deps := slices.Clone(t.task.Dependencies)
	for i, n := range deps {
		deps[i] = cmp.Or(numbers[n], n)
	}
	if !slices.Equal(deps, t.task.Dependencies) {
		t.task.Dependencies = deps
		err = errors.Join(err, t.setMember("dependencies", deps))
	}
	if t.task.Parent != nil && numbers[*t.task.Parent] != 0 {
		to := numbers[*t.task.Parent]
		t.task.Parent = &to
		err = errors.Join(err, t.setMember("parent", to))
	}
	return err
}

// setMember replaces a member in the raw bytes of the task.
func (t *rawTask) setMember(key string, value any) error {
	v, err := jsonx.Parse(t.raw, jsonx.Limits{})
	if err != nil {
		return err
	}
	raw, err := jsonx.Marshal(value, "")
	if err != nil {
		return err
	}
	t.raw, err = jsonx.Splice(
		t.raw,
		jsonx.EditMembers(t.raw, v, []jsonx.Change{{Key: key, Raw: raw}}),
	)
	return err
}
