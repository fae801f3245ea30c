package query_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tercet/internal/query"
)

// TestReady: a task is ready if it waits for work and everything it depends on is done or gone.
func TestReady(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ filter, state, want, err string }{
		{`ready | .number`, tasksState, "2\n5\n", ""},
		{
			`ready`,
			`{"tasks":[{"z":1.0,"number":4,"status":"planned","dependencies":[9]},` +
				`{"number":5,"status":"planned","dependencies":[4]}]}`,
			`{"z":1.0,"number":4,"status":"planned","dependencies":[9]}` + "\n",
			"",
		},
		{
			`[ready.number]`,
			`{"tasks":[{"number":1,"status":"completed"},` +
				`{"number":2,"status":"partial","dependencies":[1]},` +
				`{"number":3,"status":"blocked"}]}`,
			"[2]\n", "",
		},
		{`ready`, `{"tasks":[]}`, "", ""},
		{
			`ready`, `{"tasks":[{"number":1}]}`, "",
			"ready needs a state: an object with tasks that have number, status and dependencies",
		},
		{
			`ready`, `[]`, "",
			"ready needs a state: an object with tasks that have number, status and dependencies",
		},
		{`ready | .number.x`, tasksState, "", "expected an object but got: number (2)"},
	} {
		r, _, err := query.NewReady(query.CLIRequest{
			Filter:   tt.filter,
			Compact:  true,
			Statuses: corpusStatuses(),
		})
		if err != nil {
			t.Fatal(err)
		}
		out, _, _, err := r.Run(t.Context(), false, query.Input{Data: []byte(tt.state)})
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if out != tt.want || msg != tt.err {
			t.Errorf("%s of %.100s = %q, %q, want %q, %q",
				tt.filter, tt.state, out, msg, tt.want, tt.err)
		}
	}

	if _, exit, err := query.NewReady(query.CLIRequest{Filter: "ready"}); err == nil || exit != 3 {
		t.Errorf("ready without statuses = %v, %d, want an unknown function", err, exit)
	}
}

// TestReadyOfMany: tasks that are handed on in parts, and read again from a file, are those of the
// whole document.
func TestReadyOfMany(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	src.WriteString(`{"tasks":[`)
	for i := 1; i <= 2500; i++ {
		if i > 1 {
			src.WriteString(",\n")
		}
		fmt.Fprintf(&src,
			`{"number":%d,"status":"%s","title":"%s","dependencies":[%d],"more":{"z":1.0,`+
				`"a":[%d]}}`,
			i, []string{"planned", "completed", "partial"}[i%3], strings.Repeat("x", i%90), i/2, i)
	}

	src.WriteString("]}\n")
	data := []byte(src.String())
	for _, filter := range []string{
		"ready | .number", "ready", "ready | {number, title}", "ready.more.a",
		`ready | select(.title | length > 80) | .number`, "ready | .number as $n | $n + 1",
	} {
		r, exit, err := query.NewReady(query.CLIRequest{Filter: filter, Statuses: corpusStatuses()})
		if err != nil {
			t.Fatalf("%s: %d, %v", filter, exit, err)
		}
		want, _, _, err := r.Run(t.Context(), true, query.Input{Data: data})
		if err != nil || len(want) < 300 {
			t.Fatalf("%s = %d bytes, %v, want many", filter, len(want), err)
		}
		for name, in := range map[string]query.Input{
			"data": {Data: data},
			"file": {File: bytes.NewReader(data)},
		} {
			got, _, fast, err := r.Run(t.Context(), false, in)
			if got != want || !fast || err != nil {
				t.Errorf("%s of %s: %d bytes, fast %t, %v, want %d bytes as the slow way gives",
					filter, name, len(got), fast, err, len(want))
			}
		}
	}
}
