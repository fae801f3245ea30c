package git

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
)

// longestLine bounds how much of a line is kept at once: what is longer is seen in pieces.
const longestLine = 1 << 20

// AtRemote plus a remote's name, in place of a commit, stands for everything that the remote is
// known to have.
const AtRemote = "--remotes="

// Added calls see for each line that is staged, or, if from is not empty, that commit to has and
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
	p := &patch{see: see}
	root := []string{"log.showRoot", "true"}
	_, _, err := r.touch(ctx, call{
		args:  append(args, "--"),
		revs:  revs,
		watch: p.write,
		pairs: root,
	})
	return errors.Join(err, p.err)
}

// patch reads a patch without context as it comes.
type patch struct {
	see        func(file string, number int, text string)
	rest       []byte // of a line whose end is not there yet
	file       string
	number     int  // of the added line that comes next
	gone, more int  // lines that the hunk has yet to take away and to add
	adds, goOn bool // the line under way is an added one; a piece of it was seen
	err        error
}

func (p *patch) write(text []byte) bool {
	for len(text) > 0 {
		head, tail, ends := bytes.Cut(text, []byte("\n"))
		p.rest = append(p.rest, head...)
		if ends || len(p.rest) >= longestLine {
			p.piece(string(p.rest), ends)
			p.rest = p.rest[:0]
		}
		text = tail
	}
	return true
}

// piece takes a line, or what there is of a long one.
func (p *patch) piece(text string, ends bool) {
	switch {
	case p.goOn && p.adds:
		p.see(p.file, p.number-1, text)
	case !p.goOn:
		p.adds = p.line(text)
	}
	p.goOn = !ends
}

// line takes the begin of a line and tells whether the patch adds it.
func (p *patch) line(text string) bool {
	switch {
	case p.gone > 0 && strings.HasPrefix(text, "-"):
		p.gone--
	case p.more > 0 && strings.HasPrefix(text, "+"):
		p.see(p.file, p.number, text[1:])
		p.more--
		p.number++
		return true
	case strings.HasPrefix(text, "+++ "):
		// which git puts after a name with a space
		p.file = strings.TrimSuffix(text[len("+++ "):], "\t")
		if name, err := strconv.Unquote(p.file); err == nil {
			p.file = name
		}
		p.file = strings.TrimPrefix(p.file, "b/")
	case strings.HasPrefix(text, "@@ -"):
		old, fresh, _ := strings.Cut(text[len("@@ -"):], " +")
		fresh, _, _ = strings.Cut(fresh, " @@")
		_, p.gone = p.span(old)
		p.number, p.more = p.span(fresh)
	}
	return false
}

// span reads "12,3" of the head of a hunk; one line is written without a count.
func (p *patch) span(text string) (first, count int) {
	at, n, many := strings.Cut(text, ",")
	if !many {
		n = "1"
	}
	first, err := strconv.Atoi(at)
	count, bad := strconv.Atoi(n)
	if err != nil || bad != nil {
		p.err = odd("diff", "a line and a count", text)
	}
	return first, count
}
