package meta //nolint:testpackage // it compares the parts with the draft

import (
	"errors"
	"strings"
	"testing"

	"tercet/formats"
)

// FuzzScore: whatever a workflow in YAML holds, each of its states is a step or is left to do, and
// each transition that is not translated is named. What is wrong has a place.
func FuzzScore(f *testing.F) {
	for _, seed := range []string{
		"states: [{name: a, transitions: [{when: done, to: b}]}, {name: b}]",
		"states: {a: {rules: [{condition: approved, next: b}]}, b: {rules: {rejected: a, ok: END}}}",
		"initial: b\nstates: [{name: a}, {name: b, transitions: [{to: b}]}]",
		"states:\n- name: a\n  transitions: [{when: no, to: f}, {when: yes, to: COMPLETE}]\n" +
			"- name: f\n  transitions: [{to: a}]\n",
		"states:\n- name: r\n  parallel: [{name: x}, {name: y}]\n" +
			"  transitions: [{when: 'any(\"no\")', to: r}, {when: all(ok), to: END}]\n",
		"states: [{name: ä}]", "states: 1", "- a", "states: [a, {name: [b]}]",
		"max_steps: x\nstates: [{name: a}]",
		"x: &a [*a]\nstates: *a", "states: [{name: a, transitions: [{when: moon, to: a}]}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readScore("s.yaml", data)
		if err != nil {
			d, ok := errors.AsType[*formats.Diagnostics](err)
			if !ok || len(d.List) == 0 || d.List[0].Pos.Line < 1 {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		p := s.orderStates()
		text := s.commandText(p)
		todo := strings.Join(p.allTodos(), "\n")
		for _, one := range s.states {
			step := strings.Contains(text, "\nid: "+snakeName(one.name)+"\n")
			left := strings.Contains(todo, "state '"+one.name+"' is left out")
			if step == left {
				t.Fatalf(
					"%q: state %q is a step: %v, is left out: %v\n%s",
					data,
					one.name,
					step,
					left,
					text,
				)
			}
			for _, w := range one.transitions {
				if step && w.when == unclear && !strings.Contains(todo, "it as a verdict") {
					t.Fatalf("%q: %q is lost\n%s", data, w.text, text)
				}
			}
		}
	})
}
