package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"tercet/internal/testkit"
)

// block is one fence of a document.
type block struct {
	file string
	line int
	info string
	text string
}

// blocks gives the fences of a document; a longer fence may hold shorter ones.
func blocks(t *testing.T, file string) []block {
	t.Helper()

	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var out []block
	var open string
	for i, line := range strings.Split(string(data), "\n") {
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(run) >= 3:
			open = run
			out = append(out, block{
				file: filepath.Base(file),
				line: i + 1,
				info: strings.TrimSpace(line[len(run):]),
			})
		case open != "" && line == open:
			open = ""
		case open != "":
			out[len(out)-1].text += line + "\n"
		}
	}

	return out
}

// pagesOf are the README and every page that a person reads, the generated ones aside.
func pagesOf(t *testing.T, root string) []string {
	t.Helper()
	out := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	for _, folder := range []string{"docs", "docs/guide"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// prints tells whether the lines of want stand in got, in this order; "…" in a line stands for any
// text, and a line "..." for any lines.
func prints(got, want string) (missing string) {
	words := func(line string) string {
		return strings.Join(strings.Fields(line), " ")
	}

	lines := strings.Split(got, "\n")
	for line := range strings.SplitSeq(want, "\n") {
		if line = words(line); line == "..." || line == "" {
			continue
		}

		re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$")
		at := slices.IndexFunc(lines, func(l string) bool {
			return re.MatchString(words(l))
		})

		if at < 0 {
			return line
		}

		lines = lines[at+1:]
	}
	return ""
}

// agreeing is the program of this name: it runs another one on a terminal, as a person who answers
// its question with y.
func agreeing() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Env = append(
		os.Environ(),
		"TERM=xterm", "NO_COLOR=1", "LANG=C.UTF-8", "CI=", "TERCET_NO_INPUT=",
	)

	tty, err := pty.Start(cmd)
	if err != nil {
		panic(err)
	}

	shown := ""
	buf := make([]byte, 1<<12)
	for err == nil { // at the end of the program the terminal is gone
		var n int
		n, err = tty.Read(buf)
		os.Stdout.WriteString(strings.ReplaceAll(string(buf[:n]), "\r", ""))
		if shown += string(buf[:n]); strings.HasSuffix(shown, "[y/N] ") {
			tty.WriteString("y")
		}
	}

	cmd.Wait() // the exit code is passed on
	os.Exit(cmd.ProcessState.ExitCode())
}

// answeringIn gives a folder with a tercet that asks a person where a page has you type
// 'tercet trust'.
func answeringIn(t *testing.T) string {
	t.Helper()

	real := tercetIn(t)
	bin := t.TempDir()

	script := "#!/bin/sh\n" +
		"[ \"$*\" != trust ] || exec " + bin + "/agreeing " + real + "/tercet trust\n" +
		"exec " + real + "/tercet \"$@\"\n"

	self, err := os.Executable()
	err = errors.Join(
		err,
		os.Symlink(self, filepath.Join(bin, "agreeing")),
		testkit.WriteProgram(filepath.Join(bin, "tercet"), script),
	)
	if err != nil {
		t.Fatal(err)
	}

	return bin
}

// TestDocsRun runs every sh block of the README, of docs and of the guide, in order, as one person
// would type them: a block begins in the folder in which the one before it ended. A block "output"
// is what the block before it prints; every other block says by its word that it is not a command.
func TestDocsRun(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	bin := answeringIn(t)
	for _, file := range pagesOf(t, root) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()

			if filepath.Base(file) != "README.md" {
				testkit.OnlyDeep(t, "runs the program for each block")
			}

			dir := t.TempDir()
			home := t.TempDir()
			ended := filepath.Join(t.TempDir(), "ended")
			printed := ""
			for _, b := range blocks(t, file) {
				if b.info == "output" {
					if line := prints(printed, b.text); line != "" {
						t.Errorf(
							"%s:%d: the block before does not print %q behind what stands above "+
								"it:\n%s",
							b.file, b.line, line, printed,
						)
					}
					continue
				}

				if b.info != "sh" {
					if !slices.Contains(
						[]string{
							"text", "markdown", "policy", "json", "yaml", "yaml step", "yaml args",
							"yaml defaults", "go", "jq",
						},
						b.info,
					) {
						t.Errorf(
							"%s:%d: a fence says sh, text or the language of what it shows, got %q",
							b.file, b.line, b.info,
						)
					}
					continue
				}

				in := dir
				if strings.Contains(b.text, "go run ./cmd/tercet") {
					in = root
				}

				cmd := exec.Command("sh", "-eu", "-c", "trap 'pwd >\"$DOCS_ENDED\"' EXIT\n"+b.text)
				cmd.Dir = in
				cmd.Env = append(
					os.Environ(),
					"PATH="+bin+":"+os.Getenv("PATH"),
					"HOME="+home,
					"XDG_STATE_HOME=",
					"GOCACHE="+goEnv("GOCACHE"),
					"GOMODCACHE="+goEnv("GOMODCACHE"),
					"GIT_CONFIG_NOSYSTEM=1",
					"GIT_AUTHOR_NAME=you",
					"GIT_AUTHOR_EMAIL=you@localhost",
					"GIT_COMMITTER_NAME=you",
					"GIT_COMMITTER_EMAIL=you@localhost",
					"TERCET_ROOT=",
					"TERCET_RUN=",
					"DOCS_ENDED="+ended,
				)

				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s:%d: %v\n%s\n%s", b.file, b.line, err, b.text, out)
				}

				if in == dir {
					folder, err := os.ReadFile(ended)
					if err != nil {
						t.Fatal(err)
					}
					dir = strings.TrimSpace(string(folder))
				}

				printed = string(out)
				t.Logf("%s:%d:\n%s", b.file, b.line, out)
			}
		})
	}
}

