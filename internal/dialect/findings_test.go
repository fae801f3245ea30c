package dialect_test

import (
	"strings"
	"testing"

	"tercet/internal/dialect"
)

// TestTOMLErrors: an error of a file in TOML names the key that it is about.
func TestTOMLErrors(t *testing.T) {
	t.Parallel()
	p := place(t, dialect.Gemini)
	for src, want := range map[string]string{
		"description = \"Asks\"\n\nprompt = \"\"\"\nLook.\n\"\"\"'\n": "text after the value of prompt",
		"description = \"It says \"hi\" to you\"\nprompt = \"p\"\n":   "text after the value of description",
		"prompt = \"\"\"\nfoo = 1\n\"\"\"x\n":                         "text after the value of prompt",
		"---\ndescription = \"x\"\n---\nprompt = \"p\"\n":             "--- has no place in TOML",
		"description = \"x\"\n---\nprompt = \"p\"\n":                  "--- has no place in TOML",
		"description = \"x\"\nprompt\n":                               "expected = after the key",
		"\"a key\" = \"x\" y\nprompt = \"p\"\n":                       "text after the value of \"a key\"",
	} {
		list := dialect.Check(p, "a.toml", "a.toml", []byte(src))
		if len(list) == 0 || !strings.Contains(list[0].Message, want) {
			t.Errorf("findings of %q = %v, want %q", src, list, want)
		}
	}
}

// TestNamesOfPlugins: a command is called by the name of its file, behind that of its plugin; a key
// that says so is right.
func TestNamesOfPlugins(t *testing.T) {
	t.Parallel()
	for _, p := range dialect.Plugins("kit", "p", "p") {
		inside := map[bool]string{true: "y/SKILL.md", false: "y.md"}[p.Skills]
		if p.Agents {
			continue
		}
		for name, wrong := range map[string]bool{
			"y": false, "kit:y": false, "kit/y": false, "z": true,
		} {
			src := "---\nname: " + name + "\ndescription: d\n---\nDo it.\n"
			list := dialect.Check(p, inside, inside, []byte(src))
			if got := len(list) > 0; got != wrong {
				t.Errorf("%s with name %s has findings: %v, want %v", inside, name, list, wrong)
			}
		}
	}
}
