package lint_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/lint"
	"tercet/formats"
	"tercet/internal/md"
	"tercet/subagents"
)

const command = "---\ncommand: hello\ndescription: say hello\n---\n\n## Workflow Execution\n\n" +
	"### Step 1: Say it\n\n" +
	"```yaml step\nid:   say\nreturn: {text: hello}\n```\n"

// library is one that compiles against the shipped subagents.
func library(t *testing.T) *commands.Library {
	t.Helper()
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		t.Fatal(err)
	}
	return &commands.Library{Env: struct{ compile.Env }{set}}
}

func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestKinds: the first key that only one kind has tells a subagent from a command.
func TestKinds(t *testing.T) {
	t.Parallel()
	lib := library(t)
	for text, want := range map[string]bool{
		command:                               false,
		"---\nname: a\nrole: planner\n---\n":  true,
		"---\nrole: planner\n---\n":           true,
		"---\ndescription: x\n---\nname: a\n": false,
		"":                                    false,
	} {
		if got := lint.Subagent([]byte(text)); got != want {
			t.Errorf("Subagent(%q) = %v, want %v", text, got, want)
		}
	}
	if !lint.Foreign(lib, "/p/.claude/commands/a.md") ||
		lint.Foreign(lib, "/p/.tercet/commands/a.md") {
		t.Error("Foreign does not tell the folders of other tools from one's own")
	}
}

// TestFile: each kind is checked by its own rules, strictly on demand.
func TestFile(t *testing.T) {
	t.Parallel()
	lib := library(t)
	for _, test := range []struct {
		name, text string
		strict     bool
		want       string // in the first finding; empty: there is none
	}{
		{"hello.md", command, true, ""},
		{"hello.md", strings.Replace(command, "return:", "retrun:", 1), false, "retrun"},
		{"a.md", "---\nname: a\ndescription: b\nrole: wizard\n---\n", false, "wizard"},
		{"/p/.claude/commands/a.md", "fix $1\n", false, ""},
	} {
		list := lint.File(lib, test.name, []byte(test.text), test.strict)
		if (len(list) > 0) != (test.want != "") ||
			test.want != "" && !strings.Contains(list[0].Message, test.want) {
			t.Errorf("File(%s, %q) = %v, want %q", test.name, test.text, list, test.want)
		}
	}
}

// TestFiles: of a folder those that hold commands and subagents are listed, and what cannot be read
// is a finding.
func TestFiles(t *testing.T) {
	t.Parallel()
	lib := library(t)
	dir := t.TempDir()
	for _, name := range []string{
		"a.md", "b.txt", ".tercet/commands/c.md", ".tercet/specs/d.md", ".gemini/commands/e.toml",
		"f.toml", ".claude/skills/s/SKILL.md", ".claude/skills/s/assets/t.md", ".claude/docs/g.md",
		".gemini/h.md", "README.md",
	} {
		put(t, dir, name, "x")
	}

	put(t, dir, "a.md", "---\ncommand: a\n---\n")
	if err := os.Symlink("nowhere", filepath.Join(dir, "loose.md")); err != nil {
		t.Fatal(err)
	}
	files, unread, err := lint.Files(lib, []string{dir})
	var got []string
	for _, f := range files {
		got = append(got, strings.TrimPrefix(f, dir+"/"))
	}

	want := []string{
		".claude/skills/s/SKILL.md", ".gemini/commands/e.toml", ".tercet/commands/c.md", "a.md",
	}
	if !slices.Equal(got, want) || err != nil {
		t.Errorf("Files = %q, %v, want %q", got, err, want)
	}
	if inside, _, err := lint.Files(lib, []string{dir + "/.claude"}); len(inside) != 1 ||
		err != nil {
		t.Errorf("Files of .claude = %q, %v, want its skill", inside, err)
	}
	if len(unread) != 1 || !strings.HasSuffix(unread[0].File, "loose.md") {
		t.Errorf("unread = %v, want the loose link", unread)
	}
	_, _, err = lint.Files(lib, []string{dir + "/gone"})
	if formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("Files of what is not there = %v, want USAGE", err)
	}
}

// TestEach: findings of all files come together; another error ends it.
func TestEach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := put(t, dir, "large.md", strings.Repeat("x", commands.MaxFile+1))
	small := put(t, dir, "small.md", "x")
	one := func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
		return src, []formats.Diagnostic{formats.AboutFile("E999", name, "odd", "")}, nil
	}
	all, err := lint.Each([]string{large, small}, one)
	if err != nil || len(all.List) != 2 || all.List[0].Code != md.CodeTooLarge ||
		all.List[1].Code != "E999" ||
		!bytes.Equal(all.Sources[small], []byte("x")) {
		t.Errorf("Each = %+v, %v, want a finding for each", all, err)
	}
	if _, err := lint.Each([]string{small, dir}, one); formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("Each of a folder = %v, want USAGE", err)
	}
}

// TestFormat: a text of standard input bears the name of its command, and one of another tool's
// form is told.
func TestFormat(t *testing.T) {
	t.Parallel()
	lib := library(t)
	out, err := lint.Format(lib, "-", []byte(command), false)
	if err != nil || !bytes.Contains(out, []byte("\nid: say\n")) {
		t.Errorf("Format = %s, %v, want one blank behind id", out, err)
	}
	again, err := lint.Format(lib, "-", out, true)
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("Format once more = %s, %v, want the same", again, err)
	}
	_, err = lint.Format(lib, "x.md", []byte("no front"), false)
	if !errors.As(err, new(*formats.Diagnostics)) {
		t.Errorf("Format of no command = %v, want findings", err)
	}
}

// TestRewrite: what somebody else wrote meanwhile is not lost, and a link stays one.
func TestRewrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := put(t, dir, "a.md", "was")
	link := filepath.Join(dir, "link.md")
	if err := os.Symlink("a.md", link); err != nil {
		t.Fatal(err)
	}
	if err := lint.Rewrite(link, []byte("was"), []byte("now")); err != nil {
		t.Fatal(err)
	}
	if err := lint.Rewrite(link, []byte("was"), []byte("later")); err == nil ||
		!strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("Rewrite over another text = %v, want it refused", err)
	}
	text, err := os.ReadFile(name)
	info, lerr := os.Lstat(link)
	if string(text) != "now" || err != nil || lerr != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the file holds %q, %v; the link is %v", text, err, info)
	}
}
