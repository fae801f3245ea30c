package exchange_test

import (
	"fmt"
	"testing"

	"tercet/formats"
	"tercet/state/exchange"
	"tercet/state/statefile"
)

// TestMergeOfAbsentDependencies: a state by hand may lack the member that both sides changed.
func TestMergeOfAbsentDependencies(t *testing.T) {
	t.Parallel()

	state := func(serial int, first string) []byte {
		task := `{"number": %d, "title": "t", "status": "not_started"%s}`
		return fmt.Appendf(nil, `{"version": "1", "lineage": "l", "serial": %d, "next_number": 4,
			"tasks": [%s, %s, %s]}`, serial, fmt.Sprintf(task, 1, first),
			fmt.Sprintf(task, 2, ""), fmt.Sprintf(task, 3, ""))
	}

	for _, ours := range []string{"", `, "dependencies": null`} {
		m, err := exchange.Merge(exchange.Sources{
			Name:   "state.json",
			Base:   state(1, `, "dependencies": [2]`),
			Ours:   state(2, ours),
			Theirs: state(2, `, "dependencies": [2, 3]`),
		}, exchange.ResolveNone)
		if err != nil || len(m.Conflicts) > 0 {
			t.Fatalf("merge with %q = %+v, %v, want no conflict", ours, m, err)
		}

		doc, err := statefile.Parse("state.json", m.Data)
		if err != nil {
			t.Fatal(err)
		}

		task := doc.Find(1)
		if got := fmt.Sprint(task.Dependencies); got != "[3]" || task.Status != formats.NotStarted {
			t.Errorf("task 1 with %q = %+v, want what theirs added without what ours removed",
				ours, task)
		}
	}
}
