package question

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/plain"
)

// Item is one question.
type Item struct {
	Name, Text string   // a word and a line that say what it is
	Choices    []string // nil: free text
	Known      []string // words that are known in free text
	Default    string   // taken for an empty line
	Optional   bool     // an empty line skips it
	// Check says why an answer is invalid, empty if it is valid; nil accepts all.
	Check func(answer string) string
}

// Interview asks questions one after the other, and shows all answers at the end.
type Interview struct {
	items   []Item
	answers []string
	at      int // the one that is asked; behind the last: the review of all
	seen    int // how many have an answer
}

// NewInterview starts at the first question.
func NewInterview(items []Item) *Interview {
	return &Interview{items: items, answers: make([]string, len(items))}
}

// Back is the answer that returns to the previous question.
const Back = "back"

// Ask gives the explanation of the current question, and the prompt for its answer.
func (i *Interview) Ask() (lines []string, prompt string) {
	if i.Reviews() {
		for n, item := range i.items {
			answer := plain.Line(cmp.Or(i.answers[n], "-"))
			lines = append(lines, fmt.Sprintf("  %d  %s: %s", n+1, item.Name, answer))
		}
		return lines, "Enter goes on, a number changes one, Ctrl-D leaves: "
	}

	item := &i.items[i.at]
	text := plain.Line(cmp.Or(item.Text, item.Name))
	lines = append(lines, fmt.Sprintf("%d of %d  %s", i.at+1, len(i.items), text))
	for _, key := range item.choiceSet().Keys()[:len(item.Choices)] {
		lines = append(lines, "  "+key)
	}
	if len(item.Known) > 0 {
		lines = append(lines, "  there are: "+plain.Line(strings.Join(item.Known, ", ")))
	}

	prompt = item.Name
	if taken := i.defaultAnswer(); taken != "" {
		prompt += " [" + plain.Line(taken) + "]"
	}
	return lines, prompt + ": "
}

// Reviews reports whether the user now sees all answers; empty is the meaning of an empty line.
func (i *Interview) Reviews() bool {
	return i.at == len(i.items)
}

func (i *Interview) defaultAnswer() string {
	return cmp.Or(i.answers[i.at], i.items[i.at].Default)
}

func (t *Item) choiceSet() Set {
	choices := make([]formats.Choice, len(t.Choices))
	for n, label := range t.Choices {
		choices[n].Label = label
	}
	return Of(choices, "")
}

// Answer takes a line. done means that the user has confirmed all answers; bad says why the line is
// invalid.
func (i *Interview) Answer(line string) (done bool, bad string) {
	word := strings.TrimSpace(line)
	switch {
	case word == Back:
		i.at = max(0, i.at-1)
		return false, ""
	case i.at < len(i.items):
		return false, i.acceptAnswer(word)
	case word == "":
		return true, ""
	}

	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > len(i.items) {
		return false, fmt.Sprintf("expected Enter or a number up to %d, got %q", len(i.items), word)
	}
	i.at = n - 1
	return false, ""
}

// acceptAnswer keeps an answer that fits, and goes to the next thing without one.
func (i *Interview) acceptAnswer(word string) (bad string) {
	item := &i.items[i.at]
	switch {
	case word == "" && i.defaultAnswer() == "" && !item.Optional:
		return "an answer is needed, or '" + Back + "'"
	case word == "":
		word = i.defaultAnswer()
	case item.Choices != nil:
		label, _, ok := item.choiceSet().Read(word)
		if !ok {
			return fmt.Sprintf("expected one of %s, got %q", strings.Join(item.Choices, ", "), word)
		}
		word = label
	}

	if word != "" && item.Check != nil {
		if bad := item.Check(word); bad != "" {
			return bad
		}
	}

	i.answers[i.at] = word
	i.seen = max(i.seen, i.at+1)
	i.at++
	if i.seen == len(i.items) {
		i.at = i.seen // an answer was changed: all are shown again
	}
	return ""
}

// Answers gives the answers in order; empty for a skipped question.
func (i *Interview) Answers() []string {
	return i.answers
}

// Run asks until the user has confirmed all answers, and gives them. ask shows lines and gives the
// text typed at a prompt; its error ends the interview. problem stands above the first question,
// the line that the answers make below the review.
func (i *Interview) Run(
	problem string,
	line func(answers []string) string,
	ask func(lines []string, prompt string) (string, error),
) ([]string, error) {
	head := []string{
		problem,
		"Enter takes what stands in brackets, 'back' goes back, Ctrl-D leaves.",
	}
	bad := ""
	for {
		lines, prompt := i.Ask()
		switch {
		case bad != "": // the question stands above
			lines = []string{bad}
		case i.Reviews(): // a user who leaves, or is refused, keeps the line
			lines = append(lines, "  "+line(i.Answers()))
		}
		answer, err := ask(append(head, lines...), prompt)
		if err != nil {
			return nil, err
		}
		head = nil
		var done bool
		done, bad = i.Answer(answer)
		if done {
			return i.Answers(), nil
		}
	}
}
