package builtin

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"tercet/formats"
)

// Catalog knows the commands.
type Catalog interface {
	List() []formats.CommandInfo
	Text(name string) (string, error)
}

// Reference is reference: the text of /help.
type Reference struct{ Catalog Catalog }

// Run gives the page of one command, or the list of all.
func (h Reference) Run(_ context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	in.only("name")
	name := in.text("name")
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}
	list := h.Catalog.List()
	summary, text := fmt.Sprintf("%d commands", len(list)), menu(list)
	if name != "" {
		var err error
		if text, err = h.Catalog.Text(name); err != nil {
			return formats.Failed(err), nil
		}
		summary = "/" + strings.TrimPrefix(name, "/")
	}
	return formats.Return{Status: formats.StatusCompleted, Summary: summary, Text: bounded(text)}, nil
}

// menu lists the commands, a line each.
func menu(list []formats.CommandInfo) string {
	wide := 0
	for _, c := range list {
		wide = max(wide, utf8.RuneCountInString(c.Usage))
	}
	const most = 48
	wide = min(wide, most)
	lines := make([]string, 0, len(list))
	for _, c := range list {
		gap := "  "
		if n := utf8.RuneCountInString(c.Usage); n < wide {
			gap += strings.Repeat(" ", wide-n)
		} else if n > wide {
			gap = "\n" + strings.Repeat(" ", wide+2)
		}
		lines = append(lines, c.Usage+gap+c.Description)
	}
	return strings.Join(lines, "\n")
}
