package checkup

import (
	"fmt"
	"strings"
)

// Secrets warns of variables under `env` whose values are too short to be masked. least is the
// length in bytes from which a value is masked, and value gives that of a variable, empty if it is
// not set.
func Secrets(names []string, least int, value func(name string) string) []Finding {
	var short []string
	for _, name := range names {
		if n := len(value(name)); n > 0 && n < least {
			short = append(short, name)
		}
	}
	if short == nil {
		return nil
	}
	f := warning(
		"env",
		fmt.Sprintf(
			"%s under `env`: a value of less than %d bytes is not masked in what tercet keeps and "+
				"shows",
			strings.Join(short, ", "),
			least,
		),
		"if it is a secret, choose a longer one",
	)
	f.Detail = map[string]any{"variables": short}
	return []Finding{f}
}
