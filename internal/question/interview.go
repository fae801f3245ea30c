package question

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/plain"
)

// Item is one thing that is asked for.
type Item struct {
	Name, Text string   // what it is, in a word and in a line
	Choices    []string // nil for an open question
	Known      []string // words that an open answer may hold among others
	Default    string   // an empty line takes it
	Optional   bool     // an empty line leaves it out
	// Check says what is wrong with an answer, empty if nothing is; nil takes all.
	Check func(answer string) string
}

// Interview asks for some things, one after the other, and shows all answers before it ends.
type Interview struct {
	items   []Item
	answers []string
	at      int // the one that is asked; behind the last: the review of all
	seen    int // how many have an answer
}

// NewInterview begins with the first thing.
func NewInterview(items []Item) *Interview {
	return &Interview{items: items, answers: make([]string, len(items))}
}

// Back is the answer that goes back to the thing before.
const Back = "back"

// Ask gives the lines that explain what is asked now, and the beginning of the line in which the answer is typed.
func (i *Interview) Ask() (lines []string, prompt string) {
	if i.Reviews() {
		for n, item := range i.items {
			lines = append(lines, fmt.Sprintf("  %d  %s: %s", n+1, item.Name, plain.Line(cmp.Or(i.answers[n], "-"))))
		}
		return lines, "Enter goes on, a number changes one, Ctrl-D leaves: "
	}
	item := &i.items[i.at]
	lines = append(lines, fmt.Sprintf("%d of %d  %s", i.at+1, len(i.items), plain.Line(cmp.Or(item.Text, item.Name))))
	for _, key := range item.set().Keys()[:len(item.Choices)] {
		lines = append(lines, "  "+key)
	}
	if len(item.Known) > 0 {
		lines = append(lines, "  there are: "+plain.Line(strings.Join(item.Known, ", ")))
	}
	prompt = item.Name
	if taken := i.empty(); taken != "" {
		prompt += " [" + plain.Line(taken) + "]"
	}
	return lines, prompt + ": "
}

// Reviews tells whether all answers are shown, and empty what an empty line is taken for.
func (i *Interview) Reviews() bool { return i.at == len(i.items) }
func (i *Interview) empty() string { return cmp.Or(i.answers[i.at], i.items[i.at].Default) }

func (t *Item) set() Set {
	choices := make([]formats.Choice, len(t.Choices))
	for n, label := range t.Choices {
		choices[n].Label = label
	}
	return Of(choices, "")
}

// Answer takes a line. done tells that the person has seen all answers and goes on; bad says why it was not taken.
func (i *Interview) Answer(line string) (done bool, bad string) {
	word := strings.TrimSpace(line)
	switch {
	case word == Back:
		i.at = max(0, i.at-1)
		return false, ""
	case i.at < len(i.items):
		return false, i.take(word)
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

// take keeps an answer that fits, and goes to the next thing without one.
func (i *Interview) take(word string) (bad string) {
	item := &i.items[i.at]
	switch {
	case word == "" && i.empty() == "" && !item.Optional:
		return "an answer is needed, or '" + Back + "'"
	case word == "":
		word = i.empty()
	case item.Choices != nil:
		label, _, ok := item.set().Read(word)
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

// Answers gives the answers in order; empty where one was left out.
func (i *Interview) Answers() []string { return i.answers }
