package query_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/query"
)

// difference is a block of docs/query.md.
type difference struct {
	filter, input string
	jq, newer     []string // lines of jq, and of jq 1.7 and later; "!" for an error
	tercet        []string // lines, the message of an error behind "! "
}

func differences(t *testing.T) []difference {
	t.Helper()
	text, err := os.ReadFile("../../docs/query.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []difference
	for _, block := range strings.Split(string(text), "```text\n")[1:] {
		body, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(body, "filter:") {
			continue
		}
		var d difference
		for line := range strings.Lines(body) {
			name, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			rest = strings.TrimLeft(rest, " ")
			switch name {
			case "filter":
				d.filter = rest
			case "input":
				d.input = rest
			case "jq":
				d.jq = append(d.jq, rest)
			case "jq 1.7":
				d.newer = append(d.newer, rest)
			case "tercet":
				d.tercet = append(d.tercet, rest)
			default:
				ok = false
			}
			if !ok {
				t.Fatalf("docs/query.md: line %q is none of filter, input, jq, jq 1.7 and tercet",
					line)
			}
		}
		out = append(out, d)
	}

	return out
}

// TestDifferences: every difference from jq that is documented is one.
func TestDifferences(t *testing.T) {
	t.Parallel()
	list := differences(t)
	if len(list) < 25 {
		t.Fatalf("docs/query.md has %d differences, want at least 25", len(list))
	}

	jq, err := exec.LookPath("jq")
	version := ""
	if err == nil {
		version = jqVersion(t, jq)
	}

	for _, d := range list {
		got, err := runCLI(t.Context(), query.CLIRequest{
			Filter:  d.filter,
			Compact: true,
			Inputs:  []query.Input{{Name: "in", Data: []byte(d.input)}},
		})

		lines := outputLines(got.Out)
		if err != nil {
			lines = append(lines, "! "+err.Error())
		}

		if diff := cmp.Diff(d.tercet, lines); diff != "" {
			t.Errorf("%s of %s (-documented +got):\n%s", d.filter, d.input, diff)
		}

		want := d.jq
		if version >= "jq-1.7" && d.newer != nil {
			want = d.newer
		}

		if version == "" || want == nil {
			continue
		}

		cmd := exec.CommandContext(t.Context(), jq, "-c", d.filter)
		cmd.Stdin = strings.NewReader(d.input)
		out, err := cmd.Output()

		lines = outputLines(string(out))
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			lines = append(lines, "!")
		} else if err != nil {
			t.Fatal(err)
		}

		diff := cmp.Diff(want, lines)
		if diff != "" && !strings.Contains(string(stderrOf(err)), "ONIGURUMA") {
			t.Errorf("%s: %s of %s (-documented +got):\n%s", version, d.filter, d.input, diff)
		}
	}
}

func stderrOf(err error) []byte {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.Stderr
	}
	return nil
}

func outputLines(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}
