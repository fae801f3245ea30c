package compile_test

import (
	"strings"
	"testing"

	"tercet/commands/compile"
	"tercet/formats"
)

// TestContract: the jq of a subagent's contract is checked with its place, and by every command
// that delegates to it.
func TestContract(t *testing.T) {
	t.Parallel()
	fields := map[string]formats.Field{"count": {Type: formats.TypeInteger}}
	for src, want := range map[string]string{
		`if .fields.count > 0 then "rejected" else .status end`: "",
		`.fields.count >`:   `a.md:7:24: E300: returns.status: unexpected end`,
		`.fields.cuont > 0`: `a.md:7:17: E303: subagent a returns no field 'cuont'`,
		`.summary`: `a.md:7:10: E125: no member 'summary' here; ` +
			`expected one of status, fields`,
		`$args.x`:             `a.md:7:9: E300: returns.status: unknown variable $args`,
		"\"a\" |\n  sizes":    `a.md:7:17: E300: returns.status: unknown function sizes/0`,
		`.fields | nosuch(1)`: `a.md:7:19: E300: returns.status: unknown function nosuch/1`,
		`.fields.count, .other`: `a.md:7:25: E125: no member 'other' here; ` +
			`expected one of status, fields`,
	} {
		info := formats.AgentInfo{
			Name:        "a",
			File:        "a.md",
			Fields:      fields,
			StatusQuery: src,
			StatusPos:   formats.Pos{Line: 7, Col: 9},
		}
		var got []string
		for _, d := range compile.Contract(&info) {
			got = append(got, d.Error())
		}
		text := strings.Join(got, "; ")
		if text != want && (want == "" || !strings.HasPrefix(text, want)) {
			t.Errorf("Contract(%s) = %s, want %s", src, text, want)
		}
	}

	env := shipped(t)
	env.extra["a"] = formats.AgentInfo{
		Name:        "a",
		File:        "a.md",
		IssuesQuery: "map(",
		IssuesPos:   formats.Pos{Line: 3, Col: 1},
	}
	_, found := try(t, env, "x.md", []byte(
		"---\ncommand: x\ndescription: d\n---\n\n## Workflow Execution\n\n### Step 1: Do\n\n"+
			"```yaml step\ndelegate: a\n```\n",
	))
	if len(found) != 1 || !strings.HasPrefix(found[0].Error(), "a.md:3:") {
		t.Errorf("findings about a command that calls a subagent with a broken contract: %v", found)
	}
}
