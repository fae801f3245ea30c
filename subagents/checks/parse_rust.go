package checks

import (
	"strings"

	"tercet/formats"
)

// parseRust reads the short and the long form of the compiler and the panics of tests.
func (p *parser) parseRust(lines []string) {
	// of a long message whose place comes next
	level := formats.LevelError
	head := ""
	for i, l := range lines {
		in := strings.TrimSpace(l)
		if at, rest, ok := position(l); ok && strings.HasSuffix(at.file, ".rs") {
			lv, text := splitSeverity(rest)
			p.add(lv, at, text)
			continue
		}

		if arrow, ok := strings.CutPrefix(in, "--> "); ok {
			if at, _, ok := position(arrow); ok && head != "" {
				p.add(level, at, head)
			}
			head = ""
			continue
		}

		if strings.HasPrefix(l, "error") || strings.HasPrefix(l, "warning") {
			level, head = parseRustHead(l)
			continue
		}

		who, where, ok := strings.Cut(in, " panicked at ")
		if ok && strings.HasPrefix(who, "thread '") {
			p.addRustPanic(who, where, lines[i+1:])
		}
	}
}

// parseRustHead reads `error[E0425]: message`; sums such as `error: could not compile` have no
// place and are left out by the caller.
func parseRustHead(l string) (formats.Level, string) {
	word, _, ok := strings.Cut(l, ": ")
	if !ok || strings.Contains(word, " ") {
		return formats.LevelError, ""
	}
	return splitSeverity(l)
}

// addRustPanic reads `thread 'tests::x' panicked at src/lib.rs:3:9:` with its message on the next
// lines. In the older form the message stands in quotes before the place.
func (p *parser) addRustPanic(who, where string, next []string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(who, "thread '"), "'")
	text := ""
	if i := strings.LastIndex(where, "', "); strings.HasPrefix(where, "'") && i > 0 {
		text = where[1:i]
		where = where[i+3:]
	} else {
		for _, l := range next[:min(len(next), 20)] {
			if l == "" || strings.HasPrefix(l, "note: ") ||
				strings.HasPrefix(l, "stack backtrace") {
				break
			}
			text = appendLine(text, l)
		}
	}
	at, _, _ := position(strings.TrimSuffix(where, ":"))
	p.add(formats.LevelError, at, name+": "+text)
}
