package subagents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/strict"
)

const (
	runnerBuiltin = "builtin"
	runnerExec    = "exec"
	runnerACP     = "acp"

	maxDescription = 120
)

// reader reads the maps of a subagent file and collects what is wrong with it. A method that
// returns a value returns its zero value with every diagnostic it adds.
type reader struct {
	strict.Decoder
	file  string
	steps []*md.Node // places of the sections that hold steps
	list  []formats.Diagnostic
}

func newReader(file string) *reader {
	r := &reader{file: file}
	r.Decoder = strict.Decoder{
		Report: r.report,
		Value:  codeValue,
		Key:    codeUnknownKey,
		All:    "one of ",
		Got:    describe,
	}
	return r
}

func (r *reader) report(f strict.Finding) {
	d := formats.Found(f.Code, f.Pos, f.Help, "%s", f.Message)
	d.File = r.file
	d.End = f.End
	r.list = append(r.list, d)
}

// place stands for a piece of the body in a finding.
func place(at, end md.Pos, text string) *md.Node {
	return &md.Node{
		Pos:   at,
		End:   end,
		Value: text,
	}
}

func describe(n *md.Node) string {
	switch {
	case n.Absent():
		return "nothing"
	case n.IsStr():
		return fmt.Sprintf("%q", n.Value)
	case n.Kind == md.Scalar:
		return string(n.Type) + " " + n.Value
	}
	return string(n.Kind)
}

// text reads a string that is not empty and has one line.
func (r *reader) text(n *md.Node, want string) string {
	if !n.IsStr() || strings.TrimSpace(n.Value) == "" ||
		strings.ContainsAny(strings.TrimRight(n.Value, "\n"), "\n\r") {
		r.Wrong(n, want, "")
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// oneOf makes a reader of a string that is one of a set.
func oneOf[T ~string](r *reader, what string, set []T) func(*md.Node) T {
	return func(n *md.Node) T {
		names := formats.Words(set)
		switch {
		case !n.IsStr() || n.Value == "":
			r.Wrong(n, what, "")
		case !slices.Contains(names, n.Value):
			r.Unknown(codeValue, n, strict.Form{Unknown: "unknown " + what + " %q", Keys: names})
		default:
			return T(n.Value)
		}
		return ""
	}
}

// words reads the elements of a list; a scalar stands for a list of one. It reports elements that
// stand twice.
func words[T ~string](r *reader, n *md.Node, what string, read func(*md.Node) T) (out []T) {
	if n.Absent() {
		r.Wrong(n, "a list of "+what, "")
		return nil
	}

	seen := map[string]bool{}
	for _, item := range r.Items(n, "a list of "+what) {
		if item.Kind == md.Scalar {
			if seen[item.Value] {
				r.Refuse(codeTwice, item, "remove one", fmt.Sprintf("%q stands twice", item.Value))
				continue
			}
			seen[item.Value] = true
		}
		if word := read(item); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// as makes a reader of a value that a scalar holds.
func as[T any](r *reader, want string, read func(*md.Node) (T, bool)) func(*md.Node) T {
	return func(n *md.Node) (v T) {
		if got, ok := strict.As(&r.Decoder, n, want, read); ok {
			v = got
		}
		return v
	}
}

func (r *reader) boolean(n *md.Node) bool {
	return as(r, "true or false", strict.Bool)(n)
}

func (r *reader) duration(n *md.Node) time.Duration {
	return as(r, "a duration such as 30m or 2h", strict.Duration)(n)
}

// names reads a list of words that can name a file.
func (r *reader) names(n *md.Node) []string {
	return words(r, n, "a name", r.name)
}

func (r *reader) name(n *md.Node) string {
	return r.nameOf(n, "a name")
}

func (r *reader) nameOf(n *md.Node, what string) string {
	if !n.IsStr() || !validName().MatchString(n.Value) {
		r.Wrong(n, what+" of small letters, digits and -", "")
		return ""
	}
	return n.Value
}

// validName matches what can name a subagent, a runner or a facet; a language may follow after @.
var validName = lazy.Regexp(`^[a-z][a-z0-9-]{0,47}(@[a-z][a-z0-9+#_-]{0,31})?$`)
