package bench_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// eachCase calls see with the tree of every case. What cannot be had is told and left out.
func eachCase(t *testing.T, see func(c searchCase, tree string)) {
	t.Helper()
	list := readCases(t)
	s, err := openSources(*peers)
	if err != nil {
		t.Logf("no sources of Debian: %v", err)
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Package == list[0].Package {
			n++
		}
		of := list[:n]
		list = list[n:]
		if of[0].Package == ownPackage {
			err = eachCommit(t, of, see)
		} else {
			err = s.eachPatch(t, of, see)
		}
		if err != nil {
			t.Logf("%s is left out: %v", of[0].Package, err)
		}
	}
}

// eachPatch goes through the series of one package.
func (s sources) eachPatch(
	t *testing.T,
	of []searchCase,
	see func(c searchCase, tree string),
) error {
	t.Helper()
	p, err := s.fetch(t, of[0].Package, of[0].Version)
	if err != nil {
		return err
	}
	for _, one := range p.series {
		i := slices.IndexFunc(of, func(c searchCase) bool {
			return c.Change == one.name
		})
		if i >= 0 {
			see(of[i], p.tree)
		}
		if err := p.apply(one); err != nil {
			return err
		}
	}
	return os.RemoveAll(p.tree)
}

// eachCommit takes the parents of commits of this repository, with their history.
func eachCommit(t *testing.T, of []searchCase, see func(c searchCase, tree string)) error {
	t.Helper()
	tree := filepath.Join(t.TempDir(), ownPackage)
	err := quiet(".", "git", "clone", "-q", "--shared", "--no-checkout", "../..", tree)
	if err != nil {
		return err
	}
	for _, c := range of {
		err := quiet(tree, "git", "checkout", "-q", "--force", "--detach", c.Change+"^")
		if err != nil {
			return err
		}
		see(c, tree)
	}
	return nil
}

// heldBack are the packages by which no weight was chosen, a third of the cases.
var heldBack = strings.Fields("dovecot nginx python-django request-tracker5 symfony")

// tally counts in how many cases one of the files changed is among those found.
type tally struct{ first, five, of int }

func (y *tally) count(found, changed []string) {
	y.of++
	for i, name := range found[:min(len(found), 5)] {
		if slices.Contains(changed, name) {
			y.five++
			if i == 0 {
				y.first++
			}
			break
		}
	}
}

func (y tally) String() string {
	return fmt.Sprintf("%d of %d, %d first", y.five, y.of, y.first)
}

// quality compares the files that a report cites first with those that BM25 names.
func (l *lab) quality() {
	var ours, theirs, oursHeld, theirsHeld tally
	eachCase(l.t, func(c searchCase, tree string) {
		report := l.researched(c, tree)
		ranked := bm25(l.t, tree, c.Title+"\n"+c.Text)
		ours.count(report, c.Files)
		theirs.count(ranked, c.Files)
		if slices.Contains(heldBack, c.Package) {
			oursHeld.count(report, c.Files)
			theirsHeld.count(ranked, c.Files)
		}
	})
	for _, r := range []struct {
		what         string
		ours, theirs tally
	}{
		{"changed file among the first five cited", ours, theirs},
		{"the same, packages held back", oursHeld, theirsHeld},
	} {
		l.add(row{
			goal:   "P11",
			what:   r.what,
			figure: r.ours.String(),
			peer:   "BM25: " + r.theirs.String(),
			ratio:  digits(float64(r.ours.five) / float64(max(r.theirs.five, 1))),
			limit:  ">= 2/3, >= BM25",
			met:    3*r.ours.five >= 2*r.ours.of && r.ours.five >= r.theirs.five && r.ours.of > 0,
		})
	}
}

// researched gives the files that the report of a case cites, in its order.
func (l *lab) researched(c searchCase, tree string) []string {
	l.t.Helper()
	home := filepath.Join(l.dir, "home")
	run := func(argv ...string) {
		subject{
			name: "tercet " + argv[0],
			argv: append([]string{l.tercet}, argv...),
			in:   tree,
			env:  []string{"XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home},
		}.output(l.t)
	}
	if err := os.RemoveAll(filepath.Join(tree, ".tercet")); err != nil {
		l.t.Fatal(err)
	}
	run("init", "-q")
	const task = ".tercet/task.md"
	if err := os.WriteFile(
		filepath.Join(tree, task),
		[]byte("# "+c.Title+"\n\n"+c.Text+"\n"),
		0o644,
	); err != nil {
		l.t.Fatal(err)
	}
	run("/task", "--from", task)
	run("/research", "1")
	reports, err := filepath.Glob(filepath.Join(tree, ".tercet/specs/*/reports/research-001.md"))
	if err != nil || len(reports) != 1 {
		l.t.Fatalf("%s: %d reports, %v", c.Change, len(reports), err)
	}
	text, err := os.ReadFile(reports[0])
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?m)^- `([^`\n]+):[0-9]+`: ").FindAllSubmatch(text, -1) {
		if !slices.Contains(out, string(m[1])) {
			out = append(out, string(m[1]))
		}
	}

	return out
}

// bm25 ranks the text files of a tree by the words of a task: Okapi BM25 with its usual constants
// over contents and path.
func bm25(t *testing.T, tree, task string) []string {
	t.Helper()
	const k1 = 1.2
	const b = 0.75
	type document struct {
		name  string
		count map[string]int
		long  int
	}
	asked := map[string]bool{}
	for _, w := range terms(task) {
		asked[w] = true
	}

	var all []document
	in := map[string]int{}
	total := 0
	err := filepath.WalkDir(tree, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == ".tercet") {
				return fs.SkipDir
			}
			return err
		}

		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			return err
		}

		name, err := filepath.Rel(tree, file)
		doc := document{name: name, count: map[string]int{}}
		for _, w := range terms(name + "\n" + string(text)) {
			doc.long++
			if asked[w] {
				doc.count[w]++
				if doc.count[w] == 1 {
					in[w]++
				}
			}
		}

		all = append(all, doc)
		total += doc.long
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]float64{}
	var names []string
	for _, doc := range all {
		for w, n := range doc.count {
			f := float64(n)
			idf := math.Log(1 + (float64(len(all)-in[w])+0.5)/(float64(in[w])+0.5))
			scores[doc.name] += idf * f * (k1 + 1) / (f + k1*(1-b+b*float64(doc.long)*float64(
				len(all),
			)/float64(max(total, 1))))
		}
		if scores[doc.name] > 0 {
			names = append(names, doc.name)
		}
	}

	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	return names
}

// terms are the words of a text: letters and digits, in small letters.
func terms(text string) []string {
	return strings.FieldsFunc(strings.ToLower(
		text,
	), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
