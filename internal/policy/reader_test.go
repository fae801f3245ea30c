package policy_test

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// languages are the libraries that read a language, each with the one package that may import it.
var languages = map[string]string{
	"github.com/yuin/goldmark":    "internal/md",
	"github.com/adrg/frontmatter": "internal/md",
	"go.yaml.in/yaml/v4":          "internal/md",
	"github.com/itchyny/gojq":     "internal/query",
	"github.com/BurntSushi/toml":  "internal/dialect",
}

// readers are the packages that read text by its bytes; everyone else asks them.
var readers = []string{
	"internal/md", "internal/jsonx", "internal/query", "formats", "formats/documents",
	"formats/record", "formats/returns", "formats/schema",
}

// looksItself names the functions elsewhere that compare text with a mark of a language, under
// their reason.
var looksItself = map[string][]string{
	"words of a shell or of a command line, whose escapes are not JSON's": {
		"commands/argspec.lex", "commands/argspec.quoted", "internal/dialect.findContext",
		"internal/shell.unescape", "internal/shell.word",
	},
	"files of other tools that are not YAML or Markdown as the libraries read them": {
		"internal/dialect.trackFence", "internal/dialect.firstLine",
		"internal/dialect.proseIn", "subagents/agentcli.codexConfig",
	},
	"finds where a text ends that gojq then compiles": {
		"commands/syntax.jqString",
	},
	"lines that almost are a heading or a block, which no library sees": {
		"commands/syntax.reportMisplaced", "commands/syntax.hasNearFence",
		"commands/syntax.argSentences",
	},
	"holds what it is about to write to one form": {
		"commands/compile.headingLine", "commands/syntax.FormatText", "commands/syntax.hasComment",
		"subagents/prompt.opensSection", "templates.yamlScalar",
	},
	"comments and rules in the output or input of programs": {
		"cmd/tercet.runPiped", "subagents/checks.parseGo", "subagents/checks.parseNodeStart",
		"subagents/offline.firstCommand",
	},
	"TODO.md and numbers like #12, which are lines of state's own": {
		"state/todo.parseHeading", "state/todo.parseLine", "state/exchange.integer",
		"state/exchange.closingQuote",
	},
	"what an id or a path may hold": {
		"state.checkTx", "subagents.PathProblem",
	},
	"files that are part of the program": {
		"internal/pages.readPages", "templates/meta.contract",
	},
	"guesses what a file is before anything reads it": {
		"commands/lint.Subagent", "subagents/offline.kindOf",
	},
}

// comparing are the functions of strings and bytes that look for a text in another.
var comparing = regexp.MustCompile(
	`^(HasPrefix|HasSuffix|CutPrefix|CutSuffix|TrimPrefix|TrimSuffix|TrimLeft|Trim|Cut|Contains|Index|LastIndex|IndexByte|LastIndexByte|IndexAny|Count|Split|SplitN)$`,
)

// languageMark is what begins or ends something in YAML, Markdown or JSON: a fence, front matter, a
// heading, an escape. A # as a single character is the comment of many languages and does not
// count.
var languageMark = regexp.MustCompile("^(`{3,}|~{3,}|---|#{1,6}|\\\\)$")

// TestOneReader: each language is read by its library, in one package; no other function looks for
// its marks.
func TestOneReader(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imported := range s.file.Imports {
			for library, home := range languages {
				name := strings.Trim(imported.Path.Value, `"`)
				if (name == library || strings.HasPrefix(name, library+"/")) && s.pkg != home {
					t.Errorf("%s: %s is read by %s alone", s.at(imported.Pos()), library, home)
				}
			}
		}
		if slices.Contains(readers, s.pkg) {
			continue
		}
		maps.Copy(seen, marksLookedFor(s))
	}

	named := slices.Concat(slices.Collect(maps.Values(looksItself))...)
	for name, at := range seen {
		if !slices.Contains(named, name) {
			t.Errorf(
				"%s: %s compares text with a mark of a language; ask internal/md, internal/jsonx "+
					"or formats",
				at, name,
			)
		}
	}

	for _, name := range named {
		if seen[name] == "" {
			t.Errorf("%s looks for no mark any more; take it off the list", name)
		}
	}
}

// TestOneReaderFinds: the check sees each way of comparing, and no other use of the same texts.
func TestOneReaderFinds(t *testing.T) {
	t.Parallel()
	const src = "package a\n" +
		"func equal(s string) bool { return s == \"---\" }\n" +
		"func prefix(s string) bool { return strings.HasPrefix(s, \"```\") }\n" +
		"func heading(s string) bool { _, _, ok := strings.Cut(s, \"## \"); return ok }\n" +
		"func escape(c byte) bool { switch c { case '\\\\': return true }; return false }\n" +
		"func slice(b []byte) bool { return bytes.Contains(b, []byte(\"~~~\")) }\n" +
		"type r struct{}\nfunc (r) method(c byte) bool { return c != '\\\\' }\n" +
		"func comment(c byte) bool { return c == '#' }\n" +
		"func comment(c byte) bool { return c == '#' }\n" +
		"func writes() string { return \"---\" + strings.Repeat(\"#\", 2) }\n"
	found := marksLookedFor(planted(t, "a/a.go", src))
	want := []string{"a.equal", "a.escape", "a.heading", "a.method", "a.prefix", "a.slice"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// marksLookedFor gives the functions of a file that compare something with a mark of a language,
// each with the place.
func marksLookedFor(s source) map[string]string {
	out := map[string]string{}
	for _, d := range s.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		note := func(e ast.Expr) {
			ast.Inspect(e, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING && lit.Kind != token.CHAR {
					_, inner := n.(*ast.FuncLit)
					return !inner
				}
				text, err := strconv.Unquote(lit.Value)
				if err == nil && lit.Value != "'#'" &&
					languageMark.MatchString(strings.TrimRight(text, " \n")) {
					out[s.pkg+"."+fn.Name.Name] = s.at(lit.Pos())
				}
				return true
			})
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					note(n.X)
					note(n.Y)
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					note(e)
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !comparing.MatchString(sel.Sel.Name) {
					return true
				}
				id, ok := sel.X.(*ast.Ident)
				if ok && (id.Name == "strings" || id.Name == "bytes") {
					for _, arg := range n.Args {
						note(arg)
					}
				}
			}
			return true
		})
	}

	return out
}
