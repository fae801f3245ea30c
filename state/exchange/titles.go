package exchange

import (
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// titleMark is a word in brackets in capitals, such as [IN PROGRESS].
var titleMark = lazy.Regexp(`\[[A-Z][A-Z _-]*\]`)

// todoTitles returns the titles that any system's TODO.md has for its tasks, by number: those of
// headings such as "### 196. Fix the parser", and for a task without one those of items such as
// "- [ ] **Task 196**: Fix the parser". A heading may hold the task's status in brackets. An item
// with a status belongs to a list of the order of work, and has no title.
func todoTitles(src []byte) map[int][]string {
	headings := map[int][]string{}
	items := map[int][]string{}
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		text := strings.TrimLeft(line, "#*-+ ")
		if len(text) == len(line) {
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

		heading := line[0] == '#'
		marked := false
		title = titleMark().ReplaceAllStringFunc(title, func(mark string) string {
			if _, err := formats.LooseTaskStatus(strings.Trim(mark, "[]")); err != nil {
				return mark
			}
			marked = true
			return ""
		})
		title = oneLine(strings.Trim(title, "* \t\r\n"))
		switch {
		case title == "":
		case heading:
			headings[n] = append(headings[n], title)
		case !marked:
			items[n] = append(items[n], title)
		}
	}

	for n, list := range items {
		if headings[n] == nil {
			headings[n] = list
		}
	}
	return headings
}
