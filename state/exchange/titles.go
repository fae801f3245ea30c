package exchange

import (
	"strconv"
	"strings"
)

// todoTitles returns the titles that any system's TODO.md has for its tasks, by number: those of
// headings and items such as "### 196. Fix the parser" and "- [ ] **Task 196**: Fix the parser".
func todoTitles(src []byte) map[int][]string {
	out := map[int][]string{}
	for line := range strings.Lines(string(src)) {
		text := strings.TrimLeft(strings.TrimSpace(line), "#*-+ ")
		if len(text) == len(strings.TrimSpace(line)) {
			continue // neither a heading nor an item
		}
		for _, mark := range []string{"[ ]", "[x]", "[X]"} {
			text = strings.TrimLeft(strings.TrimPrefix(text, mark), "* ")
		}
		if len(text) > 4 && strings.EqualFold(text[:4], "task") {
			text = strings.TrimLeft(text[4:], " ")
		}
		text = strings.TrimLeft(text, "#* ")
		rest := strings.TrimLeft(text, "0123456789")
		n, err := strconv.Atoi(text[:len(text)-len(rest)])
		title := strings.TrimLeft(rest, ".:)*]–— \t")
		if err != nil || n < 1 || title == rest {
			continue
		}
		out[n] = append(out[n], oneLine(strings.Trim(title, "* \t\r\n")))
	}
	return out
}
