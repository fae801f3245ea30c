package checks_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/subagents/checks"
)

func fsys(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// TestDetectOwn: a project's own checks replace those of their stack.
func TestDetectOwn(t *testing.T) {
	t.Parallel()
	var got []string
	for _, c := range checks.Detect(
		fsys(map[string]string{"lakefile.toml": "", "Cargo.toml": ""}),
		map[string][]string{"lean": {"lake", "exe", "check"}, "docs": {"sh", "docs.sh"}},
	) {
		if c.Stack != checks.Rust {
			got = append(got, fmt.Sprintf("%s %s: %s", c.Stack, c.Kind, c))
		}
	}
	want := []string{"docs test: sh docs.sh", "lean test: lake exe check"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Detect() (-want +got)\n%s", d)
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string // stack kind: command
	}{
		{"nothing", map[string]string{"README.md": "x", "sub/go.mod": "module x"}, nil},
		{
			"go",
			map[string]string{"go.mod": "module x"},
			[]string{"go lint: go vet ./...", "go build: go build ./...", "go test: go test ./..."},
		},
		{
			"node",
			map[string]string{
				"package.json": `{"scripts":{"test":"jest","lint":"eslint .","start":"x","build":" "}}`,
			},
			[]string{"node lint: npm run --silent lint", "node test: npm run --silent test"},
		},
		{
			"node placeholder",
			map[string]string{
				"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`,
			},
			nil,
		},
		{"node without scripts", map[string]string{"package.json": `{}`}, nil},
		{
			"node behind a byte order mark",
			map[string]string{"package.json": "\ufeff" + `{"scripts":{"test":"jest"}}`},
			[]string{"node test: npm run --silent test"},
		},
		{
			"node broken",
			map[string]string{"package.json": `{"scripts":`},
			[]string{"node build: npm pkg get scripts"},
		},
		{
			"rust",
			map[string]string{"Cargo.toml": ""},
			[]string{
				"rust lint: cargo check --quiet --all-targets --message-format=short",
				"rust build: cargo build --quiet --message-format=short",
				"rust test: cargo test --quiet",
			},
		},
		{
			"lean",
			map[string]string{"lakefile.toml": "", "lean-toolchain": ""},
			[]string{"lean build: lake build"},
		},
		{
			"lean, as lake wrote it before",
			map[string]string{"lakefile.lean": ""},
			[]string{"lean build: lake build"},
		},
		{
			"python",
			map[string]string{"pyproject.toml": "[project]"},
			[]string{"python build: python3 -m compileall -q ."},
		},
		{
			"python with pytest",
			map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "tests/test_a.py": ""},
			[]string{
				"python build: python3 -m compileall -q .",
				"python test: python3 -m pytest -q -p no:cacheprovider",
			},
		},
		{
			"python with unittest",
			map[string]string{"setup.py": "", "tests/test_a.py": ""},
			[]string{
				"python build: python3 -m compileall -q .",
				"python test: python3 -m unittest discover -s tests -t .",
			},
		},
		{
			"python with unittest at the top",
			map[string]string{"setup.py": "", "test_a.py": ""},
			[]string{
				"python build: python3 -m compileall -q .",
				"python test: python3 -m unittest discover",
			},
		},
		{
			"make",
			map[string]string{"Makefile": ".PHONY: check\nall check : deps\n\ttrue\n"},
			[]string{"make test: make check"},
		},
		{
			"make without check",
			map[string]string{
				"Makefile": ".PHONY: check\n# check: x\ncheck := 1\ncheck = a:b\nrecheck: x\nx:\n" +
					"\tcheck: y\n",
			},
			nil,
		},
		{
			"make reads one file",
			map[string]string{"makefile": "all:\n", "Makefile": "check:\n"},
			nil,
		},
		{
			"two stacks",
			map[string]string{"Makefile": "check:\n", "go.mod": ""},
			[]string{
				"go lint: go vet ./...", "go build: go build ./...", "go test: go test ./...",
				"make test: make check",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range checks.Detect(fsys(tt.files), nil) {
				got = append(got, c.Stack.String()+" "+c.Kind.String()+": "+c.String())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Detect() (-want +got)\n%s", d)
			}
		})
	}
}

func TestParseWords(t *testing.T) {
	t.Parallel()
	for _, s := range checks.Stacks() {
		if got, err := checks.ParseStack(s.String()); got != s || err != nil {
			t.Errorf("ParseStack(%q) = %q, %v", s, got, err)
		}
	}
	for _, k := range checks.Kinds() {
		if got, err := checks.ParseKind(k.String()); got != k || err != nil {
			t.Errorf("ParseKind(%q) = %q, %v", k, got, err)
		}
	}
	_, errStack := checks.ParseStack("cobol")
	_, errKind := checks.ParseKind("vibe")
	for _, err := range []error{errStack, errKind} {
		if v, ok := errors.AsType[*formats.ValueError](err); !ok || len(v.Want) < 3 {
			t.Errorf("Parse of an unknown word = %v, want a ValueError with the set", err)
		}
	}
}
