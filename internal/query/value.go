package query

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// Truth is jq's truth: every value but null and false.
func Truth(v any) bool {
	return v != nil && v != false
}

// Text is a string unchanged, or any other value as compact JSON, as in string interpolation.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	n, err := normalize(v, 0)
	if err != nil {
		return ""
	}
	return string(appendValue(nil, n, nil))
}

// Prepared is a normalized value, which a run does not check again.
type Prepared struct{ v any }

// Prepare makes v a Prepared; see Normalize.
func Prepare(v any) Prepared {
	return Prepared{Normalize(v)}
}

// Normalize converts v to a query value: nil, bool, int, float64, *big.Int, json.Number, string,
// []any, map[string]any. A *jsonx.Value keeps its number literals. Any other type converts by its
// JSON form, null if it has none.
func Normalize(v any) any {
	n, err := normalize(v, 0)
	if err != nil {
		return nil
	}
	return n
}

// maxDepth bounds the nesting of values, so that a cyclic one is an error.
const maxDepth = 10_000

// normalize converts v to a query value.
func normalize(v any, depth int) (out any, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("value is nested deeper than %d", maxDepth)
	}
	if list, ok := v.([]any); isScalar(v) || ok && list != nil && len(list) == 0 {
		return v, nil
	}

	switch v := v.(type) {
	case *big.Int:
		if v != nil {
			return v, nil
		}
		return nil, nil
	case json.Number:
		return parseNumber(string(v)), nil
	case []any:
		if v == nil {
			return nil, nil
		}
		list := make([]any, len(v))
		for i, e := range v {
			list[i], err = normalize(e, depth+1)
			if err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if v == nil {
			return nil, nil
		}
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k], err = normalize(e, depth+1)
			if err != nil {
				return nil, err
			}
		}
		return m, nil
	case Prepared:
		return v.v, nil
	case *jsonx.Value:
		return decode(v, nil), nil
	}

	src, err := jsonx.Marshal(v, "")
	if err != nil {
		return nil, err
	}
	tree, err := jsonx.Parse(src, limits())
	return decode(tree, nil), err
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, int, float64:
		return true
	}
	return false
}

// maxIntDigits is how many digits surely fit an int.
const maxIntDigits = 18

// parseNumber converts a literal to an int if that prints as the same text, which is faster, else
// to a json.Number.
func parseNumber(text string) any {
	digits := text
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" || len(digits) > maxIntDigits || digits[0] == '0' && len(text) > 1 {
		return json.Number(text)
	}

	n := 0
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return json.Number(text)
		}
		n = n*10 + int(digits[i]-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n
}

// decode converts a parsed value to a query value. It adds each object to from.
func decode(v *jsonx.Value, from *origins) any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case jsonx.Null:
		return nil
	case jsonx.Bool:
		b, _ := v.Bool()
		return b
	case jsonx.Number:
		n, _ := v.Num()
		return parseNumber(string(n))
	case jsonx.String:
		s, _ := v.Str()
		return s
	case jsonx.Array:
		list := make([]any, len(v.Elems))
		for i, e := range v.Elems {
			list[i] = decode(e, from)
		}
		return list
	case jsonx.Dict:
		m := make(map[string]any, len(v.Members))
		for i := range v.Members {
			m[v.Members[i].Key] = decode(v.Members[i].Value, from)
		}
		from.add(m, v)
		return m
	}

	return nil
}

// spendBudget returns what is left of a budget of bytes after v as compact JSON, approximately;
// negative if it is exceeded.
func spendBudget(v any, budget int) int {
	budget--
	switch v := v.(type) {
	case string:
		return budget - 1 - len(v)
	case int:
		return budget - len(strconv.Itoa(v)) + 1
	case json.Number:
		return budget - len(v) + 1
	case *big.Int:
		return budget - v.BitLen()/3
	case []any:
		for _, e := range v {
			if budget = spendBudget(e, budget-1); budget < 0 {
				return budget
			}
		}
	case map[string]any:
		for k, e := range v {
			if budget = spendBudget(e, budget-len(k)-4); budget < 0 {
				return budget
			}
		}
	default:
		return budget - 3
	}

	return budget - 1
}

// appendValue writes v as compact JSON like jq: NaN is null, infinities are the largest numbers.
// Objects in from print as in their source, others sorted by key.
func appendValue(out []byte, v any, from *origins) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case string:
		return jsonx.AppendString(out, v)
	case json.Number:
		return append(out, v...)
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendValue(out, e, from)
		}
		return append(out, ']')
	case map[string]any:
		if src := from.find(v); src != nil {
			return jsonx.AppendValue(out, src)
		}
		return appendMap(out, v, from)
	}

	// float64 and *big.Int: nothing else comes here.
	b, err := gojq.Marshal(v)
	if err != nil {
		return append(out, "null"...)
	}
	return append(out, b...)
}
