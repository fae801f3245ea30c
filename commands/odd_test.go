package commands_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/formats"
)

// TestOddFiles: how a file begins and ends its frontmatter, its line ends and what a hostile one
// puts into it are read as they were meant, or refused with the reason and its place; once as a
// command of our own, once as one of another tool, of which nothing is ever refused that the tool
// itself reads.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	const front = "command: odd\ndescription: An odd file\n"
	const own = "\n## Workflow Execution\n\n### Step 1: Return\n\n```yaml step\nreturn: done\n```\n"
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n",
			c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}

	for name, tc := range map[string]struct {
		src string
		// what is said of it as a command of ours, codes and places with a part of the message
		own     string
		foreign string // the same as one of another tool
	}{
		"as it should be": {"---\n" + front + "---\n" + own, "", ""},
		"byte order mark": {"\ufeff---\n" + front + "---\n" + own, "", ""},
		"CRLF": {
			strings.ReplaceAll("---\n"+front+"---\n"+own, "\n", "\r\n"),
			"",
			"",
		},
		"both": {
			"\ufeff" + strings.ReplaceAll("---\n"+front+"---\n"+own, "\n", "\r\n"),
			"",
			"",
		},
		"blank lines before": {"\n\n---\n" + front + "---\n" + own, "", ""},
		"a comment before":   {"<!-- mine -->\n\n---\n" + front + "---\n" + own, "", ""},
		"dots at the end":    {"---\n" + front + "...\n" + own, "", ""},
		"blanks behind":      {"---  \n" + front + "---\t\n" + own, "", ""},
		"an indented rule": {
			"---\n" + front + "examples:\n  - |\n    a\n    ---\n    b\n---\n" + own,
			"",
			"",
		},
		"no end": {
			"---\n" + front + own,
			"1:1 E001: front matter opened here is not closed",
			"1:1 W032: frontmatter opened here is not closed",
		},
		"bare carriage return": {
			strings.ReplaceAll("---\n"+front+"---\n"+own, "\n", "\r"),
			"1:4 E005: line ends with a bare carriage return",
			"",
		},
		"a key twice": {
			"---\n" + front + "description: Again\n---\n" + own,
			`4:1 E221: duplicate key "description", first at 3:1`,
			`4:1 W033: key "description" stands twice`,
		},
		"an alias bomb": {
			"---\n" + front + bomb + "---\n" + own,
			"4:4 E222: ",
			"5:8 W030: ",
		},
		"no map": {
			"---\n- a\n- b\n---\n" + own,
			"2:1 E004: front matter is not a map of keys",
			"1:1 W032: no keys between the --- lines",
		},
		"not text":  {"---\n" + front + "---\n\x00" + own, "5:1 E003: ", "5:1 E003: "},
		"not UTF-8": {"---\n" + front + "---\n\xff\n" + own, "5:1 E003: ", "5:1 W039: "},
		"too large": {
			"---\n" + front + "---\n" + own + strings.Repeat("x", commands.MaxFile),
			"1:1 E002: ",
			"1:1 E002: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lib := &commands.Library{Env: shippedSet(t)}
			for file, want := range map[string]string{
				"odd.md":                  tc.own,
				".claude/commands/odd.md": tc.foreign,
			} {
				prog, err := lib.Compile(file, []byte(tc.src))
				var list []formats.Diagnostic
				d, ok := errors.AsType[*formats.Diagnostics](err)
				switch {
				case ok:
					list = d.List
				case err != nil:
					t.Fatalf("%s: %T", file, err)
				default:
					list = prog.Warnings
				}
				var got []string
				for _, one := range list {
					if one.Code != "W031" { // keys of ours mean nothing to the other tool
						got = append(
							got,
							fmt.Sprintf("%d:%d %s: %s",
								one.Pos.Line, one.Pos.Col, one.Code, one.Message),
						)
					}
				}
				if want == "" && len(got) > 0 ||
					want != "" &&
						!slices.ContainsFunc(got, func(s string) bool {
							return strings.HasPrefix(s, want)
						}) {
					t.Errorf("%s: findings = %q, want %q", file, got, want)
				}
			}
		})
	}
}
