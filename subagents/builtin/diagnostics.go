package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/state"
)

// Lister gives the recorded errors, oldest first.
type Lister interface {
	List(ctx context.Context) ([]state.Recorded, error)
}

// Diagnostics is error-diagnostics: it groups errors.json and changes nothing.
type Diagnostics struct{ Errors Lister }

// group is one kind of error.
type group struct {
	count, unfixed int
	first          string         // time
	last           state.Recorded // the newest one
}

// Run groups the errors by type, step and message, ignoring paths and run ids; the most frequent
// come first.
func (d Diagnostics) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	in.allowOnly()
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}

	list, err := d.Errors.List(ctx)
	if err != nil {
		return asReturn(ctx, formats.Return{}, err)
	}

	groups := groupErrors(list)
	warnings := 0
	for _, g := range groups {
		if g.last.Severity == string(formats.SeverityWarning) {
			warnings += g.count
		}
	}

	counted := formats.Count(len(list)-warnings, "error")
	if warnings > 0 {
		counted += " and " + formats.Count(warnings, "warning")
	}

	fields := make([]any, 0, len(groups))
	var text strings.Builder
	for _, g := range groups {
		p := g.last
		c := g.last.Context
		do := g.last.Recovery.Action
		fields = append(fields, map[string]any{
			"type":             p.Type,
			"severity":         p.Severity,
			"message":          p.Message,
			"count":            g.count,
			"unfixed":          g.unfixed,
			"first":            g.first,
			"last":             p.Time,
			"command":          c.Command,
			"step":             c.Step,
			"run":              c.Run,
			"suggested_action": do,
		})

		kind := p.Type
		if p.Severity == string(formats.SeverityWarning) {
			kind += ", a warning"
		}

		fmt.Fprintf(&text, "%dx %s: %s\n",
			g.count, kind, strings.ReplaceAll(p.Message, "\n", "\n   "))
		fmt.Fprintf(&text, "   last %s%s\n", p.Time, contextText(c))
		if do != "" {
			fmt.Fprintf(&text, "   do: %s\n", do)
		}
	}

	ret := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: counted + " of " + formats.Count(len(groups), "kind"),
		Text:    limitText(strings.TrimSuffix(text.String(), "\n")),
		Fields:  map[string]any{"total": len(list), "groups": fields},
	}
	if len(list) == 0 {
		ret.Summary = "no errors are recorded"
	}
	return ret, nil
}

func contextText(c formats.ProblemContext) string {
	var out strings.Builder
	for _, part := range [][2]string{{", ", c.Command}, {", ", c.Step}, {", run ", c.Run}} {
		if part[1] != "" {
			out.WriteString(part[0] + part[1])
		}
	}
	return out.String()
}

func groupErrors(list []state.Recorded) []*group {
	byKey := map[[4]string]*group{}
	var out []*group
	for _, one := range list {
		key := [4]string{one.Type, one.Severity, one.Context.Step, messagePattern(one)}
		g := byKey[key]
		if g == nil {
			g = &group{first: one.Time}
			byKey[key] = g
			out = append(out, g)
		}
		g.count++
		g.last = one
		if one.FixStatus != "fixed" {
			g.unfixed++
		}
	}
	slices.SortStableFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.last.Time, a.last.Time),
			cmp.Compare(a.last.Message, b.last.Message))
	})
	return out
}

// anyPath is a word with a slash in it, with what tools write around it.
var anyPath = lazy.Regexp(`[^\s'"(]*/[^\s'")]*`)

// messagePattern is the message of an error without what differs from run to run.
func messagePattern(one state.Recorded) string {
	text := anyPath().ReplaceAllString(one.Message, "/")
	for _, id := range []string{one.Context.Run, one.Context.Session} {
		if id != "" {
			text = strings.ReplaceAll(text, id, "")
		}
	}
	return text
}

// limitText keeps a text within what a return may hold.
func limitText(text string) string {
	if len(text) <= formats.MaxText {
		return text
	}
	const note = "\n(cut)"
	return strings.ToValidUTF8(text[:formats.MaxText-len(note)], "") + note
}
