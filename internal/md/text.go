package md

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxInline is how much text is read for marks; no author writes a longer heading, and marks
// without a partner cost more than linear time.
const maxInline = 4 << 10

// plainText returns a text on one line without escapes, code marks and emphasis marks. Links and
// HTML stay as they are.
func plainText(raw string) string {
	switch {
	case !strings.ContainsAny(raw, "\n\t`*_\\"):
		return strings.TrimSpace(raw)
	case len(raw) > maxInline:
		return strings.Join(strings.Fields(raw), " ")
	}

	src := []byte(raw)
	paragraph := parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1))
	marks := parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 1),
		util.Prioritized(parser.NewEmphasisParser(), 2),
	)
	root := parser.NewParser(paragraph, marks).Parse(text.NewReader(src))

	var out []byte

	walk := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		piece, ok := n.(*ast.Text)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		value := piece.Segment.Value(src)
		if n.Parent().Kind() != ast.KindCodeSpan {
			value = util.UnescapePunctuations(slices.Clone(value))
		}
		out = append(out, value...)
		if piece.SoftLineBreak() || piece.HardLineBreak() {
			out = append(out, ' ')
		}
		return ast.WalkContinue, nil
	}
	if err := ast.Walk(root, walk); err != nil {
		return raw // walk gives no error
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
