package syntax

import "reflect"

// Walk visits every part of a node, or of a list of nodes, in the order of its fields, parents
// first. Each struct of this package is passed as a pointer. If visit returns false, Walk skips
// what is below. It uses reflection, so that a new kind of step needs no change here.
func Walk(node any, visit func(node any) bool) {
	walk(reflect.ValueOf(node), visit)
}

func walk(v reflect.Value, visit func(any) bool) {
	switch v.Kind() { //nolint:exhaustive // the others hold no node
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Slice:
		kind := v.Type().Elem().Kind()
		if kind != reflect.Pointer && kind != reflect.Struct && kind != reflect.Interface {
			return
		}
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.CanAddr() && v.Type().PkgPath() == reflect.TypeFor[File]().PkgPath() &&
			!visit(v.Addr().Interface()) {
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
