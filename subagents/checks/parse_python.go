package checks

import (
	"cmp"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// tracebackFrame is a line of a traceback: `File "x.py", line 3, in f`.
var tracebackFrame = lazy.Regexp(`^File "([^"]*)", line (\d{1,8})(?:\D|$)`)

// parsePython reads tracebacks, the short report of pytest, and lines `file:line: message` of
// linters.
func (p *parser) parsePython(lines []string) {
	var at spot        // the last frame of the project in the traceback being read
	var name, e string // the failing test and its first assertion line
	for _, l := range lines {
		in := strings.TrimSpace(l)
		found := tracebackFrame().FindStringSubmatch(in)
		switch {
		case found != nil:
			f := newSpot(found[1], found[2])
			if at.file == "" || p.isInProject(f) && !isLibraryFile(f.file) {
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
		case at.file != "" && isTracebackEnd(l):
			p.add(formats.LevelError, at, withTestName(name, in))
			at = spot{}
			name = ""
		default:
			f, rest, ok := position(l)
			if ok && strings.HasSuffix(f.file, ".py") && !isLibraryFile(f.file) {
				level, text := splitSeverity(cmp.Or(e, rest))
				p.add(level, f, withTestName(name, text))
				e = ""
			}
		}
	}
}

// withTestName puts the name of the test before a message.
func withTestName(name, text string) string {
	if name == "" {
		return text
	}
	if text == "" {
		return name + " failed"
	}
	return name + ": " + text
}

// isLibraryFile tells whether a file is a library's.
func isLibraryFile(file string) bool {
	return strings.Contains(file, "site-packages/") || strings.Contains(file, "/lib/python") ||
		strings.HasPrefix(file, "<")
}

// exceptionForm is the last line of a traceback: a dotted name, alone or before a colon.
var exceptionForm = lazy.Regexp(`^\s*((?:\w+\.)*[A-Z]\w*)(?::|\s*$)`)

// isTracebackEnd tells whether l is the last line of a traceback. Within a report only those of
// errors are.
func isTracebackEnd(l string) bool {
	m := exceptionForm().FindStringSubmatch(l)
	return m != nil && m[1] != "Traceback" && (l[0] != ' ' || strings.HasSuffix(m[1], "Error"))
}
