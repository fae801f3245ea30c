package offline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/order"
)

// The limits of a search.
const (
	maxTextFile    = 1 << 20 // bytes of a file that is searched
	maxFiles       = 10      // files in a report
	maxHitsPerFile = 2       // lines of each
	maxQuotedLine  = 160     // characters of a line in a report
	maxSweep       = 30      // files of a commit beyond which its subject tells nothing of each
)

// The weights of a task's words in a file. A word in the path counts as several in the text. A long
// text counts less than a short one. After a few times a word adds nothing.
const (
	pathWeight  = 6.0
	titleWeight = 2.0 // of a word of the title, against one of the description
	longText    = 0.2 // 0: length does not matter, 1: only how dense the words are
	saturation  = 1.2
)

// hit is one line of a file in which words of the task stand.
type hit struct {
	File  string // relative to the folder searched, with slashes
	Line  int
	Text  string // the line, shortened
	Words []string
}

// foundFile is a file with what speaks for it.
type foundFile struct {
	name                string
	kind                fileKind
	size                int // words of its text
	named               int // place of the path word that names it, -1: none
	text, path, subject []int
	commits             int // whose subjects hold words of the task
	score               float64
}

// searchResult is the outcome of a search.
type searchResult struct {
	Hits     []hit       // of the files, in their order
	Files    []foundFile // best first
	Searched int         // text files read
	Skipped  int         // files that are no text, too large, or not regular
	Counts   []int       // of each word: files that have it
	size     int         // words of all texts
}

// search ranks the files, which are paths below root, by the words of a task. It uses BM25 over the
// words of text, path and subjects of commits, with source before tests before documents. Files
// that the task names come first. The file that holds the task is left out.
func search(
	ctx context.Context,
	root *os.Root,
	files []string,
	q query,
	log []git.Commit,
) (searchResult, error) {
	f := searchResult{Counts: make([]int, len(q.words))}
	c := newCounter(q.words)
	subjects := c.countSubjects(log)
	var all []foundFile
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return searchResult{}, err
		}
		if inWorkspace(name) {
			continue
		}

		text, ok, err := readText(root, name)
		if err != nil {
			return searchResult{}, err
		}
		if !ok {
			f.Skipped++
			continue
		}

		f.Searched++
		d := foundFile{
			name:  name,
			kind:  kindOf(name, text),
			named: -1,
		}

		d.text = make([]int, len(q.words))
		d.path = make([]int, len(q.words))
		d.size = c.addCounts(text, d.text)
		f.size += d.size
		c.addCounts(name, d.path)
		d.subject = subjects[name].subject
		d.commits = subjects[name].commits
		d.subject = append(d.subject, make([]int, len(q.words)-len(d.subject))...)

		isCandidate := strings.TrimSpace(text) != "" && !q.isTaskSource(text)
		if isCandidate && d.countWords(q.words, f.Counts) {
			all = append(all, d)
		}
	}

	f.rank(all, q.words)
	for _, d := range f.Files {
		text, _, err := readText(root, d.name)
		if err != nil {
			return searchResult{}, err
		}
		f.Hits = append(f.Hits, c.cite(d, text, f)...)
	}

	return f, nil
}

// query is what is searched for: the words of a task, and its text.
type query struct {
	words              []searchWord
	title, description string
}

// isTaskSource recognises the text that the task was made from. Its first line ends with the title
// behind a mark, as a heading does, or it holds the description.
func (q query) isTaskSource(text string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	mark, ok := strings.CutSuffix(strings.TrimSpace(first), " "+q.title)
	return ok && q.title != "" && !strings.ContainsFunc(mark, unicode.IsLetter) ||
		len(q.description) >= 80 && strings.Contains(text, strings.TrimSpace(q.description))
}

// countWords counts a file for its words, and tells whether it has one.
func (d *foundFile) countWords(list []searchWord, counts []int) bool {
	found := false
	for i, w := range list {
		if w.Kind == pathWord && d.named < 0 && namesFile(w.Text, d.name) {
			d.named = i
		}
		if d.named == i || d.text[i]+d.path[i]+d.subject[i] > 0 {
			found = true
			counts[i]++
		}
	}
	return found
}

// rank scores the files that have a word, and keeps the best.
func (f *searchResult) rank(all []foundFile, list []searchWord) {
	average := float64(f.size) / float64(max(f.Searched, 1))
	for n := range all {
		d := &all[n]
		long := 1 - longText + longText*float64(d.size)/max(average, 1)
		for i := range f.Counts {
			times := float64(d.text[i])/long + pathWeight*float64(d.path[i]) + float64(d.subject[i])
			value := f.rarity(i) * times / (saturation + times)
			if list[i].Title {
				value *= titleWeight
			}
			d.score += value
		}
		d.score *= kindWeights[d.kind]
	}

	order.Stable(all, func(a, b foundFile) int {
		return cmp.Or(cmp.Compare(min(b.named, 0), min(a.named, 0)), cmp.Compare(b.score, a.score),
			cmp.Compare(a.name, b.name))
	})
	f.Files = slices.Clone(all[:min(len(all), maxFiles)])
}

