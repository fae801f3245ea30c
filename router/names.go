package router

import (
	"slices"
	"strings"
)

// Hides gives the file that has the plain name of a command which was found under another; empty: none.
func (t *Table) Hides(r Route) string {
	first, err := t.Route(Line{Words: []string{"/" + r.Name}})
	if err != nil || first.Source == r.Source && first.File == r.File {
		return ""
	}
	return first.Source + "/" + first.File
}

// Spellings are the names that lead to the same file, those with the scopes in front among them.
func (t *Table) Spellings(r Route, scopes ...string) []string {
	names := []string{r.Name, strings.ReplaceAll(r.Name, ":", "/"), r.Name[strings.LastIndexByte(r.Name, ':')+1:]}
	for _, scope := range scopes {
		names = append(names, scope+":"+r.Name)
	}
	out := []string{}
	for _, name := range names {
		found, err := t.Route(Line{Raw: "/" + name})
		if err == nil && found.Source == r.Source && found.File == r.File && !slices.Contains(out, "/"+name) {
			out = append(out, "/"+name)
		}
	}
	return out
}
