package shims_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/testkit"
	"tercet/subagents"
	"tercet/templates/shims"
)

func writer(t *testing.T) (shims.Writer, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return shims.Writer{Root: root, Word: func() string { return "ABC123" }}, dir
}

var plan = formats.CommandInfo{
	Name:        "plan",
	Description: `Say "yes": it's <a> 'plan' #1`,
	Usage:       "/plan <task> [how: \"x\"]",
}

func apply(t *testing.T, w shims.Writer, tool string, list ...formats.CommandInfo) []shims.Change {
	t.Helper()
	changes, err := w.Plan(tool, list)
	if err == nil {
		err = w.Apply(changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// TestFilesAreTheirTools: each tool's own rules read the file without a finding, with the
// description as it is, and nothing in it is run or read by the tool itself.
func TestFilesAreTheirTools(t *testing.T) {
	t.Parallel()
	for _, tool := range shims.Tools() {
		if tool == shims.Plugin {
			continue // a folder of its own, which 'claude plugin validate' checks
		}
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			w, dir := writer(t)
			for _, c := range apply(t, w, tool, plan) {
				data, err := os.ReadFile(filepath.Join(dir, c.File))
				if err != nil {
					t.Fatal(err)
				}
				place, inside, ok := dialect.PlaceOf(c.File)
				if !ok {
					t.Fatalf("%s lies in no place of a tool", c.File)
				}
				cmd, err := dialect.Parse(place, inside, data)
				if err != nil {
					t.Fatalf("%s: %v", c.File, err)
				}
				for _, d := range cmd.Warnings {
					t.Errorf("%s", d.Error())
				}
				if strings.HasSuffix(c.File, shims.Skill+"/SKILL.md") {
					continue
				}
				if cmd.Description != plan.Description || len(cmd.Marks()) > 0 {
					t.Errorf("%s is described as %q, with the marks %v",
						c.File, cmd.Description, cmd.Marks())
				}
				if is, intact := dialect.Exported(data); !is || !intact {
					t.Errorf("%s is exported: %v, as it was: %v", c.File, is, intact)
				}
			}

			for _, c := range apply(t, w, tool) {
				_, err := os.Stat(filepath.Join(dir, c.File))
				if c.Did != shims.Removed || err == nil {
					t.Errorf("%s is %s, want it removed", c.File, c.Did)
				}
			}
		})
	}
}

// TestArgumentsAreText: whatever a tool puts in place of the arguments, sh hands it to tercet as it
// is and runs none of it.
func TestArgumentsAreText(t *testing.T) {
	t.Parallel()
	w, dir := writer(t)
	apply(t, w, "claude", plan)
	data, err := os.ReadFile(filepath.Join(dir, ".claude/commands/plan.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(string(data))
	if script == nil {
		t.Fatalf("no command in %s", data)
	}
	fake := "#!/bin/sh\nprintf '%s\\n' \"$*\" >args\ncat >line\n"
	if err := testkit.WriteProgram(filepath.Join(dir, "tercet"), fake); err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{
		"1",
		"",
		"1; touch owned",
		"$(touch owned)",
		"`touch owned`",
		"' ; touch owned ; '",
		"\" && touch owned #",
		"a\nEOF\ntouch owned",
		"a\nTERCET_ABC\ntouch owned",
		"\\\ntouch owned",
		"$HOME ${PATH}",
		"<<'X'",
		"--flag -- *",
		"a\x00b"[:1],
		"日本語 \u202e",
	} {
		sh := exec.CommandContext(
			t.Context(), "sh", "-c",
			strings.ReplaceAll(script[1], "$ARGUMENTS", typed),
		)
		sh.Dir = dir
		sh.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		out, err := sh.CombinedOutput()
		line, _ := os.ReadFile(filepath.Join(dir, "line"))
		args, _ := os.ReadFile(filepath.Join(dir, "args"))
		if err != nil || string(line) != "/plan "+typed+"\n" ||
			string(args) != "--json start --await-answers -\n" {
			t.Errorf("typed %q, tercet got %q by %q: %v %s", typed, line, args, err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
			t.Fatalf("typed %q, and sh ran a part of it", typed)
		}
	}
}

// TestAllOrNone: where one file cannot be written, those before it are as they were.
func TestAllOrNone(t *testing.T) {
	t.Parallel()
	w, dir := writer(t)
	apply(t, w, "claude", plan)
	changed := plan
	changed.Description = "Another one"
	changes, err := w.Plan("claude", []formats.CommandInfo{
		changed,
		{Name: "aaa:new"},
		{Name: "zz:last"},
	})
	if err != nil {
		t.Fatal(err)
	}
	// a file where a folder is needed
	if err := os.WriteFile(filepath.Join(dir, ".claude/commands/zz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, ".claude/commands/plan.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = w.Apply(changes)
	after, rerr := os.ReadFile(filepath.Join(dir, ".claude/commands/plan.md"))
	_, gone := os.Stat(filepath.Join(dir, ".claude/commands/aaa/new.md"))
	if err == nil || rerr != nil || string(before) != string(after) ||
		!errors.Is(gone, os.ErrNotExist) {
		t.Errorf("Apply = %v; plan.md changed: %v, the new file is there: %v",
			err, string(before) != string(after), gone == nil)
	}
}

// TestSkillIsRight: the command that the skill shows compiles.
func TestSkillIsRight(t *testing.T) {
	t.Parallel()
	w, dir := writer(t)
	apply(t, w, "claude", plan)
	data, err := os.ReadFile(filepath.Join(dir, ".claude/skills", shims.Skill, "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)````markdown\n(.*?)````").FindStringSubmatch(string(data))
	if shown == nil {
		t.Fatal("no command in the skill")
	}
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		t.Fatal(err)
	}

	prog, err := compile.Compile(syntax.Read(".tercet/commands/triage.md", []byte(shown[1])), set)
	if err != nil || len(prog.Warnings) > 0 {
		t.Errorf("the command of the skill: %v %v", err, prog)
	}
}

// FuzzExported: a sealed file is intact, a changed one is not, and no bytes stop the reader.
func FuzzExported(f *testing.F) {
	f.Add("---\n"+dialect.ExportMark("claude")+"description: x\n---\nText", "more")
	f.Add("# Written by 'tercet export --for x'; sha256:00\n", "")
	f.Add("no mark", "x")
	f.Fuzz(func(t *testing.T, text, more string) {
		sealed := dialect.Seal(text)
		is, intact := dialect.Exported(sealed)
		if was, _ := dialect.Exported([]byte(text)); is != was || is && !intact {
			t.Errorf("sealed %q: exported %v, as it was %v", text, is, intact)
		}
		if _, still := dialect.Exported(append(sealed, more...)); is && more != "" && still {
			t.Errorf("%q with %q behind it is as it was", text, more)
		}
	})
}
