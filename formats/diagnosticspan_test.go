package formats_test

import (
	"testing"

	"tercet/formats"
)

// TestSortCompletes: a finding ends where the word ends that it points at, and has a fix where one
// candidate is offered.
func TestSortCompletes(t *testing.T) {
	t.Parallel()
	one := "did you mean 'plan'?"

	for name, tc := range map[string]struct {
		line, msg, help string
		col, end        int
		fixed           string // the line with the fix, empty without one
	}{
		"member": {
			"return: ${{ $steps.plam.status }}", "no step has id 'plam'", one, 20, 24,
			"return: ${{ $steps.plan.status }}",
		},
		"variable": {
			"when: $plam == 1", "unknown variable $plam", "did you mean '$plan'?", 7, 12,
			"when: $plan == 1",
		},
		"bare": {
			"when: $plam == 1", "unknown variable $plam", one, 7, 12, "when: $plan == 1",
		},
		"quoted": {
			"delegate: 'plam'", "unknown subagent 'plam'", one, 11, 17, "delegate: 'plan'",
		},
		"two": {
			"delegate: plam", "unknown subagent 'plam'", "did you mean 'plan' or 'play'?", 11, 15,
			"",
		},
		"other advice": {"delegate: plam", "unknown subagent 'plam'", "add plam.md", 11, 15, ""},
		"another word": {"delegate: plam", "expected an outcome, got \"xyz\"", one, 11, 15, ""},
		"brackets":     {"on: {a: [b, c]} # d", "expected a list", "", 5, 16, ""},
		"open bracket": {"on: {a: [b, c", "expected a list", "", 5, 14, ""},
		"heading":      {"## Workflow  ", "file has no section", "", 1, 12, ""},
		"wide":         {"id: naïve: 1", "x", "", 5, 11, ""},
		"behind":       {"id:", "key 'id' has no value", "", 4, 4, ""},
		"outside":      {"id:", "x", one, 9, 0, ""},
	} {
		d := formats.Diagnostics{
			List: []formats.Diagnostic{{
				File:    "f.md",
				Pos:     formats.Pos{Line: 2, Col: tc.col},
				Message: tc.msg,
				Help:    tc.help,
			}},
			Sources: map[string][]byte{"f.md": []byte("first\n" + tc.line + "\r\nlast\n")},
		}

		d.Sort()
		got := d.List[0]

		if got.End.Col != tc.end {
			t.Errorf("%s: Sort gives end %v, want column %d", name, got.End, tc.end)
		}

		fixed := ""
		if got.Fix != nil {
			fixed = tc.line[:got.Fix.Start.Col-1] + got.Fix.Text + tc.line[got.Fix.End.Col-1:]
		}

		if fixed != tc.fixed {
			t.Errorf("%s: the fix gives %q, want %q", name, fixed, tc.fixed)
		}
	}
}
