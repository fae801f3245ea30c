package jsonx

import (
	"encoding/json"
	"strconv"
)

// Kind is the type of a JSON value.
type Kind uint8

// The six kinds of JSON values. An object is Dict, because Object is the builder of one.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Dict
)

// String names the kind as messages do.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is one value of a parsed text. Its methods accept nil, which means an absent value.
type Value struct {
	Kind       Kind
	Start, End int      // byte offsets in the source
	Members    []Member // of an object, in source order
	Elems      []*Value // of an array
	text       string   // of a string its content, of a number its literal, of a boolean its word
}

// Member is one key of an object with its value.
type Member struct {
	Key      string // unescaped
	KeyStart int    // byte offset of the key's opening quote
	Value    *Value
}

// Get gives the value of a key; nil if v is no object or lacks the key.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// Is reports whether v is present and of kind k.
func (v *Value) Is(k Kind) bool {
	return v != nil && v.Kind == k
}

// Str gives the content of a string without quotes and escapes; false for any other kind.
func (v *Value) Str() (string, bool) {
	if v == nil || v.Kind != String {
		return "", false
	}
	return v.text, true
}

// Num gives the literal of a number as in the source.
func (v *Value) Num() (json.Number, bool) {
	if v == nil || v.Kind != Number {
		return "", false
	}
	return json.Number(v.text), true
}

// Int gives a number written as an integer (1, not 1.0 or 1e0) that fits into int.
func (v *Value) Int() (int64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil
}

// Bool gives the value of a boolean; ok is false for any other kind.
func (v *Value) Bool() (value, ok bool) {
	if v == nil || v.Kind != Bool {
		return false, false
	}
	return v.text == "true", true
}

// Any converts v to fresh maps, slices, strings, json.Number, bool and nil.
func (v *Value) Any() any {
	return v.Plain(func(n json.Number) any { return n })
}

// Plain is Any with a function that converts number literals.
func (v *Value) Plain(number func(json.Number) any) any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case Null:
	case Bool:
		return v.text == "true"
	case Number:
		return number(json.Number(v.text))
	case String:
		return v.text
	case Array:
		a := make([]any, len(v.Elems))
		for i, e := range v.Elems {
			a[i] = e.Plain(number)
		}
		return a
	case Dict:
		m := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			m[member.Key] = member.Value.Plain(number)
		}
		return m
	}
	return nil
}

// Raw gives v's bytes in its source. The result is a part of src.
func (v *Value) Raw(src []byte) []byte {
	if v == nil || v.End > len(src) {
		return nil
	}
	return src[v.Start:v.End:v.End]
}
