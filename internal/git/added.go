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

// AtRemote followed by a remote's name stands for all commits that the remote is known to have.
const AtRemote = "--remotes="

// Added calls see for each line that is staged or, if from is not empty, that commit to has and
// from lacks. A merge adds only lines that no parent has. Paths have slashes, relative to the top.
// Every file counts as text, whatever its attributes. Lines above 1 MiB come in pieces.
func (r *Repo) Added(
	ctx context.Context,
	from, to string,
	see func(file string, number int, text string),
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
	case strings.HasPrefix(from, AtRemote):
		revs = revs[1:]
		args = append(args, to, "--not", from)
	case from != "":
		args = append(args, from+".."+to)
	}
	p := &patchParser{emit: see}
	root := []string{"log.showRoot", "true"}
	_, _, err := r.runInTree(ctx, call{
		args:   append(args, "--"),
		revs:   revs,
		watch:  p.write,
		config: root,
	})
	return errors.Join(err, p.err)
}

// AddedToTree is Added for what a tree has and another one lacks. Both may be given by a commit.
func (r *Repo) AddedToTree(
	ctx context.Context,
	from, to string,
	see func(file string, number int, text string),
) error {
	p := &patchParser{emit: see}
	_, _, err := r.runInTree(ctx, call{
		args: append(diffArgs(), "--unified=0", "--text", "--src-prefix=a/", "--dst-prefix=b/",
			from, to, "--"),
		revs:  []string{from, to},
		watch: p.write,
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

func (p *patchParser) write(text []byte) bool {
	for len(text) > 0 {
		head, tail, ends := bytes.Cut(text, []byte("\n"))
		p.partial = append(p.partial, head...)
		if ends || len(p.partial) >= maxLine {
			p.fragment(string(p.partial), ends)
			p.partial = p.partial[:0]
		}
		text = tail
	}
	return true
}

// fragment handles a line or a part of a long one.
func (p *patchParser) fragment(text string, ends bool) {
	switch {
	case p.continued && p.adding:
		p.emit(p.file, p.number-1, text)
	case !p.continued:
		p.adding = p.line(text)
	}
	p.continued = !ends
}

// line parses the beginning of a line and reports whether the patch adds it.
func (p *patchParser) line(text string) bool {
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
		old, fresh, _ := strings.Cut(text[len("@@ -"):], " +")
		fresh, _, _ = strings.Cut(fresh, " @@")
		_, p.toRemove = p.span(old)
		p.number, p.toAdd = p.span(fresh)
	}
	return false
}

// span parses "12,3" of a hunk header; the count is omitted if it is one.
func (p *patchParser) span(text string) (first, count int) {
	at, n, many := strings.Cut(text, ",")
	if !many {
		n = "1"
	}
	first, err := strconv.Atoi(at)
	count, bad := strconv.Atoi(n)
	if err != nil || bad != nil {
		p.err = badOutput("diff", "a line and a count", text)
	}
	return first, count
}
