package argspec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Check says what is wrong with one word, or a text, as the value of the argument; empty if nothing is.
func (s *Spec) Check(text string) string {
	if _, want := s.value(text); want != "" {
		return s.Expected(want, text)
	}
	return ""
}

// Text is a value of the argument as it would be typed; empty for none.
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

// Fill gives what to put behind a line that lacks arguments, for the answers in their order: as text, and as the words
// of a shell. An empty answer gives nothing. Positional ones stand as they are, a text at the end.
func Fill(open []Spec, answers []string) (raw string, words []string) {
	var raws [3][]string
	var parts [3][]string
	for i := range open {
		s, text := &open[i], answers[i]
		at, flag := 0, ""
		switch {
		case text == "" || text == s.Text(s.Default):
			continue
		case s.Flag || isFlag(text):
			at, flag = 1, "--"+dashed(s.Name)+"="
		case s.Type == Text:
			at = 2
		}
		raws[at], parts[at] = append(raws[at], flag+quote(text)), append(parts[at], flag+text)
	}
	return strings.Join(slices.Concat(raws[:]...), " "), slices.Concat(parts[:]...)
}
