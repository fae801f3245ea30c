package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"tercet/state/exchange"
)

// TestForeignStates: the shape of a file says whether another system keeps its tasks in it.
func TestForeignStates(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{"active_projects": []}`:                                  "true false",
		`{"next_project_number": 7}`:                               "true false",
		`{"tasks": [{"number": 1, "status": "planned"}]}`:          "true false",
		`{"tasks": [{"task_number": 1, "status": "planned"}]}`:     "true false",
		`{"active_projects": [], "next_project_number": 1,,}`:      "true true",
		`{"lineage": "x", "tasks": [{"number": 1, "status": ""}]}`: "false false", // tercet's own
		`{"tasks": [{"label": "build"}]}`:                          "false false", // of an editor
		`{"tasks": {"active_projects": 1}}`:                        "false false",
		`{"properties": {"active_projects": {"type": "array"}}}`:   "false false", // a schema
		`{"next_project_number": "many"}`:                          "false false",
		`{"tasks": [`:                                              "false false",
		``:                                                         "false false",
	} {
		is, broken := exchange.IsForeign([]byte(src))
		if got := fmt.Sprint(is, broken); got != want {
			t.Errorf("isForeign(%s) = %s, want %s", src, got, want)
		}
	}
}

// TestTodoTitles: a title comes from the heading of a task, else from an item without a status.
func TestTodoTitles(t *testing.T) {
	t.Parallel()
	const src = `# TODO

1. Task 12 [PLANNED]
- **Task 12** [IN PROGRESS] first of all
- 13: [RESEARCHED] then this
- [ ] **Task 14**: Print it
- 15. Say [it] loudly

### 12. Count the words [NOT STARTED]
### Task 16: Keep [BRACKETS]
### 17. [COMPLETED]
`
	got := exchange.TodoTitles([]byte(src))
	want := map[int]string{
		12: "Count the words", 14: "Print it", 15: "Say [it] loudly", 16: "Keep [BRACKETS]",
	}
	for n := range 20 {
		if title := strings.Join(got[n], "|"); title != want[n] {
			t.Errorf("title of %d = %q, want %q", n, title, want[n])
		}
	}
}

func FuzzForeign(f *testing.F) {
	f.Add(`{"active_projects": [{"project_number": 1, "project_name": "x"}]}`)
	f.Add("### 12. Count the words [NOT STARTED]\n- 13: [PLANNED]\n")
	f.Fuzz(func(t *testing.T, src string) {
		is, broken := exchange.IsForeign([]byte(src))
		if broken && !is {
			t.Errorf("isForeign(%q) = false, broken", src)
		}
		for n, list := range exchange.TodoTitles([]byte(src)) {
			for _, title := range list {
				if n < 1 || title == "" || strings.ContainsAny(title, "\n\r") {
					t.Errorf("title of %d = %q", n, title)
				}
			}
		}
	})
}
