package offline

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/internal/git"
)

// counter counts the words of a task in texts. A word of prose counts in every name that it is a
// part of, in any case and with any ending: `runs` in `manage_run` and `RunTool`.
type counter struct {
	list   []searchWord
	stems  map[string]int // words of prose
	exact  map[string]int // identifiers
	quoted []int          // places of quoted texts and paths
}

func newCounter(list []searchWord) *counter {
	c := &counter{
		list:  list,
		stems: map[string]int{},
		exact: map[string]int{},
	}
	for i, w := range list {
		switch w.Kind {
		case plainWord:
			c.stems[string(stem([]byte(w.Text)))] = i
		case identifier:
			c.exact[w.Text] = i
		case quotedText, pathWord:
			c.quoted = append(c.quoted, i)
		}
	}
	return c
}

// addCounts adds how often each word stands in a text, and gives the number of words of the text.
func (c *counter) addCounts(text string, into []int) int {
	size := 0
	for _, i := range c.quoted {
		into[i] += strings.Count(text, c.list[i].Text)
	}

	for rest := text; rest != ""; {
		var name string
		name, rest = nextName(rest)
		if name == "" {
			continue
		}

		if i, ok := c.exact[name]; ok {
			into[i]++
		}
		for part := range splitName(name) {
			size++
			if i, ok := c.stems[string(stem([]byte(strings.ToLower(part))))]; ok {
				into[i]++
			}
		}
	}
	return size
}

// nextName cuts the first run of letters, digits and underscores out of a text.
func nextName(s string) (name, rest string) {
	start := strings.IndexFunc(s, func(r rune) bool { return !notInName(r) })

	if start < 0 {
		return "", ""
	}
	s = s[start:]
	if end := strings.IndexFunc(s, notInName); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// splitName gives the words that a name is made of: those of snake_case, of camelCase, and of
// HTTPServer.
func splitName(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		before := '_'
		for i, r := range name {
			next, _ := utf8.DecodeRuneInString(name[i+utf8.RuneLen(r):])
			begins := unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before) ||
				unicode.IsUpper(before) && unicode.IsLower(next))
			if (begins || r == '_') && i > from && !yield(name[from:i]) {
				return
			}
			if r == '_' {
				from = i + 1
			} else if begins {
				from = i
			}
			before = r
		}

		if from < len(name) {
			yield(name[from:])
		}
	}
}

// stem cuts what English appends to a word, so that parse, parses, parsed and parsing are one.
func stem(w []byte) []byte {
	for _, end := range [...]string{"s", "ing", "ed", "e"} {
		if n := len(w) - len(end); n >= minName && string(w[n:]) == end {
			w = w[:n]
		}
	}
	return w
}

// countSubjects counts the words in the subjects of the commits that changed each file. What
// changed many files at once says little of one.
func (c *counter) countSubjects(log []git.Commit) map[string]foundFile {
	out := map[string]foundFile{}
	for _, commit := range log {
		counts := make([]int, len(c.list))
		c.addCounts(commit.Subject, counts)
		if len(commit.Files) > maxSweep ||
			!slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
			continue
		}

		for _, name := range commit.Files {
			d := out[name]
			d.subject = append(d.subject, make([]int, len(c.list)-len(d.subject))...)
			for i, n := range counts {
				d.subject[i] += n
			}
			d.commits++
			out[name] = d
		}
	}
	return out
}

// fileKind says what a file is for: in this order a report names them.
type fileKind int

const (
	sourceFile fileKind = iota
	testFile
	documentFile
	logFile // tells of everything that ever changed, or is made by a tool
)

// kindWeights is what the words of each kind of file count. They differ so much that a test or a
// document comes first only if the source has almost no word of the task.
var kindWeights = [...]float64{1, 0.3, 0.15, 0.03}

// The words that tell a path's kind.
const (
	testWords     = "test tests testing testdata spec specs fixture fixtures mock mocks t"
	documentWords = "doc docs documentation man wiki guide guides example examples"
	documentEnds  = "adoc htm html md pod rdoc rst tex txt 0 1 2 3 4 5 6 7 8 9"
	logWords      = "authors changelog changes history news release releases"
	logEnds       = "lock map po pot sum svg"
)

// kindOf tells the kind of a file by its path. Markdown that begins with frontmatter is source,
// because a program reads it: a command, a subagent, a page of a site. In a folder of documents it
// is still a document.
func kindOf(name, text string) fileKind {
	has := func(list, w string) bool {
		return slices.Contains(strings.Fields(list), strings.ToLower(w))
	}
	base := path.Base(name)
	end := strings.TrimPrefix(path.Ext(base), ".")
	base = strings.TrimSuffix(base, "."+end)
	document := has(documentEnds, end) ||
		end == "" && base == strings.ToUpper(base) && base != strings.ToLower(base)
	first, _, _ := strings.Cut(strings.ReplaceAll(base, "-", "."), ".")
	if has(logEnds, end) || (document || end == "") && has(logWords, first) {
		return logFile
	}

	front := strings.HasPrefix(text, "---\n") || strings.HasPrefix(text, "---\r\n")
	document = document && (!front || !strings.EqualFold(end, "md"))
	kind := sourceFile
	for word := range strings.FieldsFuncSeq(path.Dir(name)+"/"+base, notInName) {
		for w := range splitName(word) {
			document = document || has(documentWords, w)
			if has(testWords, w) {
				kind = testFile
			}
		}
	}

	if document {
		return documentFile
	}
	return kind
}
