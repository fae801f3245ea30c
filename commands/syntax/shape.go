package syntax

import (
	"strings"

	"tercet/internal/md"
)

// schema reads a JSON Schema that is written in place, or the path of a file that holds one.
func (p *parser) schema(n *md.Node) *Shape {
	s := &Shape{Pos: n.Pos}
	switch {
	case n.Kind == md.Map:
		s.Root = n
	case n.IsStr() && strings.TrimSpace(n.Value) != "":
		s.File = n.Value
	default:
		p.Wrong(n, "a JSON Schema or the path of a file with one",
			"write {type: object, required: [...], properties: {...}}, or schemas/review.json")
	}
	return s
}
