package bench_test

import (
	"bytes"
	"fmt"
	"mime"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suite is the release of Debian whose sources hold the patches.
const suite = "bookworm"

// aptOptions keep everything that apt-get writes in a folder of ours.
func aptOptions(dir string) []string {
	var out []string
	for _, o := range [...]string{
		"Etc::SourceList=" + filepath.Join(dir, "sources.list"), "Etc::SourceParts=/dev/null",
		"State::Lists=" + filepath.Join(dir, "lists"), "Cache=" + dir,
	} {
		out = append(out, "-o", "Dir::"+o)
	}
	return append(out, "-q")
}

// sources is a folder of Debian's source packages, as they are when no patch was applied.
type sources struct{ dir string }

// openSources makes the folder and reads the list of packages, once.
func openSources(dir string) (sources, error) {
	s := sources{dir: filepath.Join(dir, "sources")}
	apt := filepath.Join(s.dir, "apt-"+suite)
	if _, err := os.Stat(filepath.Join(apt, "ready")); err == nil {
		return s, nil
	}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(apt, sub), 0o755); err != nil {
			return s, err
		}
	}
	list, err := os.ReadFile(filepath.Join(dir, "apt", "sources.list")) // that of peers.sh
	if err != nil {
		return s, err
	}
	list = bytes.Replace(list, []byte(" trixie "), []byte(" "+suite+" "), 1)
	if err := os.WriteFile(filepath.Join(apt, "sources.list"), list, 0o644); err != nil {
		return s, err
	}
	if err := quiet(s.dir, "apt-get", append(aptOptions(apt), "update")...); err != nil {
		return s, err
	}
	return s, os.WriteFile(filepath.Join(apt, "ready"), nil, 0o644)
}

// quiet runs a program whose output only counts if it fails.
func quiet(dir, name string, argv ...string) error {
	cmd := exec.Command(name, argv...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// patched is an unpacked source package: its tree without the folder debian, and the patches that
// Debian applies.
type patched struct {
	version string
	tree    string
	series  []patch
}

// patch is one of the series.
type patch struct{ name, text string }

// fetch unpacks a package into a new tree; version "" is the one of the suite.
func (s sources) fetch(t *testing.T, pkg, version string) (patched, error) {
	t.Helper()
	what := pkg
	if version != "" {
		what += "=" + version
	}
	got := filepath.Join(s.dir, pkg)
	if err := os.MkdirAll(got, 0o755); err != nil {
		return patched{}, err
	}

	ready := filepath.Join(got, "ready")
	if _, err := os.Stat(ready); err != nil {
		apt := aptOptions(filepath.Join(s.dir, "apt-"+suite))
		err := quiet(got, "apt-get", append(apt, "source", "--download-only", what)...)
		if err != nil {
			return patched{}, err
		}
		if err := os.WriteFile(ready, nil, 0o644); err != nil {
			return patched{}, err
		}
	}
	names, err := filepath.Glob(filepath.Join(got, "*.dsc"))
	if err != nil || len(names) != 1 {
		return patched{}, fmt.Errorf("%s: %d descriptions of the package, %v", pkg, len(names), err)
	}

	p := patched{tree: filepath.Join(t.TempDir(), pkg)}
	if err := quiet(
		got,
		"dpkg-source",
		"--no-check",
		"--skip-patches",
		"-x",
		names[0],
		p.tree,
	); err != nil {
		return patched{}, err
	}

	text, err := os.ReadFile(names[0])
	if err != nil {
		return patched{}, err
	}
	if m := regexp.MustCompile(`(?m)^Version: (\S+)$`).FindSubmatch(text); m != nil {
		p.version = string(m[1])
	}
	series, err := os.ReadFile(filepath.Join(p.tree, "debian/patches/series"))
	if err != nil {
		return patched{}, err
	}

	for line := range strings.Lines(string(series)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name[0] == '#' {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.tree, "debian/patches", name))
		if err != nil {
			return patched{}, err
		}
		p.series = append(p.series, patch{name, string(text)})
	}

	return p, os.RemoveAll(filepath.Join(p.tree, "debian"))
}

// apply applies a patch of the series.
func (p patched) apply(one patch) error {
	file := p.tree + ".patch"
	if err := os.WriteFile(file, []byte(one.text), 0o644); err != nil {
		return err
	}
	return quiet(p.tree, "patch", "-p1", "-t", "-N", "-s", "--no-backup-if-mismatch", "-i", file)
}

// files are the names that a patch changes, without those that it adds.
func (p patch) files() []string {
	var out []string
	for _, m := range regexp.MustCompile(
		`(?m)^--- [^/\s]+/(\S+).*\n\+\+\+ [^/\s]+/(\S+)`,
	).FindAllStringSubmatch(p.text, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	slices.Sort(out)
	return out
}

// description gives the first line of what a patch says of itself, and the rest; of mails that is
// the subject.
func (p patch) description() (title, rest string) {
	field := regexp.MustCompile(`^([A-Z][A-Za-z-]*):(?: (.*))?$`)
	var lines []string
	in := false
	body := false
	for line := range strings.Lines(p.text) {
		line = strings.TrimRight(line, "\r\n ")
		if regexp.MustCompile(`^(---( |$)|diff |Index: |===)`).MatchString(line) {
			break
		}
		m := field.FindStringSubmatch(line)
		switch {
		case m != nil && len(lines) == 0 && (m[1] == "Description" || m[1] == "Subject"):
			in = true
			lines = append(lines, m[2])
		case m != nil && !body:
			in = false
		case m != nil:
			in = !regexp.MustCompile(
				`^(Origin|Bug|Forwarded|Author|From|Date|Last-Update|Reviewed-by|Signed-off-by|Co-authored-by|Conflicts)`,
			).MatchString(m[1])
		case line == "" && len(lines) > 0:
			in = true
			body = true
		}
		if in && m == nil {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, " .")))
		}
	}

	text := strings.TrimSpace(strings.Join(lines, "\n"))
	text = regexp.MustCompile(`^(\[[^\]]*\]\s*)+`).ReplaceAllString(text, "")
	// A subject of several lines is one: the first paragraph without a full stop before its end.
	first, rest, _ := strings.Cut(text, "\n\n")
	title = strings.Join(strings.Fields(first), " ")
	if said, err := new(mime.WordDecoder).DecodeHeader(title); err == nil {
		title = said
	}
	return title, strings.TrimSpace(rest)
}

// code are the endings of source files.
var code = strings.Fields("c cc cpp go h hpp java js jsx lua mjs php pl pm py rb rs sh ts tsx")

// isSource tells files of the program from tests, documents and what builds them.
func isSource(name string) bool {
	if !slices.Contains(code, strings.TrimPrefix(path.Ext(name), ".")) {
		return false
	}
	return !slices.ContainsFunc(
		strings.FieldsFunc(strings.ToLower(
			name,
		), func(r rune) bool {
			return r == '/' || r == '_' || r == '-' || r == '.'
		}),
		func(w string) bool {
			return slices.Contains(
				[]string{
					"test", "tests", "spec", "testdata", "doc", "docs", "debian", "examples",
					"config", "conf",
				},
				w,
			)
		},
	) && !strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "Test")
}
