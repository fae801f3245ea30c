package formats_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// TestCommandSchema: the schema of a command has a member for each argument, which takes what the
// line takes.
func TestCommandSchema(t *testing.T) {
	t.Parallel()

	one := 1.0
	c := formats.CommandInfo{Arguments: []formats.ArgumentInfo{
		{Name: "n", Type: "task", Required: true, Description: "the task"},
		{
			Name: "where", Type: "enum", Values: []string{"here", "there"}, Required: true,
			Unless: []string{"n"},
		},
		{Name: "count", Type: "integer", Minimum: &one, Default: 2},
		{Name: "pace", Type: "duration", Minimum: &one, Default: "90s"},
		{Name: "names", Type: "string", Pattern: "[a-z]+", Repeat: true},
		{Name: "data", Type: "json"},
	}}

	got, err := json.MarshalIndent(c.Schema(), "", " ")
	if err != nil {
		t.Fatal(err)
	}

	const want = `{
 "additionalProperties": false,
 "properties": {
  "count": {
   "default": 2,
   "minimum": 1,
   "type": "integer"
  },
  "data": {},
  "n": {
   "description": "the task",
   "minimum": 1,
   "type": "integer"
  },
  "names": {
   "items": {
    "pattern": "^(?:[a-z]+)$",
    "type": "string"
   },
   "type": "array"
  },
  "pace": {
   "default": "90s",
   "type": "string"
  },
  "where": {
   "enum": [
    "here",
    "there"
   ]
  }
 },
 "required": [
  "n"
 ],
 "type": "object"
}`

	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
