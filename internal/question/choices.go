package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/internal/phrase"
	"tercet/internal/plain"
)

// Set is the choices of one question with their keys.
type Set struct {
	labels []string
	words  []string // the labels as they are shown
	keys   []int    // where the letter of the key stands in the word, -1 without one
}

// reserved are the keys that no choice gets: they show a diff, open an editor and explain the keys.
const reserved = "de?"

// Of makes the Set of some choices in a language; each gets the first free letter of its label as
// key.
func Of(choices []formats.Choice, language string) Set {
	var s Set
	taken := reserved
	for _, c := range choices {
		word := phrase.In(language, c.Label)
		if c.Recommended {
			word += " " + phrase.In(language, "(recommended)")
		}

		key := strings.IndexFunc(word, func(r rune) bool {
			return r < unicode.MaxASCII && unicode.IsLetter(r) &&
				!strings.ContainsRune(taken, unicode.ToLower(r))
		})
		if key >= 0 {
			taken += strings.ToLower(word[key : key+1])
		}

		s.labels = append(s.labels, c.Label)
		s.words = append(s.words, word)
		s.keys = append(s.keys, key)
	}
	return s
}

// String is the choices in one line: [a]pprove [r]eject. A choice without a letter shows its
// number.
func (s Set) String() string {
	return strings.Join(s.showAll(), "  ")
}

func (s Set) showAll() []string {
	words := make([]string, len(s.labels))
	for i := range s.labels {
		words[i] = s.showChoice(i)
	}
	return words
}

func (s Set) showChoice(i int) string {
	label := s.words[i]
	key := s.keys[i]
	if key < 0 {
		return fmt.Sprintf("[%d] %s", i+1, plain.Line(label))
	}
	return plain.Line(label[:key]) + "[" + label[key:key+1] + "]" + plain.Line(label[key+1:])
}

// Keys explains how to answer, one a line.
func (s Set) Keys() []string {
	out := make([]string, 0, len(s.labels)+1)
	for i := range s.labels {
		out = append(out, fmt.Sprintf("%d  %s", i+1, s.showChoice(i)))
	}
	return append(
		out,
		"a letter or number answers; with Shift, and where it says no, it asks for a note first",
	)
}

// Read parses a line into a label, and the note after a colon.
func (s Set) Read(line string) (label, note string, ok bool) {
	label, ok = s.find(line)
	if ok {
		return label, "", true
	}
	for at, r := range line {
		if r != ':' && r != '：' {
			continue
		}
		label, ok = s.find(line[:at])
		if ok {
			return label, strings.TrimSpace(strings.TrimLeft(line[at:], ":：")), true
		}
	}
	return "", "", false
}

// find reads an answer without its note, in either language.
func (s Set) find(typed string) (string, bool) {
	word := normalizeAnswer(typed)
	if word == "" || len(word) == 1 && strings.Contains(reserved, word) {
		return "", false
	}

	named := func(fits func(label string) bool) (found []string) {
		for _, l := range s.labels {
			if fits(normalizeAnswer(l)) || fits(normalizeAnswer(phrase.In(phrase.Japanese, l))) {
				found = append(found, l)
			}
		}
		return found
	}
	if found := named(func(l string) bool { return l == word }); len(found) > 0 {
		return found[0], true
	}

	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(s.labels) {
		return s.labels[n-1], true
	}
	for i, l := range s.words {
		if key := s.keys[i]; key >= 0 && word == strings.ToLower(l[key:key+1]) {
			return s.labels[i], true
		}
	}

	found := named(func(l string) bool { return strings.HasPrefix(l, word) })
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// beginsChoice reports whether the name of a choice begins with what was typed, in either language.
func (s Set) beginsChoice(typed string) bool {
	word := normalizeAnswer(typed)
	return word != "" && slices.ContainsFunc(s.labels, func(l string) bool {
		return strings.HasPrefix(normalizeAnswer(l), word) ||
			strings.HasPrefix(normalizeAnswer(phrase.In(phrase.Japanese, l)), word)
	})
}

// Chosen is the choice for a word; without a word, the one that approves or leaves. It may require
// the note.
func Chosen(g formats.Gate, word, note string, approve bool) (string, error) {
	labels := make([]string, len(g.Choices))
	var meant, ways []string
	for i, c := range g.Choices {
		labels[i] = c.Label
		if word == "" && (approve && c.Approves || !approve && c.Leaves) {
			meant = append(meant, c.Label)
			ways = append(ways, fmt.Sprintf("--choice %d takes '%s'", i+1, c.Label))
		}
	}

	switch {
	case len(meant) == 1:
		return meant[0], nil
	case len(meant) > 1:
		return "", formats.Fail(formats.CodeUsage,
			"tercet approve "+g.Run+" "+strings.Join(ways, ", "),
			"expected one choice that goes on, got %d", len(meant))
	}

	if label, ok := Of(g.Choices, "").find(word); ok {
		if g.Lacks(label, note) {
			return "", formats.Fail(formats.CodeUsage, "pass --note 'what to do'",
				"the choice '%s' needs a note", label)
		}
		return label, nil
	}

	help := "pass --choice with one of " + strings.Join(labels, ", ")
	if word == "" {
		return "", formats.Fail(formats.CodeUsage, help, "no choice of the gate says just that")
	}
	return "", formats.Fail(formats.CodeUsage, help, "expected one choice of the gate, got %q",
		word)
}

// normalizeAnswer is a text as answers are compared: without case and blanks.
func normalizeAnswer(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// ParseYes parses the answer to a yes-or-no question with default no. Only y, yes, n, no and an
// empty line are valid.
func ParseYes(line string) (yes, ok bool) {
	switch normalizeAnswer(line) {
	case "y", "yes":
		return true, true
	case "", "n", "no":
		return false, true
	}
	return false, false
}
