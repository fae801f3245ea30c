package checks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/checks"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func starter(t *testing.T, env []string, allow error) *proc.Starter {
	t.Helper()
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(_ context.Context, c proc.Command) error {
			if c.Purpose != proc.PurposeCheck {
				t.Errorf("Allow saw purpose %q, want %q", c.Purpose, proc.PurposeCheck)
			}
			return allow
		},
		Env:  env,
		Now:  time.Now,
		Temp: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tool is a check by a program of ours that prints what it is given.
func tool(script string) checks.Check {
	return checks.Check{
		Stack: "other",
		Kind:  checks.Test,
		Argv:  []string{"sh", "-c", script},
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		passed       bool
		exit         int
		want         string
	}{
		{"passed", "echo fine", true, 0, ""},
		{
			"passed with a warning",
			"echo 'a.c:3:1: warning: odd'; echo 'a.c:4:1: error: not really'", true, 0,
			"warning a.c:3: odd\n",
		},
		{
			"failed with a place", "echo \"$PWD/a.c:3: error: bad\" >&2; exit 2", false, 2,
			"error a.c:3: bad\n",
		},
		{
			"place outside", "echo '/etc/os-release.x:3: bad'; echo '../a.c:1: bad too'; exit 1",
			false, 1, "error :0: bad\nerror :0: bad too\n",
		},
		{"failed without a word", "exit 3", false, 3, "error :0: sh -c exit 3 ended with exit 3\n"},
		{
			"failed with words", "echo one; echo 'last line'; exit 1", false, 1,
			"error :0: sh -c echo one; echo 'last line'; exit 1 ended with exit 1: last line\n",
		},
		{
			"failed with a warning", "echo 'a.c:3: warning: odd'; exit 1", false, 1,
			"error :0: sh -c echo 'a.c:3: warning: odd'; exit 1 ended with exit 1: a.c:3: " +
				"warning: odd\nwarning a.c:3: odd\n",
		},
		{"killed", "kill -9 $$", false, -1, "error :0: sh -c kill -9 $$ was ended by SIGKILL\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, map[string]string{"a.c": "x\n"})
			got, err := checks.Run(t.Context(), starter(t, nil, nil), dir, tool(tt.script), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Passed != tt.passed || got.Exit != tt.exit || got.TimedOut || got.Dropped != 0 {
				t.Errorf("Run(%s) = %+v, want passed %v, exit %d",
					tt.script, got, tt.passed, tt.exit)
			}
			if d := cmp.Diff(tt.want, render(got.Issues)); d != "" {
				t.Errorf("Run(%s) (-want +got)\n%s", tt.script, d)
			}
		})
	}
}

