package checkup

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/router"
)

// Tool is a folder or file of another tool with commands that run here.
type Tool struct {
	Source   string   `json:"source"`
	Dialect  string   `json:"dialect"`
	Commands []string `json:"commands"` // without those that another file hides
	Hides    []string `json:"hides"`    // files behind one of them: source/path
}

// Tools lists what was found of other tools, by the names of their folders.
func Tools(t *router.Table) []Tool {
	out := []Tool{}
	for _, e := range t.Commands() {
		if e.Dialect == "" {
			continue
		}
		i := slices.IndexFunc(out, func(one Tool) bool { return one.Source == e.Source })
		if i < 0 {
			i, out = len(out), append(out, Tool{Source: e.Source, Dialect: e.Dialect, Hides: []string{}})
		}
		out[i].Commands = append(out[i].Commands, "/"+e.Name)
		if r, err := t.Route(router.Line{Raw: "/" + e.Name}); err == nil {
			out[i].Hides = append(out[i].Hides, r.Shadows...)
		}
	}
	slices.SortFunc(out, func(a, b Tool) int { return strings.Compare(a.Source, b.Source) })
	return out
}

// String is the tool as it is told in a line.
func (t Tool) String() string {
	text := fmt.Sprintf("%s (%s): %s", t.Source, t.Dialect, formats.Count(len(t.Commands), "command"))
	if len(t.Hides) > 0 {
		text += ", which hide " + strings.Join(t.Hides, ", ")
	}
	return text
}
