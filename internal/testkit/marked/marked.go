// Package marked reads the expected findings of a test file, each in a comment on the line that
// causes it. Only tests use it. It promises that a finding meets at most one expectation, and each
// expectation is met by at most one finding. Marks serve one goroutine.
package marked

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mark is one expected finding.
type Mark struct {
	Line    int // its line, from 1
	Pattern *regexp.Regexp
	met     bool
}

// Marks are the expected findings of a file, in order.
type Marks []*Mark

// Read parses the expectations in a text: ERROR "regexp" "regexp" in a comment that starts with //,
// # or <!--. ERROR-1 expects the finding on the line above. The error is about a malformed
// expectation.
func Read(src string) (Marks, error) {
	_, out, err := read(src, `(?:<!-- |# |// )ERROR([+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)`, false)
	return out, err
}

// Cut is Read for // comments at line ends, in a text of any language. It also gives the text
// without them.
func Cut(src string) (text string, all Marks, err error) {
	return read(src, ` ?// ERROR([+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)$`, true)
}

func read(src, pattern string, cut bool) (string, Marks, error) {
	head := regexp.MustCompile(pattern)
	one := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	var out Marks
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		for _, m := range head.FindAllStringSubmatch(line, -1) {
			at := i + 1
			if m[1] != "" {
				offset, err := strconv.Atoi(m[1])
				if err != nil {
					return "", nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				at += offset
			}
			for _, quoted := range one.FindAllString(m[2], -1) {
				re, err := regexp.Compile(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
				if err != nil {
					return "", nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				out = append(out, &Mark{Line: at, Pattern: re})
			}
			if cut {
				lines[i] = strings.TrimSuffix(line, m[0])
			}
		}
	}

	return strings.Join(lines, "\n"), out, nil
}

// Meets reports whether a finding on a line was expected and not met yet; text is its code and
// message.
func (m Marks) Meets(line int, text string) bool {
	for _, one := range m {
		if !one.met && one.Line == line && one.Pattern.MatchString(text) {
			one.met = true
			return true
		}
	}
	return false
}

// Unmet gives the expectations without a finding.
func (m Marks) Unmet() Marks {
	var out Marks
	for _, one := range m {
		if !one.met {
			out = append(out, one)
		}
	}
	return out
}
