package md

import (
	"math"
	"strconv"

	"tercet/internal/lazy"
)

// numeral is a number by the YAML 1.2 core schema: decimal, with a fraction or an exponent,
// hexadecimal or octal.
var numeral = lazy.Regexp(
	`^(?:([-+]?[0-9]+)|0x([0-9a-fA-F]+)|0o([0-7]+)|` +
		`[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)$`,
)

// scalarType returns the type of a plain scalar by the YAML 1.2 core schema. A number that fits no
// type is text.
func scalarType(v string) ScalarType {
	switch v {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	switch parseNumber(v).(type) {
	case int:
		return Int
	case float64:
		return Float
	}
	return Str
}

// parseNumber reads a number: as an int, as a float64 if it has a fraction or does not fit, else
// nil.
func parseNumber(v string) any {
	m := numeral().FindStringSubmatch(v)
	if m == nil {
		return nil
	}

	for i, base := range []int{10, 16, 8} {
		if n, err := strconv.ParseInt(m[i+1], base, strconv.IntSize); err == nil {
			return int(n)
		}
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && m[2]+m[3] == "" && !math.IsInf(f, 0) {
		return f
	}
	return nil
}
