package subagents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

const (
	runnerBuiltin = "builtin"
	runnerExec    = "exec"
	runnerACP     = "acp"

	maxDescription = 120
)

// reader collects what is wrong while a subagent file is read. A method that returns a value returns its zero value with
// every diagnostic it adds.
type reader struct {
	file  string
	steps []span // of the sections that hold steps
	list  []formats.Diagnostic
}

type span struct{ start, end formats.Pos }

func at(p md.Pos) formats.Pos { return formats.Pos{Line: p.Line, Col: p.Col} }

func of(n *md.Node) span { return span{at(n.Pos), at(n.End)} }

func (r *reader) add(code string, where span, msg, help string) {
	severity := formats.SeverityError
	if strings.HasPrefix(code, "W") {
		severity = formats.SeverityWarning
	}
	r.list = append(r.list, formats.Diagnostic{
		Code: code, Severity: severity, File: r.file, Pos: where.start, End: where.end, Message: msg, Help: help,
	})
}

// unknown reports a word outside a set, with the nearest word of it or the whole set as advice.
func (r *reader) unknown(code string, where span, what, got string, set []string) {
	help := nearest.Help(got, set)
	if help == "" {
		help = "one of " + strings.Join(set, ", ")
	}
	r.add(code, where, fmt.Sprintf("unknown %s %q", what, got), help)
}

func (r *reader) wrong(n *md.Node, want string) {
	got := n.Kind.String()
	switch {
	case n.Absent():
		got = "nothing"
	case n.Kind == md.Scalar && n.Type == md.Str:
		got = fmt.Sprintf("%q", n.Value)
	case n.Kind == md.Scalar:
		got = n.Type.String() + " " + n.Value
	}
	r.add(codeValue, of(n), "expected "+want+", got "+got, "")
}

// text reads a string that is not empty and has one line.
func (r *reader) text(n *md.Node, want string) string {
	if !n.IsStr() || strings.TrimSpace(n.Value) == "" || strings.ContainsAny(strings.TrimRight(n.Value, "\n"), "\n\r") {
		r.wrong(n, want)
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// word reads a string that is one of a set.
func (r *reader) word(n *md.Node, what string, set []string) string {
	if !n.IsStr() || n.Value == "" {
		r.wrong(n, what)
		return ""
	}
	if !slices.Contains(set, n.Value) {
		r.unknown(codeValue, of(n), what, n.Value, set)
		return ""
	}
	return n.Value
}

// each calls f for every element of a list; a scalar stands for a list of one. It reports elements that stand twice.
func (r *reader) each(n *md.Node, what string, f func(*md.Node)) {
	items := n.Items
	switch {
	case n.Kind == md.Map, n.Absent():
		r.wrong(n, "a list of "+what)
		return
	case n.Kind == md.Scalar:
		items = []*md.Node{n}
	}
	seen := map[string]bool{}
	for _, item := range items {
		if item.Kind == md.Scalar {
			if seen[item.Value] {
				r.add(codeTwice, of(item), fmt.Sprintf("%q stands twice", item.Value), "remove one")
				continue
			}
			seen[item.Value] = true
		}
		f(item)
	}
}

// fields calls f for every entry of a map, in order.
func (r *reader) fields(n *md.Node, want string, f func(key, value *md.Node)) {
	if n.Kind != md.Map {
		r.wrong(n, want)
		return
	}
	for _, e := range n.Entries {
		f(e.Key, e.Value)
	}
}

func (r *reader) boolean(n *md.Node) bool {
	v, ok := n.Any().(bool)
	if !ok {
		r.wrong(n, "true or false")
	}
	return v
}

// duration reads a time such as 30m or 1h30m.
func (r *reader) duration(n *md.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != md.Scalar || err != nil || d <= 0 {
		r.wrong(n, "a duration such as 30m or 2h")
		return 0
	}
	return d
}

// names reads a list of words that can name a file.
func (r *reader) names(n *md.Node, what string) []string {
	var out []string
	r.each(n, what, func(item *md.Node) {
		if name := r.name(item, what); name != "" {
			out = append(out, name)
		}
	})
	return out
}

func (r *reader) name(n *md.Node, what string) string {
	if !n.IsStr() || !validName(n.Value) {
		r.wrong(n, what+" of small letters, digits and -")
		return ""
	}
	return n.Value
}

// validName tells whether a word can name a subagent, a runner or a facet; a language may follow after @.
func validName(s string) bool {
	name, language, routed := strings.Cut(s, "@")
	return validPart(name, "-", maxName) && (!routed || validPart(language, "+#_-", maxLanguage))
}

// How long a name and the language behind it may be.
const (
	maxName     = 48
	maxLanguage = 32
)

// validPart tells whether a word is a lower case letter and then such letters, digits and some marks.
func validPart(s, marks string, most int) bool {
	if s == "" || len(s) > most || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(marks, c) < 0 {
			return false
		}
	}
	return true
}
