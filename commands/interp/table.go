package interp

import (
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/query"
)

// showTable evaluates a table and shows it at once. The return has the rows too.
func (s step) showTable() error {
	r := s.run
	t := s.info.Step.Table
	if r.dry.isUnknown(t.Rows) {
		s.plan("show a table")
		return nil
	}

	rows, err := s.env().array(t.Rows, "an array of rows for table")
	if err != nil {
		return err
	}
	out := formats.Table{Rows: [][]string{}}
	for _, w := range t.Columns {
		out.Columns = append(out.Columns, w.Text)
	}

	out.Title, err = s.env().dryText(t.Title, nil)
	if err != nil {
		return err
	}
	if out.Columns == nil {
		out.Columns = columnsOf(rows)
	}
	for _, row := range rows {
		cells := make([]string, len(out.Columns))
		m, isMap := row.(object)
		for i, col := range out.Columns {
			switch {
			case isMap && m[col] != nil:
				cells[i] = oneLine(m[col])
			case !isMap && i == 0: // a plain value goes into the first column
				cells[i] = oneLine(row)
			}
		}
		out.Rows = append(out.Rows, cells)
	}

	r.report.tables = append(r.report.tables, out)
	s.plan("show a table of %d", len(out.Rows))
	if !r.dry.on {
		r.cfg.Show(out)
	}
	return nil
}

// columnsOf is the sorted union of the rows' members, or one column for plain values.
func columnsOf(rows []any) []string {
	seen := object{}
	for _, row := range rows {
		maps.Copy(seen, formats.As[object](row))
	}
	if len(seen) == 0 {
		return []string{"value"}
	}
	return slices.Sorted(maps.Keys(seen))
}

func oneLine(v any) string {
	return strings.Join(strings.Fields(query.Text(v)), " ")
}
