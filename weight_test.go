package tercet_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of weights")

// maxLines is what the house may weigh without tests.
const maxLines = 106_000

// weight is what a package has in files that are no tests: lines, and tokens of Go without comments.
type weight struct{ lines, tokens int }

func weigh(all []source) map[string]weight {
	out := map[string]weight{}
	for _, s := range all {
		if s.test {
			continue
		}
		w := out[s.pkg]
		w.lines += bytes.Count(s.text, []byte("\n"))
		var words scanner.Scanner
		words.Init(token.NewFileSet().AddFile(s.name, -1, len(s.text)), s.text, nil, 0)
		for {
			_, tok, lit := words.Scan()
			if tok == token.EOF {
				break
			}
			if tok != token.SEMICOLON || lit != "\n" {
				w.tokens++
			}
		}
		out[s.pkg] = w
	}
	return out
}

// weightRow is a row of the table in docs/design.md: package, lines, tokens, and why it weighs what it does.
var weightRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| +([0-9]+) \\| +([0-9]+) \\|(.*)\\|$")

// TestWeights: every package weighs what the table says, within one in fifty, so that it grows on purpose and with a sentence.
func TestWeights(t *testing.T) {
	t.Parallel()
	found := weigh(sources(t))
	text, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		text = rewriteWeights(text, found)
		if err := os.WriteFile(policyFile, text, 0o644); err != nil { //nolint:gosec // a document of the repository
			t.Fatal(err)
		}
	}
	told := map[string]weight{}
	for _, row := range weightRow.FindAllStringSubmatch(string(text), -1) {
		lines, _ := strconv.Atoi(row[2])
		tokens, _ := strconv.Atoi(row[3])
		told[row[1]] = weight{lines, tokens}
	}
	total := 0
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		total += found[pkg].lines
		if complaint := compareWeight(told[pkg], found[pkg]); complaint != "" {
			t.Errorf("%s: %s: cut it, or change the table in %s and say why (go test . -run Weights -update)", pkg, complaint, policyFile)
		}
		delete(told, pkg)
	}
	for pkg := range told {
		t.Errorf("%s: the table of %s has a package that is not there", pkg, policyFile)
	}
	wire, err := os.ReadFile("cmd/tercet/wire.go")
	if n := bytes.Count(wire, []byte("\n")); err != nil || n > 250 {
		t.Errorf("the wiring of the program has %d lines, %v, want at most 250", n, err)
	}
	if total > maxLines {
		t.Errorf("%d lines of Go without tests, want at most %d", total, maxLines)
	}
}

// compareWeight tells what differs by more than one in fifty, and by more than ten lines.
func compareWeight(told, found weight) string {
	off := func(a, b, slack int) bool { return max(a-b, b-a) > max(a/50, slack) }
	if off(told.lines, found.lines, 10) || off(told.tokens, found.tokens, 70) {
		return fmt.Sprintf("%d lines and %d tokens, the table says %d and %d", found.lines, found.tokens, told.lines, told.tokens)
	}
	return ""
}

func TestWeightsFind(t *testing.T) {
	t.Parallel()
	told := weight{1000, 7000}
	for _, found := range []weight{{1021, 7000}, {979, 7000}, {1000, 7141}, {1000, 6800}} {
		if compareWeight(told, found) == "" {
			t.Errorf("compareWeight(%v, %v) finds nothing", told, found)
		}
	}
	if c := compareWeight(told, weight{1020, 7100}); c != "" {
		t.Errorf("compareWeight of nearly the same = %q", c)
	}
}

// rewriteWeights writes the figures found into the rows, keeps each row's reason, and adds rows for new packages.
func rewriteWeights(text []byte, found map[string]weight) []byte {
	const head = "| package | lines | tokens | why |\n|---|---|---|---|\n"
	before, rest, ok := bytes.Cut(text, []byte(head))
	if !ok {
		return text
	}
	why := map[string]string{}
	for {
		row, after, _ := bytes.Cut(rest, []byte("\n"))
		m := weightRow.FindSubmatch(row)
		if m == nil {
			break
		}
		why[string(m[1])], rest = strings.TrimSpace(string(m[4])), after
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(head)
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "| `%s` | %d | %d | %s |\n", pkg, found[pkg].lines, found[pkg].tokens, why[pkg])
	}
	b.Write(rest)
	return b.Bytes()
}

