package checks

import (
	"cmp"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// nodeState is what a reader of Node's tools remembers between lines.
type nodeState struct {
	file  string // the heading of a stylish lint report
	test  string // the failing test
	text  string // an error whose place comes next
	at    spot   // a place whose error comes next
	inTAP bool   // inside the details of a TAP line

	hasFrame bool // at is a frame of a stack in those details
}

// parseNode reads eslint, tsc, the test runner of node (TAP and spec), jest and uncaught errors.
func (p *parser) parseNode(lines []string) {
	var st nodeState
	for i, l := range lines {
		in := strings.TrimSpace(l)
		switch {
		case st.inTAP:
			p.parseTAPDetail(&st, in, lines[i+1:])
		case in == "":
			st.file = ""
		case p.parseLintLine(&st, l):
		case p.parseNodeFrame(&st, in):
		case nodeError().MatchString(in):
			p.startNodeError(&st, in)
		default:
			p.parseNodeStart(&st, l, in)
		}
	}
	p.flushNodeError(&st)
}

// parseNodeStart reads the lines that begin something.
func (p *parser) parseNodeStart(st *nodeState, l, in string) {
	for _, mark := range []string{"● ", "✖ ", "not ok "} {
		name, ok := strings.CutPrefix(in, mark)
		if !ok {
			continue
		}
		p.flushNodeError(st)
		if mark == "not ok " {
			_, name, _ = strings.Cut(name, " - ")
		}
		name, _, _ = strings.Cut(name, " (")
		st.test = strings.TrimSpace(name)
		st.at = spot{}
		return
	}

	switch {
	case in == "---" && st.test != "":
		st.inTAP = true
		return
	case strings.HasSuffix(st.text, ":"): // the message goes on
		st.text = appendLine(st.text, in)
		return
	case st.test != "" && (strings.HasPrefix(in, "Expected") || strings.HasPrefix(in, "Received")):
		// jest
		st.text = strings.TrimSpace(appendLine(st.text, in))
		return
	}

	at, rest, ok := position(l)
	switch {
	case ok && rest == "":
		st.at = at // an uncaught error shows its place first
	case ok:
		level, text := splitSeverity(rest)
		p.add(level, at, text)
	case l == in && looksLikeFile(in):
		st.file = in
	}
}

var (
	eslintForm = lazy.Regexp(`^  \s*(\d{1,8}):\S*\s+(error|warning)\s+(\S.*)`)
	tscForm    = lazy.Regexp(`^([^(]+)\((\d{1,8})(?:,\d*)*\): (.*)`)
	nodeError  = lazy.Regexp(`^(?:Uncaught )?[^ ./:\[]*Error(?: \[.*?)?: `)
)

// parseLintLine reads ` 12:5 error message rule` under a heading with the file, as eslint prints
// it, and `src/a.ts(12,5): error TS2322: message`.
func (p *parser) parseLintLine(st *nodeState, l string) bool {
	if m := eslintForm().FindStringSubmatch(l); m != nil && st.file != "" {
		level, text := splitSeverity(m[2] + ":" + m[3])
		p.add(level, newSpot(st.file, m[1]), text)
		return true
	}
	m := tscForm().FindStringSubmatch(strings.TrimSpace(l))
	if m == nil || !looksLikeFile(m[1]) {
		return false
	}
	level, text := splitSeverity(m[3])
	p.add(level, newSpot(m[1], m[2]), text)
	return true
}

// parseNodeFrame reads `at f (file:line:col)`, which tells where the last error was.
func (p *parser) parseNodeFrame(st *nodeState, in string) bool {
	if !strings.HasPrefix(in, "at ") {
		return false
	}
	at, ok := stackFrame(in)
	if st.text != "" && ok && p.isInProject(at) {
		st.at = at
		p.flushNodeError(st)
	}
	return true
}

// stackFrame reads the place at the end of a line of a stack.
func stackFrame(in string) (spot, bool) {
	in = strings.TrimPrefix(in, "at ")
	if i := strings.LastIndexByte(in, '('); i >= 0 {
		in = strings.TrimSuffix(in[i+1:], ")")
	}
	in = strings.TrimPrefix(in, "async ")
	if strings.HasPrefix(in, "node:") {
		return spot{}, false
	}
	at, _, ok := position(in)
	return at, ok
}

// startNodeError keeps an error until its place comes; if the place came first, the error is
// complete.
func (p *parser) startNodeError(st *nodeState, in string) {
	known := st.at
	if st.text != "" {
		p.flushNodeError(st)
	}
	st.text = in
	st.at = known
	if known.file != "" {
		p.flushNodeError(st)
	}
}

func (p *parser) flushNodeError(st *nodeState) {
	if st.text != "" {
		p.add(formats.LevelError, st.at, withTestName(st.test, st.text))
		st.test = ""
	}
	st.text = ""
	st.at = spot{}
	st.hasFrame = false
}

// parseTAPDetail reads the YAML block under a TAP line that says `not ok`.
func (p *parser) parseTAPDetail(st *nodeState, in string, next []string) {
	k, v, _ := strings.Cut(in, ": ")
	v = strings.Trim(v, `'"`)
	switch {
	case in == "...":
		if st.test != "" {
			st.text = cmp.Or(st.text, "failed")
			p.flushNodeError(st)
		}
		st.text = ""
		st.at = spot{}
		st.inTAP = false
	case k == "failureType" && v == "subtestsFailed": // its subtests have told
		st.test = ""
	case k == "location":
		if at, _, ok := position(v); ok && st.at.file == "" {
			st.at = at
		}
	case k == "error" && st.text == "":
		st.text = v
		if strings.HasPrefix(v, "|") {
			st.text = tapMessage(next)
		}
	default:
		at, ok := stackFrame(in)
		if ok && !st.hasFrame && strings.HasSuffix(in, ")") && p.isInProject(at) {
			// the first frame of the stack is nearer than the location of the test
			st.at = at
			st.hasFrame = true
		}
	}
}

// tapMessage reads the first lines of a block of text up to the next key.
func tapMessage(next []string) string {
	var text []string
	for _, l := range next[:min(len(next), 6)] {
		in := strings.TrimSpace(l)
		if strings.HasPrefix(in, "code: ") || strings.HasPrefix(in, "name: ") ||
			strings.HasPrefix(in, "stack: ") || in == "..." {
			break
		}
		text = append(text, in)
	}
	return strings.TrimSpace(strings.Join(text, " "))
}
