package checks

import (
	"cmp"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// frame is a line of a traceback: `File "x.py", line 3, in f`.
var frame = lazy.Regexp(`^File "([^"]*)", line (\d{1,8})(?:\D|$)`)

// python reads tracebacks, the short report of pytest, and lines `file:line: message` of linters.
func (p *parser) python(lines []string) {
	var at spot        // the last frame of the project in the traceback being read
	var name, e string // the failing test and its first assertion line
	for _, l := range lines {
		in := strings.TrimSpace(l)
		found := frame().FindStringSubmatch(in)
		switch {
		case found != nil:
			if f := place(found[1], found[2]); at.file == "" || p.inside(f) && !installed(f.file) {
				at = f
			}
		case strings.HasPrefix(l, "FAIL: "), strings.HasPrefix(l, "ERROR: "):
			_, rest, _ := strings.Cut(l, ": ")
			name, _, _ = strings.Cut(rest, " ")
		case strings.HasPrefix(l, "____") && strings.HasSuffix(l, "____"):
			// pytest names the test so
			name = strings.Trim(l, "_ ")
			e = ""
			at = spot{}
		case strings.HasPrefix(l, "E   "):
			e = cmp.Or(e, strings.TrimSpace(l[4:]))
		case at.file != "" && raised(l):
			p.add(formats.LevelError, at, label(name, in))
			at = spot{}
			name = ""
		default:
			f, rest, ok := position(l)
			if ok && strings.HasSuffix(f.file, ".py") && !installed(f.file) {
				level, text := grade(cmp.Or(e, rest))
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

// installed tells whether a file is a library's.
func installed(file string) bool {
	return strings.Contains(file, "site-packages/") || strings.Contains(file, "/lib/python") ||
		strings.HasPrefix(file, "<")
}

// exception is the last line of a traceback: a dotted name, alone or before a colon.
var exception = lazy.Regexp(`^\s*((?:\w+\.)*[A-Z]\w*)(?::|\s*$)`)

// raised tells whether l is the last line of a traceback. Within a report only those of errors are.
func raised(l string) bool {
	m := exception().FindStringSubmatch(l)
	return m != nil && m[1] != "Traceback" && (l[0] != ' ' || strings.HasSuffix(m[1], "Error"))
}
