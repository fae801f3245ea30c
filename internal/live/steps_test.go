package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/internal/journal"
	"tercet/internal/live"
	"tercet/internal/style"
)

// TestSteps: the steps of subagents, of elements and of children side by side stand below the step
// that holds them, in whatever order they began, with outcome, time, tokens and documents.
func TestSteps(t *testing.T) {
	t.Parallel()
	list := []journal.Step{
		{Path: "open#1", Outcome: "skipped"},
		{Path: "phases#1", Outcome: "completed", Seconds: 190},
		{Path: "phases#1[0]/run#1", Outcome: "completed", Seconds: 12},
		{
			Path:    "phases#1[1]/run#1",
			Outcome: "failed",
			Seconds: 9,
			Summary: "the agent was stopped\x1b[2J by its time, and left what it had written in " +
				"the tree",
		},
		{
			Path:    "phases#1[0]/run#1.1/code#1",
			Outcome: "completed",
			Seconds: 11.5,
			Tokens:  12300,
			Files:   []string{"specs/196_x/plans/implementation-001.md"},
		},
		{Path: "phases#1[1]/run#1.1/code#1"},
		{Path: "phases#1[1]/run#1.2/code#1", Outcome: "failed", Seconds: 3},
		{Path: "look#1", Outcome: "rejected", Seconds: 4},
		{Path: "look#1/one#1", Outcome: "approved", Seconds: 2, Tokens: 800, Summary: "日本語"},
		{Path: "look#1/two#1", Outcome: "rejected", Seconds: 3, Summary: "the last page is lost"},
		{Path: "look#1/one#1.1/x#1", Outcome: "partial", Seconds: 1},
		{Path: "look#2", Outcome: "approved", Seconds: 4},
		{Path: "go#1"},
	}
	var got strings.Builder
	for _, width := range []int{40, 80, 200} {
		lines := live.Steps(list, width, fancy)
		for _, line := range lines {
			if style.Width(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		fmt.Fprintf(&got, "-- %d --\n%s\n", width, strings.Join(lines, "\n"))
	}

	file := filepath.Join("testdata", "steps.golden")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got.String() != string(want) {
		t.Errorf("drawn\n%s\nwant (%v)\n%s", got.String(), err, want)
	}
}
