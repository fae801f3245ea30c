package lint

import (
	"cmp"
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/md"
	"tercet/internal/order"
)

// maxSymbols bounds the text whose symbols are listed, in bytes. A longer one has none.
const maxSymbols = 2 << 20

// levelSymbol is a symbol and how deep it lies: 1 to 6 for a heading, more for a step without one.
type levelSymbol struct {
	formats.Symbol

	level int
}

// Symbols gives the headings of a Markdown text as a tree, with the steps of a command or a
// subagent below theirs. It reads what it can of a text with errors.
func Symbols(name string, src []byte) []formats.Symbol {
	doc, _ := md.ParseUpTo(src, maxSymbols)
	var all []levelSymbol
	for i := range doc.Blocks {
		b := &doc.Blocks[i]
		if b.Kind == md.Heading && b.Depth == 0 {
			all = append(all, levelSymbol{formats.Symbol{Name: b.Text, Pos: b.Pos}, b.Level})
		}
	}

	var byName *dialect.Loaded
	if _, _, foreign := byName.PlaceOf(name); len(all) > 0 && !foreign {
		read := syntax.Read
		if Subagent(src) {
			read = syntax.ReadWorkflow
		}
		f := read(name, src)
		for _, steps := range [][]*syntax.Step{f.Steps, f.Between, f.Errors} {
			all = withSteps(all, steps, 0)
		}
		order.Stable(all, func(a, b levelSymbol) int {
			return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
		})
	}
	return tree(all, doc.LineCount())
}

// withSteps gives the headings of steps their ids, and adds the steps that have no heading.
func withSteps(all []levelSymbol, steps []*syntax.Step, depth int) []levelSymbol {
	const belowHeadings = 7
	for _, s := range steps {
		i := slices.IndexFunc(all, func(one levelSymbol) bool { return one.Pos.Line == s.Pos.Line })
		if i >= 0 {
			all[i].Detail = s.ID.Text
		} else {
			one := formats.Symbol{Name: cmp.Or(s.Title, s.ID.Text), Detail: s.ID.Text, Pos: s.Pos}
			if one.Name == "" && s.Action != nil {
				one.Name = s.Action.Kind().Word
			}
			all = append(all, levelSymbol{one, belowHeadings + depth})
		}
		all = withSteps(all, s.Body, depth+1)
	}
	return all
}

// tree puts the symbols of a deeper level below the one before them. The last line is that of the
// text or of the symbol around.
func tree(all []levelSymbol, last int) []formats.Symbol {
	var out []formats.Symbol
	for len(all) > 0 {
		one := all[0]
		isNextSection := func(b levelSymbol) bool { return b.level <= one.level }
		next := slices.IndexFunc(all[1:], isNextSection) + 1
		one.EndLine = last
		if next == 0 {
			next = len(all)
		} else {
			one.EndLine = max(one.Pos.Line, all[next].Pos.Line-1)
		}
		one.Children = tree(all[1:next], one.EndLine)
		out = append(out, one.Symbol)
		all = all[next:]
	}
	return out
}
