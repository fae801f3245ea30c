// Package parts fills in fixed texts with placeholders: the parts of a prompt or of a generated
// file.
//
// The parts lie beside the code as a txtar archive. <name> in a part stands for a value, and a part
// has no other "<". A line that begins with "?" is left out if one of its placeholders has no
// value.
//
// It promises to read a value never as a part: what a value holds is text. A part or a value that
// does not exist is a mistake in the program, which the text then shows as package fmt does.
//
// It is no language: what is said, and how often, is decided in Go.
//
// Concurrency: Parts do not change, and can be used by several goroutines.
package parts

import (
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Parts are texts by their names.
type Parts map[string]string

// Values are what placeholders stand for.
type Values map[string]string

// Parse reads an archive. The newline at the end of a part does not belong to it.
func Parse(archive string) Parts {
	out := Parts{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		out[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
	}
	return out
}

// Fill gives the part of a name with its placeholders replaced.
func (p Parts) Fill(name string, values Values) string {
	text, ok := p[name]
	if !ok {
		return missing(name)
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line, optional := strings.CutPrefix(line, "?")
		filled, complete := values.fill(line)
		if complete || !optional {
			lines = append(lines, filled)
		}
	}
	return strings.Join(lines, "\n")
}

// fill replaces the placeholders of a line. It is complete if each has a value.
func (v Values) fill(line string) (filled string, complete bool) {
	var b strings.Builder
	complete = true
	for {
		before, rest, found := strings.Cut(line, "<")
		b.WriteString(before)
		if !found {
			return b.String(), complete
		}
		name, after, closed := strings.Cut(rest, ">")
		value, known := v[name]
		if !closed || !known {
			value = missing(name)
		}
		b.WriteString(value)
		complete = complete && value != ""
		line = after
	}
}

// missing stands for what the program should have given.
func missing(name string) string {
	return "%!(MISSING " + name + ")"
}
