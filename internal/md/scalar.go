package md

import (
	"math"
	"regexp"
	"strconv"
)

// numeral is a number by the YAML 1.2 core schema: decimal, with a fraction or an exponent, hexadecimal or octal.
var numeral = regexp.MustCompile(
	`^(?:([-+]?[0-9]+)|0x([0-9a-fA-F]+)|0o([0-7]+)|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)$`)

// resolve returns the type of a plain scalar by the YAML 1.2 core schema. A number that fits no type is text.
func resolve(v string) ScalarType {
	switch v {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	if _, ok := parseInt(v); ok {
		return Int
	}
	if m := numeral.FindStringSubmatch(v); m == nil || m[2]+m[3] != "" {
		return Str
	}
	if f, err := strconv.ParseFloat(v, 64); err != nil || math.IsInf(f, 0) {
		return Str
	}
	return Float
}

// parseInt reads a whole number; false for anything else, and for one that does not fit.
func parseInt(v string) (int, bool) {
	m := numeral.FindStringSubmatch(v)
	if m == nil || m[1]+m[2]+m[3] == "" {
		return 0, false
	}
	for i, base := range []int{10, 16, 8} {
		if digits := m[i+1]; digits != "" {
			n, err := strconv.ParseInt(digits, base, strconv.IntSize)
			return int(n), err == nil
		}
	}
	return 0, false
}
