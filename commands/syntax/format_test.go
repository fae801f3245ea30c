package syntax_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/commands/syntax"
	"tercet/internal/md"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"as it is": {"id: plan\ndelegate: planner\nwith: {task: $task}\n", ""},
		"spaces": {
			"id:   plan   \nwith:   { task:   $task ,list: [ a,b ] }\n",
			"id: plan\nwith: {task: $task, list: [a, b]}\n",
		},
		"indentation": {
			"with:\n    task: $task\n    deep:\n         - one\n         - two: 2\n" +
				"           three: 3\n",
			"with:\n  task: $task\n  deep:\n    - one\n    - two: 2\n      three: 3\n",
		},
		"list at key": {"examples:\n- one\n- two\n", "examples:\n  - one\n  - two\n"},
		"quotes stay": {"when: '$a == \"b\"'\nmessage: \"a\\tb\"\n", ""},
		"comments stay": {
			"# before\nid: a # behind\n\n\n# second\nwith:  {x: 1}   # third\n",
			"# before\nid: a # behind\n\n# second\nwith:  {x: 1}   # third\n",
		},
		"hash in text": {"when:  $a == \"#1\"\nurl:  a#b\n", "when: $a == \"#1\"\nurl: a#b\n"},
		"block scalar": {
			"prompt: |\n     one\n       two\n\n     three\nid: a\n",
			"prompt: |\n  one\n    two\n\n  three\nid: a\n",
		},
		"kept newlines": {"prompt: |+\n  one\n\nid: a\n", ""},
		"folded plain":  {"message: one\n  two\nid:  a\n", "message: one\n  two\nid: a\n"},
		"too long": {
			"with: {a: " + strings.Repeat("x", 90) + ", b: " + strings.Repeat("y", 90) + "}\n",
			"with:\n  a: " + strings.Repeat("x", 90) + "\n  b: " + strings.Repeat("y", 90) + "\n",
		},
		"empty":       {"with: { }\nlist: [ ]\nabsent:\n", "with: {}\nlist: []\nabsent:\n"},
		"unreadable":  {"a: [b\n", ""},
		"a flow map":  {"{a:  b}\n", ""},
		"blank edges": {"\n\nid: a\n\n\n", "id: a\n"},
	} {
		want := tc.want
		if want == "" {
			want = tc.in
		}
		frame := func(body string) string {
			return "---\n" + body + "---\n\n  odd   prose\t\n\n```yaml step\n" + body + "```\nlast"
		}
		diff := cmp.Diff(frame(want), string(syntax.FormatText([]byte(frame(tc.in)))))
		if diff != "" {
			t.Errorf("%s: Format (-want +got):\n%s", name, diff)
		}
	}
}

// TestFormatKeeps: line ends, a byte order mark, fences that are no blocks and blocks outside the
// margin stay.
func TestFormatKeeps(t *testing.T) {
	t.Parallel()
	src := "\ufeff---\r\ncommand:  x\r\n---\r\nprose \t\r\n```yaml\r\na:   b\r\n```\r\n\n" +
		"- ```yaml step\n  a:   b\n  ```\n\n```yaml step\r\na:   b\r\n```\r\n"
	want := "\ufeff---\r\ncommand: x\r\n---\r\nprose \t\r\n```yaml\r\na:   b\r\n```\r\n\n" +
		"- ```yaml step\n  a:   b\n  ```\n\n```yaml step\r\na: b\r\n```\r\n"
	if diff := cmp.Diff(want, string(syntax.FormatText([]byte(src)))); diff != "" {
		t.Errorf("Format (-want +got):\n%s", diff)
	}
}

// commandFiles gives the seeds: the shipped commands and the test files.
func commandFiles(tb testing.TB) map[string][]byte {
	tb.Helper()
	out := map[string][]byte{}
	for _, dir := range []string{"../library", "testdata", "../compile/testdata"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") {
				return err
			}
			src, err := os.ReadFile(name)
			out[name] = src
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// TestFormatShipped: the shipped commands have the form already.
func TestFormatShipped(t *testing.T) {
	t.Parallel()
	for name, src := range commandFiles(t) {
		if !strings.HasPrefix(name, "../library") {
			continue
		}
		if diff := cmp.Diff(string(src), string(syntax.FormatText(src))); diff != "" {
			t.Errorf("%s: Format (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzParseFormat: what was formatted is read as before, and formatting it again changes nothing;
// no text makes it panic.
func FuzzParseFormat(f *testing.F) {
	for _, src := range commandFiles(f) {
		f.Add(src)
	}
	f.Add([]byte(
		"---\ncommand: x\ndescription: y\n---\n## Workflow Execution\n### Step 1: A\n" +
			"```yaml step\nreturn:   {message:  a, fields: { b:  [ 1,2 ] }}\n# c\nprompt: |\n" +
			"    x\n```\n",
	))
	f.Fuzz(func(t *testing.T, src []byte) {
		once := syntax.FormatText(src)
		if twice := syntax.FormatText(once); string(twice) != string(once) {
			t.Fatalf("formatted again it is other text:\n%q\n%q", once, twice)
		}
		before, err := syntax.Parse("x.md", src)
		after, again := syntax.Parse("x.md", once)
		if (err == nil) != (again == nil) {
			t.Fatalf("Parse = %v, of the formatted text %v", err, again)
		}
		same := cmp.Options{
			cmpopts.IgnoreTypes(syntax.Pos{}),
			cmpopts.IgnoreUnexported(syntax.Expr{}),
			cmpopts.IgnoreFields(syntax.File{}, "Src", "Prose", "Found"),
			cmp.Comparer(func(a, b *md.Node) bool {
				return cmp.Equal(a.Any(), b.Any())
			}),
		}
		if err == nil && !cmp.Equal(before, after, same) {
			t.Fatalf("formatted it says something else:\n%s\n%s", src, once)
		}
	})
}
