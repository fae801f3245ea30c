package compile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/commands/syntax"
)

// TestExpand: the blocks say what the sentences said, and none of those is left.
func TestExpand(t *testing.T) {
	t.Parallel()
	env := shipped(t)

	for name, src := range map[string]string{
		"the example": "",
		"every sentence": "---\ncommand: every\ndescription: Every plain sentence\narguments:\n" +
			"  - {name: task_number, type: integer, required: true}\n---\n\n## Argument Parsing\n" +
			"\nExtract task_number from args[0]\nValidate task_number is positive integer\n\n" +
			"## Workflow Execution\n\nStep 1: Delegate to researcher subagent with all there is\n" +
			"Step 2: Validate report format\nStep 3: For each n in [1, 2, 3]:\n" +
			"  Step 3.1: Delegate to any\nStep 4: Delegate to status-sync-manager to update task " +
			"status to \"researched\"\nStep 5: Return the report: all of it\n",
		"titles of steps": "---\ncommand: titles\ndescription: Sentences as titles\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\nduring: planning\n" +
			"---\n\n## Workflow Execution\n\n### Step 1: Delegate to planner subagent\n\n" +
			"Prose stays.\n\n### Step 2: Show it\n\n```yaml step\nreturn: Done.\n```\n",
		"ready": "---\ncommand: ready\ndescription: Only the readiness\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\n---\n\n" +
			"## Argument Parsing\n\nValidate task exists and is ready for planning\n\n" +
			"## Workflow Execution\n\nStep 1: Return nothing\n",
		"ready in the workflow": "---\ncommand: ready\ndescription: Only the readiness\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\n---\n\n" +
			"## Workflow Execution\n\nStep 1: Validate task exists and is ready for planning\n" +
			"Step 2: Return nothing\n",
		"ready beside a block": "---\ncommand: ready\ndescription: Only the readiness\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\n---\n\n" +
			"## Argument Parsing\n\n```yaml args\nload: {twice: $task.number * 2}\n```\n\n" +
			"## Workflow Execution\n\nStep 1: Validate task exists and is ready for planning\n" +
			"Step 2: Return nothing\n",
		"ready below tags": "---\ncommand: ready\ndescription: Only the readiness\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\n---\n\n" +
			"## Argument Parsing\n\n<argument_parsing>\n</argument_parsing>\n\n" +
			"## Workflow Execution\n\nStep 1: Validate task exists and is ready for planning\n" +
			"Step 2: Return nothing\n",
		"ready for other work": "---\ncommand: ready\ndescription: Only the readiness\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\n" +
			"during: {status: researching, when: $task.number > 1}\n---\n\n" +
			"## Workflow Execution\n\nStep 1: Validate task exists and is ready for planning\n" +
			"Step 2: Return nothing\n",
		"ready for the same work": "---\ncommand: ready\ndescription: Only the readiness\n" +
			"arguments:\n  - {name: task_number, type: task, required: true}\nduring: planning\n" +
			"---\n\n## Workflow Execution\n\n" +
			"Step 1: Validate task exists and is ready for planning\nStep 2: Return nothing\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if src == "" {
				text, err := os.ReadFile("../syntax/testdata/plain/plan.md")
				if err != nil {
					t.Fatal(err)
				}
				src = string(text)
			}

			before := compiled(t, env, src)
			f, err := syntax.Parse(before.File.Name, []byte(src))
			if err != nil {
				t.Fatal(err)
			}

			text := string(syntax.FormatText(compile.Expand(f, before)))

			after := compiled(t, env, text)
			if diff := cmp.Diff(said(before), said(after)); diff != "" {
				t.Errorf("Expand changes the program (-before +after):\n%s\n%s", diff, text)
			}

			g, err := syntax.Parse(after.File.Name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}

			if left := g.Strict; len(left) > 0 {
				t.Errorf("Expand leaves %v in:\n%s", left, text)
			}

			if strings.Contains(src, "Prose stays.") &&
				!strings.Contains(text, "\n\nProse stays.\n\n") {
				t.Errorf("Expand loses prose:\n%s", text)
			}
		})
	}
}

// said is a program without its places and its hash.
func said(p *compile.Program) any {
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"pos", "line", "col", "hash", "prompt"} {
				delete(v, key)
			}
			for key, m := range v {
				v[key] = strip(m)
			}
		case []any:
			for i, m := range v {
				v[i] = strip(m)
			}
		}
		return v
	}
	return strip(outline.Compiled(p))
}
