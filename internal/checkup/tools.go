package checkup

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/order"
	"tercet/router"
)

// Tool is a folder or file of another tool whose commands or agents run here.
type Tool struct {
	Source   string   `json:"source"`
	Dialect  string   `json:"dialect"`
	Commands []string `json:"commands"` // without those that another file hides
	// the hidden ones, by a name that still reaches them, else by their file
	Hidden []string `json:"behind"`
	Hides  []string `json:"hides"` // files that a command of this tool hides: source/path
	// how to reach or prefer the shipped commands that this tool hides
	Advice []string `json:"advice"`
	Agents []string `json:"agents,omitempty"` // names of its agents
}

// Tools lists the folders of other tools, sorted by name, with those of their agents.
func Tools(t *router.Table, agents []Tool) []Tool {
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
			out = append(out, Tool{e.Source, e.Dialect, none(), none(), none(), none(), nil})
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
			name := "/" + h.Call
			if h.Call == "" {
				name = h.Source + "/" + h.File + ", which no name reaches"
			}
			one := tool(h.Entry)
			one.Hidden = append(one.Hidden, name)
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

	out = append(out, agents...)
	order.Stable(out, func(a, b Tool) int {
		return strings.Compare(a.Source, b.Source)
	})
	return out
}

// AgentTool is a folder of another tool with agents.
func AgentTool(source, dialect string, agents []string) Tool {
	none := []string{}
	return Tool{source, dialect, none, none, none, none, agents}
}

// Agents reports the shipped workers that the project replaces, and the findings about the names of
// other tools' agents.
func Agents(
	replaced []string,
	notes []formats.Diagnostic,
	ofNames func(formats.Diagnostic) bool,
) (out []Finding) {
	for _, text := range replaced {
		out = append(out, okFinding("agents", text))
	}
	for _, d := range notes {
		if ofNames(d) {
			out = append(out, warning("agents", d.File+": "+d.Message, d.Help))
		}
	}
	return out
}

// String is the tool in one line.
func (t Tool) String() string {
	if n := len(t.Agents); n > 0 {
		return fmt.Sprintf("%s (%s): %s: %s", t.Source, t.Dialect,
			formats.Count(n, "agent"), strings.Join(t.Agents, ", "))
	}
	text := fmt.Sprintf("%s (%s): %s",
		t.Source, t.Dialect, formats.Count(len(t.Commands), "command"))
	if len(t.Hides) > 0 {
		text += ", which hide " + formats.FirstFew(t.Hides, ", ")
	}
	if n := len(t.Hidden); n > 0 {
		text += fmt.Sprintf(", %d behind other files: %s", n, strings.Join(t.Hidden, ", "))
	}
	return text
}
