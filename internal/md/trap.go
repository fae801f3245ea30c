package md

import (
	"strings"

	"tercet/internal/lazy"
)

var (
	// topKey is the first character of a line that begins an entry of the outermost map or list.
	topKey = lazy.Regexp(`(?m)^[^\s#\]})]`)
	// flowStart ends with the bracket that opens a value outside of other brackets.
	flowStart = lazy.Regexp(`(?m)(?:^[ \t]*|[:\-?][ \t]+)[{\[]`)
	// flowStop is what ends an unquoted value inside of brackets.
	flowStop = lazy.Regexp(`[\[\]{},]|:(?:[\s,\[\]{}]|$)|\s#`)
)

// flowTrap searches a YAML text that the parser refused for an unquoted value inside {...} or
// [...]. The value stopped at a bracket, a brace, a colon or a comma which its author took for
// text. It gives the piece that should have been quoted. It searches the outermost entry in which
// the parser stopped, and then those before: the parser notices late that a bracket was left open.
func flowTrap(text string, until int) (from, to int, ok bool) {
	tops := topKey().FindAllStringIndex(text[:min(until+1, len(text))], -1)
	for i := range min(8, len(tops)) {
		for at := tops[len(tops)-1-i][0]; at <= until; {
			open := flowStart().FindStringIndex(text[at:])
			if open == nil {
				break
			}
			from, at, ok = cutValue(text, at+open[1]-1)
			if ok && from <= until {
				return from, intendedEnd(text, from), true
			}
		}
	}
	return 0, 0, false
}

// cutValue follows the {...} or [...] that opens at an offset up to an unquoted value that is cut
// in the middle. end is where it stopped.
func cutValue(text string, i int) (from, end int, cut bool) {
	var open []byte
	colon := false // inside {...}: the entry has had its colon
	for i < len(text) {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '#':
			line, _, _ := strings.Cut(text[i:], "\n")
			i += len(line)
		case '\'', '"':
			i = quotedEnd(text, i)
		case '{', '[':
			open = append(open, c)
			colon = false
			i++
		case '}', ']':
			i++
			open = open[:len(open)-1]
			colon = true
			if len(open) == 0 {
				return 0, i, false
			}
		case ',', ':':
			colon = c == ':'
			i++
		default:
			stop := len(text)
			if at := flowStop().FindStringIndex(text[i:]); at != nil {
				stop = i + at[0]
			}
			if cutsValue(text, i, stop, colon && open[len(open)-1] == '{') {
				return i, stop, true
			}
			i = max(stop, i+1)
		}
	}

	return 0, i, false
}

// cutsValue tells whether what stands at an offset ends a value in the middle. second tells that a
// colon stands before the value in its entry already; on a line of its own it is then the next key.
func cutsValue(text string, from, stop int, second bool) bool {
	value := text[from:stop]

	switch strings.TrimSpace(text[stop:min(stop+1, len(text))]) {
	case "[", "{":
		return true
	case ",":
		return strings.Count(value, "(") > strings.Count(value, ")") ||
			strings.Count(value, `"`)%2 == 1
	case ":":
		before := strings.TrimRight(text[:from], " \t")
		return second && !strings.Contains(value, "\n") && !strings.HasSuffix(before, "\n")
	}
	return false
}

func indentOf(s string) int {
	return len(s) - len(strings.TrimLeft(s, " "))
}

// quote returns the text as a YAML scalar in quotes, single ones when possible.
func quote(v string) string {
	switch {
	case !strings.Contains(v, "'"):
		return "'" + v + "'"
	case !strings.ContainsAny(v, "\"\\"):
		return `"` + v + `"`
	default:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
}

// intendedEnd returns where a value that starts at from was meant to end. Brackets and quotes
// balance up to a comma, a closing bracket of the surroundings, or the end of the line.
func intendedEnd(text string, from int) int {
	line, _, _ := strings.Cut(text[from:], "\n")
	depth := 0
	i := 0
	for ; i < len(line); i++ {
		c := line[i]
		if depth == 0 && (c == ',' || c == ']' || c == '}') {
			break
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '"':
			i += 1 + max(-1, strings.IndexByte(line[i+1:], '"'))
		}
	}
	return from + len(strings.TrimRight(line[:min(i, len(line))], " \t\r"))
}
