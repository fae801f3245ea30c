package formats

import (
	"encoding/json"
	"math/big"
	"slices"
)

// Holds reports whether a plain JSON value has the type. An integer may be a float64 without a
// fraction.
func (t InputType) Holds(value any) bool {
	switch t {
	case TypeAny:
		return true
	case TypeInteger:
		return isInteger(value)
	case TypeList:
		if _, ok := value.([]string); ok {
			return true
		}
		items, ok := value.([]any)
		return ok &&
			!slices.ContainsFunc(items, func(e any) bool {
				return TypeName(e) != "string"
			})
	case TypeString, TypeNumber, TypeBoolean, TypeArray, TypeObject:
		return TypeName(value) == string(t)
	}
	return false
}

func isInteger(value any) bool {
	switch n := value.(type) {
	case int, int64, *big.Int:
		return true
	case float64:
		return n == float64(int64(n))
	case json.Number:
		_, ok := new(big.Int).SetString(n.String(), 10)
		return ok
	}
	return false
}
