package jsonx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Object builds a JSON object that keeps the order in which its keys were first set. The zero value
// is an empty object.
type Object struct {
	keys   []string
	values []any
}

// Set sets a key to a value, in place if the key exists, and returns the object. The value may be
// anything that Marshal takes; a json.RawMessage keeps its literals.
func (o *Object) Set(key string, value any) *Object {
	if i := slices.Index(o.keys, key); i >= 0 {
		o.values[i] = value
		return o
	}
	o.keys = append(o.keys, key)
	o.values = append(o.values, value)
	return o
}

// MarshalJSON lets encoding/json write the object as a part of a struct.
func (o *Object) MarshalJSON() ([]byte, error) {
	return Marshal(o, "")
}

// Marshal writes v as JSON; the same value always gives the same bytes. An *Object keeps the order
// of its keys, a *Value its order and number literals; maps are sorted by key. There are no HTML
// escapes and no final line feed. indent puts each member or element on its own line; "" gives
// compact JSON. Invalid UTF-8 becomes U+FFFD. NaN, infinities, a RawMessage that is not strict
// JSON, and types without a JSON form are errors.
func Marshal(v any, indent string) ([]byte, error) {
	out, err := appendAny(nil, v, 0)
	if err != nil || indent == "" {
		return out, err
	}
	return AppendIndent(make([]byte, 0, len(out)+len(out)/2), out, indent), nil
}

// MarshalLine is Marshal on one line with a space after each colon and comma, as in state files
// with layout lines.
func MarshalLine(v any) ([]byte, error) {
	out, err := appendAny(nil, v, 0)
	if err != nil {
		return nil, err
	}
	return toOneLine(out, true), nil
}

// maxEncodeDepth bounds what Marshal follows, so that a value that holds itself is an error.
const maxEncodeDepth = 1000

// appendAny adds a value as compact JSON.
func appendAny(out []byte, v any, depth int) ([]byte, error) {
	if depth > maxEncodeDepth {
		return nil, fmt.Errorf("nesting is deeper than %d", maxEncodeDepth)
	}
	switch v := v.(type) {
	case nil:
	case bool:
		return strconv.AppendBool(out, v), nil
	case string:
		return AppendString(out, v), nil
	case int:
		return strconv.AppendInt(out, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case *big.Int:
		if v != nil {
			return v.Append(out, 10), nil
		}
	case json.Number:
		if end, ok := scanNumber(string(v), 0); !ok || end != len(v) {
			return nil, fmt.Errorf("invalid number %q", string(v))
		}
		return append(out, v...), nil
	case json.RawMessage:
		if v != nil {
			return appendRaw(out, v)
		}
	case *Value:
		return AppendValue(out, v), nil
	case *Object:
		if v != nil {
			return appendList(out, "{}", len(v.keys), func(out []byte, i int) ([]byte, error) {
				return appendAny(append(AppendString(out, v.keys[i]), ':'), v.values[i], depth+1)
			})
		}
	case []any:
		if v != nil {
			return appendList(out, "[]", len(v), func(out []byte, i int) ([]byte, error) {
				return appendAny(out, v[i], depth+1)
			})
		}
	case map[string]any:
		if v != nil {
			keys := slices.Sorted(maps.Keys(v))
			return appendList(out, "{}", len(keys), func(out []byte, i int) ([]byte, error) {
				return appendAny(append(AppendString(out, keys[i]), ':'), v[keys[i]], depth+1)
			})
		}
	default:
		return appendOther(out, v)
	}

	return append(out, "null"...), nil
}

// appendList adds items with commas between them and brackets around them.
func appendList(
	out []byte,
	brackets string,
	n int,
	item func([]byte, int) ([]byte, error),
) (_ []byte, err error) {
	out = append(out, brackets[0])
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out, err = item(out, i)
		if err != nil {
			return nil, err
		}
	}
	return append(out, brackets[1]), nil
}

func appendRaw(out, raw []byte) ([]byte, error) {
	if _, err := Parse(raw, Limits{Depth: maxEncodeDepth}); err != nil {
		return nil, fmt.Errorf("raw value: %w", err)
	}
	return append(out, toOneLine(bytes.TrimPrefix(raw, []byte(bom)), false)...), nil
}

// AppendValue appends v as compact JSON, with its order and number literals.
func AppendValue(out []byte, v *Value) []byte {
	if v == nil {
		return append(out, "null"...)
	}
	switch v.Kind {
	case String:
		return AppendString(out, v.text)
	case Null, Bool, Number:
		return append(out, v.text...)
	case Array:
		out = append(out, '[')
		for i, elem := range v.Elems {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendValue(out, elem)
		}
		return append(out, ']')
	case Dict:
		out = append(out, '{')
		for i := range v.Members {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendString(out, v.Members[i].Key)
			out = append(out, ':')
			out = AppendValue(out, v.Members[i].Value)
		}
		return append(out, '}')
	}

	return out
}

// appendOther leaves structs, floats and named types to encoding/json, which only writes here.
func appendOther(out []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return append(out, bytes.TrimRight(b.Bytes(), "\n")...), nil
}

// del is the one control character that JSON does not make one escape. A terminal must not get it.
const del = 0x7f

// AppendString appends a string and escapes what JSON requires, and DEL. Invalid UTF-8 becomes
// U+FFFD.
func AppendString(out []byte, s string) []byte {
	out = append(out, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < del {
			i++
			continue
		}

		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				out = append(append(out, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}

		out = append(out, s[start:i]...)
		out = appendEscape(out, c)
		i++
		start = i
	}
	out = append(out, s[start:]...)
	return append(out, '"')
}

func appendEscape(out []byte, c byte) []byte {
	if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
		return append(out, '\\', `"\bfnrt`[at])
	}
	return fmt.Appendf(out, `\u%04x`, c)
}
