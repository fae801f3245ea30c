package syntax_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tercet/commands/syntax"
)

// expansionForm finds, line by line, what other agent CLIs would expand, as "line:col".
func expansionForm(body string, first int) []string {
	var out []string
	name := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	known := []string{"task", "from"}
	for n, line := range strings.Split(body, "\n") {
		for i := range len(line) {
			end := i + 1
			for end < len(line) && name(line[end]) {
				end++
			}
			word := line[i+1 : end]
			found := false
			switch line[i] {
			case '!':
				found = strings.HasPrefix(line[i+1:], "`") && (i == 0 || line[i-1] == ' ')
			case '@':
				found = word != "" && (i == 0 || strings.Contains(" \t(|", line[i-1:i]))
			case '$':
				found = len(word) == 1 && word >= "1" && word <= "9"
				if at := slices.Index(known, word); at >= 0 {
					found = true
					known = slices.Delete(known, at, at+1)
				}
			}
			if found {
				out = append(out, fmt.Sprintf("%d:%d", first+n, i+1))
				break
			}
		}
	}

	return out
}

// FuzzExpansions holds the search for marks over the whole text against the one over each line.
func FuzzExpansions(f *testing.F) {
	for _, s := range []string{
		"", "$1 $task\n$task $from $12 $0\n", "!`x` a!`\n !`\n", "@a\n(@b|@c\n\n@ @\n$from",
		"```\n$2\n```\n!`", "x@y\n\t@z!`@q",
	} {
		f.Add(s)
	}

	const front = "---\ncommand: x\ndescription: y\narguments:\n  - {name: task, type: string}\n" +
		"  - {name: from, type: string}\n---\n"
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "\r") || len(body) > 1<<12 {
			t.Skip()
		}
		file := syntax.Read("x.md", []byte(front+body))
		if file.Hopeless {
			t.Skip()
		}
		var got []string
		for _, d := range file.Found {
			if d.Code == syntax.CodeExpands {
				got = append(got, fmt.Sprintf("%d:%d", d.Pos.Line, d.Pos.Col))
			}
		}
		if want := expansionForm(body, 8); !slices.Equal(got, want) {
			t.Errorf("of %q %v would be expanded, want %v", body, got, want)
		}
	})
}
