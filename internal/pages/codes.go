package pages

import (
	_ "embed" // the text of the codes
	"slices"
	"strings"
)

//go:embed codes.txt
var codeFile string

// Code explains a failure code: its meaning, and what to do.
type Code struct{ Code, Means, Do string }

// Explain finds a code.
func Explain(code string) (Code, bool) {
	all := Codes()
	i := slices.IndexFunc(all, func(c Code) bool { return c.Code == code })
	if i < 0 {
		return Code{}, false
	}
	return all[i], true
}

// Codes parses the explanations of failure codes, one a line: CODE | meaning | what to do.
func Codes() []Code {
	var out []Code
	for line := range strings.Lines(codeFile) {
		if part := strings.Split(strings.TrimSpace(line), " | "); len(part) == 3 {
			out = append(out, Code{part[0], part[1], part[2]})
		}
	}
	return out
}
