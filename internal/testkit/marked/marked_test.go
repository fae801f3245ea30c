package marked_test

import (
	"strings"
	"testing"

	"tercet/internal/testkit/marked"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	const src = "a: 1 # ERROR \"E001: one\" \"say \\\"two\\\"\"\nb\n<!-- ERROR-1 \"E003\" -->\n" +
		"c // ERROR+2 \"E004\"\n"
	all, err := marked.Read(src)
	if err != nil || len(all) != 4 {
		t.Fatalf("Read = %v, %v, want four", all, err)
	}
	for _, tt := range []struct {
		line int
		text string
		want bool
	}{
		{1, "E001: one", true},
		{1, "E001: one", false}, // it was met before
		{2, `say "two"`, false},
		{1, `say "two"`, true},
		{2, "E003: x", true},
		{4, "E004: x", false},
	} {
		if got := all.Meets(tt.line, tt.text); got != tt.want {
			t.Errorf("Meets(%d, %q) = %t", tt.line, tt.text, got)
		}
	}

	if left := all.Unmet(); len(left) != 1 || left[0].Line != 6 {
		t.Errorf("Unmet = %v, want that of line 6", left)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	text, all, err := marked.Cut("{\n  \"a\": 1 // ERROR \"E1\"\n}\n")
	if err != nil || text != "{\n  \"a\": 1\n}\n" || len(all) != 1 || all[0].Line != 2 {
		t.Errorf("Cut = %q, %v, %v", text, all, err)
	}
	_, _, err = marked.Cut(`x // ERROR "("`)
	if err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
		t.Errorf("a pattern that is none: %v", err)
	}
}