// TestReadmeNamesTheTestCommand: the README's second command is the one that .ci/run ends with.
func TestReadmeNamesTheTestCommand(t *testing.T) {
	t.Parallel()
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(strings.TrimSpace(string(ci)), "\n")
	want := lines[len(lines)-1]

	for _, b := range blocks(t, "../../README.md") {
		if strings.TrimSpace(b.text) == want {
			return
		}
	}

	t.Errorf("README has no block %q, with which .ci/run ends", want)
}

// TestDocLinks: every link of a document leads to a file that is there, and to a heading of it.
func TestDocLinks(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	pages := append(pagesOf(t, root), filepath.Join(root, "CHANGELOG.md"))
	generated, err := filepath.Glob(filepath.Join(root, "docs", "reference", "*.md"))
	if err != nil {
		t.Fatal(err)
	}

	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced := regexp.MustCompile("(?ms)^(`{3,}).*?^`{3,}$|`[^`\n]+`")

	for _, page := range append(pages, generated...) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(
			fenced.ReplaceAllString(string(data), ""),
			-1,
		) {
			if strings.Contains(m[1], "://") {
				continue
			}

			name, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if name != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(name))
			}

			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", filepath.Base(page), m[1])
			} else if anchor != "" && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s: %s has no heading for the link %s",
					filepath.Base(page), filepath.Base(to), m[1])
			}
		}
	}
}

// anchors are the names that the headings of a page have, as the hosts of code make them.
func anchors(t *testing.T, page string) (out []string) {
	t.Helper()

	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.SplitSeq(string(data), "\n") {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			out = append(out, strings.ReplaceAll(
				dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""),
				" ",
				"-",
			))
		}
	}

	return out
}

// TestContributing: each file that a walk of CONTRIBUTING.md names is there.
func TestContributing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}

	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(rows) < 20 {
		t.Errorf("CONTRIBUTING.md names %d files, want at least 20", len(rows))
	}

	for _, row := range rows {
		if _, err := os.Stat("../../" + row[1]); err != nil {
			t.Error(err)
		}
	}
}
