package syntax_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tercet/commands/syntax"
	"tercet/formats"
)

// TestNearFences: a line that was meant to open a block is reported whatever is wrong with its
// backticks, and prose is not.
func TestNearFences(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"``yaml step":               true,
		"`\t``yaml step":            true,
		"`` \t yaml   step":         true,
		"``yamlstep":                true,
		"``ymal step":               true,
		"yaml step":                 true,
		"  ``yaml  step\t":          true,
		"```step":                   true,
		"the yaml step comes first": false,
		"``yaml`` step by step":     false,
		"`yaml` is a language":      false,
	} {
		src := "---\ncommand: x\ndescription: y\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: A\n\n" + line + "\nreturn: a\n"
		_, err := syntax.Parse("x.md", []byte(src))
		found, ok := errors.AsType[*formats.Diagnostics](err)
		got := ok && slices.ContainsFunc(found.List, func(d formats.Diagnostic) bool {
			return d.Code == syntax.CodeFenceInfo && d.Pos.Line == 10 &&
				strings.Contains(d.Message, "yaml step")
		})
		if got != want {
			t.Errorf("%q reported = %v, want %v: %v", line, got, want, err)
		}
	}
}
