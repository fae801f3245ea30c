package syntax

import (
	"encoding/json"
	"strconv"
	"strings"

	"tercet/internal/md"
	"tercet/internal/schema"
)

// schema reads a JSON Schema that is written in place, or the path of a file that holds one.
func (p *parser) schema(n *md.Node) *Shape {
	s := &Shape{Pos: n.Pos}
	switch {
	case n.Kind == md.Map:
		s.Root = schemaNode(n)
	case n.IsStr() && strings.TrimSpace(n.Value) != "":
		s.File = n.Value
	default:
		p.reject(n, "a JSON Schema or the path of a file with one", "write {type: object, required: [...], properties: {...}}, or schemas/review.json")
	}
	return s
}

// schemaNode gives a value of YAML as the schema's reader takes it.
func schemaNode(n *md.Node) *schema.Node {
	out := &schema.Node{Pos: n.Pos, Text: n.Value}
	switch {
	case n.Kind == md.Map:
		out.Kind = schema.Object
		for _, e := range n.Entries {
			out.Members = append(out.Members, schema.Member{Key: e.Key.Value, Pos: e.Key.Pos, Value: schemaNode(e.Value)})
		}
	case n.Kind == md.List:
		out.Kind = schema.Array
		for _, item := range n.Items {
			out.Elems = append(out.Elems, schemaNode(item))
		}
	case n.Type == md.Str:
		out.Kind = schema.String
	case n.Type == md.Bool:
		out.Kind, out.Text = schema.Bool, strings.ToLower(n.Value)
	case n.Type == md.Int || n.Type == md.Float:
		out.Kind, out.Text = schema.Number, numeral(n)
	}
	return out
}

// numeral is a number of YAML as JSON writes it: 0x10 is 16.
func numeral(n *md.Node) string {
	if json.Valid([]byte(n.Value)) {
		return n.Value
	}
	switch v := n.Any().(type) {
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return n.Value
}
