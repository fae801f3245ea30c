package tercet_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// maxWords is how long a sentence of a comment may be.
const maxWords = 30

// stranger is a word of a comment for a user, a process or an author: name that one.
var stranger = regexp.MustCompile(`\b([Nn]obody|[Aa]nybody|[Aa]nyone|[Ss]omeone|([Aa]|[Tt]he|no) person)\b`)

func riddles(s source, tell func(at, what string)) {
	if s.test || s.pkg == "subagents/prompt" { // a prompt's bytes are recorded by their digest
		return
	}
	look := func(at token.Pos, text string, words *regexp.Regexp) {
		if found := words.FindString(text); found != "" {
			tell(s.at(at), fmt.Sprintf("%q in %.80s: say who does what", found, text))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			look(lit.Pos(), lit.Value, riddle)
		}
		return true
	})
	for _, g := range s.file.Comments {
		look(g.Pos(), g.Text(), riddle)
		look(g.Pos(), g.Text(), stranger)
		for _, long := range longSentences(g.Text()) {
			tell(s.at(g.Pos()), fmt.Sprintf("%d words, want at most %d: split %q", len(strings.Fields(long)), maxWords, long))
		}
	}
}

// longSentences gives the sentences of a comment with more than maxWords words. Indented lines are examples.
func longSentences(comment string) (out []string) {
	var part strings.Builder
	end := func() {
		for _, s := range sentences(part.String()) {
			if len(strings.Fields(s)) > maxWords {
				out = append(out, s)
			}
		}
		part.Reset()
	}
	for line := range strings.Lines(comment) {
		text, indented := strings.TrimSpace(line), strings.HasPrefix(line, "   ")
		item := strings.HasPrefix(text, "- ")
		if text == "" || item || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "# ") {
			end()
		}
		if strings.HasPrefix(line, "\t") || indented && !item && part.Len() == 0 {
			continue
		}
		part.WriteString(text + " ")
	}
	end()
	return out
}

func TestLongSentences(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for text, want := range map[string]int{
		words(maxWords) + ".\n":                                           0,
		words(maxWords+1) + ".\n":                                         1,
		words(20) + "\n" + words(20) + ".\n":                              1,
		words(20) + ". Then\n" + words(20) + ".\n":                        0,
		words(20) + " (in one.) Then " + words(20) + ".\n":                0,
		words(20) + ".\n\n" + words(20) + "\n":                            0,
		"A list:\n  - " + words(20) + "\n  - " + words(20) + "\n":         0,
		"A list:\n  - " + words(20) + "\n    " + words(20) + "\n":         1,
		"An example:\n\n\t" + words(40) + "\n\nThe end.\n":                0,
		words(20) + ": a, b and v1.2 or f.go; " + words(maxWords) + ".\n": 1,
	} {
		if got := longSentences(text); len(got) != want {
			t.Errorf("longSentences(%q) = %q, want %d", text, got, want)
		}
	}
}
