package bench_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

var collect = flag.Bool("collect", false, "make the list of cases of the offline search anew")

// casesFile is the list of the cases.
const casesFile = "testdata/search.jsonl"

// searchCase is a change with what was said of it, and the files that it turned out to concern.
type searchCase struct {
	Package string   `json:"package"`
	Version string   `json:"version,omitempty"` // of the source package
	Change  string   `json:"change"`            // the patch, or the commit
	Title   string   `json:"title"`
	Text    string   `json:"text,omitempty"` // what the description says beside its title
	Files   []string `json:"files"`          // source files changed
}

// The packages whose patches make the cases: programs and libraries in nine languages, none above
// 10 MB. Of a package at most eachPackage cases are taken, evenly over the series.
var (
	packages = strings.Fields(
		"dovecot gnome-shell netty nginx openssh python-django rails redmine request-tracker5 " +
			"roundcube runc symfony syncthing",
	)
	eachPackage = 7
	eachOwn     = 12
)

// ownPackage is this repository.
const ownPackage = "tercet"

// TestCollect makes the list of cases. The rule: every patch of a package that changes 1 to 5
// source files (no tests, no documents, no configuration), whose description has four words or
// more, tells more than that it is a merge, and names none of these files; and every commit of this
// repository that changes 1 to 5 of them and whose subject, behind one package, begins with
// "refuse" or "let". The description is the task, the tree before the patch or the commit is what
// is searched.
func TestCollect(t *testing.T) { //nolint:paralleltest // only by hand
	if !*collect {
		t.Skip("only with -collect")
	}
	s, err := openSources(*peers)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	write := func(list []searchCase, most int) {
		most = min(len(list), most)
		for i := range most {
			if err := enc.Encode(list[i*len(list)/most]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pkg := range packages {
		p, err := s.fetch(t, pkg, "")
		if err != nil {
			t.Logf("%s cannot be had: %v", pkg, err)
			continue
		}
		var list []searchCase
		for _, one := range p.series {
			title, text := one.description()
			c := searchCase{
				Package: pkg,
				Version: p.version,
				Change:  one.name,
				Title:   title,
				Text:    text,
			}
			if c.addFiles(one.files()) {
				list = append(list, c)
			}
		}
		t.Logf("%s: %d of %d patches", pkg, len(list), len(p.series))
		write(list, eachPackage)
	}

	write(ownCases(t), eachOwn)
	if err := os.WriteFile(casesFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// addFiles tells whether a change makes a case, and sets its files.
func (c *searchCase) addFiles(changed []string) bool {
	said := strings.ToLower(c.Title + "\n" + c.Text)
	for _, f := range changed {
		if !isSource(f) {
			continue
		}
		if strings.Contains(said, strings.ToLower(path.Base(f))) {
			return false
		}
		c.Files = append(c.Files, f)
	}
	return !strings.HasPrefix(c.Title, "Merge") && len(c.Files) >= 1 && len(c.Files) <= 5 &&
		len(regexp.MustCompile(`\b[A-Za-z]{2,}\b`).FindAllString(said, -1)) >= 4
}

// ownCases are commits of this repository.
func ownCases(t *testing.T) []searchCase {
	t.Helper()
	out, err := exec.Command(
		"git", "log", "--reverse", "--no-merges", "--diff-filter=M", "--name-only",
		"--format=commit %h %s",
	).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []searchCase
	for _, block := range strings.Split("\n"+string(out), "\ncommit ")[1:] {
		head, names, _ := strings.Cut(block, "\n")
		hash, subject, _ := strings.Cut(head, " ")
		c := searchCase{
			Package: ownPackage,
			Change:  hash,
			Title:   subject,
		}
		if regexp.MustCompile(`^[\w/]+: (refuse|let) `).MatchString(subject) &&
			c.addFiles(strings.Fields(names)) {
			list = append(list, c)
		}
	}
	return list
}

// readCases reads the list.
func readCases(t *testing.T) []searchCase {
	t.Helper()
	text, err := os.ReadFile(casesFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []searchCase
	for line := range strings.Lines(string(text)) {
		var c searchCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}
