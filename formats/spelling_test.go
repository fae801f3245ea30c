package formats_test

import (
	"strings"
	"testing"

	"tercet/formats"
)

func TestLooseTaskStatus(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]formats.TaskStatus{
		"planned":        formats.Planned,
		"Not Started":    formats.NotStarted,
		"[IN PROGRESS]":  formats.Partial,
		"done":           formats.Completed,
		"success":        formats.Completed,
		"implemented":    formats.Completed,
		"superseded":     formats.Abandoned,
		"active":         formats.NotStarted,
		"on-hold":        formats.OnHold,
		"**Blocked**":    formats.Blocked,
		"in_progress":    formats.Partial,
		"expanded":       formats.Expanded,
		"Plan Completed": formats.Planned,
		"won't fix":      formats.Abandoned,
	} {
		if got, err := formats.LooseTaskStatus(word); got != want || err != nil {
			t.Errorf("LooseTaskStatus(%q) = %q, %v, want %q", word, got, err, want)
		}
	}

	for _, s := range formats.TaskStatuses() {
		for _, word := range []string{
			s.String(),
			strings.ToUpper(s.String()),
			strings.ReplaceAll(s.String(), "_", " "),
		} {
			if got, err := formats.LooseTaskStatus(word); got != s || err != nil {
				t.Errorf("LooseTaskStatus(%q) = %q, %v, want %q", word, got, err, s)
			}
		}
	}

	for _, word := range []string{"", "plan", "x", "[]"} {
		if got, err := formats.LooseTaskStatus(word); err == nil {
			t.Errorf("LooseTaskStatus(%q) = %q, want an error", word, got)
		}
	}
}
