package md

import (
	"bytes"
	"strings"

	"tercet/internal/lazy"
)

// mapKey is a line of a map in the frontmatter.
var mapKey = lazy.Regexp(`^( +)([a-z_]+):(?: |$)`)

// RepeatedMap makes the value of a key of the frontmatter that is one map with repeated keys, as
// some systems write lists, the list that is meant: the first key begins each element, and `name`
// stands in each. The text keeps its length, so places stay. The line is that of the key; it is 0
// and the text as it was where it is not plain which keys belong together.
func RepeatedMap(src []byte, key string) ([]byte, int) {
	if !bytes.HasPrefix(src, []byte("---")) {
		return src, 0
	}
	lines := strings.Split(string(src), "\n")
	at := 0
	for i, line := range lines[1:] {
		line = strings.TrimRight(line, " \t\r")
		if line == "---" {
			return src, 0
		}
		if line == key+":" {
			at = i + 1
			break
		}
	}
	if at == 0 {
		return src, 0
	}

	indent, first := "", ""
	seen := map[string]bool{}
	for i := at + 1; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		if line != "" && line[0] != ' ' {
			break
		}
		m := mapKey().FindStringSubmatch(line)
		if indent == "" && line != "" {
			if m == nil || len(m[1]) < 2 {
				return src, 0
			}
			indent = m[1]
			first = m[2]
		}
		if m == nil || m[1] != indent {
			continue // inside of a value
		}

		one := m[2]
		switch {
		case one == first:
			if len(seen) > 0 && !seen["name"] {
				return src, 0
			}
			seen = map[string]bool{}
			lines[i] = indent[2:] + "- " + lines[i][len(indent):]
		case seen[one]:
			return src, 0
		}
		seen[one] = true
	}

	if !seen["name"] {
		return src, 0
	}
	return []byte(strings.Join(lines, "\n")), at + 1
}
