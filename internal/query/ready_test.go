package query_test

import (
	"testing"

	"tercet/internal/query"
)

// TestReady: a task is ready if it waits for work and everything it depends on is done or gone.
func TestReady(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ filter, state, want, err string }{
		{`ready | .number`, tasksState, "2\n5\n", ""},
		{`ready`, `{"tasks":[{"z":1.0,"number":4,"status":"planned","dependencies":[9]},{"number":5,"status":"planned","dependencies":[4]}]}`, `{"z":1.0,"number":4,"status":"planned","dependencies":[9]}` + "\n", ""},
		{`[ready.number]`, `{"tasks":[{"number":1,"status":"completed"},{"number":2,"status":"partial","dependencies":[1]},{"number":3,"status":"blocked"}]}`, "[2]\n", ""},
		{`ready`, `{"tasks":[]}`, "", ""},
		{`ready`, `{"tasks":[{"number":1}]}`, "", "ready needs a state: an object with tasks that have number, status and dependencies"},
		{`ready`, `[]`, "", "ready needs a state: an object with tasks that have number, status and dependencies"},
		{`ready | .number.x`, tasksState, "", "expected an object but got: number (2)"},
	} {
		r, _, err := query.NewReady(query.CLIRequest{Filter: tt.filter, Compact: true, Statuses: corpusStatuses()})
		if err != nil {
			t.Fatal(err)
		}
		out, _, _, err := r.Run(t.Context(), query.Fast, query.Input{Data: []byte(tt.state)})
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if out != tt.want || msg != tt.err {
			t.Errorf("%s of %.100s = %q, %q, want %q, %q", tt.filter, tt.state, out, msg, tt.want, tt.err)
		}
	}
	if _, exit, err := query.NewReady(query.CLIRequest{Filter: "ready"}); err == nil || exit != 3 {
		t.Errorf("ready without statuses = %v, %d, want an unknown function", err, exit)
	}
}
