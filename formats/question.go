package formats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FieldQuestions is the field in which a blocked subagent asks the user.
const FieldQuestions = "QUESTIONS"

// TargetUser is the blocked_target of a question to the user.
const TargetUser = "user"

// Question is one question of a subagent to the user. The user may also answer in free text.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header"` // one or two words
	Options  []Option `json:"options"`
	Multi    bool     `json:"multi"` // the user may pick several options
}

// Option is one offered answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Questions parses the field: each item is a JSON object, or its text. faults says what is wrong.
func Questions(value any) (list []Question, faults []string) {
	items, _ := value.([]any) //nolint:errcheck // anything else has no question, which is a fault
	if texts, ok := value.([]string); ok {
		for _, text := range texts {
			items = append(items, text)
		}
	}
	if len(items) < 1 || len(items) > 4 {
		return nil, []string{fmt.Sprintf("expected 1 to 4 items in %s, got %d",
			FieldQuestions, len(items))}
	}

	for i, item := range items {
		at := fmt.Sprintf("item %d of %s", i+1, FieldQuestions)
		text, ok := item.(string)
		if !ok {
			data, err := json.Marshal(item)
			text = string(data)
			if err != nil {
				text = err.Error()
			}
		}
		var q Question
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		if err := in.Decode(&q); err != nil || in.More() {
			const form = `{"question": "...", "options": [{"label": "..."}, ...]}`
			faults = append(faults, "expected "+at+" as "+form+", got "+Clip(text, 60))
			continue
		}
		list = append(list, q)
		faults = append(faults, q.validate(at)...)
	}

	return list, faults
}

// validate says what is wrong with a question.
func (q Question) validate(at string) (out []string) {
	if strings.TrimSpace(q.Question) == "" {
		out = append(out, "expected a text in question of "+at+", got none")
	}
	if n := len(q.Options); n < 2 || n > 8 {
		out = append(out, fmt.Sprintf("expected 2 to 8 options in %s, got %d", at, n))
	}

	var labels []string
	for _, o := range q.Options {
		label := strings.TrimSpace(o.Label)
		if label == "" || label == OtherAnswer || slices.Contains(labels, label) {
			out = append(
				out,
				fmt.Sprintf("expected a label of its own for each option of %s, got %q",
					at, o.Label),
			)
		}
		labels = append(labels, strings.TrimSpace(o.Label))
	}
	return out
}

// OtherAnswer is the choice for an answer in free text.
const OtherAnswer = "Other"

// Gate converts the question to a gate; consent takes the first option.
func (q Question) Gate() Gate {
	g := Gate{Question: OneLine(q.Question), Free: OtherAnswer}
	if strings.TrimSpace(q.Header) != "" {
		g.Question = OneLine(q.Header) + ": " + g.Question
	}

	for _, o := range q.Options {
		label := OneLine(o.Label)
		g.Choices = append(g.Choices, Choice{Label: label, Approves: true})
		if strings.TrimSpace(o.Description) != "" {
			g.Show = append(g.Show, label+": "+OneLine(o.Description))
		}
	}

	g.Choices = append(g.Choices, Choice{Label: OtherAnswer, NeedsNote: true})
	if q.Multi {
		g.Show = append(g.Show, "Several are taken by their numbers with commas, as in 1, 2.")
	}
	return g
}

// Says formats an answer: the options and the free text. In a list, the number of an option stands
// for its label.
func (q Question) Says(d Decision) string {
	if d.Answer != OtherAnswer {
		if d.Note == "" {
			return d.Answer
		}
		return d.Answer + " (" + OneLine(d.Note) + ")"
	}

	if !q.Multi {
		return OneLine(d.Note)
	}
	var out []string
	for part := range strings.FieldsFuncSeq(d.Note, func(r rune) bool {
		return r == ',' || r == '、' || r == '，'
	}) {
		part = OneLine(strings.TrimSpace(part))
		if n, err := strconv.Atoi(part); err == nil && n >= 1 && n <= len(q.Options) {
			part = OneLine(q.Options[n-1].Label)
		}
		if part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return strings.Join(out, ", ")
}

// SaysNothing reports whether a user's answer says nothing.
func SaysNothing(words string) bool {
	none := []string{
		"", "tbd", "?", "？", "unknown", "n/a", "idk", "不明", "未定", "なし", "わからない",
	}
	return slices.Contains(none, strings.ToLower(strings.Trim(words, " \t。.")))
}
