package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Kind is the type of a Node.
type Kind = jsonx.Kind

// The kinds of nodes.
const (
	Null   = jsonx.Null
	Bool   = jsonx.Bool
	Number = jsonx.Number
	String = jsonx.String
	Array  = jsonx.Array
	Object = jsonx.Dict
)

// Node is one value of a schema's text, in whatever notation it was written, with its place.
type Node struct {
	Kind    Kind
	Pos     formats.Pos
	Text    string   // content of a string, literal of a number, word of a boolean
	Members []Member // in the order of the file
	Elems   []*Node
}

// Member is one key of an object.
type Member struct {
	Key   string
	Pos   formats.Pos
	Value *Node
}

func (n *Node) get(key string) *Node {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// The bounds of a schema's text.
const (
	MaxBytes = 256 << 10
	MaxDepth = 64
)

// Read reads a schema that is written as JSON. The error is a *TextError.
func Read(src []byte) (*Node, error) {
	v, err := jsonx.Parse(src, jsonx.Limits{Depth: MaxDepth, Bytes: MaxBytes})
	if broken, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		return nil, &TextError{Pos: placeOf(src, broken.Offset), Message: broken.Msg}
	}
	if err != nil {
		return nil, &TextError{Pos: formats.Pos{Line: 1, Col: 1}, Message: err.Error()}
	}
	return fromJSON(src, v), nil
}

// placeOf gives line and column in bytes, as the places of every finding count.
func placeOf(src []byte, offset int) formats.Pos {
	head := string(src[:min(max(offset, 0), len(src))])
	start := strings.LastIndexByte(head, '\n') + 1
	if start == 0 {
		head = strings.TrimPrefix(head, "\ufeff")
	}
	return formats.Pos{Line: 1 + strings.Count(head, "\n"), Col: len(head) - start + 1}
}

func fromJSON(src []byte, v *jsonx.Value) *Node {
	n := &Node{Kind: v.Kind, Pos: placeOf(src, v.Start)}
	switch v.Kind { // which says that what is asked for is there
	case Null:
	case Bool:
		n.Text = "false"
		if is, _ := v.Bool(); is {
			n.Text = "true"
		}
	case Number:
		num, _ := v.Num()
		n.Text = num.String()
	case String:
		n.Text, _ = v.Str()
	case Array:
		for _, e := range v.Elems {
			n.Elems = append(n.Elems, fromJSON(src, e))
		}
	case Object:
		for _, m := range v.Members {
			n.Members = append(n.Members, Member{Key: m.Key, Pos: placeOf(src, m.KeyStart), Value: fromJSON(src, m.Value)})
		}
	}
	return n
}

// any gives the value that a node stands for.
func (n *Node) any() any {
	switch n.Kind {
	case Null:
		return nil
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	case Array:
		out := make([]any, len(n.Elems))
		for i, e := range n.Elems {
			out[i] = e.any()
		}
		return out
	case Object:
		out := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			out[m.Key] = m.Value.any()
		}
		return out
	}
	return nil
}