// largeTypes are types with over 40 methods or 12 fields, each with its reason.
var largeTypes = map[string]string{
	"cmd/tercet.engineFlags":         "one member a flag",
	"commands/argspec.Spec":          "what a file says, member by member",
	"commands/compile.Info":          "what is proved of a step, member by member",
	"commands/compile.compiler":      "the checks over one file share what they found; they are functions of it",
	"commands/interp.Config":         "one member a seam or a limit",
	"commands/interp.run":            "one goroutine owns a run: what it counts and keeps",
	"commands/syntax.Argument":       "what a file says, member by member",
	"commands/syntax.File":           "what a file says, member by member",
	"commands/syntax.Front":          "what a file says, member by member",
	"commands/syntax.Step":           "what a file says, member by member",
	"commands/syntax.parser":         "one reader a key of the grammar",
	"formats.AgentInfo":              "a wire type: its members are those of the format",
	"formats.Gate":                   "a wire type: its members are those of the format",
	"formats.Metadata":               "a wire type: its members are those of the format",
	"formats.Request":                "a wire type: its members are those of the format",
	"formats.Return":                 "a wire type: its members are those of the format",
	"formats.Started":                "a wire type: its members are those of the format",
	"formats.Task":                   "a wire type: its members are those of the format",
	"internal/config.Config":         "what a file says, member by member",
	"internal/dialect.Agent":         "what a file says, member by member",
	"internal/dialect.Command":       "what a file says, member by member",
	"internal/git.Repo":              "one method a question to git",
	"internal/md.Block":              "one kind of block uses a few of its members",
	"internal/proc.Command":          "what a child is given",
	"internal/proc.child":            "one child and what watches it",
	"internal/query.CLIRequest":      "one member an option of the program",
	"internal/query.cli":             "one member an option of the program, and its streams",
	"state.Entry":                    "a wire type: its members are those of the format",
	"state.auditLine":                "a wire type: its members are those of the format",
	"state.draft":                    "one transaction; its operations are methods of it",
	"state.session":                  "one write, from the lock to the commit",
	"subagents.Dispatcher":           "one member a seam",
	"subagents/agentcli.Driver":      "one member a fact about a program",
	"subagents/agentcli.claudeEvent": "a wire type: its members are those of the format",
	"subagents/cassette.take":        "a wire type: its members are those of the format",
	"subagents/sandbox.scan":         "the walker of a command and what it found",
	"templates.flow":                 "what a file says, member by member",
	"templates.step":                 "what a file says, member by member",
}

// TestTypes: a type has at most 40 methods and 12 fields, or a reason. Plain data of a format that has more members is named too.
func TestTypes(t *testing.T) {
	t.Parallel()
	methods, fields := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if !s.test {
			countMembers(s, methods, fields)
		}
	}
	for name, reason := range largeTypes {
		if methods[name] <= 40 && fields[name] <= 12 {
			t.Errorf("%s is no longer large: take it from the list (%s)", name, reason)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if (methods[name] > 40 || fields[name] > 12) && largeTypes[name] == "" {
			t.Errorf("type %s has %d methods and %d fields, want at most 40 and 12", name, methods[name], fields[name])
		}
	}
}

func countMembers(s source, methods, fields map[string]int) {
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || len(d.Recv.List) == 0 {
				continue
			}
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); ok {
				methods[s.pkg+"."+id.Name]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				ts, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				st, ok := ts.Type.(*ast.StructType)
				if !ok {
					continue
				}
				n := 0
				for _, f := range st.Fields.List {
					n += max(1, len(f.Names))
				}
				fields[s.pkg+"."+ts.Name.Name] = n
			}
		}
	}
}
