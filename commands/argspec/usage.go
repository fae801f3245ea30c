package argspec

import (
	"cmp"
	"strings"
)

// Usage is the usage of a command: /plan <task_number> [research_report], positional arguments
// first.
func Usage(command string, specs []Spec) string {
	parts := []string{"/" + strings.TrimPrefix(command, "/")}
	for _, flags := range []bool{false, true} {
		for i := range specs {
			if s := &specs[i]; s.Flag == flags {
				parts = append(parts, s.Shape())
			}
		}
	}
	return strings.Join(parts, " ")
}

// Shape is the argument in the usage line.
func (s *Spec) Shape() string {
	more := ""
	if s.Repeat {
		more = "..."
	}

	if !s.Flag {
		return s.Label() + more
	}
	out := s.Label()
	if s.Type != Boolean {
		out += " " + s.placeholder()
	}
	if !s.Required {
		out = "[" + out + "]"
	}
	return out + more
}

// Label is the argument in messages: <task_number>, [report], --from.
func (s *Spec) Label() string {
	switch {
	case s.Flag:
		return "--" + kebabName(s.Name)
	case s.Required:
		return "<" + s.Name + ">"
	}
	return "[" + s.Name + "]"
}

// placeholders stand for values in a usage line, but for text and where the words are listed.
var placeholders = map[Type]string{
	Integer:  "N",
	Number:   "N",
	Task:     "N",
	Path:     "PATH",
	Duration: "DURATION",
	JSON:     "JSON",
}

func (s *Spec) placeholder() string {
	words := s.Values
	if s.Type == Tasks {
		words = append([]string{"N,N-N"}, words...)
	}
	if s.Of != "" {
		words = []string{"NAME=VALUE"}
	}
	return cmp.Or(strings.Join(words, "|"), placeholders[s.Type], "TEXT")
}

func kebabName(name string) string {
	return strings.ReplaceAll(name, "_", "-")
}
