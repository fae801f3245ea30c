package checks

import (
	"strings"

	"tercet/formats"
)

// python reads tracebacks, the short report of pytest, and lines `file:line: message` of linters.
func (p *parser) python(lines []string) {
	var at spot        // the last frame of the project in the traceback being read
	var name, e string // the failing test and its first assertion line
	for _, l := range lines {
		in := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(in, `File "`):
			if f, ok := frame(in); ok && (at.file == "" || p.inside(f) && !installed(f.file)) {
				at = f
			}
		case strings.HasPrefix(l, "FAIL: "), strings.HasPrefix(l, "ERROR: "):
			_, rest, _ := strings.Cut(l, ": ")
			name, _, _ = strings.Cut(rest, " ")
		case strings.HasPrefix(l, "____") && strings.HasSuffix(l, "____"): // pytest names the test so
			name, e, at = strings.Trim(l, "_ "), "", spot{}
		case strings.HasPrefix(l, "E   "):
			if e == "" {
				e = strings.TrimSpace(l[4:])
			}
		case at.file != "" && exception(l):
			p.add(formats.LevelError, at, label(name, in))
			at, name = spot{}, ""
		default:
			if f, rest, ok := position(l); ok && strings.HasSuffix(f.file, ".py") && !installed(f.file) {
				text := rest
				if e != "" {
					text = e
				}
				level, text := grade(text)
				p.add(level, f, label(name, text))
				e = ""
			}
		}
	}
}

// label puts the name of the test before a message.
func label(name, text string) string {
	if name == "" {
		return text
	}
	if text == "" {
		return name + " failed"
	}
	return name + ": " + text
}

// frame reads `File "x.py", line 3, in f`.
func frame(s string) (spot, bool) {
	file, rest, ok := strings.Cut(strings.TrimPrefix(s, `File "`), `"`)
	if !ok {
		return spot{}, false
	}
	line, n := number(strings.TrimPrefix(rest, ", line "))
	return spot{file: file, line: line}, n > 0 && strings.HasPrefix(rest, ", line ")
}

// installed tells whether a file is a library's.
func installed(file string) bool {
	return strings.Contains(file, "site-packages/") || strings.Contains(file, "/lib/python") ||
		strings.HasPrefix(file, "<")
}

// exception tells whether l is the last line of a traceback: a dotted name, alone or before a colon.
func exception(l string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(l), ":")
	if name == "" || l[0] == ' ' && !strings.HasSuffix(name, "Error") {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return false
		}
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last[0] >= 'A' && last[0] <= 'Z' && name != "Traceback"
}
