package md

import (
	"math"
	"strconv"
	"strings"
)

// resolve returns the type of a plain scalar by the YAML 1.2 core schema.
func resolve(v string) ScalarType {
	if v == "" {
		return Null
	}
	switch c := v[0]; {
	case c == '~' || c == 'n' || c == 'N' || c == 't' || c == 'T' || c == 'f' || c == 'F':
		return resolveWord(v)
	case c != '+' && c != '-' && c != '.' && (c < '0' || c > '9'):
		return Str
	case len(v) < digitsOfInt && digitsOnly(v):
		return Int
	}
	if c := v[len(v)-1]; c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
		return Str // a number ends with a digit, perhaps a hexadecimal one: this is a duration or a word
	}
	switch {
	case isInt(v):
		if _, ok := parseInt(v); ok {
			return Int
		}
		if strings.HasPrefix(v, "0x") || strings.HasPrefix(v, "0o") {
			return Str
		}
		return floatOrStr(v)
	case isFloat(v):
		return floatOrStr(v)
	default:
		return Str
	}
}

// digitsOfInt is the number of digits with which a number may be none that fits.
const digitsOfInt = 19

func digitsOnly(v string) bool {
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}

func resolveWord(v string) ScalarType {
	if len(v) > len("false") {
		return Str
	}
	switch v {
	case "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	return Str
}

func floatOrStr(v string) ScalarType {
	if f, err := strconv.ParseFloat(v, 64); err != nil || math.IsInf(f, 0) {
		return Str
	}
	return Float
}

func isInt(v string) bool {
	switch {
	case strings.HasPrefix(v, "0x"):
		return len(v) > 2 && strings.Trim(v[2:], "0123456789abcdefABCDEF") == ""
	case strings.HasPrefix(v, "0o"):
		return len(v) > 2 && strings.Trim(v[2:], "01234567") == ""
	}
	rest := strings.TrimLeft(v[:1], "+-") + v[1:]
	return rest != "" && strings.Trim(rest, "0123456789") == ""
}

// isFloat reports [-+]? ( . digits | digits [. digits*] ) ( [eE] [-+]? digits )?
func isFloat(v string) bool {
	v = strings.TrimLeft(v[:1], "+-") + v[1:]
	if mantissa, exp, ok := strings.Cut(strings.ReplaceAll(v, "E", "e"), "e"); ok {
		if exp == "" {
			return false
		}
		exp = strings.TrimLeft(exp[:1], "+-") + exp[1:]
		if exp == "" || strings.Trim(exp, "0123456789") != "" {
			return false
		}
		v = mantissa
	}
	whole, frac, _ := strings.Cut(v, ".")
	return whole+frac != "" && strings.Trim(whole+frac, "0123456789") == ""
}

// parseInt reads what isInt accepts; false when it does not fit.
func parseInt(v string) (int, bool) {
	base, digits := 10, v
	switch {
	case strings.HasPrefix(v, "0x"):
		base, digits = 16, v[2:]
	case strings.HasPrefix(v, "0o"):
		base, digits = 8, v[2:]
	}
	i, err := strconv.ParseInt(digits, base, strconv.IntSize)
	return int(i), err == nil
}
