package statefile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"tercet/internal/jsonx"
	"tercet/internal/order"
)

// Layout is the formatting of state.json.
type Layout string

// The layouts: one member a line, or one task a line.
const (
	LayoutPretty Layout = "pretty"
	LayoutLines  Layout = "lines"
)

// EditValue applies edits to the bytes of one value.
func EditValue(src []byte, v *jsonx.Value, edits []jsonx.Edit) ([]byte, error) {
	order.Stable(edits, func(a, b jsonx.Edit) int {
		return cmp.Compare(a.Start, b.Start)
	})
	for i := range edits {
		edits[i].Start -= v.Start
		edits[i].End -= v.Start
	}
	return jsonx.Splice(v.Raw(src), edits)
}

// LayOut rewrites a state in a layout and keeps every literal. The layout lines sorts the tasks by
// number.
func LayOut(src []byte, to Layout) ([]byte, error) {
	tree, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		return nil, err
	}

	if to == LayoutPretty {
		out, err := jsonx.Marshal(tree, "  ")
		return append(out, '\n'), err
	}

	var b bytes.Buffer
	for i, m := range tree.Members {
		fmt.Fprintf(&b, "%s\n  %s: ", []string{"{", ","}[min(i, 1)], jsonx.AppendString(nil, m.Key))
		if m.Key == "tasks" && m.Value.Is(jsonx.Array) && len(m.Value.Elems) > 0 {
			err = layLines(&b, m.Value.Elems)
		} else {
			var line []byte
			line, err = jsonx.MarshalLine(m.Value)
			b.Write(line)
		}
		if err != nil {
			return nil, err
		}
	}

	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

func layLines(b *bytes.Buffer, tasks []*jsonx.Value) error {
	sorted := slices.Clone(tasks)
	slices.SortStableFunc(sorted, func(a, c *jsonx.Value) int {
		x, _ := a.Get("number").Int() // a state that was read has numbers
		y, _ := c.Get("number").Int() // the same
		return cmp.Compare(x, y)
	})

	for i, v := range sorted {
		line, err := jsonx.MarshalLine(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s\n    %s", []string{"[", ","}[min(i, 1)], line)
	}

	b.WriteString("\n  ]")
	return nil
}
