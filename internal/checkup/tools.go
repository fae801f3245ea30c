package checkup

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/router"
)

// Tool is a folder or file of another tool whose commands run here.
type Tool struct {
	Source   string   `json:"source"`
	Dialect  string   `json:"dialect"`
	Commands []string `json:"commands"` // without those that another file hides
	Behind   []string `json:"behind"`   // the hidden ones, by a name that still reaches them
	Hides    []string `json:"hides"`    // files that a command of this tool hides: source/path
	// how to reach or prefer the shipped commands that this tool hides
	Advice []string `json:"advice"`
}

// Tools lists the folders of other tools, sorted by name.
func Tools(t *router.Table) []Tool {
	// of each, what the key prefer takes
	out := []Tool{}
	prefer := map[int][]string{}
	tool := func(e router.Entry) *Tool {
		i := slices.IndexFunc(out, func(one Tool) bool {
			return one.Source == e.Source
		})
		if i < 0 {
			none := func() []string { return []string{} }
			i = len(out)
			out = append(out, Tool{e.Source, e.Dialect, none(), none(), none(), none()})
		}
		return &out[i]
	}
	for _, e := range t.Commands() {
		if e.Dialect != "" {
			one := tool(e)
			one.Commands = append(one.Commands, "/"+e.Name)
			if r, err := t.Route(router.Line{Raw: "/" + e.Name}); err == nil {
				one.Hides = append(one.Hides, r.Shadows...)
			}
		}
	}

	for _, h := range t.Hidden() {
		if h.Dialect != "" {
			one := tool(h.Entry)
			one.Behind = append(one.Behind, "/"+h.Call)
			continue
		}
		i := slices.IndexFunc(out, func(one Tool) bool {
			return strings.HasPrefix(h.By, one.Source+"/")
		})
		if scope, _, ok := strings.Cut(h.Call, ":"); ok && i >= 0 {
			out[i].Advice = append(
				out[i].Advice,
				fmt.Sprintf("/%s is %s; call /%s for %s",
					h.Name, h.By, h.Call, h.Source+"/"+h.File),
			)
			prefer[i] = append(prefer[i], h.Name+": "+scope)
		}
	}

	for i, list := range prefer {
		out[i].Advice = append(
			out[i].Advice,
			fmt.Sprintf("or write `prefer: {%s}` into %s/config.yaml",
				strings.Join(list, ", "), formats.Workspace),
		)
	}

	slices.SortFunc(out, func(a, b Tool) int {
		return strings.Compare(a.Source, b.Source)
	})
	return out
}

// Agents reports the shipped workers that the project replaces, and the findings about the names of
// other tools' agents.
func Agents(
	replaced []string,
	notes []formats.Diagnostic,
	ofNames func(formats.Diagnostic) bool,
) (out []Finding) {
	for _, text := range replaced {
		out = append(out, fine("agents", text))
	}
	for _, d := range notes {
		if ofNames(d) {
			out = append(out, warned("agents", d.File+": "+d.Message, d.Help))
		}
	}
	return out
}

// String is the tool in one line.
func (t Tool) String() string {
	text := fmt.Sprintf("%s (%s): %s",
		t.Source, t.Dialect, formats.Count(len(t.Commands), "command"))
	if len(t.Hides) > 0 {
		text += ", which hide " + FirstFew(t.Hides, ", ")
	}
	if n := len(t.Behind); n > 0 {
		text += fmt.Sprintf(", %d behind other files: %s", n, strings.Join(t.Behind, ", "))
	}
	return text
}
