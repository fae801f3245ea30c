package argspec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Check says why a word or a text is no value of the argument; empty if it is one.
func (s *Spec) Check(text string) string {
	if _, want := s.value(text); want != "" {
		return s.Expected(want, text)
	}
	return ""
}

// Text is a value of the argument as a user would type it; empty for none.
func (s *Spec) Text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any, map[string]any:
		data, _ := json.Marshal(v) //nolint:errcheck // it was read from a file as such
		return string(data)
	case int:
		if s.Type == Duration {
			return fmt.Sprintf("%ds", v)
		}
	}
	return fmt.Sprint(value)
}

// Fill gives the text to append to a line that lacks arguments, from the answers in order: once as
// typed, once as shell words. An empty answer adds nothing, and what follows it is given by its
// name, because it would take its place. Positional arguments come first, a text last.
func Fill(open []Spec, answers []string) (raw string, words []string) {
	var raws [3][]string
	var parts [3][]string
	gap := false

	for i := range open {
		s := &open[i]
		text := answers[i]
		at := 0
		flag := ""
		switch {
		case text == "" || text == s.Text(s.Default):
			gap = gap || !s.Flag
			continue
		case s.Flag || gap || isFlag(text):
			at = 1
			flag = "--" + kebabName(s.Name) + "="
		case s.Type == Text:
			at = 2
		}

		raws[at] = append(raws[at], flag+quote(text))
		parts[at] = append(parts[at], flag+text)
	}

	return strings.Join(slices.Concat(raws[:]...), " "), slices.Concat(parts[:]...)
}
