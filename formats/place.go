package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"tercet/internal/jsonx"
)

// PosAt returns the position of an offset; columns count bytes.
func PosAt(src []byte, offset int) Pos {
	head := src[:min(max(offset, 0), len(src))]
	return Pos{
		Line: 1 + bytes.Count(head, []byte{'\n'}),
		Col:  len(head) - bytes.LastIndexByte(head, '\n'),
	}
}

// SyntaxAt returns position and message of an error of package jsonx.
func SyntaxAt(src []byte, err error) (at Pos, msg string) {
	if syntax, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		return PosAt(src, syntax.Offset), syntax.Msg
	}
	return Pos{Line: 1, Col: 1}, err.Error()
}

// TypeName is the JSON type of a plain value.
func TypeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int, int64, float64, *big.Int, json.Number:
		return "number"
	case map[string]any:
		return "object"
	case []any, []string, []int, []map[string]any:
		return "array"
	}
	return fmt.Sprintf("a value of Go type %T", value)
}

// OffsetOf is the offset of a position, which ignores a byte order mark and carriage returns; -1
// outside of the text.
func OffsetOf(src []byte, p Pos) int {
	at := 0
	for n := 1; n < p.Line; n++ {
		i := slices.Index(src[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}

	if p.Line == 1 && len(src) >= 3 && string(src[:3]) == "\ufeff" {
		at += 3
	}

	at += p.Col - 1
	if at > len(src) {
		return -1
	}
	return at
}
