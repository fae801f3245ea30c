package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
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

// Run groups the errors by type and message, the most frequent first.
func (d Diagnostics) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	in.only()
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}
	list, err := d.Errors.List(ctx)
	if err != nil {
		return settled(ctx, formats.Return{}, err)
	}
	groups := grouped(list)
	fields := make([]any, 0, len(groups))
	var text strings.Builder
	for _, g := range groups {
		p, c, do := g.last, g.last.Context, g.last.Recovery.Action
		fields = append(fields, map[string]any{
			"type": p.Type, "message": p.Message, "count": g.count, "unfixed": g.unfixed, "first": g.first, "last": p.Time,
			"command": c.Command, "step": c.Step, "run": c.Run, "suggested_action": do,
		})
		fmt.Fprintf(&text, "%dx %s: %s\n", g.count, p.Type, strings.ReplaceAll(p.Message, "\n", "\n   "))
		fmt.Fprintf(&text, "   last %s%s\n", p.Time, where(c))
		if do != "" {
			fmt.Fprintf(&text, "   do: %s\n", do)
		}
	}
	ret := formats.Return{
		Status: formats.StatusCompleted, Summary: fmt.Sprintf("%d errors of %d kinds", len(list), len(groups)),
		Text: bounded(strings.TrimSuffix(text.String(), "\n")), Fields: map[string]any{"total": len(list), "groups": fields},
	}
	if len(list) == 0 {
		ret.Summary = "no errors are recorded"
	}
	return ret, nil
}

func where(c formats.ProblemContext) string {
	var out strings.Builder
	for _, part := range [][2]string{{", ", c.Command}, {", ", c.Step}, {", run ", c.Run}} {
		if part[1] != "" {
			out.WriteString(part[0] + part[1])
		}
	}
	return out.String()
}

func grouped(list []state.Recorded) []*group {
	byKey := map[[2]string]*group{}
	var out []*group
	for _, one := range list {
		key := [2]string{one.Type, one.Message}
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

// bounded keeps a text within what a return may hold.
func bounded(text string) string {
	if len(text) <= formats.MaxText {
		return text
	}
	const note = "\n(cut)"
	return strings.ToValidUTF8(text[:formats.MaxText-len(note)], "") + note
}
