package policy_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// What a struct may get from the types that it embeds.
const (
	mostMethods = 40
	mostFields  = 15
)

// promotes counts the methods and fields that a struct gets from the types that it embeds.
type promotes struct{ methods, fields int }

// promotesMore are the structs that get more because they are JSON: a record that has all the keys
// of the type that it embeds, and its own. A figure may only fall.
var promotesMore = map[string]promotes{
	"commands/interp.recordedAnswer": {4, 18},
	"subagents/agentcli.request":     {0, 25},
}

// TestPromotedMembers: who reads x.f finds f in the type of x, or in one of few others.
func TestPromotedMembers(t *testing.T) {
	t.Parallel()
	types := declared(sources(t))
	for _, name := range slices.Sorted(maps.Keys(types)) {
		got := types.promoted(name)
		most := promotes{mostMethods, mostFields}
		if listed, ok := promotesMore[name]; ok {
			most = promotes{max(most.methods, listed.methods), max(most.fields, listed.fields)}
		}
		if got.methods > most.methods || got.fields > most.fields {
			t.Errorf("%s gets %d methods and %d fields from what it embeds, want at most %d and %d",
				name, got.methods, got.fields, most.methods, most.fields)
		}
	}
	for name := range promotesMore {
		if got := types.promoted(name); got.methods <= mostMethods && got.fields <= mostFields {
			t.Errorf("%s gets no more than any other struct may get; take it off the list", name)
		}
	}
}

func TestPromotedMembersFinds(t *testing.T) {
	t.Parallel()
	const text = "package a\n\nimport other \"tercet/b\"\n\n" +
		"type Top struct { *middle; other.Far; sync.Mutex; own int }\n" +
		"type middle struct { low; inter; one, hidden int }\n" +
		"type low struct { hidden, two int }\n" +
		"type inter interface { M1(); M2() }\n" +
		"func (Top) Own() {}\nfunc (low) Own() {}\nfunc (*low) M3() {}\n"
	const far = "package b\n\ntype Far struct { Three, four int }\n\nfunc (f *Far) M4() {}\n"
	types := declared([]source{planted(t, "a/a.go", text), planted(t, "b/b.go", far)})
	// M1 to M4; and low, inter, one, hidden of middle, two of low, Three of Far.
	got := types.promoted("a.Top")
	want := (promotes{4, 6})
	if got != want {
		t.Errorf("a.Top gets %+v, want %+v", got, want)
	}
}

// typeDecl is a type of the house: what it has itself, and what it embeds.
type typeDecl struct {
	methods, fields map[string]bool
	// types of the house, as package and name; those of other modules do not count
	embedded []string
}

type typeDecls map[string]*typeDecl

// declared gives the types of the packages, test files excepted, by package and name.
func declared(all []source) typeDecls {
	out := typeDecls{}
	of := func(name string) *typeDecl {
		if out[name] == nil {
			out[name] = &typeDecl{methods: map[string]bool{}, fields: map[string]bool{}}
		}
		return out[name]
	}
	for _, s := range all {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					of(typeName(s, d.Recv.List[0].Type)).methods[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						of(s.pkg+"."+spec.Name.Name).takes(s, spec.Type)
					}
				}
			}
		}
	}

	return out
}

// takes notes the members that a type expression has.
func (d *typeDecl) takes(s source, e ast.Expr) {
	switch e := e.(type) {
	case *ast.StructType:
		for _, f := range e.Fields.List {
			for _, name := range f.Names {
				d.fields[name.Name] = true
			}
			if len(f.Names) == 0 {
				name := typeName(s, f.Type)
				d.fields[name[strings.LastIndex(name, ".")+1:]] = true
				d.embedded = append(d.embedded, name)
			}
		}
	case *ast.InterfaceType:
		for _, f := range e.Methods.List {
			for _, name := range f.Names {
				d.methods[name.Name] = true
			}
			if len(f.Names) == 0 {
				d.embedded = append(d.embedded, typeName(s, f.Type))
			}
		}
	}
}

// typeName gives the package and the name of a type that a file names.
func typeName(s source, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(s, e.X)
	case *ast.IndexExpr:
		return typeName(s, e.X)
	case *ast.IndexListExpr:
		return typeName(s, e.X)
	case *ast.Ident:
		return s.pkg + "." + e.Name
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			return importedAs(s, id.Name) + "." + e.Sel.Name
		}
	}
	return ""
}

// importedAs gives the folder of the package that a file calls by a name.
func importedAs(s source, word string) string {
	for _, spec := range s.file.Imports {
		full := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(full)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == word {
			return strings.TrimPrefix(full, "tercet/")
		}
	}
	return word
}

func packageOf(name string) string {
	return name[:max(0, strings.LastIndex(name, "."))]
}

// promoted counts what a type gets from others. As in the language, what stands nearer hides what
// stands deeper.
func (types typeDecls) promoted(name string) promotes {
	var out promotes
	top := types[name]
	if top == nil {
		return out
	}

	known := maps.Clone(top.methods)
	maps.Copy(known, top.fields)
	seen := map[string]bool{name: true}
	level := top.embedded
	for len(level) > 0 {
		var next []string
		methods := map[string]bool{}
		fields := map[string]bool{}
		for _, one := range level {
			d := types[one]
			if d == nil || seen[one] {
				continue
			}
			seen[one] = true
			own := packageOf(one) == packageOf(name)
			for member := range d.methods {
				if own || ast.IsExported(member) {
					methods[member] = true
				}
			}
			for member := range d.fields {
				if own || ast.IsExported(member) {
					fields[member] = true
				}
			}
			next = append(next, d.embedded...)
		}
		for name := range known {
			delete(methods, name)
			delete(fields, name)
		}
		out.methods += len(methods)
		out.fields += len(fields)
		maps.Copy(known, methods)
		maps.Copy(known, fields)
		level = next
	}

	return out
}
