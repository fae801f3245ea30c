package router

import (
	"slices"
	"strings"

	"tercet/internal/lazy"
)

// Hides returns the file with the plain name of a command that has a longer name; empty: none.
func (t *Table) Hides(r Route) string {
	first, err := t.Route(Line{Words: []string{"/" + r.Name}})
	if err != nil || first.Source == r.Source && first.File == r.File {
		return ""
	}
	return first.Source + "/" + first.File
}

// Spellings lists the names of the same file, including those with scopes and tools in front.
func (t *Table) Spellings(r Route) []string {
	names := []string{
		r.Name,
		strings.ReplaceAll(r.Name, ":", "/"),
		r.Name[strings.LastIndexByte(r.Name, ':')+1:],
	}
	for _, word := range t.scopes {
		names = append(names, word+":"+r.Name)
	}

	out := []string{}
	for _, name := range names {
		found, err := t.Route(Line{Raw: "/" + name})
		if err == nil && found.Source == r.Source && found.File == r.File &&
			!slices.Contains(out, "/"+name) {
			out = append(out, "/"+name)
		}
	}

	if call := t.Call(r.Source + "/" + r.File); len(out) == 0 && call != "" {
		out = append(out, "/"+call)
	}
	return out
}

// Hidden is a command whose plain name belongs to another file.
type Hidden struct {
	Entry
	By   string // the file with the plain name, with its source in front
	Call string // a name that works, without slash; empty: none
}

// Hidden lists the commands whose plain names belong to other files.
func (t *Table) Hidden() []Hidden {
	return slices.Clone(t.hidden)
}

// Call returns the shortest name, without slash, of a file given with its source in front; empty:
// none.
func (t *Table) Call(file string) string {
	best := ""
	for name, goal := range t.byName {
		if goal.Source+"/"+goal.File == file && !strings.Contains(name, "/") &&
			(best == "" || len(name) < len(best) ||
				len(name) == len(best) && name < best) {
			best = name
		}
	}
	return best
}

// UnmatchedPreferences lists preferences of the configuration that match no command, as scope and
// name.
func (t *Table) UnmatchedPreferences() []string {
	return slices.Clone(t.unmatched)
}

// Scopes lists the words that may precede a name.
func (t *Table) Scopes() []string {
	return slices.Clone(t.scopes)
}

// RewriteCalls rewrites the commands in a text to the names that its author meant. A command of the
// same source keeps its meaning, even if a prompt of another tool has its plain name.
func (t *Table) RewriteCalls(source, text string, prompt func(source, file string) bool) string {
	return slashWord().ReplaceAllStringFunc(text, func(word string) string {
		at := strings.IndexByte(word, '/')
		winner := t.byName[word[at+1:]]
		if winner == nil || winner.Dialect == "" || winner.Source == source ||
			!prompt(winner.Source, winner.File) {
			return word
		}
		for _, h := range t.hidden {
			if h.Source == source && h.Name == word[at+1:] && h.Call != "" {
				return word[:at+1] + h.Call
			}
		}
		return word
	})
}

// slashWord matches the name of a command in a text.
var slashWord = lazy.Regexp("(?:^|[\\s'\"`(])/[a-z][a-z0-9:-]*")
