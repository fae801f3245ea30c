//go:build linux || darwin

package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/phrase"
	"tercet/project"
)

// TestEveryLabelHasItsJapanese: each label of a gate in the flows has one, no two of a gate the
// same, but for the names of tiers, which are not translated.
func TestEveryLabelHasItsJapanese(t *testing.T) {
	t.Parallel()
	if word := phrase.In(phrase.Japanese, formats.OtherAnswer); word == formats.OtherAnswer {
		t.Errorf("label %q has no Japanese", word)
	}
	tiers := []string{"Minimal", "Light", "Standard", "Full"}
	seen := map[string]string{}
	files, err := filepath.Glob("../../templates/packs/flows/commands/*.md")
	if err != nil || len(files) < 6 {
		t.Fatalf("flows: %q, %v", files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, _ := syntax.Parse(name, src)
		syntax.Walk(file, func(node any) bool {
			if g, ok := node.(*syntax.Gate); ok {
				own := map[string]string{}
				for _, ch := range g.Choices {
					word := phrase.In(phrase.Japanese, ch.Label.Text)
					if other := own[word]; other != "" {
						t.Errorf("%s: %q and %q are both %q", name, other, ch.Label.Text, word)
					}
					own[word] = ch.Label.Text
					if word == ch.Label.Text && !slices.Contains(tiers, word) {
						t.Errorf("%s:%d: label %q has no Japanese", name, ch.Label.Pos.Line, word)
					}
				}
				maps.Copy(seen, own)
			}
			return true
		})
	}

	if len(seen) < 30 {
		t.Errorf("only %d labels were looked at: %q", len(seen), seen)
	}
}

// TestEveryTitleHasItsJapanese: each step of a shipped command has a title in Japanese, and no
// other title of that command is the same.
func TestEveryTitleHasItsJapanese(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("../../commands/library/*.md")
	if err != nil || len(files) < 8 {
		t.Fatalf("commands: %q, %v", files, err)
	}

	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		file, _ := syntax.Parse(name, src)
		own := map[string]string{}

		syntax.Walk(file, func(node any) bool {
			s, ok := node.(*syntax.Step)
			if !ok || s.Title == "" || s.Title == strings.ToLower(s.Title) {
				return true // the name of a child is no title
			}

			title := phrase.Title(phrase.Japanese, s.Title)
			if title == s.Title {
				t.Errorf("%s:%d: title %q has no Japanese", name, s.Pos.Line, title)
			}
			if other := own[title]; other != "" && other != s.Title {
				t.Errorf("%s: %q and %q are both %q", name, other, s.Title, title)
			}
			own[title] = s.Title
			return true
		})
	}
}

