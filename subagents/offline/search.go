package offline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
)

// The bounds of a search.
const (
	maxTextFile    = 1 << 20 // bytes of a file that is searched
	maxHits        = 20      // lines in a report
	maxHitsPerFile = 8
	maxCandidates  = 200 // lines of one file that are ranked
	maxKept        = 20_000
	maxQuotedLine  = 160 // characters of a line in a report
)

// hit is one line of a file in which words of the task stand.
type hit struct {
	File  string // relative to the folder searched, with slashes
	Line  int
	Text  string // the line, shortened
	Words []string
	score int
	words []int // places in finding.words
	name  int   // place of the path word that names the file, -1: none
	def   bool  // the line defines one of its words
}

// finding is the outcome of a search.
type finding struct {
	Hits     []hit    // best first
	Files    []string // files of all hits, by their best one
	Searched int      // text files read
	Skipped  int      // files that are no text, too large, or not regular
	Matches  int      // lines that hold a word
	Counts   []int    // of each word: lines that hold it and files it names
}

// search looks for the words in the files, which are paths below root, and ranks the lines: by how telling a word is
// and how rare, doubled where the line defines it, and raised in a file that the task names.
func search(ctx context.Context, root *os.Root, files []string, list []searchWord) (finding, error) {
	f := finding{Counts: make([]int, len(list))}
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return finding{}, err
		}
		if inWorkspace(name) {
			continue
		}
		text, ok, err := readText(root, name)
		if err != nil {
			return finding{}, err
		}
		if !ok {
			f.Skipped++
			continue
		}
		f.Searched++
		f.file(name, text, list)
		if len(f.Hits) > 2*maxKept {
			f.prune(list)
		}
	}
	f.rank(list)
	return f, nil
}

// inWorkspace tells paths of the workspace and of git, which are no part of the project's text.
func inWorkspace(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == formats.Workspace || part == ".git" {
			return true
		}
	}
	return false
}

// readText reads a regular file of at most maxTextFile bytes of UTF-8 without NUL. A file that is gone or not to be
// read is passed over: it cannot be cited.
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
	return string(data), len(data) <= maxTextFile && bytes.IndexByte(data, 0) < 0 && utf8.Valid(data), nil
}

// file notes the lines of one file.
func (f *finding) file(name, text string, list []searchWord) {
	lower := strings.ToLower(text)
	var present []int
	named := -1
	for i, w := range list {
		in := text
		if w.Kind == plainWord {
			in = lower
		}
		if strings.Contains(in, w.Text) {
			present = append(present, i)
		}
		if named < 0 && w.Kind == pathWord && names(w.Text, name) {
			named = i
			f.Counts[i]++
		}
	}
	if named < 0 && len(present) == 0 {
		return
	}
	kept := 0
	line := 0
	for raw := range strings.Lines(text) {
		line++
		h := hit{File: name, Line: line, name: named}
		h.match(raw, list, present)
		if len(h.words) == 0 {
			continue
		}
		f.Matches++
		for _, i := range h.words {
			f.Counts[i]++
		}
		if kept++; kept <= maxCandidates {
			f.Hits = append(f.Hits, h)
		}
	}
	if start := strings.TrimLeftFunc(text, unicode.IsSpace); kept == 0 && named >= 0 && start != "" {
		first, _, _ := strings.Cut(start, "\n") // the first line that is not blank
		n := 1 + strings.Count(text[:len(text)-len(start)], "\n")
		f.Matches++
		f.Hits = append(f.Hits, hit{File: name, Line: n, Text: shown(first), name: named})
	}
}

// names tells whether a path as the task writes it names a file: it is the file, its end after a slash, or a folder
// above.
func names(written, file string) bool {
	folder := strings.HasSuffix(written, "/")
	written = path.Clean(strings.TrimLeft(written, "/"))
	if written == "." || written == ".." || strings.HasPrefix(written, "../") {
		return false
	}
	if file == written || strings.HasSuffix(file, "/"+written) {
		return !folder
	}
	return folder && (strings.HasPrefix(file, written+"/") || strings.Contains(file, "/"+written+"/"))
}

func (h *hit) match(raw string, list []searchWord, present []int) {
	lower := ""
	for _, i := range present {
		w := list[i]
		at := -1
		switch w.Kind {
		case plainWord:
			if lower == "" {
				lower = strings.ToLower(raw)
			}
			at = wholeWord(lower, w.Text)
		case identifier:
			at = wholeWord(raw, w.Text)
		case quotedText, pathWord:
			at = strings.Index(raw, w.Text)
		}
		if at < 0 {
			continue
		}
		h.words = append(h.words, i)
		h.def = h.def || w.Kind == identifier && defines(raw[:at])
	}
	if len(h.words) > 0 {
		h.Text = shown(raw)
	}
}

// shown is a line as a report quotes it.
func shown(raw string) string { return cutText(strings.Join(strings.Fields(raw), " "), maxQuotedLine) }

// wholeWord finds a word that no letter, digit or underscore continues on either side.
func wholeWord(s, word string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+len(word):])
		if notInName(before) && notInName(after) {
			return i
		}
		from = i + len(word)
	}
}

func notInName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// defines tells whether what stands before a name on its line defines it, in the languages of the checks and a few
// more.
func defines(before string) bool {
	before = strings.TrimSpace(before)
	if strings.HasPrefix(before, "func (") && strings.HasSuffix(before, ")") {
		return true
	}
	const definers = "class const def enum fn func function interface let module struct sub trait type var"
	return slices.Contains(strings.Fields(definers), before[strings.LastIndexAny(before, " \t(")+1:])
}

// prune keeps the lines whose words tell most, as far as that is known before the search is over.
func (f *finding) prune(list []searchWord) {
	for n := range f.Hits {
		h := &f.Hits[n]
		h.score = 0
		for _, i := range h.words {
			h.score += list[i].Kind.weight()
		}
		if h.def || h.name >= 0 {
			h.score *= 2
		}
	}
	f.sort()
	f.Hits = slices.Clone(f.Hits[:maxKept])
}

// sort orders the lines by score, then by place.
func (f *finding) sort() {
	slices.SortFunc(f.Hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// rarityScale keeps scores whole numbers.
const rarityScale = 64

// rank scores the lines and keeps the best.
func (f *finding) rank(list []searchWord) {
	value := func(i int) int { return list[i].Kind.weight() * rarityScale / max(1, bits.Len(uint(f.Counts[i]))) }
	for n := range f.Hits {
		h := &f.Hits[n]
		h.score = 0
		for _, i := range h.words {
			h.score += value(i)
			h.Words = append(h.Words, list[i].Text)
		}
		if h.def {
			h.score *= 2
		}
		if h.name >= 0 {
			h.score += value(h.name)
			h.Words = appendNew(h.Words, []string{list[h.name].Text})
		}
	}
	f.sort()
	perFile := map[string]int{}
	var best []hit
	for _, h := range f.Hits {
		if perFile[h.File]++; perFile[h.File] == 1 {
			f.Files = append(f.Files, h.File)
		}
		if perFile[h.File] <= maxHitsPerFile && len(best) < maxHits {
			best = append(best, h)
		}
	}
	f.Hits = best
}

// walk lists the regular files of a folder that git does not know, in lexical order, without the workspace and git's
// own.
func walk(ctx context.Context, root *os.Root) ([]string, error) {
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
