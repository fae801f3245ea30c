package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// kindOf is the type of a plain value, empty for what JSON cannot hold.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any, []string:
		return "array"
	case map[string]any:
		return "object"
	default:
		if _, ok := ratOf(v); ok {
			return "number"
		}
	}
	return ""
}

// list gives the items of an array.
func list(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

// ratOf is a number as it is, without rounding. One whose exponent is beyond those of float64 is none: to write it out
// could take all memory.
func ratOf(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(v)), true
	case int64:
		return new(big.Rat).SetInt64(v), true
	case uint64:
		return new(big.Rat).SetUint64(v), true
	case *big.Int:
		return new(big.Rat).SetInt(v), v != nil
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case json.Number:
		return literal(v.String())
	}
	return nil, false
}

const (
	maxDigits   = 1000
	maxExponent = 400
)

func literal(s string) (*big.Rat, bool) {
	if s == "" || len(s) > maxDigits || strings.ContainsAny(s, "_/pPxXoObB") {
		return nil, false
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		n, err := strconv.Atoi(s[at+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// canonical is a text that two values share when they are equal as JSON Schema counts: 1 is 1.0, the order of keys is none.
func canonical(v any) string {
	var b strings.Builder
	write(&b, v)
	return b.String()
}

func write(b *strings.Builder, v any) {
	if items, ok := list(v); ok {
		b.WriteByte('[')
		for _, e := range items {
			write(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
		return
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k) + ":")
			write(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case string:
		b.WriteString(strconv.Quote(v))
	case nil, bool:
		fmt.Fprint(b, v)
	default:
		if n, ok := ratOf(v); ok {
			b.WriteString(n.RatString())
			return
		}
		fmt.Fprintf(b, "%T %v", v, v)
	}
}

func canonicals(nodes []*Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = canonical(n.any())
	}
	return out
}

// tell is a value in a message.
func tell(v any) string {
	if items, ok := list(v); ok {
		return "an array of " + strconv.Itoa(len(items))
	}
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.60q", v)
	case map[string]any:
		return "an object"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprintf("%.60s", fmt.Sprint(v))
}

// whole is a value in a message that compares contents.
func whole(v any) string {
	text, err := json.Marshal(v)
	const most = 60
	if err != nil || len(text) > most {
		return tell(v)
	}
	return string(text)
}

// number writes a bound as a person would.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// member is the path of a member, as jq writes it.
func member(path, name string) string {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return path + "[" + fmt.Sprintf("%.60q", name) + "]"
		}
	}
	if name == "" {
		return path + `[""]`
	}
	return path + "." + name
}
