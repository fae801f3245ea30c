package syntax

import "reflect"

// Walk visits every part of a node, or of a list of nodes, in file order of its fields, those that hold others before
// what they hold: each node that is a struct of this package is given as a pointer. What lies below a part for which
// visit answers false is left out. It goes by the types, so that a new kind of step needs no change here.
func Walk(node any, visit func(node any) bool) { walk(reflect.ValueOf(node), visit) }

func walk(v reflect.Value, visit func(any) bool) {
	switch v.Kind() { //nolint:exhaustive // the others hold no node
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Pointer && kind != reflect.Struct && kind != reflect.Interface {
			return
		}
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.CanAddr() && v.Type().PkgPath() == reflect.TypeFor[File]().PkgPath() && !visit(v.Addr().Interface()) {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), visit)
			}
		}
	default:
	}
}
