package git

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
)

// maxLine bounds the memory for one line, in bytes: a longer line is passed on in pieces.
const maxLine = 1 << 20

// RemoteCommits followed by a remote's name is a revision argument: all commits that the remote is
// known to have.
const RemoteCommits = "--remotes="

// EachAddedLine calls emit for each line that is staged or, if from is not empty, that commit to
// has and from lacks. A merge adds only lines that no parent has. Paths have slashes, relative to
// the top. Every file counts as text, whatever its attributes. Lines above 1 MiB come in pieces.
func (r *Repo) EachAddedLine(
	ctx context.Context,
	from, to string,
	emit func(file string, number int, text string),
) error {
	args := diffArgs()
	var revs []string
	if from == "" {
		args = append(args, "--cached")
	} else {
		revs = []string{from, to}
		args = append([]string{"log", "--format=", "-p", "--remerge-diff"}, args[1:]...)
	}
	args = append(args, "--unified=0", "--text", "--src-prefix=a/", "--dst-prefix=b/")
	switch {
	case strings.HasPrefix(from, RemoteCommits):
		revs = revs[1:]
		args = append(args, to, "--not", from)
	case from != "":
		args = append(args, from+".."+to)
	}

	p := &patchParser{emit: emit}
	_, _, err := r.runInTree(ctx, call{
		args:   append(args, "--"),
		revs:   revs,
		watch:  p.parse,
		config: []string{"log.showRoot", "true"},
	})
	return errors.Join(err, p.err)
}

// EachLineAddedToTree is EachAddedLine for what a tree has and another one lacks. Both may be given
// by a commit.
func (r *Repo) EachLineAddedToTree(
	ctx context.Context,
	from, to string,
	emit func(file string, number int, text string),
) error {
	p := &patchParser{emit: emit}
	_, _, err := r.runInTree(ctx, call{
		args: append(diffArgs(), "--unified=0", "--text", "--src-prefix=a/", "--dst-prefix=b/",
			from, to, "--"),
		revs:  []string{from, to},
		watch: p.parse,
	})
	return errors.Join(err, p.err)
}

// patchParser parses a patch without context as it arrives.
type patchParser struct {
	emit              func(file string, number int, text string)
	partial           []byte // an incomplete line
	file              string
	number            int  // line number of the next added line
	toRemove, toAdd   int  // remaining lines of the hunk
	adding, continued bool // the current line is an added one; part of it was passed on
	err               error
}

// parse takes the next piece of the patch. It never stops the child, so it always returns true.
func (p *patchParser) parse(text []byte) bool {
	for len(text) > 0 {
		head, tail, ends := bytes.Cut(text, []byte("\n"))
		p.partial = append(p.partial, head...)
		if ends || len(p.partial) >= maxLine {
			p.parseFragment(string(p.partial), ends)
			p.partial = p.partial[:0]
		}
		text = tail
	}
	return true
}

// parseFragment handles a line or a part of a long one.
func (p *patchParser) parseFragment(text string, ends bool) {
	switch {
	case p.continued && p.adding:
		p.emit(p.file, p.number-1, text)
	case !p.continued:
		p.adding = p.parseLine(text)
	}
	p.continued = !ends
}

// parseLine parses the beginning of a line and reports whether the patch adds it.
func (p *patchParser) parseLine(text string) bool {
	switch {
	case p.toRemove > 0 && strings.HasPrefix(text, "-"):
		p.toRemove--
	case p.toAdd > 0 && strings.HasPrefix(text, "+"):
		p.emit(p.file, p.number, text[1:])
		p.toAdd--
		p.number++
		return true
	case strings.HasPrefix(text, "+++ "):
		// git puts a tab after a name with a space
		p.file = strings.TrimSuffix(text[len("+++ "):], "\t")
		if name, err := strconv.Unquote(p.file); err == nil {
			p.file = name
		}
		p.file = strings.TrimPrefix(p.file, "b/")
	case strings.HasPrefix(text, "@@ -"):
		oldSpan, rest, _ := strings.Cut(text[len("@@ -"):], " +")
		newSpan, _, _ := strings.Cut(rest, " @@")
		_, p.toRemove = p.parseSpan(oldSpan)
		p.number, p.toAdd = p.parseSpan(newSpan)
	}
	return false
}

// parseSpan parses "12,3" of a hunk header; the count is omitted if it is one.
func (p *patchParser) parseSpan(text string) (first, count int) {
	firstText, countText, hasCount := strings.Cut(text, ",")
	if !hasCount {
		countText = "1"
	}
	first, firstErr := strconv.Atoi(firstText)
	count, countErr := strconv.Atoi(countText)
	if firstErr != nil || countErr != nil {
		p.err = badOutput("diff", "a line and a count", text)
	}
	return first, count
}
