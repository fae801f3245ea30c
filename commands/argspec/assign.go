package argspec

import (
	"strconv"
	"strings"

	"tercet/formats"
)

// Assignments reads KEY=VALUE words. Values of dependencies and parent become numbers or lists of
// numbers.
func Assignments(words []string) (_ map[string]any, err error) {
	out := map[string]any{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, formats.Fail(formats.CodeUsage, "", "expected KEY=VALUE, got %q", w)
		}
		out[key] = value
		switch key {
		case "dependencies":
			var numbers []int
			if value != "" {
				numbers, err = ParseTasks(value)
			}
			out[key] = formats.Values(numbers)
		case "parent":
			out[key], err = strconv.Atoi(value)
		}
		if err != nil {
			return nil, formats.Fail(
				formats.CodeUsage,
				"",
				"expected %s for %s, got %q",
				map[string]string{
					"dependencies": "task numbers", "parent": "a task number",
				}[key],
				key,
				value,
			)
		}
	}

	return out, nil
}
