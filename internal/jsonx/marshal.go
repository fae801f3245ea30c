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

// Object builds a JSON object whose keys keep the order in which they were first set. The zero value is an empty
// object.
type Object struct {
	keys   []string
	values []any
}

// Set gives a key its value, in its place if the object has the key already, and returns the object. The value may be
// anything that Marshal takes; a json.RawMessage is written with its literals as they are.
func (o *Object) Set(key string, value any) *Object {
	if i := slices.Index(o.keys, key); i >= 0 {
		o.values[i] = value
		return o
	}
	o.keys = append(o.keys, key)
	o.values = append(o.values, value)
	return o
}

// Len is the number of keys.
func (o *Object) Len() int { return len(o.keys) }

// MarshalJSON writes the object for encoding/json, so that a struct may hold one.
func (o *Object) MarshalJSON() ([]byte, error) { return Marshal(o, "") }

// Marshal writes v as JSON, the same bytes for the same value: an *Object in the order of its keys, a *Value in the
// order of its source with its number literals, maps by sorted key, structs by their json tags in the order of their
// fields. It writes no HTML escapes and ends with no line break. An indent lays out with one member or element a line;
// "" gives compact JSON. Bytes of a Go string that are not UTF-8 become U+FFFD. It refuses NaN, infinities, a
// RawMessage that is not strict JSON, a type without a JSON form.
func Marshal(v any, indent string) ([]byte, error) {
	e := encoder{}
	out, err := e.value(nil, v)
	if err != nil {
		return nil, err
	}
	if indent == "" {
		return out, nil
	}
	return onLines(make([]byte, 0, len(out)+len(out)/2), out, indent), nil
}

// AppendIndent adds valid JSON laid out with one member or element a line.
func AppendIndent(out, raw []byte, indent string) []byte { return onLines(out, raw, indent) }

// MarshalLine is Marshal on one line with a space after each colon and comma, as in a state file of layout lines.
func MarshalLine(v any) ([]byte, error) {
	e := encoder{}
	out, err := e.value(nil, v)
	if err != nil {
		return nil, err
	}
	return onOneLine(out, true), nil
}

// encoder writes compact JSON. It follows the path of the value it is in, for errors.
type encoder struct {
	path []step
}

func (e *encoder) fail(format string, args ...any) error {
	var path strings.Builder
	for _, s := range e.path {
		path.WriteString(s.String())
	}
	if path.Len() > 0 {
		path.WriteString(": ")
	}
	return errors.New(path.String() + fmt.Sprintf(format, args...))
}

func (e *encoder) value(out []byte, v any) ([]byte, error) {
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
		if end, ok := scanLiteral(string(v)); !ok || end != len(v) {
			return nil, e.fail("invalid number %q", string(v))
		}
		return append(out, v...), nil
	case json.RawMessage:
		return e.raw(out, v)
	case *Value:
		return AppendValue(out, v), nil
	case *Object:
		if v != nil {
			return e.object(out, v.keys, func(i int) any { return v.values[i] })
		}
	case []any:
		if v != nil {
			return e.array(out, v)
		}
	case map[string]any:
		if v != nil {
			keys := slices.Sorted(maps.Keys(v))
			return e.object(out, keys, func(i int) any { return v[keys[i]] })
		}
	default:
		return e.other(out, v)
	}
	return append(out, "null"...), nil
}

func scanLiteral(s string) (end int, ok bool) {
	if s == "" {
		return 0, false
	}
	return scanNumber(s, 0)
}

func (e *encoder) raw(out []byte, raw []byte) ([]byte, error) {
	if raw == nil {
		return append(out, "null"...), nil
	}
	if _, err := Parse(raw, Limits{Depth: maxEncodeDepth}); err != nil {
		return nil, e.fail("raw value: %v", err)
	}
	return append(out, onOneLine(bytes.TrimPrefix(raw, []byte(bom)), false)...), nil
}

// maxEncodeDepth bounds what Marshal follows, so that a value that holds itself is an error.
const maxEncodeDepth = 1000

// step is one step into the value: a key, or an index.
type step struct {
	key   string
	index int // -1 for a key
}

func (s step) String() string {
	if s.index >= 0 {
		return "[" + strconv.Itoa(s.index) + "]"
	}
	return "." + s.key
}

func (e *encoder) inside(out []byte, at step, v any) ([]byte, error) {
	if len(e.path) >= maxEncodeDepth {
		e.path = nil
		return nil, e.fail("nesting is deeper than %d", maxEncodeDepth)
	}
	e.path = append(e.path, at)
	out, err := e.value(out, v)
	if err != nil {
		return nil, err
	}
	e.path = e.path[:len(e.path)-1]
	return out, nil
}

func (e *encoder) array(out []byte, a []any) ([]byte, error) {
	out = append(out, '[')
	for i, v := range a {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = e.inside(out, step{index: i}, v); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func (e *encoder) object(out []byte, keys []string, value func(i int) any) ([]byte, error) {
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendString(out, key), ':')
		var err error
		if out, err = e.inside(out, step{key: key, index: -1}, value(i)); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// AppendValue adds v as compact JSON, in the order of its source and with its number literals.
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

// other leaves structs, floats and named types to encoding/json, which only writes here.
func (e *encoder) other(out []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, e.fail("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return append(out, bytes.TrimRight(b.Bytes(), "\n")...), nil
}

// del is the one control character that JSON does not make one escape. Nobody wants it in a terminal.
const del = 0x7f

// AppendString adds a string with the escapes that JSON demands, and DEL. Bytes that are not UTF-8 become U+FFFD.
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
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\b':
		return append(out, '\\', 'b')
	case '\f':
		return append(out, '\\', 'f')
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
