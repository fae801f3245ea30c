package argspec

import "strings"

// Usage is the shape of a command's line: /plan <task_number> [research_report], flags after the positional arguments.
func Usage(command string, specs []Spec) string {
	parts := []string{"/" + strings.TrimPrefix(command, "/")}
	for _, flags := range []bool{false, true} {
		for i := range specs {
			if s := &specs[i]; s.Flag == flags {
				parts = append(parts, s.form())
			}
		}
	}
	return strings.Join(parts, " ")
}

// form is the argument as the usage line shows it.
func (s *Spec) form() string {
	more := ""
	if s.Repeat {
		more = "..."
	}
	if !s.Flag {
		return s.label() + more
	}
	out := s.label()
	if s.Type != Boolean {
		out += " " + s.placeholder()
	}
	if !s.Required {
		out = "[" + out + "]"
	}
	return out + more
}

// label is the argument as messages name it: <task_number>, [report], --from.
func (s *Spec) label() string {
	switch {
	case s.Flag:
		return "--" + dashed(s.Name)
	case s.Required:
		return "<" + s.Name + ">"
	}
	return "[" + s.Name + "]"
}

func (s *Spec) placeholder() string {
	switch s.Type {
	case Enum:
		return strings.Join(s.Values, "|")
	case Integer, Number, Task:
		return "N"
	case Tasks:
		return strings.Join(append([]string{"N,N-N"}, s.Values...), "|")
	case Path:
		return "PATH"
	case Duration:
		return "DURATION"
	case JSON:
		return "JSON"
	case String:
		if len(s.Values) > 0 {
			return strings.Join(s.Values, "|")
		}
	case Text, Boolean:
	}
	return "TEXT"
}

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }
