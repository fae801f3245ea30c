package project

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
)

// howToReach says what brings a task to one of these statuses. Where no command starts from the
// status of the task, it says what gives it another one.
func (s *Session) howToReach(t *formats.Task, to []formats.TaskStatus) string {
	lines := s.Catalog.LinesFor(t, to)
	set := fmt.Sprintf("tercet task set %d ", t.Number)
	switch {
	case t.Status.Terminal():
		return fmt.Sprintf("to take it up again: /task --recover %d REASON", t.Number)
	case t.Status == formats.Expanded:
		return "its parts are tasks of their own: 'tercet task list' shows them"
	case t.Status.KeepsPrior() && len(lines) == 0:
		return "to take it up again: " + set + "--back"
	case slices.Contains(to, t.Status): // it should have a document that it has not
		return "to have one made: " + set + `blocked --reason "it is missing", then ` + lines[0]
	case len(lines) == 0:
		return ""
	}
	return "run " + strings.Join(lines, ", or ")
}
