package policy_test

import (
	"go/ast"
	"slices"
	"testing"
)

// TestNoPackedInit: the init clause of an if, a switch or a for holds only what its condition uses.
func TestNoPackedInit(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, at := range packed(s) {
			t.Errorf("%s: the condition does not use what its init assigns", at)
		}
	}
}

func TestNoPackedInitFinds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"if a, b := f(), g(); a != nil { use(b) }":         1,
		"if x.a, err = f(), nil; err != nil { }":           1,
		"if n++; ok { }":                                   1,
		"if f(); ok { }":                                   1,
		"switch a := f(); { case ok: use(a) }":             1,
		"switch a := f(); kind { case 1: use(a) }":         1,
		"switch a := f(); v := x.(type) { default: g(a) }": 1,
		"for box := f(); next(); { use(box) }":             1,
		"if v, err := f(); err == nil { use(v) }":          0, // the results of one call
		"if v, ok := m[k]; ok { use(v) }":                  0,
		"if a, b := f(), g(); a < b { }":                   0,
		"if x.a = f(); x.a != nil { }":                     0,
		"if x.a = f(); x != nil { }":                       1,
		"switch a := f(); { case a > 1: }":                 0,
		"switch a := f(); a { case 1: }":                   0,
		"switch v, err := f(); v := v.(type) { default: }": 0,
		"for i, n := 0, len(s); i < n; i++ { }":            0,
		"for c := f(); ; c = c.next { }":                   0,
		"if ok { if a, b := f(), g(); a { } }":             1,
	} {
		s := planted(t, "a/a.go", "package a\n\nfunc f() {\n"+text+"\n}\n")
		if got := packed(s); len(got) != want {
			t.Errorf("%s: %d packed inits, want %d", text, len(got), want)
		}
	}
}

// packed gives the places of init clauses that hold more than the condition uses. What a loop does
// after each pass, and the cases of a switch, count as its condition.
func packed(s source) []string {
	var out []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		var init ast.Stmt
		var condition []ast.Node
		switch n := n.(type) {
		case *ast.IfStmt:
			init = n.Init
			condition = []ast.Node{n.Cond}
		case *ast.ForStmt:
			init = n.Init
			condition = []ast.Node{n.Cond, n.Post}
		case *ast.SwitchStmt:
			init = n.Init
			condition = []ast.Node{n.Tag}
			if n.Tag == nil {
				condition = cases(n.Body)
			}
		case *ast.TypeSwitchStmt:
			init = n.Init
			condition = []ast.Node{n.Assign}
		}
		if init != nil && holdsMore(init, namesIn(condition)) {
			out = append(out, s.at(init.Pos()))
		}
		return true
	})
	return out
}

// cases are the expressions of a switch without a tag.
func cases(body *ast.BlockStmt) []ast.Node {
	var out []ast.Node
	for _, clause := range body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			out = append(out, e)
		}
	}
	return out
}

// holdsMore tells whether an init clause does something that the names of the condition have no use
// for. Of the results of one call, or of one look into a map, the condition has to use one.
func holdsMore(init ast.Stmt, used map[string]bool) bool {
	assign, ok := init.(*ast.AssignStmt)
	if !ok {
		return true
	}
	uses := func(target ast.Expr) bool {
		if field, ok := target.(*ast.SelectorExpr); ok {
			return used[field.Sel.Name]
		}
		for name := range namesIn([]ast.Node{target}) {
			if used[name] {
				return true
			}
		}
		return false
	}
	if len(assign.Rhs) == 1 {
		return !slices.ContainsFunc(assign.Lhs, uses)
	}
	return slices.ContainsFunc(assign.Lhs, func(target ast.Expr) bool { return !uses(target) })
}

// namesIn gives the identifiers below some nodes.
func namesIn(nodes []ast.Node) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name != "_" {
				out[id.Name] = true
			}
			return true
		})
	}
	return out
}
