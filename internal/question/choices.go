package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/internal/plain"
)

// Set is the choices of one question with their keys.
type Set struct {
	labels []string
	keys   []int // where the letter of the key stands in the label, -1 without one
}

// reserved are the keys that no choice gets: they show a diff, open an editor and explain the keys.
const reserved = "de?"

// Of gives each choice its first letter that is free.
func Of(choices []formats.Choice) Set {
	var s Set
	taken := reserved
	for _, c := range choices {
		key := strings.IndexFunc(c.Label, func(r rune) bool {
			return r < unicode.MaxASCII && unicode.IsLetter(r) && !strings.ContainsRune(taken, unicode.ToLower(r))
		})
		if key >= 0 {
			taken += strings.ToLower(c.Label[key : key+1])
		}
		s.labels, s.keys = append(s.labels, c.Label), append(s.keys, key)
	}
	return s
}

// String shows the choices in one line: [a]pprove  [r]eject. One without a letter shows its number.
func (s Set) String() string { return strings.Join(s.shownAll(), "  ") }

func (s Set) shownAll() []string {
	words := make([]string, len(s.labels))
	for i := range s.labels {
		words[i] = s.shown(i)
	}
	return words
}

func (s Set) shown(i int) string {
	label, key := s.labels[i], s.keys[i]
	if key < 0 {
		return fmt.Sprintf("[%d] %s", i+1, plain.Line(label))
	}
	return plain.Line(label[:key]) + "[" + label[key:key+1] + "]" + plain.Line(label[key+1:])
}

// Keys explains how to answer, a line each.
func (s Set) Keys() []string {
	out := make([]string, 0, len(s.labels)+1)
	for i := range s.labels {
		out = append(out, fmt.Sprintf("%d  %s", i+1, s.shown(i)))
	}
	return append(out, "type a letter, a number or the beginning of a label; ': words' behind it are kept as a note")
}

// Read gives the label that a line chooses, and the note behind its colon.
func (s Set) Read(line string) (label, note string, ok bool) {
	if label, ok = s.find(line); ok {
		return label, "", true
	}
	for at, r := range line {
		if r != ':' && r != '：' {
			continue
		}
		if label, ok = s.find(line[:at]); ok {
			return label, strings.TrimSpace(strings.TrimLeft(line[at:], ":：")), true
		}
	}
	return "", "", false
}

// find reads an answer without its note.
func (s Set) find(typed string) (string, bool) {
	word := folded(typed)
	if word == "" || len(word) == 1 && strings.Contains(reserved, word) {
		return "", false
	}
	labels := make([]string, len(s.labels))
	for i, l := range s.labels {
		labels[i] = folded(l)
	}
	if i := slices.Index(labels, word); i >= 0 {
		return s.labels[i], true
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(s.labels) {
		return s.labels[n-1], true
	}
	for i, l := range s.labels {
		if key := s.keys[i]; key >= 0 && word == strings.ToLower(l[key:key+1]) {
			return l, true
		}
	}
	begins := func(l string) bool { return strings.HasPrefix(l, word) }
	i := slices.IndexFunc(labels, begins)
	if i < 0 || slices.ContainsFunc(labels[i+1:], begins) {
		return "", false
	}
	return s.labels[i], true
}

// Chosen is the choice of a word, else the one that approves or leaves.
func Chosen(choices []formats.Choice, word string, approve bool) (string, error) {
	labels := make([]string, len(choices))
	for i, c := range choices {
		if labels[i] = c.Label; word == "" && (approve && c.Approves || !approve && c.Leaves) {
			return c.Label, nil
		}
	}
	if label, ok := Of(choices).find(word); ok {
		return label, nil
	}
	help := "pass --choice with one of " + strings.Join(labels, ", ")
	if word == "" {
		return "", formats.Fail(formats.CodeUsage, help, "no choice of the gate says just that")
	}
	return "", formats.Fail(formats.CodeUsage, help, "expected one choice of the gate, got %q", word)
}

// folded is a text as answers are compared: without case and blanks.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// Yes reads the answer to a question of yes or no whose default is no. Only y, yes, n, no and an empty line count.
func Yes(line string) (yes, ok bool) {
	switch folded(line) {
	case "y", "yes":
		return true, true
	case "", "n", "no":
		return false, true
	}
	return false, false
}
