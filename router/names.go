package router

import (
	"slices"
	"strings"

	"tercet/internal/lazy"
)

// Hides gives the file that has the plain name of a command which was found under another; empty: none.
func (t *Table) Hides(r Route) string {
	first, err := t.Route(Line{Words: []string{"/" + r.Name}})
	if err != nil || first.Source == r.Source && first.File == r.File {
		return ""
	}
	return first.Source + "/" + first.File
}

// Spellings are the names that lead to the same file, those with the words of scopes and tools in front among them.
func (t *Table) Spellings(r Route) []string {
	names := []string{r.Name, strings.ReplaceAll(r.Name, ":", "/"), r.Name[strings.LastIndexByte(r.Name, ':')+1:]}
	for _, word := range t.scopes {
		names = append(names, word+":"+r.Name)
	}
	out := []string{}
	for _, name := range names {
		found, err := t.Route(Line{Raw: "/" + name})
		if err == nil && found.Source == r.Source && found.File == r.File && !slices.Contains(out, "/"+name) {
			out = append(out, "/"+name)
		}
	}
	if call := t.Call(r.Source + "/" + r.File); len(out) == 0 && call != "" {
		out = append(out, "/"+call)
	}
	return out
}

// Hidden is a command whose plain name leads to another file.
type Hidden struct {
	Entry
	By   string // the file that has the name, with its source in front
	Call string // a name that leads here, without the slash; empty: none does
}

// Hidden lists the commands whose plain names lead to other files.
func (t *Table) Hidden() []Hidden { return slices.Clone(t.hidden) }

// Call is the shortest name, without the slash, that leads to a file with its source in front; empty: none does.
func (t *Table) Call(file string) string {
	best := ""
	for name, goal := range t.byName {
		if goal.Source+"/"+goal.File == file && !strings.Contains(name, "/") && (best == "" || len(name) < len(best) ||
			len(name) == len(best) && name < best) {
			best = name
		}
	}
	return best
}

// Unmet lists what is preferred and is not there, as scope and name.
func (t *Table) Unmet() []string { return slices.Clone(t.unmet) }

// Scopes lists the words that may stand before a name.
func (t *Table) Scopes() []string { return slices.Clone(t.scopes) }

// Beside spells the commands that a text names as the author of a command meant them: one that stands in the same
// source keeps its meaning where a prompt of another tool has its plain name.
func (t *Table) Beside(source, text string, prompt func(source, file string) bool) string {
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

// slashWord is the name of a command in a text.
var slashWord = lazy.Regexp("(?:^|[\\s'\"`(])/[a-z][a-z0-9:-]*")