func TestRunShortensOutput(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.c": ""})
	script := "printf 'first\\033[1m\\n'; i=0; while [ $i -lt 9000 ]; do echo 'é filling ☃'; " +
		"i=$((i+1)); done; echo last; i=0; while [ $i -lt 200 ]; do echo \"a.c:$((i+1)): bad\" " +
		">&2; i=$((i+1)); done; exit 1"
	got, err := checks.Run(t.Context(), starter(t, nil, nil), dir, tool(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Output) > checks.MaxOutput || !strings.HasPrefix(got.Output, "first\n") ||
		!strings.Contains(got.Output, "shortened") ||
		!strings.HasSuffix(got.Output, "a.c:200: bad\n") ||
		strings.ContainsRune(got.Output, '\ufffd') {
		t.Errorf("Run() = %d bytes of output, want head and tail in at most %d",
			len(got.Output), checks.MaxOutput)
	}
	if len(got.Issues) != checks.MaxIssues || got.Dropped != 100 {
		t.Errorf("Run() = %d issues and %d dropped, want %d and 100",
			len(got.Issues), got.Dropped, checks.MaxIssues)
	}
}

// TestTrimmedPaths runs the same packages in two folders, as worktrees have them, with paths that
// are cut: what the tool says of the first folder out of its cache is said of the files of the
// second.
func TestTrimmedPaths(t *testing.T) {
	t.Parallel()
	s := starter(t, append(os.Environ(), "GOFLAGS=-trimpath"), nil)
	if _, err := s.LookPath("go"); err != nil {
		t.Skip(err)
	}
	const wrong = "import \"fmt\"\n\nfunc P() { fmt.Printf(\"%d\", \"x\") }\n"
	files := map[string]string{
		"go.mod":      "module example.org/p\n\ngo 1.21\n",
		"p.go":        "package p\n\n" + wrong,
		"in/q/q.go":   "package q\n\n" + wrong,
		"r/r.go":      "package r\n\nfunc R() { panic(1) }\n",
		"r/r_test.go": "package r\n\nimport \"testing\"\n\nfunc TestR(t *testing.T) { R() }\n",
	}
	for _, folder := range []string{"first", "second"} {
		dir := project(t, files)
		for kind, want := range map[checks.Kind]string{
			checks.Lint: "error in/q/q.go:5: fmt.Printf format %d\n" +
				"error p.go:5: fmt.Printf format %d\n",
			checks.Test: "error r/r.go:3: TestR: panic: 1",
		} {
			c := checks.Check{
				Stack: checks.Go,
				Kind:  kind,
				Argv:  []string{"go", "vet", "./..."},
			}
			if kind == checks.Test {
				c.Argv = []string{"go", "test", "-vet=off", "./r"}
			}
			r, err := checks.Run(t.Context(), s, dir, c, nil)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(r.Issues, func(a, b formats.Issue) int {
				return strings.Compare(strings.Join(a.Files, ""), strings.Join(b.Files, ""))
			})
			got := render(r.Issues)
			if kind == checks.Lint && !begins(got, want) ||
				kind == checks.Test && !strings.HasPrefix(got, want) {
				t.Errorf("%s in the %s folder = %q, want %q\n%s", kind, folder, got, want, r.Output)
			}
		}
	}
}

func TestRunCannot(t *testing.T) {
	t.Parallel()
	dir := project(t, nil)
	reason := &formats.Failure{Code: formats.CodeUntrusted, Message: "no"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	shell := starter(t, os.Environ(), nil)
	tests := []struct {
		name string
		s    *proc.Starter
		dir  string
		c    checks.Check
		want formats.Code
	}{
		{
			"no program",
			starter(t, []string{"PATH=/nonexistent"}, nil),
			dir,
			checks.Check{Stack: checks.Go, Argv: []string{"go", "vet"}},
			formats.CodeToolUnavailable,
		},
		{"no leave", starter(t, nil, reason), dir, tool("true"), formats.CodeUntrusted},
		{
			"no folder",
			starter(t, nil, nil),
			filepath.Join(dir, "none"),
			tool("true"),
			formats.CodeIO,
		},
		{"no command", starter(t, nil, nil), dir, checks.Check{}, formats.CodeUsage},
		{"no program in a shell", shell, dir, tool("bun test"), formats.CodeToolUnavailable},
		{
			"no program behind make",
			shell,
			project(t, map[string]string{"Makefile": "check:\n\t@bun test\n"}),
			checks.Check{Stack: checks.Make, Argv: []string{"make", "check"}},
			formats.CodeToolUnavailable,
		},
		{
			"no leave for a program",
			shell,
			project(t, map[string]string{"t.sh": "exit 0\n"}),
			tool("./t.sh"),
			formats.CodeToolUnavailable,
		},
		{
			"no module",
			shell,
			dir,
			checks.Check{
				Stack: checks.Python,
				Argv:  []string{"python3", "-m", "no_such_module", "-q"},
			},
			formats.CodeToolUnavailable,
		},
	}
	for _, tt := range tests {
		_, err := checks.Run(t.Context(), tt.s, tt.dir, tt.c, nil)
		if got := formats.CodeOf(err); err == nil || got != tt.want {
			t.Errorf("Run(%s) = %v with code %s, want %s", tt.name, err, got, tt.want)
		}
	}

	if _, err := checks.Run(
		ended,
		starter(t, nil, nil),
		dir,
		tool("true"),
		nil,
	); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with an ended context = %v, want %v", err, context.Canceled)
	}
	_, err := checks.Run(t.Context(), tests[0].s, dir, tests[0].c, nil)
	if help := formats.HelpOf(err); !strings.Contains(help, "install go") {
		t.Errorf("HelpOf(Run without the program) = %q, want it to name the program", help)
	}
}

// TestRealTools runs the tools that are installed, on projects with one fault each, in the
// environment of the test, where their caches and toolchains are.
func TestRealTools(t *testing.T) {
	t.Parallel()
	const goTest = "package q\n\nimport \"testing\"\n\nfunc TestQ(t *testing.T) {\n" +
		"\tt.Errorf(\"Q() = %d, want %d\", 1, 2)\n}\n"
	tests := []struct {
		name  string
		files map[string]string
		want  map[checks.Kind]string
	}{
		{
			"go",
			map[string]string{
				"go.mod": "module example.org/p\n",
				"p.go": "package p\n\nimport \"fmt\"\n\n" +
					"func P() { fmt.Printf(\"%d\", \"x\") }\n",
				"in/q/q_test.go": goTest,
			},
			map[checks.Kind]string{
				checks.Lint: "error p.go:5: fmt.Printf format %d has arg \"x\" of wrong type " +
					"string\n",
				checks.Build: "",
				checks.Test: "error in/q/q_test.go:6: TestQ: Q() = 1, want 2\n" +
					"error p.go:5: fmt.Printf format %d\n",
			},
		},
		{
			"node",
			map[string]string{
				"package.json": `{"scripts":{"build":"node bad.js","test":"node --test"}}`,
				"bad.js":       "let x = 1;\nlet y = ;\n",
				"a.test.js": "const assert = require('node:assert');\n" +
					"require('node:test')('adds', () => {\n  assert.strictEqual(1, 2);\n});\n",
			},
			map[checks.Kind]string{
				checks.Build: "error bad.js:2: SyntaxError: Unexpected token ';'\n",
				checks.Test: "error a.test.js:3: adds: Expected values to be strictly equal: 1 " +
					"!== 2\n",
			},
		},
		{
			"python3",
			map[string]string{
				"setup.py":          "def f(:\n",
				"tests/__init__.py": "",
				"tests/test_a.py": "import unittest\n\nclass T(unittest.TestCase):\n" +
					"    def test_a(self):\n        self.assertEqual(1, 2)\n",
			},
			map[checks.Kind]string{
				checks.Build: "error setup.py:1: SyntaxError: invalid syntax\n",
				checks.Test:  "error tests/test_a.py:5: test_a: AssertionError: 1 != 2\n",
			},
		},
		{
			"cargo",
			map[string]string{
				"Cargo.toml": "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
				"src/lib.rs": "pub fn b() -> i32 {\n    c\n}\n",
			},
			map[checks.Kind]string{
				checks.Lint: "error src/lib.rs:2: error[E0425]: cannot find value `c` in this " +
					"scope\n",
				checks.Build: "error src/lib.rs:2: error[E0425]: cannot find value `c` in this " +
					"scope\n",
				checks.Test: "error src/lib.rs:2: error[E0425]: cannot find value `c` in this " +
					"scope\n",
			},
		},
		{
			"make",
			map[string]string{
				"Makefile": "check:\n\t@echo 'p.c:7:3: error: bad'; false\n",
				"p.c":      "",
			},
			map[checks.Kind]string{checks.Test: "error p.c:7: bad\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// a person's flags may leave out go vet
			s := starter(t, append(os.Environ(), "GOENV=off", "GOFLAGS="), nil)
			if _, err := s.LookPath(tt.name); err != nil {
				t.Skip(err)
			}
			dir := project(t, tt.files)
			got := map[checks.Kind]string{}
			for _, c := range checks.Detect(os.DirFS(dir), nil) {
				r, err := checks.Run(t.Context(), s, dir, c, nil)
				if err != nil {
					t.Fatal(err)
				}
				got[c.Kind] = render(r.Issues)
				if r.Passed != (got[c.Kind] == "") {
					t.Errorf("Run(%s) = passed %v with %q\n%s", c, r.Passed, got[c.Kind], r.Output)
				}
			}
			if d := cmp.Diff(tt.want, got, cmp.Comparer(begins)); d != "" {
				t.Errorf("issues (-want +got)\n%s", d)
			}
			stray, err := filepath.Glob(filepath.Join(dir, "*", "__pycache__"))
			if err != nil || len(stray) > 0 {
				t.Errorf("the checks left %v, %v, want nothing", stray, err)
			}
		})
	}
}

// begins tells whether the lines of one text begin like those of the other: tools word the end of a
// message anew.
func begins(a, b string) bool {
	as := strings.Split(a, "\n")
	bs := strings.Split(b, "\n")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if as[i] == "" != (bs[i] == "") ||
			!strings.HasPrefix(as[i], bs[i]) && !strings.HasPrefix(bs[i], as[i]) {
			return false
		}
	}
	return true
}