// TestAnswersInBothLanguages: a number, a beginning, an English and a Japanese label answer, each
// with a note behind its colon; a beginning of two labels does not. The journal has the English
// labels.
func TestAnswersInBothLanguages(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	src := "---\ncommand: ask\ndescription: ask\ntiers: [Light, Full]\n---\n\n" +
		"## Argument Parsing\n\n```yaml args\nload: {tier: '\"Light\"', notes: '[]'}\n```\n\n" +
		"## Workflow Execution\n\n### Step 1: Keep the note\n\n```yaml step\nid: draft\n" +
		"set: {notes: '$notes + [$feedback.note // empty]'}\n```\n\n" +
		"### Step 2: Ask\n\n```yaml step\nid: ask\ngate: Fine?\n" +
		"choices: {Approve and continue: next, Request modification: {redo: [draft], note: " +
		"true}, Approve despite findings: next, Abort: fail}\nauto: Approve and continue\n```\n\n" +
		"### Step 3: Say\n\n```yaml step\n" +
		"return: \"${{ $steps.ask.choice }} after ${{ $notes | join(\\\", \\\") }}\"\n```\n"
	if err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "ask.md"),
		[]byte(src),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	s := onTerminalWith(
		t, dir,
		[]string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", "TERCET_LANGUAGE=ja"},
		"/ask",
	)
	s.wait("確認事項があります")
	for _, line := range []string{
		"approve", "2", "2: longer", "Request modification: shorter", "req: plainer", "修正を指示：短く",
	} {
		s.wait("[1] 承認して続行 (推奨)  [2] 修正を指示  [3] 指摘を承知の上で承認  [4] 中断  [?] ")
		s.keys(line + "\r")
		switch line {
		case "approve":
			s.wait(`expected one of the choices, got "approve"`)
		case "2":
			s.wait("'修正を指示' needs a note")
		}
	}

	s.wait("[?] ")
	s.keys("承認して続行\r")
	s.wait("Approve and continue after longer, shorter, plainer, 短く")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	files, err := filepath.Glob(filepath.Join(dir, formats.Workspace, "runs", "*", "journal.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("journals: %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	n := strings.Count(string(data), `"choice":"Request modification"`)
	if err != nil || n < 4 || strings.Contains(string(data), "修正") {
		t.Errorf("%d times Request modification, %v, in\n%s", n, err, data)
	}
}

// TestLanguageChangesNoJournal: a run of a flow shows the fixed texts of its language and none of
// the other, and comes to the same journal.
func TestLanguageChangesNoJournal(t *testing.T) {
	t.Parallel()
	src := strings.Replace(
		readIn(t, os.DirFS(flows+"/tests"), "discovery-standard.json"),
		`"yes": true,`,
		`"language": "en", "yes": true,`,
		1,
	)
	shown := map[string]string{}
	journals := map[string]string{}
	volatile := regexp.MustCompile(
		`\b[0-9a-f]{12,}\b|\b[rg][0-9a-z]{9,}\b|\b[A-Z2-7]{26}\b|sess_\w+|` +
			`"[^"]*[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*"|"[a-z_]*seconds":[0-9.]+|` +
			`[^"]*tercet-test-[^"]*`,
	)
	for _, language := range []string{phrase.English, phrase.Japanese} {
		app := newApp(stdio{
			in:  strings.NewReader(""),
			out: io.Discard,
			err: io.Discard,
		}, func(name string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "LANG": "C.UTF-8"}[name]
		})
		tester := app.tester(func(to *os.Root, _ string) error {
			return os.CopyFS(filepath.Join(
				to.Name(),
				formats.Workspace,
			), onlyFolders{os.DirFS(flows)})
		})
		tester.Run = func(ctx context.Context, line project.TestLine) (formats.Return, int) {
			var text bytes.Buffer
			line.Shown = io.MultiWriter(line.Shown, &text)
			ret, code := app.runTestLine(ctx, line)
			shown[language] = text.String()
			journals[language] = volatile.ReplaceAllString(journalsOf(t, line.Dir), "X")
			return ret, code
		}
		read := func(string) ([]byte, error) {
			return []byte(strings.Replace(src, `"en"`, `"`+language+`"`, 1)), nil
		}
		report, err := tester.Test(t.Context(), []string{"flow.json"}, read)
		if err != nil || report.Passed != 1 {
			t.Fatalf("in %s: %+v, %v", language, report.Tests, err)
		}
	}

	for _, want := range []string{
		"> Phase 1/5: interviewer", "Phase 5 完了: scope-planner",
		"生成された成果物: docs/INTERVIEW_RESULT.md", "内容サマリー: success by interviewer",
		"Standard で調査しますか？ 承認して開始 (--yes)",
	} {
		if !strings.Contains(shown["ja"], want) {
			t.Errorf("in Japanese it shows no %q:\n%s", want, shown["ja"])
		}
	}

	for en, ja := range phrase.All() {
		begins := func(text string) string {
			text, _, _ = strings.Cut(text, "{")
			return text
		}
		if len(begins(en)) > len("Phase ") && strings.Contains(shown["ja"], begins(en)) {
			t.Errorf("in Japanese it shows %q:\n%s", en, shown["ja"])
		}
		if len(begins(ja)) > len("Phase ") && strings.Contains(shown["en"], begins(ja)) {
			t.Errorf("in English it shows %q:\n%s", ja, shown["en"])
		}
	}

	if diff := cmp.Diff(journals["en"], journals["ja"]); diff != "" || journals["en"] == "" {
		t.Errorf("the journals differ (-en +ja):\n%s", diff)
	}
}

// onlyFolders leaves out the files at the top of a pack, which no workspace has.
type onlyFolders struct{ fs.FS }

func (f onlyFolders) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool {
		return name == "." &&
			!slices.Contains([]string{"commands", "subagents", "facets"}, d.Name())
	}), err
}

// journalsOf are the records of all runs in a folder, a line each.
func journalsOf(t *testing.T, dir string) string {
	t.Helper()

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	runs, err := journal.Runs(root, false)
	if err != nil {
		t.Fatal(err)
	}

	var out strings.Builder
	for _, one := range runs {
		records, err := journal.Load(root, one.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range records {
			out.Write(record.Raw())
			out.WriteByte('\n')
		}
	}

	return out.String()
}
