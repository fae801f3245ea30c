package builtin

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/order"
	"tercet/subagents"
)

// Catalog describes the commands.
type Catalog interface {
	List() []formats.CommandInfo
	Text(name string) (string, error)
}

// Reference is reference: the texts of /help, and of /agent without a name.
type Reference struct {
	Catalog Catalog
	Set     *subagents.Set
}

// Run gives the page of one command, or the list of subagents or commands.
func (h Reference) Run(_ context.Context, r formats.Request) (_ formats.Return, err error) {
	in := inputOf(r)
	in.allowOnly("name", "subagents")
	name := in.text("name")
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}
	if r.Input["subagents"] == true {
		list := h.listSubagents()
		return formats.Return{
			Status:  formats.StatusCompleted,
			Summary: formats.Count(len(list), "subagent"),
			Text:    limitText(menu(list)),
		}, nil
	}

	list := h.Catalog.List()
	summary := fmt.Sprintf("%d commands", len(list))
	text := menu(list)
	if name != "" {
		text, err = h.Catalog.Text(name)
		if err != nil {
			return formats.Failed(err), nil
		}
		summary = "/" + strings.TrimPrefix(name, "/")
	}
	return formats.Return{
		Status:  formats.StatusCompleted,
		Summary: summary,
		Text:    limitText(text),
	}, nil
}

// listSubagents lists those that can be run alone, with their tools and statuses; a variant for a
// language is its first one's.
func (h Reference) listSubagents() []formats.CommandInfo {
	var out []formats.CommandInfo
	for _, name := range h.Set.Names() {
		info, _ := h.Set.Agent(name)
		if info.Builtin || strings.Contains(name, "@") {
			continue
		}
		tools := strings.Join(info.Tools, ", ")
		statuses := strings.Join(formats.Words(info.Statuses), ", ")
		out = append(out, formats.CommandInfo{
			Usage: name,
			Description: fmt.Sprintf("%s\n%s; returns %s", info.Description,
				cmp.Or(tools, "no tools"), cmp.Or(statuses, "any status")),
		})
	}
	return out
}

// menu lists the commands, a line each, those of a pack under its name.
func menu(list []formats.CommandInfo) string {
	order.Stable(list, func(a, b formats.CommandInfo) int {
		return strings.Compare(a.Pack, b.Pack)
	})

	wide := 0
	for _, c := range list {
		wide = max(wide, utf8.RuneCountInString(c.Usage))
	}
	const maxUsage = 48
	wide = min(wide, maxUsage)

	lines := make([]string, 0, len(list))
	for i, c := range list {
		if c.Pack != "" && (i == 0 || list[i-1].Pack != c.Pack) {
			lines = append(lines, "", c.Pack+":")
		}

		gap := "  "
		if n := utf8.RuneCountInString(c.Usage); n < wide {
			gap += strings.Repeat(" ", wide-n)
		} else if n > wide {
			gap = "\n" + strings.Repeat(" ", wide+2)
		}

		about := strings.ReplaceAll(c.Description, "\n", "\n"+strings.Repeat(" ", wide+2))
		lines = append(lines, c.Usage+gap+about)
	}
	return strings.Join(lines, "\n")
}
