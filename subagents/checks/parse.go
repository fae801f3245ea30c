package checks

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
)

// issueSource marks the issues of this package.
const issueSource = "check"

// Parse parses the output of a stack's tools into at most MaxIssues issues, in order. For an
// unknown stack it reads only lines `file:line: message`. File names are as printed, cleaned.
func Parse(stack string, out []byte) []formats.Issue {
	p := &parser{stack: Stack(stack)}
	list, _ := p.parse(string(out))
	return list
}

// parser reads one output.
type parser struct {
	stack  Stack
	module string // module path of a Go project, may be empty
	// path inside the project, "" if it is not in there; nil takes every name
	resolve func(name string) string
	// go vet looks at packages of the module only, wherever it says that their files are
	vet bool

	list    []formats.Issue
	seen    map[issueKey]bool
	dropped int
}

// maxEscape bounds the search for the end of a terminal sequence, which need not have one.
const maxEscape = 1024

// issueKey tells issues apart: tools repeat themselves.
type issueKey struct {
	file, text string
	line       int
}

// spot is a place in a file; the zero value is none.
type spot struct {
	file string
	line int
}

func (p *parser) parse(out string) ([]formats.Issue, int) {
	p.seen = map[issueKey]bool{}
	lines := strings.Split(plainText(out), "\n")
	switch p.stack {
	case Go:
		p.parseGo(lines)
	case Node:
		p.parseNode(lines)
	case Rust:
		p.parseRust(lines)
	case Python:
		p.parsePython(lines)
	case Lean:
		p.parseLean(lines)
	case Make: // it may have called any of them
		p.parseGo(lines)
		p.parseRust(lines)
		p.parsePython(lines)
		p.parseNode(lines)
	default:
		p.parsePlain(lines)
	}
	return p.list, p.dropped
}

// add books an issue. A place outside the project is left out, the issue stays.
func (p *parser) add(level formats.Level, at spot, text string) {
	text = limitDescription(text)
	if text == "" {
		return
	}

	i := formats.Issue{
		Level:       level,
		Description: text,
		Source:      issueSource,
	}
	if file := p.projectPath(at.file); file != "" {
		i.Files = []string{file}
		i.Line = at.line
	}
	k := issueKey{
		text: text,
		line: i.Line,
		file: strings.Join(i.Files, ""),
	}
	if p.seen[k] {
		return
	}

	p.seen[k] = true
	if len(p.list) >= MaxIssues {
		p.dropped++
		return
	}

	p.list = append(p.list, i)
}

func (p *parser) projectPath(name string) string {
	if name == "" {
		return ""
	}
	name = path.Clean(strings.TrimPrefix(name, "file://"))
	if p.resolve == nil {
		return name
	}
	at := p.resolve(name)
	if rest, ok := strings.CutPrefix(name, p.module+"/"); at == "" && ok && p.module != "" {
		at = p.resolve(rest) // as -trimpath names it
	}
	// With -trimpath go vet repeats what it found in another copy of the same package, with the
	// place of that copy.
	rest := name
	ok := p.vet && (strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/"))
	for at == "" && ok {
		_, rest, ok = strings.Cut(rest, "/")
		if ok {
			at = p.resolve(rest)
		}
	}
	return at
}

// isInProject tells whether a place is one of the project's own files.
func (p *parser) isInProject(at spot) bool {
	return p.projectPath(at.file) != "" && !strings.Contains(at.file, "node_modules/") &&
		!strings.HasPrefix(at.file, "node:")
}

// parsePlain reads `file:line:col: message` as compilers of many languages print it.
func (p *parser) parsePlain(lines []string) {
	for _, l := range lines {
		if at, rest, ok := position(l); ok {
			level, text := splitSeverity(rest)
			p.add(level, at, text)
		}
	}
}

// severityForm is a message with a severity before it.
var severityForm = lazy.Regexp(`(?s)^(?:fatal error|(error)|(warning)|(note))(?::(.*)|[\[]| TS)`)

// splitSeverity takes a leading severity off a message, but for one that has a code.
func splitSeverity(text string) (formats.Level, string) {
	text = strings.TrimLeft(text, " -")
	m := severityForm().FindStringSubmatchIndex(text)
	if m == nil {
		return formats.LevelError, text
	}
	level := formats.LevelError
	switch {
	case m[4] >= 0:
		level = formats.LevelWarning
	case m[6] >= 0:
		level = formats.LevelSuggestion
	}
	if m[8] >= 0 {
		text = text[m[8]:]
	}
	return level, strings.TrimSpace(text)
}

// positionForm are `file:line` and `file:line:col`, before a colon, a space or the end.
var positionForm = lazy.Regexp(
	`^((?:file://)?[^:]+(?::(?:[^\d:][^:]*)?)*):(\d{1,8})(?::\d{1,8})?(?:$|(?::| )(.*))`,
)

// position reads `file:line: rest` and `file:line:col: rest` at the start of s. The file must look
// like one, because times, addresses and ratios have colons too.
func position(s string) (at spot, rest string, ok bool) {
	m := positionForm().FindStringSubmatch(s)
	if m == nil || !looksLikeFile(strings.TrimPrefix(m[1], "file://")) {
		return spot{}, "", false
	}
	at = newSpot(m[1], m[2])
	return at, strings.TrimSpace(m[3]), at.line > 0
}

// newSpot is a file with the number of a line, which has at most eight digits.
func newSpot(file, line string) spot {
	n, err := strconv.Atoi(line)
	if err != nil {
		n = 0
	}
	return spot{file: file, line: n}
}

// looksLikeFile tells whether s can be the name of a source file: no white space, and an ending
// with a letter.
func looksLikeFile(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\"'()<>|*?") || strings.Contains(s, "://") {
		return false
	}
	ext := path.Ext(s)
	base := path.Base(s)
	if base == "Makefile" || base == "makefile" || base == "GNUmakefile" || base == "Dockerfile" {
		return true
	}
	return len(ext) > 1 && len(ext) <= 12 && strings.ContainsFunc(ext, unicode.IsLetter)
}

// plainText makes output plain text: no terminal sequences, no control characters but line ends and
// tabs, valid UTF-8.
func plainText(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeLength(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

var controlSequence = lazy.Regexp(`^\x1b\[[ -?]*[@-~]?`)

// escapeLength returns the length of the escape sequence at the start of s, or 0.
func escapeLength(s string) int {
	switch {
	case len(s) < 2 || s[0] != 0x1b:
		return 0
	case s[1] == '[':
		return len(controlSequence().FindString(s))
	case strings.IndexByte("]P^_X", s[1]) >= 0:
		line, _, _ := strings.Cut(s[2:min(len(s), maxEscape)], "\n")
		line, _, bell := strings.Cut(line, "\x07")
		if end := strings.Index(line, "\x1b\\"); end >= 0 {
			return 2 + end + 2
		}
		if bell {
			return 2 + len(line) + 1
		}
	}
	return 2 // without an end only its start is dropped, or all output would be
}

// appendLine appends one more line to a message, as long as any of it could be shown.
func appendLine(text, more string) string {
	if len(text) > maxDescription*utf8.UTFMax {
		return text
	}
	return text + " " + more
}

// limitDescription makes a text one line of bounded length.
func limitDescription(text string) string {
	text = strings.Join(strings.Fields(plainText(text)), " ")
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	r := []rune(text)
	return string(r[:maxDescription-1]) + "…"
}
