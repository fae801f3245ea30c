package shell_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tercet/internal/shell"
)

// TestRules holds the text of the rules to what reads it: each list, class, effect and condition
// that they name is one.
func TestRules(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, name := range []string{"judge.go", "files.go", "network.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var words []ast.Expr
			switch n := n.(type) {
			case *ast.CaseClause:
				words = n.List
			case *ast.KeyValueExpr:
				words = []ast.Expr{n.Key}
			case *ast.CallExpr: // oneOf
				words = n.Args
			}
			for _, w := range words {
				if lit, ok := w.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					known[text] = true
				}
			}
			return true
		})
	}

	lists := map[string]bool{}
	condition := regexp.MustCompile(
		`^!?(-\S|(args|rest|options|near|far|image|looks|prod)$|(0|1|2|any|base|args|then|text|away): \S)`,
	)
	intake := regexp.MustCompile(
		`^%(free|test|printf|cd|start|script|text|find|target|verb|operands|url|names|never) \S`,
	)
	list := regexp.MustCompile(
		`^(flags|valued|code|script|verbs|looks|letters|long|joined|starts|values|traits): \S`,
	)
	trait := regexp.MustCompile(
		`^(shell|lead|sets|digits|asks|deaf|again|target|local|no@|no:|forward)$`,
	)
	rows := 0
	for line := range strings.SplitSeq(
		strings.TrimSpace(strings.ReplaceAll(shell.Rules, "\n\t\t", " ")),
		"\n",
	) {
		if strings.HasPrefix(line, "%") {
			names, keys, _ := strings.Cut(line, " | ")
			if !intake.MatchString(names) {
				t.Errorf("%s: it takes arguments in no known way", names)
			}
			for part := range strings.SplitSeq(keys, "; ") {
				if keys != "" && !list.MatchString(part) {
					t.Errorf("%s: %q is no list", names, part)
				}
				traits, ok := strings.CutPrefix(part, "traits: ")
				for one := range strings.FieldsSeq(traits) {
					if ok && !trait.MatchString(one) {
						t.Errorf("%s: %q is no trait", names, one)
					}
				}
			}
			continue
		}
		if strings.HasPrefix(line, "@") {
			lists[strings.Fields(line)[0]] = true
			continue
		}
		entry, row, _ := strings.Cut(line, "\t")
		for w := range strings.FieldsSeq(entry) {
			if strings.HasPrefix(w, "@") && !lists[w] {
				t.Errorf("%s: the list %s is not defined before it", line, w)
			}
		}
		if row == "" {
			continue
		}
		rows++
		when, then, does := strings.Cut(row, "=>")
		for c := range strings.SplitSeq(when, ";") {
			if c = strings.TrimSpace(c); c != "" && !condition.MatchString(c) {
				t.Errorf("%s: %q is no condition", line, c)
			}
		}
		for effect := range strings.SplitSeq(then, " & ") {
			if verb := strings.Fields(effect + " -")[0]; does && !known[verb] {
				t.Errorf("%s: %q is neither a class nor something that a row can do", line, verb)
			}
		}
	}

	if rows < 200 {
		t.Errorf("%d rows, want at least 200", rows)
	}
}
