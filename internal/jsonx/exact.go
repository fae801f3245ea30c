package jsonx

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// Exact converts a number to jq's types: int, *big.Int for larger integers, and float64.
func Exact(n json.Number) any {
	literal := n.String()
	if i, err := strconv.Atoi(literal); err == nil {
		return i
	}
	if len(literal) <= maxDigits {
		if whole, ok := new(big.Int).SetString(literal, 10); ok {
			return whole
		}
	}
	f, err := n.Float64()
	if err != nil { // out of range: the nearest finite number
		return math.Copysign(math.MaxFloat64, f)
	}
	return f
}

// maxDigits bounds the length of a number that is read exactly.
const maxDigits = 400
