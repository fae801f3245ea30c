package tercet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	// maxProse of a sentence: a reader holds about 25 at once, and two more are no reason to break a list.
	maxProse = 27
	// medianProse of the sentences of a page that has at least fewSentences.
	medianProse  = 15
	fewSentences = 8
)

// oldWord finds words that docs/guide/glossary.md has others for: you, the user, a colleague.
var oldWord = regexp.MustCompile(`(?i)\b(persons?|somebody|whoever|whomever)\b`)

// prosePages are the files whose sentences somebody reads: documents, prompts of subagents, commands, texts of codes.
var prosePages = []string{
	"*.md", "bench/*.md", "docs/*.md", "docs/guide/*.md", "docs/reference/*.md",
	"internal/pages/codes.txt", "subagents/library/*.md", "templates/packs/*/subagents/*.md",
	"commands/library/*.md", "templates/packs/*/commands/*.md", "templates/shims/*.md",
}

// TestProse: no sentence is too long, half of them are short, and old words are gone.
func TestProse(t *testing.T) {
	t.Parallel()
	for _, pattern := range prosePages {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("Glob(%q) = %v, %v", pattern, found, err)
		}
		for _, page := range found {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, complaint := range prose(string(text)) {
				t.Errorf("%s:%s", page, complaint)
			}
		}
	}
}

// TestProseFinds: the check sees a long sentence wherever prose stands, and nothing in code, tables and headings.
func TestProseFinds(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	long, most := words(maxProse+1)+".", words(maxProse)+"."
	for name, text := range map[string]string{
		"a line":                     long,
		"over two lines":             words(20) + "\n" + words(20) + ".",
		"a list":                     "- " + most + "\n- " + long + "\n",
		"behind a short one":         "A file. " + long,
		"with a semicolon":           words(14) + "; " + words(14) + ".",
		"with an ellipsis":           words(14) + "... " + words(14) + ".",
		"behind a fence":             "```sh\na\n```\n" + long,
		"the words of a link":        "[" + words(20) + "](a.md) " + words(8) + ".",
		"a quotation":                "> " + long,
		"an old word":                "A person reads.",
		"half of them long":          strings.Repeat(words(medianProse+1)+". ", fewSentences),
		"front matter that is short": "---\na: b\n---\n" + long,
	} {
		if got := prose(text); len(got) != 1 {
			t.Errorf("%s: prose gives %q, want one complaint", name, got)
		}
	}
	for name, text := range map[string]string{
		"a sentence of the most words": most + " " + most,
		"code":                         words(maxProse) + " `" + words(9) + "` ``a ` person``.",
		"a fence":                      "````text\n```\n" + long + "\n````\n",
		"a table":                      "| " + long + " |\n|---|\n",
		"a heading":                    "## " + long,
		"front matter":                 "---\ndescription: " + long + "\n---\n",
		"a link's target":              words(maxProse-1) + " [word](" + strings.ReplaceAll(words(9), " ", "-") + ").",
		"items":                        "- " + words(20) + "\n- " + words(20) + "\n1. " + words(20),
		"a few long ones":              strings.Repeat(words(medianProse+1)+". ", fewSentences-1),
	} {
		if got := prose(text); len(got) != 0 {
			t.Errorf("%s: prose gives %q, want nothing", name, got)
		}
	}
}

// prose tells what in the sentences of a page is too long or an old word, each with its line. Code, tables, headings, front
// matter and the targets of links are no prose.
func prose(text string) (out []string) {
	var lengths []int
	for _, p := range paragraphs(text) {
		for _, s := range sentences(p.text) {
			n := 0
			for word := range strings.FieldsSeq(s) {
				if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
					n++
				}
			}
			lengths = append(lengths, n)
			if n > maxProse {
				out = append(out, fmt.Sprintf("%d: expected a sentence of at most %d words, got %d: %.100s", p.line, maxProse, n, s))
			}
			if found := oldWord.FindString(s); found != "" {
				out = append(out, fmt.Sprintf("%d: %q in %.100s: docs/guide/glossary.md has another word", p.line, found, s))
			}
		}
	}
	slices.Sort(lengths)
	if n := len(lengths); n >= fewSentences && lengths[n/2] > medianProse {
		out = append(out, fmt.Sprintf("1: expected half of its sentences to have at most %d words, got %d", medianProse, lengths[n/2]))
	}
	return out
}

// paragraph is a run of lines that are prose, or an item of a list.
type paragraph struct {
	line int
	text string
}

var (
	fenceLine = regexp.MustCompile("^(`{3,}|~{3,})")
	listItem  = regexp.MustCompile(`^([-*+]|[0-9]+[.)])\s+`)
	codeSpan  = regexp.MustCompile("``.+?``|`[^`]*`")
	linkOf    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

func paragraphs(text string) (out []paragraph) {
	lines := strings.Split(text, "\n")
	from := 0
	if lines[0] == "---" {
		from = slices.Index(lines[1:], "---") + 2
	}
	fence, open := "", false
	for i, line := range lines[from:] {
		line = strings.TrimSpace(line)
		switch mark := fenceLine.FindString(line); {
		case fence != "":
			if line == fence {
				fence = ""
			}
			continue
		case mark != "":
			fence, open = mark, false
			continue
		case line == "" || strings.Contains("|#<", line[:1]):
			open = false
			continue
		}
		line = strings.TrimLeft(line, "> ")
		for cell := range strings.SplitSeq(line, " | ") { // of codes.txt
			if item := listItem.FindString(cell); item != "" {
				open, cell = false, cell[len(item):]
			}
			if !open || strings.Contains(line, " | ") {
				out = append(out, paragraph{line: from + i + 1})
			}
			open = true
			out[len(out)-1].text += cell + " "
		}
	}
	return out
}

// sentences splits a paragraph behind each full stop, question and exclamation mark; code counts as no word.
func sentences(text string) (out []string) {
	words := strings.Fields(linkOf.ReplaceAllString(codeSpan.ReplaceAllString(text, "…"), "$1"))
	from := 0
	for i, word := range words {
		word = strings.TrimRight(word, `)"”'*_`)
		goesOn := word == "e.g." || word == "i.e." || strings.HasSuffix(word, "...") && i+1 < len(words) && !unicode.IsUpper(rune(words[i+1][0]))
		if i+1 == len(words) || strings.ContainsAny(word[max(0, len(word)-1):], ".!?") && !goesOn {
			out = append(out, strings.Join(words[from:i+1], " "))
			from = i + 1
		}
	}
	return out
}
