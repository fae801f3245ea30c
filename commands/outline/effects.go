package outline

import (
	"reflect"
	"slices"
	"strings"

	"tercet/commands/compile"
)

// Effects is what a program reads and writes, each entry once, sorted.
type Effects struct {
	Reads  []string `json:"reads"`  // $state.tasks, $task.status, documents and files
	Writes []string `json:"writes"` // changes of state by name: status planned, archive_tasks
}

// EffectsOf finds every expression and every delegation of a program, wherever it stands.
func EffectsOf(p *compile.Program) Effects {
	reads, writes := map[string]bool{}, map[string]bool{}
	walk(reflect.ValueOf(p).Elem(), func(part any) {
		switch part := part.(type) {
		case *compile.Expr:
			if part.Code == nil {
				return
			}
			for _, ref := range part.Code.Refs() {
				if !ref.Bound && (ref.Var == "$state" || ref.Var == "$task" || ref.Var == "$env" || ref.Var == "$board") {
					reads[strings.Join(append([]string{ref.Var}, ref.Path[:min(1, len(ref.Path))]...), ".")] = true
				}
			}
		case *compile.LoadDocument:
			reads["document "+part.Profile] = true
		case *compile.Load:
			if len(part.Files) > 0 {
				reads["files $"+part.Name] = true
			}
		case *compile.Check:
			if part.Document != "" {
				reads["document "+part.Document] = true
			}
		case *compile.Delegate:
			for _, w := range written(part) {
				writes[w] = true
			}
		}
	})
	return Effects{Reads: sorted(reads), Writes: sorted(writes)}
}

// written names the changes of state that a delegation asks for.
func written(d *compile.Delegate) []string {
	if d.Agent != compile.StatusSync {
		return nil
	}
	operation := literal(d.With, "operation")
	var out []string
	switch {
	case literal(d.With, "back") != "":
		return nil // gives the old status back
	case operation == compile.OpSetPhase:
		out = append(out, "phase "+literal(d.With, "status"))
	case operation == compile.OpUpdateStatus:
		out = append(out, "status "+literal(d.With, "status"))
	case operation != "":
		out = append(out, operation)
	default:
		out = append(out, "what the expression gives")
	}
	if d.Link || literal(d.With, "artifacts") != "" {
		out = append(out, "artifacts of the task")
	}
	return out
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for s := range set {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// walk visits every struct of the program as a pointer, those that hold others before what they hold.
func walk(v reflect.Value, visit func(any)) {
	switch v.Kind() { //nolint:exhaustive // the others hold nothing
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[compile.Program]().PkgPath() || !v.CanAddr() {
			return
		}
		visit(v.Addr().Interface())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), visit)
			}
		}
	default:
	}
}
