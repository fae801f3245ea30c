package formats_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/formats/returns"
)

// TestQuestions: what a subagent may ask the user, and every fault of what it may not.
func TestQuestions(t *testing.T) {
	t.Parallel()
	const good = `{"question": "Which port?", "header": "Port", ` +
		`"options": [{"label": "8080", "description": "as today"}, {"label": "80"}]}`
	many := func(n int) []any { return make([]any, n) }
	for name, c := range map[string]struct {
		value any
		want  string // in the faults; empty: there is none
	}{
		"one":   {[]any{good}, ""},
		"texts": {[]string{good, good, good, good}, ""},
		"an object": {[]any{map[string]any{
			"question": "Well?",
			"options":  []any{map[string]any{"label": "a"}, map[string]any{"label": "b"}},
			"multi":    true,
		}}, ""},
		"none":       {[]any{}, "expected 1 to 4 items in QUESTIONS, got 0"},
		"five":       {many(5), "expected 1 to 4 items in QUESTIONS, got 5"},
		"no list":    {"which?", "expected 1 to 4 items in QUESTIONS, got 0"},
		"no object":  {[]any{good, "which?"}, `expected item 2 of QUESTIONS as {"question"`},
		"two in one": {[]any{good + good}, "expected item 1 of QUESTIONS as"},
		"an unknown member": {
			[]any{strings.Replace(good, "header", "heading", 1)},
			"expected item 1 of QUESTIONS as",
		},
		"no question": {
			[]any{strings.Replace(good, "Which port?", " ", 1)},
			"expected a text in question of item 1",
		},
		"one option": {
			[]any{`{"question": "a?", "options": [{"label": "b"}]}`},
			"expected 2 to 8 options in item 1 of QUESTIONS, got 1",
		},
		"nine options": {
			[]any{`{"question": "a?", "options": [` + strings.Repeat(`{"label": "b"},`, 8) +
				`{"label": "b"}]}`},
			"expected 2 to 8 options in item 1 of QUESTIONS, got 9",
		},
		"the same twice": {
			[]any{strings.Replace(good, `"80"`, `"8080"`, 1)},
			`expected a label of its own for each option of item 1 of QUESTIONS, got "8080"`,
		},
		"what is offered": {[]any{strings.Replace(good, `"80"`, `"Other"`, 1)}, `got "Other"`},
	} {
		_, faults := formats.Questions(c.value)
		got := strings.Join(faults, "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: Questions = %s, want %s", name, got, c.want)
		}
	}

	ret := formats.Return{
		Status:        formats.StatusBlocked,
		Summary:       "s",
		BlockedReason: "r",
		BlockedTarget: formats.TargetUser,
		Fields:        map[string]any{formats.FieldQuestions: []any{"?"}},
	}
	info := formats.AgentInfo{
		Name: "a",
		Fields: map[string]formats.Field{formats.FieldQuestions: {
			Type:     formats.TypeList,
			Optional: true,
		}},
	}
	found := returns.Validate(ret, info)
	if len(found) != 1 || !strings.Contains(found[0], "item 1 of QUESTIONS") {
		t.Errorf("Validate = %q, want the fault of item 1", found)
	}
	list, _ := formats.Questions([]any{good})
	g := list[0].Gate()
	if g.Question != "Port: Which port?" || len(g.Show) != 1 || g.Show[0] != "8080: as today" ||
		len(g.Choices) != 3 || !g.Choices[0].Approves || g.Free != g.Choices[2].Label {
		t.Errorf("Gate = %+v", g)
	}
}

// TestAnswersInWords: an answer is an option, words of one's own, or several options; what says
// nothing is known.
func TestAnswersInWords(t *testing.T) {
	t.Parallel()
	q := formats.Question{Options: []formats.Option{{Label: "left"}, {Label: "right"}}}
	for _, c := range []struct {
		choice, note, one, several string
	}{
		{"left", "", "left", "left"},
		{"left", "a bit", "left (a bit)", "left (a bit)"},
		{"Other", "2", "2", "right"},
		{"Other", "1, 2,2", "1, 2,2", "left, right"},
		{"Other", "2、up", "2、up", "right, up"},
		{"Other", "3", "3", "3"},
	} {
		d := formats.Decision{Answer: c.choice, Note: c.note}
		q.Multi = false
		one := q.Says(d)
		q.Multi = true
		if one != c.one || q.Says(d) != c.several {
			t.Errorf("Says(%+v) = %q and %q, want %q and %q", d, one, q.Says(d), c.one, c.several)
		}
	}

	for words, want := range map[string]bool{
		"":              true,
		" TBD ":         true,
		"tbd.":          true,
		"?":             true,
		"？":             true,
		"Unknown":       true,
		"n/a":           true,
		"IDK":           true,
		"不明":            true,
		"未定":            true,
		"なし":            true,
		"わからない。":        true,
		"none":          false,
		"8080":          false,
		"unknown users": false,
	} {
		if formats.SaysNothing(words) != want {
			t.Errorf("SaysNothing(%q) = %t", words, !want)
		}
	}
}

// FuzzQuestions: whatever an agent asks, it is refused with a reason, or a question that can be
// put.
func FuzzQuestions(f *testing.F) {
	f.Add(`{"question": "a?", "options": [{"label": "b"}, {"label": "c"}], "multi": true}`, "1, 2")
	f.Add(`{"question": "\u0000", "options": []}`, "")
	f.Add(`[]`, "、")

	f.Fuzz(func(t *testing.T, item, note string) {
		list, faults := formats.Questions([]string{item})
		if len(list) == 0 && len(faults) == 0 {
			t.Fatalf("Questions(%q) is neither taken nor refused", item)
		}

		if len(faults) > 0 {
			return
		}

		g := list[0].Gate()
		if strings.ContainsAny(g.Question, "\n\r") || len(g.Choices) != len(list[0].Options)+1 {
			t.Fatalf("Gate = %+v", g)
		}

		list[0].Says(formats.Decision{Answer: formats.OtherAnswer, Note: note})

		again, err := json.Marshal(list[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := formats.Questions([]string{string(again)}); len(faults) > 0 {
			t.Fatalf("%s is refused: %q", again, faults)
		}
	})
}
