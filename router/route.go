package router

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/internal/nearest"
)

// Line is one line for the router: the words of a shell, or the raw text of a prompt.
type Line struct {
	Raw   string   // "/plan 196"; ignored if Words is not nil
	Words []string // "/plan", "196"
}

// Route is the target of a line.
type Route struct {
	Name    string   // canonical name of the command, also for an alias
	File    string   // path inside the source
	Source  string   // name of the source
	Raw     string   // rest of the line; empty when it came as words
	Words   []string // rest of the words; nil if the line came as one text
	Dialect string   // of the file; empty: tercet's own
	Shadows []string // files that it hides, as source/path; do not change
}

// Route finds the command of a line. The error is an *UnknownCommandError, an
// *AmbiguousCommandError, or a *formats.Failure about a line without a slash. A hit allocates
// nothing.
func (t *Table) Route(l Line) (Route, error) {
	var r Route
	first := ""
	if l.Words != nil {
		if len(l.Words) > 0 {
			first = l.Words[0]
			r.Words = l.Words[1:]
		}
	} else {
		first, r.Raw = splitFirst(l.Raw)
	}

	if len(first) < 2 || first[0] != '/' {
		return Route{}, t.noSlashError(l, first)
	}

	found, ok := t.byName[first[1:]]
	if !ok {
		found, ok = t.byName[canonicalName(first)]
		if !ok { // "git:sub/commit"
			return Route{}, t.unknownCommandError(first[1:])
		}
	}

	r.Dialect = found.Dialect
	r.Name = found.Name
	r.File = found.File
	r.Source = found.Source
	r.Shadows = found.shadows
	return r, nil
}

// splitFirst splits a line into its first word and the trimmed rest.
func splitFirst(raw string) (first, rest string) {
	raw = strings.TrimSpace(raw)
	if at := strings.IndexFunc(raw, unicode.IsSpace); at >= 0 {
		return raw[:at], strings.TrimSpace(raw[at:])
	}
	return raw, ""
}

// unknownCommandError suggests the commands whose last part was typed without their folder, then
// the nearest names, then those that begin with what was typed.
func (t *Table) unknownCommandError(name string) error {
	if names := t.ambiguous[name]; names != nil {
		return &AmbiguousCommandError{Name: name, Candidates: slices.Clone(names)}
	}

	var near []string
	typed := strings.ToLower(canonicalName(name))
	for _, known := range t.names {
		if strings.HasSuffix(known, ":"+typed) {
			near = append(near, known)
		}
	}

	word, rest, ok := strings.Cut(typed, ":")
	if ok && slices.Contains(t.scopes, word) {
		for _, one := range nearest.Names(rest, slices.Sorted(maps.Keys(t.commandsBehind(word)))) {
			near = append(near, word+":"+one)
		}
	} else {
		near = append(near, nearest.Names(typed, t.names)...)
	}

	if len(near) == 0 && len(typed) > 1 {
		near = slices.DeleteFunc(slices.Clone(t.names), func(known string) bool {
			return !strings.HasPrefix(known, typed)
		})
	}

	near = near[:min(len(near), 3)]
	return &UnknownCommandError{
		Name:       name,
		DidYouMean: near,
		LeftOut:    t.findSkipped(canonicalName(name)),
	}
}

func (t *Table) noSlashError(l Line, first string) error {
	line := strings.TrimSpace(l.Text())
	if line == "" {
		return formats.Fail(
			formats.CodeUsage,
			suggestNames(nil),
			"expected a slash command, got an empty line",
		)
	}

	var near []string
	_, command := t.byName[first]
	_, task := t.byName["task"]
	switch {
	case command:
		near = []string{canonicalName(first)}
	case task && first != line && first != "/":
		near = []string{`task "…"`}
	}

	return formats.Fail(formats.CodeUsage, suggestNames(near), "commands start with '/', got '%s'",
		printable(line))
}

// Text is the line in messages and journals: as typed, or the words, quoted where needed.
func (l Line) Text() string {
	if l.Words == nil {
		return strings.TrimSpace(l.Raw)
	}
	out := make([]string, len(l.Words))
	for i, w := range l.Words {
		out[i] = w
		if w == "" || strings.ContainsFunc(w, unicode.IsSpace) {
			out[i] = `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
		}
	}
	return strings.Join(out, " ")
}
