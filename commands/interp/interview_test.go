package interp_test

import (
	"slices"
	"strings"
	"testing"

	"tercet/formats"
)

// wants is blocked until the user has answered.
func wants(questions ...any) formats.Return {
	ret := blocked("two things")
	ret.BlockedTarget = formats.TargetUser
	ret.Fields = map[string]any{formats.FieldQuestions: questions}
	return ret
}

// TestInterview: the answers of the user come back to the step that asked; what says nothing is
// asked once more, and what no person said is an assumption.
func TestInterview(t *testing.T) {
	t.Parallel()
	const port = `{"question": "Which port?", "options": [{"label": "8080"}, {"label": "443"}]}`
	const users = `{"question": "Who?", "options": [{"label": "all"}, ` +
		`{"label": "some"}], "multi": true}`
	for name, c := range map[string]struct {
		answers []string
		by      bool // a person answers
		want    string
		gates   int
	}{
		"a person": {
			[]string{"443", "Other 1, 2"},
			true,
			"Which port? 443\nWho? all, some",
			2,
		},
		"words of one's own": {
			[]string{"Other the free one", "some"},
			true,
			"Which port? the free one\nWho? some",
			2,
		},
		"nothing said once": {
			[]string{"Other TBD", "8080", "all"},
			true,
			"Which port? 8080\nWho? all",
			3,
		},
		"nothing said twice": {
			[]string{"Other 不明", "Other ?", "all"},
			true,
			"Which port? ?\nWho? all",
			3,
		},
		"nobody, but consent": {
			[]string{"8080", "all"},
			false,
			"Which port? 8080 (assumed)\nWho? all (assumed)",
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["worker"] = byVisit(wants(port, users), ok("done"))

			answer := choose(c.answers...)
			w.answer = func(g formats.Gate) (formats.Decision, error) {
				d, err := answer(g)
				d.Person = c.by
				return d, err
			}

			ret := w.run(
				t.Context(),
				file(
					"", "",
					"A: id: a\ndelegate: worker\non: {blocked: gate}",
					"B: return: went on",
				),
				"",
			)

			got := describeReturn(ret)
			if got != "completed 0: went on" || len(w.requests) != 2 || len(w.gates) != c.gates {
				t.Fatalf("Run = %s with %d calls and %d gates", got, len(w.requests), len(w.gates))
			}

			if fb := w.requests[1].Feedback; fb == nil || fb.Answer != c.want {
				t.Errorf("feedback = %+v, want %q", fb, c.want)
			}
		})
	}

	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.agents["worker"] = always(wants(port))

		ret := w.run(
			t.Context(),
			file("", "", "A: id: a\ndelegate: worker\non: {blocked: gate}"),
			"",
		)

		got := describeReturn(ret)
		if !strings.HasPrefix(got, "suspended 75: gate \"Which port?\" has no answer") {
			t.Errorf("Run = %s", got)
		}
	})
}

// TestNextIsNotObeyed: a worker that names another agent than the one that comes next is noted
// once, and not obeyed.
func TestNextIsNotObeyed(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"judge":  "worker judge second",
		"Second": "",
		"":       "",
	} {
		w := newWorld(t)
		named := ok("done")
		named.Fields = map[string]any{"NEXT": next}

		w.agents["worker"] = always(named)
		w.agents["second"] = always(ok("done"))
		w.agents["judge"] = always(verdict(formats.VerdictApproved))

		src := file(
			"", "",
			"A: id: a\ndelegate: worker",
			"B: id: b\ndelegate: second",
			"C: id: c\ndelegate: judge",
		)

		if ret := w.run(t.Context(), src, ""); !ret.Outcome().Passes() {
			t.Fatalf("Run = %s", describeReturn(ret))
		}

		var noted, called []string
		for _, e := range w.entries {
			data, _ := e.Data.(map[string]any)
			if e.Type == formats.EntryNextMismatch {
				noted = append(
					noted,
					data["agent"].(string)+" "+data["said"].(string)+" "+data["did"].(string),
				)
			}
		}

		for _, r := range w.requests {
			called = append(called, r.Agent)
		}

		got := strings.Join(noted, "; ")
		if got != want || !slices.Equal(called, []string{"worker", "second", "judge"}) {
			t.Errorf("NEXT %q: noted %q, want %q; called %q", next, got, want, called)
		}
	}
}
