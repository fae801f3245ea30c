package interp

import (
	"context"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/query"
)

// show evaluates a table and shows it at once; the rows also stand in the return.
func (r *run) show(ctx context.Context, sc *scope, op *compile.Info) error {
	t := op.Table
	if r.dry.on {
		r.dry.add(sc, op, "table")
		if r.unknown(t.Rows) {
			return nil
		}
	}
	v, err := r.eval(ctx, sc, t.Rows, nil)
	if err != nil {
		return err
	}
	rows, ok := v.([]any)
	if !ok && v != nil {
		return r.noArray(t.Rows, "an array of rows for table", v)
	}
	out := formats.Table{Rows: [][]string{}}
	for _, w := range t.Columns {
		out.Columns = append(out.Columns, w.Text)
	}
	if out.Title, err = r.dryText(ctx, sc, t.Title, nil); err != nil {
		return err
	}
	if out.Columns == nil {
		out.Columns = columnsOf(rows)
	}
	for _, row := range rows {
		out.Rows = append(out.Rows, cellsOf(row, out.Columns))
	}
	r.tables = append(r.tables, out)
	if !r.dry.on {
		r.cfg.Show(out)
	}
	return nil
}

// cellsOf gives the cells of one row: the members of an object, or a plain value in the first column.
func cellsOf(row any, columns []string) []string {
	cells := make([]string, len(columns))
	m, isMap := row.(map[string]any)
	for i, col := range columns {
		switch {
		case isMap && m[col] != nil:
			cells[i] = oneLine(query.Text(m[col]))
		case !isMap && i == 0:
			cells[i] = oneLine(query.Text(row))
		}
	}
	return cells
}

// columnsOf is the sorted union of the rows' members, or one column for plain values.
func columnsOf(rows []any) []string {
	seen := map[string]bool{}
	for _, row := range rows {
		if m, ok := row.(map[string]any); ok {
			for k := range m {
				seen[k] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for k := range seen {
		out = append(out, k)
	}
	slices.Sort(out)
	if len(out) == 0 {
		return []string{"value"}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
