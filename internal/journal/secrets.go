package journal

import (
	"slices"
	"strings"
)

// Secrets gives the values of those variables of an environment that hold a secret by their name.
func Secrets(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !secretName(name) {
			continue
		}
		out = append(out, value)
		// A value of several lines is printed line by line.
		for line := range strings.Lines(value) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool {
		return name == word || strings.HasSuffix(name, "_"+word)
	})
}

var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"}
