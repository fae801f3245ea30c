package outline

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"

	"tercet/commands/compile"
	"tercet/formats"
)

// Compiled is a program as plain data for JSON: every field under its name in lower case with underscores, empty ones left
// out, expressions as {jq, line, col}, texts as they are written, subagents by name.
func Compiled(p *compile.Program) map[string]any {
	m, ok := plain(reflect.ValueOf(p).Elem()).(map[string]any)
	if !ok {
		return map[string]any{}
	}
	delete(m, "warnings")
	delete(m, "src")
	delete(m, "files")
	m["hash"] = p.Hash()
	return m
}

// plain turns a part of the program into data; nil for what is empty.
func plain(v reflect.Value) any {
	if v.IsZero() || v.IsZero() {
		return nil
	}
	switch part := v.Interface().(type) {
	case *compile.Expr:
		return map[string]any{"jq": part.Src, "line": part.Pos.Line, "col": part.Pos.Col}
	case *compile.Text:
		return verbatim(part)
	case *compile.Value:
		return value(part)
	case formats.AgentInfo:
		return nil
	case formats.Pos:
		return []int{part.Line, part.Col}
	case time.Duration:
		return part.Seconds()
	case interface{ JSON() json.RawMessage }: // a schema
		return part.JSON()
	}
	switch v.Kind() { //nolint:exhaustive // the others are as they are
	case reflect.Pointer, reflect.Interface:
		return kinded(v)
	case reflect.Slice:
		list := make([]any, 0, v.Len())
		for i := range v.Len() {
			list = append(list, plain(v.Index(i)))
		}
		return list
	case reflect.Struct:
		return members(v)
	case reflect.Uint8:
		if w, ok := reflect.TypeAssert[compile.TargetKind](v); ok {
			return targetWord(&compile.Target{Kind: w})
		}
		return v.Uint()
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}

// kinded adds to an action which one it is.
func kinded(v reflect.Value) any {
	out := plain(v.Elem())
	if m, ok := out.(map[string]any); ok && v.Kind() == reflect.Interface {
		m["kind"] = strings.ToLower(reflect.Indirect(v.Elem()).Type().Name())
	}
	if out == nil && v.Kind() == reflect.Interface {
		return map[string]any{"kind": strings.ToLower(reflect.Indirect(v.Elem()).Type().Name())}
	}
	return out
}

func members(v reflect.Value) any {
	out := map[string]any{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			if m := plain(v.Field(i)); m != nil {
				out[snake(f.Name)] = m
			}
		}
	}
	if t, ok := reflect.TypeAssert[compile.Target](v); ok {
		out["kind"] = targetWord(&t)
	}
	return out
}

// value is what a block gives to a name, expressions marked.
func value(v *compile.Value) any {
	switch {
	case v.Expr != nil:
		return map[string]any{"jq": v.Expr.Src, "line": v.Expr.Pos.Line, "col": v.Expr.Pos.Col}
	case v.Text != nil:
		return verbatim(v.Text)
	case v.IsMap:
		out := map[string]any{}
		for _, f := range v.Fields {
			out[f.Key] = value(f.Value)
		}
		return out
	case v.IsList:
		out := make([]any, 0, len(v.Fields))
		for _, item := range v.Fields {
			out = append(out, value(item.Value))
		}
		return out
	default:
		return v.Lit
	}
}

func verbatim(t *compile.Text) string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Expr != nil {
			b.WriteString("${{ " + p.Expr.Src + " }}")
		} else {
			b.WriteString(p.Lit)
		}
	}
	return b.String()
}

// snake turns FailedWhen into failed_when.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
