package checks

import (
	"strings"

	"tercet/formats"
)

// parseLean reads the errors of lake, which begin with the word, and those of lean itself, which
// have it behind the place.
func (p *parser) parseLean(lines []string) {
	for _, l := range lines {
		text, marked := strings.CutPrefix(strings.TrimSpace(l), "error: ")
		at, rest, ok := position(text)
		if !ok || !strings.HasSuffix(at.file, ".lean") {
			continue
		}
		rest, behind := strings.CutPrefix(rest, "error: ")
		if marked || behind {
			p.add(formats.LevelError, at, rest)
		}
	}
}
