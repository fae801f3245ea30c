// Package marked reads what a test file announces: the findings that the program must have, each on the line that
// brings it about, in a comment of the file's own language. It is used by tests alone. It promises that a finding meets
// at most one announcement, and each announcement is met by at most one finding. It does not know what finds. Marks
// serve one goroutine.
package marked

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mark is one announced finding.
type Mark struct {
	Line    int // where it is to be found, from 1
	Pattern *regexp.Regexp
	met     bool
}

// Marks are the announcements of a file in its order.
type Marks []*Mark

// Read gives the announcements of a text: ERROR "regexp" "regexp" in a comment that starts with //, # or <!--, ERROR-1
// for what is found one line further up. The error is that of an announcement that cannot be read.
func Read(src string) (Marks, error) {
	_, out, err := read(src, `(?:<!-- |# |// )ERROR([+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)`, false)
	return out, err
}

// Cut is Read of // comments at the ends of lines. It gives the text without them, which may be of any language.
func Cut(src string) (text string, all Marks, err error) {
	return read(src, ` ?// ERROR([+-]\d+)?((?: "(?:[^"\\]|\\.)*")+)$`, true)
}

func read(src, pattern string, cut bool) (string, Marks, error) {
	head, one := regexp.MustCompile(pattern), regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
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

// Meets tells whether a finding on a line was announced and not met yet; text is its code and its message.
func (m Marks) Meets(line int, text string) bool {
	for _, one := range m {
		if !one.met && one.Line == line && one.Pattern.MatchString(text) {
			one.met = true
			return true
		}
	}
	return false
}

// Unmet gives the announcements that no finding has met.
func (m Marks) Unmet() Marks {
	var out Marks
	for _, one := range m {
		if !one.met {
			out = append(out, one)
		}
	}
	return out
}
