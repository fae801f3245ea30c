package meta_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
)

func translating(file string) formats.Request {
	return formats.Request{
		Agent: "meta-builder",
		Input: map[string]any{"action": "draft", "from": file},
	}
}

// TestTranslates: one step a number, arguments kept, and what is lost stands beside its step and is
// told.
func TestTranslates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, src string
		want            []string // of the command, in order
		not             string
		warned          []string
	}{
		{
			"claude", ".claude/commands/git/fix-it.md",
			"---\ndescription: Fix it\nmodel: opus\nodd: 1\n---\n" +
				"Fix $ARGUMENTS, see @README.md.\n\n1. **Read `$1`.** All of it.\n   1. nested\n" +
				"\n   ```sh\n   2. code\n   ```\n" +
				"2. Find:\n   !`git log`\n3. Ask the user whether $2 is good\n" +
				"4. Write ${{ it }}\n\n## Notes\n\nKeep it small.\n",
			[]string{
				"command: fix-it",
				"description: Fix it",
				"{name: word_1,",
				"{name: word_2,",
				"{name: rest, type: text",
				"### Step 1: Read 1\n",
				"# from .claude/commands/git/fix-it.md:8\n",
				"# .claude/commands/git/fix-it.md:6: not translated: the content of a file: ",
				"model opus",
				`**Read ` + "`${{ $args.word_1 // \"\" }}`" + `.** All of it.`,
				"   1. nested",
				"   2. code",
				"What holds for all steps:",
				"Fix ${{ $args._raw }}, see",
				"Keep it small.",
				"### Step 2: Find\n",
				"md:15: not translated: the output of a command:",
				`${{ "\u0021" }}` + "`git log`",
				"What the step before has said:",
				"$steps.step_1 |",
				"### Step 3:",
				"gate: >-\n    Ask the user whether ${{ $args.word_2 // \"\" }} is good\nchoices:",
				"### Step 4: Write it\n",
				`Write ${{ "\u0024" }}{{ it }}`,
				"$steps.step_2 |",
				"### Step 5: Return",
			},
			"### Step 6",
			[]string{
				":6: not translated: the content of a file: @README.md",
				":15: not translated: the output of a command: !`git log`", "model opus",
				`"odd" means nothing`,
			},
		},
		{
			"headings",
			"prompts/ship.md",
			"# Ship\n\n## Step 1: Build\n\n1. make\n2. test\n\n## Step 2: Push\n\nGo.\n",
			[]string{
				"command: ship", "### Step 1: Build", "1. make", "2. test", "### Step 2: Push",
				"Go.",
			},
			"### Step 4",
			nil,
		},
		{
			"gemini",
			".gemini/commands/tidy.toml",
			"description = \"Tidy up\"\nprompt = \"\"\"\n1. Look at {{args}}\n2. Tidy !{ls}\n" +
				"\"\"\"\n",
			[]string{
				"description: Tidy up", "{name: arguments, type: text", ".toml:3",
				"${{ $args._raw }}", ".toml:4: not translated: the output of a command",
			},
			"### Step 4",
			[]string{"tidy.toml:4: not translated"},
		},
		{
			"codex", ".codex/prompts/land.md", "1) Land $BRANCH and $HELP\n2) Say $$5\n",
			[]string{
				"command: land", "{name: branch, type: string, flag: true}",
				"{name: the_help, type: string, flag: true}", "${{ $args.branch",
			},
			"### Step 4", nil,
		},
		{
			"broken frontmatter",
			".claude/commands/a.md",
			"---\ndescription: 'x\nmodel: [y\n---\n1. Do\n",
			[]string{"### Step 1: Do", "a.md:5"},
			"",
			[]string{".claude/commands/a.md:"},
		},
		{
			"open frontmatter",
			".claude/commands/a.md",
			"---\ndescription: x\n\n1. Do\n",
			[]string{"### Step 1: Do", "a.md:4"},
			"",
			[]string{".claude/commands/a.md:1"},
		},
		{
			"hint",
			".claude/commands/a.md",
			"---\nargument-hint: '[x]'\n---\n1. Do",
			[]string{"{name: arguments, type: text", "Arguments: ${{ $args._raw }}"},
			"",
			nil,
		},
		{
			"skill",
			".claude/skills/good-one/SKILL.md",
			"---\nname: good-one\ndescription: d\n---\n1. Do\r\n2. More\r\n",
			[]string{"command: good-one", "SKILL.md:5", "### Step 2: More"},
			"",
			nil,
		},
		{
			"strange characters",
			".claude/commands/a.md",
			"1. a\u202eb\u2028c\td\n2. ---\n---\n# x\ncommand: b\n",
			[]string{"### Step 1: ab c d\n", "    abc    d\n", "### Step 2: ---"},
			"\u202e",
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			real(t, b)
			b.put(t, tt.file, tt.src)
			ret := b.run(t, translating(tt.file))
			files, _ := ret.Fields["files"].([]any)
			if ret.Status != formats.StatusCompleted || len(files) != 1 ||
				ret.Fields["fill"] != false {
				t.Fatalf("Run = %s %+v", ret.Status, ret.Errors)
			}
			src := files[0].(map[string]any)["text"].(string)
			rest := src
			for _, part := range tt.want {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("no %q behind the ones before, in\n%s", part, src)
				}
				rest = after
			}

			if tt.not != "" && strings.Contains(src, tt.not) {
				t.Errorf("%q is in\n%s", tt.not, src)
			}
			all := strings.Join(ret.Warnings, "\n")
			for _, part := range tt.warned {
				if !strings.Contains(all, part) {
					t.Errorf("warnings have no %q:\n%s", part, all)
				}
			}

			left, _ := ret.Fields["left"].([]any)
			if lost := strings.Contains(all, "not translated"); lost != (len(left) == 1) {
				t.Errorf("left = %v, want a task if anything was lost", left)
			}
		})
	}
}

func TestTranslateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, src string
		code            formats.Code
		want            string
	}{
		{
			"no steps", ".claude/commands/a.md", "Just do it.\n\n- x\n",
			formats.CodeValidationFailed,
			"expected numbered steps such as '1. Read the issue' in .claude/commands/a.md, " +
				"got none",
		},
		{
			"steps in code", ".claude/commands/a.md", "```\n1. x\n```\n",
			formats.CodeValidationFailed, "got none",
		},
		{
			"does not begin with 1", ".claude/commands/a.md", "3. x\n4. y\n",
			formats.CodeValidationFailed, "got none",
		},
		{"empty", ".claude/commands/a.md", "", "", "file has no text"},
		{"broken TOML", ".gemini/commands/a.toml", "prompt = \"1. x\n", "", "a.toml:1"},
		{"nothing there", ".claude/commands/b.md", "", formats.CodeIO, ".claude/commands/b.md"},
		{"outside", "../a.md", "", "", "../a.md"},
		{
			"a folder", ".claude/commands", "", formats.CodeValidationFailed,
			"expected a file as --from, got .claude/commands",
		},
		{"a link that leads out", "out.md", "", "", "out.md"},
		{
			"its own", ".tercet/commands/old.md", "", formats.CodePrecondition,
			"is a file of tercet already",
		},
		{
			"taken", ".claude/commands/old.md", "1. Do\n", formats.CodePrecondition,
			".tercet/commands/old.md exists and is not overwritten",
		},
		{"bytes", ".claude/commands/a.md", "1. a\x00b\n", "", "a.md:1"},
		{"huge", ".claude/commands/a.md", "1. x\n" + strings.Repeat("y ", 200_000), "", "262144"},
		{
			"too much for each",
			".claude/commands/a.md",
			strings.Repeat("z ", 60_000) + "\n\n1. a\n2. b\n3. c\n",
			formats.CodeValidationFailed,
			"expected a prompt whose steps fit into 262144 bytes, got more",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			real(t, b)
			b.put(t, ".tercet/commands/old.md", "1. old\n")
			if tt.src != "" || tt.name == "empty" {
				b.put(t, tt.file, tt.src)
			} else if tt.name != "nothing there" {
				b.put(t, ".claude/commands/x.md", "1. x\n")
			}
			if err := os.Symlink("/etc/passwd", filepath.Join(b.dir, "out.md")); err != nil {
				t.Fatal(err)
			}
			before := b.files(t)
			ret := b.run(t, translating(tt.file))
			if ret.Status != formats.StatusFailed || len(ret.Errors) == 0 {
				t.Fatalf("Run = %s %q, want failed", ret.Status, ret.Text)
			}
			e := ret.Errors[0]
			if tt.code != "" && e.Code != tt.code || !strings.Contains(e.Message, tt.want) ||
				e.Code == formats.CodeBug {
				t.Errorf("error = %+v, want %s with %q", e, tt.code, tt.want)
			}
			if after := b.files(t); len(after) != len(before) {
				t.Errorf("files = %v, want %v", after, before)
			}
		})
	}

	t.Run("a link inside, and a step of 100 KB", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		real(t, b)
		b.put(t, ".claude/commands/a.md", "1. Do\n\n"+strings.Repeat("word ", 20_000)+"\n")
		if err := os.Symlink("a.md", filepath.Join(b.dir, ".claude/commands/b.md")); err != nil {
			t.Fatal(err)
		}
		ret := b.run(t, translating(".claude/commands/b.md"))
		if ret.Status != formats.StatusCompleted {
			t.Errorf("Run = %s %+v, want completed", ret.Status, ret.Errors)
		}
	})
}

// FuzzTranslate: whatever a prompt says, a draft of it compiles, or the prompt is refused; it is
// never a defect.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{
		"Do ${{ $x }}", "\n  - a\n```\n", "---", "$ARGUMENTS $1 @x !`ls` {{args}}", "\"a\\(1)\"",
		"# b\n2. c", "\t|", "<!-- x", "\u0085\u2028\ufeff", "Ask me $1 \\(2)\\n",
		"''' ~~~yaml step",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, title, text string) {
		b := newBench(t)
		real(t, b)
		b.put(
			t,
			".claude/commands/a.md",
			text+"\n\n1. "+title+"\n   "+text+"\n2. Ask me "+title+"\n\n## "+text+"\n",
		)
		ret, err := b.Run(t.Context(), translating(".claude/commands/a.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range ret.Errors {
			if e.Code == formats.CodeBug {
				t.Fatalf("%s\n%s", e.Message, b.linted)
			}
		}
	})
}
