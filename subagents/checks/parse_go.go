package checks

import (
	"path"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// goTests collects what `go test` says about one package until its last line tells which package it
// was.
type goTests struct {
	name   string   // the test whose output this is, may be empty
	stack  []string // where lines are indented by the depth of their test: the test of each depth
	failed []string
	notes  []goNote
}

// goNote is one `file:line: message` that a test logged.
type goNote struct {
	test string
	at   spot
	text string
}

// parseGo reads vet, build and test output.
func (p *parser) parseGo(lines []string) {
	var t goTests
	var last *goNote // of a compiler, still open for lines that continue it
	flush := func() {
		if last != nil {
			p.add(formats.LevelError, last.at, last.text)
			last = nil
		}
	}

	for i, l := range lines {
		if last != nil && strings.HasPrefix(l, "\t") {
			last.text = appendLine(last.text, l)
			continue
		}
		flush()
		switch {
		case strings.HasPrefix(l, "# "):
		case strings.HasPrefix(l, "FAIL\t"), strings.HasPrefix(l, "ok  \t"),
			strings.HasPrefix(l, "?   \t"):
			p.endGoPackage(&t, l)
		case strings.HasPrefix(l, "panic: "):
			p.addGoPanic(&t, lines[i:])
		case t.readLine(l):
		default:
			text := strings.TrimPrefix(l, "vet: ")
			if at, rest, ok := position(text); ok && strings.HasSuffix(at.file, ".go") {
				last = &goNote{at: at, text: rest}
			}
		}
	}

	flush()
	p.flushGoTests(&t, "")
}

// Lines of `go test` that name the current test, and that report its end.
var (
	goRunLine = lazy.Regexp(`^=== (?:RUN|CONT|NAME) (.*)`)
	goEndLine = lazy.Regexp(`^--- (FAIL|PASS|SKIP): (.*?)(?: \(.*)?$`)
)

// readLine takes in one line about a test and reports whether it was one.
func (t *goTests) readLine(l string) bool {
	in := strings.TrimLeft(l, " ")
	depth := (len(l) - len(in)) / 4
	if m := goRunLine().FindStringSubmatch(in); m != nil {
		t.name = strings.TrimSpace(m[1])
		t.stack = nil
		return true
	}

	if m := goEndLine().FindStringSubmatch(in); m != nil {
		t.name = m[2]
		t.stack = append(t.stack[:min(len(t.stack), depth)], t.name)
		if m[1] == "FAIL" {
			t.failed = append(t.failed, t.name)
		}
		return true
	}
	if t.name == "" || in == l {
		return false
	}

	if at, rest, ok := position(in); ok && strings.HasSuffix(at.file, ".go") && depth > 0 {
		if depth <= len(t.stack) {
			t.name = t.stack[depth-1]
		}
		t.notes = append(t.notes, goNote{
			test: t.name,
			at:   at,
			text: rest,
		})
		return true
	}

	if n := len(t.notes); n > 0 && t.notes[n-1].test == t.name {
		t.notes[n-1].text = appendLine(t.notes[n-1].text, in)
	}
	return true
}

// endGoPackage ends a package with its result line and books what its tests said.
func (p *parser) endGoPackage(t *goTests, l string) {
	f := strings.Split(l, "\t")
	if !strings.HasPrefix(l, "FAIL") {
		*t = goTests{}
		return
	}
	dir, _, _ := strings.Cut(strings.TrimSpace(f[1]), " ")
	below, ok := strings.CutPrefix(dir+"/", p.module+"/")
	if !ok || p.module == "" {
		below = ""
	}
	p.flushGoTests(t, below)
}

// flushGoTests books the notes of failed tests, whose files are in dir, and the failed tests
// without one.
func (p *parser) flushGoTests(t *goTests, dir string) {
	explained := map[string]bool{}
	failed := map[string]bool{}
	for _, name := range t.failed {
		failed[name] = true
		for i := range name { // a failed subtest tells why its parents failed
			if name[i] == '/' {
				explained[name[:i]] = true
			}
		}
	}

	for _, n := range t.notes {
		if !failed[n.test] {
			continue
		}
		explained[n.test] = true
		if !strings.Contains(n.at.file, "/") {
			n.at.file = path.Join(dir, n.at.file)
		}
		p.add(formats.LevelError, n.at, n.test+": "+n.text)
	}

	for _, name := range t.failed {
		if !explained[name] {
			p.add(formats.LevelError, spot{}, name+" failed")
		}
	}

	*t = goTests{}
}

// addGoPanic books a panic at the first frame that is in the project.
func (p *parser) addGoPanic(t *goTests, lines []string) {
	text := lines[0]
	if t.name != "" {
		text = t.name + ": " + text
	}

	var at spot
	for _, l := range lines[1:min(len(lines), 200)] {
		if strings.HasPrefix(l, "FAIL\t") {
			break
		}

		frame, ok := strings.CutPrefix(l, "\t")
		if !ok {
			continue
		}
		pos, _, ok := position(frame)
		if ok && strings.HasSuffix(pos.file, ".go") && !standardLibrary().MatchString(pos.file) &&
			p.isInProject(pos) {
			at = pos
			break
		}
	}

	p.add(formats.LevelError, at, text)
	if n := len(t.failed); n > 0 && t.failed[n-1] == t.name { // the panic has told about it
		t.failed = t.failed[:n-1]
	}
}

// standardLibrary finds files of Go itself.
var standardLibrary = lazy.Regexp(`/src/(?:runtime|testing|internal|reflect)/`)