// rarity is how much a word tells: the fewer files have it, the more.
func (f *searchResult) rarity(i int) float64 {
	return math.Log(1 + (float64(f.Searched-f.Counts[i])+0.5)/(float64(f.Counts[i])+0.5))
}

// inWorkspace tells paths of the workspace and of git, which are no part of the project's text.
func inWorkspace(name string) bool {
	parts := strings.Split(name, "/")
	return slices.Contains(parts, formats.Workspace) || slices.Contains(parts, ".git")
}

// readText reads a regular file of at most maxTextFile bytes of UTF-8 without NUL. A file that is
// gone or not to be read is passed over: it cannot be cited.
func readText(root *os.Root, name string) (text string, ok bool, err error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxTextFile {
		return "", false, nil //nolint:nilerr // see above
	}

	file, err := root.Open(name)
	if err != nil {
		return "", false, nil //nolint:nilerr // see above
	}

	data, err := io.ReadAll(io.LimitReader(file, maxTextFile+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return "", false, err
	}
	return string(
		data,
	), len(data) <= maxTextFile && bytes.IndexByte(data, 0) < 0 && utf8.Valid(data), nil
}

func notInName(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// namesFile tells whether a path in the task names a file: as the whole path, its end after a
// slash, or a folder above.
func namesFile(written, file string) bool {
	folder := strings.HasSuffix(written, "/")
	written = path.Clean(strings.TrimLeft(written, "/"))
	if written == "." || written == ".." || strings.HasPrefix(written, "../") {
		return false
	}

	if file == written || strings.HasSuffix(file, "/"+written) {
		return !folder
	}
	return folder &&
		(strings.HasPrefix(file, written+"/") || strings.Contains(file, "/"+written+"/"))
}

// cite picks the lines of a file that tell most: rare words, names before words of prose, first
// where a line defines one. A file without such a line is cited at its first line that is not
// blank.
func (c *counter) cite(d foundFile, text string, f searchResult) []hit {
	type scored struct {
		hit
		score float64
	}
	var best []scored
	line := 0
	counts := make([]int, len(c.list))

	for raw := range strings.Lines(text) {
		line++
		clear(counts)
		c.addCounts(raw, counts)
		h := scored{hit: hit{File: d.name, Line: line}}
		for i, n := range counts {
			if n == 0 {
				continue
			}
			value := f.rarity(i) * float64(c.list[i].Kind)
			w := c.list[i]
			if w.Kind == identifier && isDefinition(raw[:max(strings.Index(raw, w.Text), 0)]) {
				value *= 2
			}
			h.score += value
			h.Words = append(h.Words, c.list[i].Text)
		}

		if len(h.Words) == 0 {
			continue
		}
		h.Text = raw
		best = append(best, h)

		order.Stable(best, func(a, b scored) int {
			return cmp.Compare(b.score, a.score)
		})
		best = best[:min(len(best), maxHitsPerFile)]
	}

	if start := strings.TrimLeftFunc(text, unicode.IsSpace); len(best) == 0 && start != "" {
		first, _, _ := strings.Cut(start, "\n")
		n := 1 + strings.Count(text[:len(text)-len(start)], "\n")
		best = append(best, scored{hit: hit{
			File: d.name,
			Line: n,
			Text: first,
		}})
	}

	out := make([]hit, len(best))
	for i, h := range best {
		h.Text = cutText(strings.Join(strings.Fields(h.Text), " "), maxQuotedLine)
		out[i] = h.hit
	}

	return out
}

// isDefinition tells whether what stands before a name on its line defines it, in the languages of
// the checks and a few more.
func isDefinition(before string) bool {
	before = strings.TrimSpace(before)
	if strings.HasPrefix(before, "func (") && strings.HasSuffix(before, ")") {
		return true
	}
	const definers = "class const def enum fn func function interface let module struct sub " +
		"trait type var"
	return slices.Contains(
		strings.Fields(definers),
		before[strings.LastIndexAny(before, " \t(")+1:],
	)
}

// listFolder lists the regular files of a folder that git does not know, in lexical order, without
// the workspace and git's own.
func listFolder(ctx context.Context, root *os.Root) ([]string, error) {
	var out []string
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // a folder that cannot be read has nothing to cite
		case err != nil:
			return err
		case d.IsDir() && inWorkspace(name):
			return fs.SkipDir
		case d.Type().IsRegular():
			out = append(out, name)
		}
		return nil
	})
	return out, err
}
