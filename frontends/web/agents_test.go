package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var digestOnPage = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// agentOf is a subagent that is a program.
func agentOf(name string, argv ...string) string {
	words, err := json.Marshal(argv)
	if err != nil {
		panic(err) // of texts
	}
	return fmt.Sprintf("---\nname: %s\ndescription: A program\nrole: utility\nrunner: exec\n"+
		"argv: %s\nreturns: {artifacts: none}\n---\n\nWorks.\n", name, words)
}

// commandOf is a command of one step.
func commandOf(name, step string) string {
	return fmt.Sprintf("---\ncommand: %s\ndescription: One step\n---\n\n## Workflow Execution\n\n"+
		"### Step 1: Go\n\n```yaml step\n%s```\n", name, step)
}

// TestHostileAgents: 200 texts in every field that an agent can fill, of its return and of what it
// prints, stand on the pages as text. So do those of messages and notes of answers.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	texts := hostileTexts()
	const each = 25 // in one call

	more := map[string]string{
		".tercet/subagents/evil.md": agentOf("evil", "sh", "evil.sh"),
		"evil.sh": `n=$(sed -n 's/.*"n": *\([0-9]*\).*/\1/p' | head -1)
cat "said.$n" >&2
cat "return.$n"
`,
	}

	calls := 0
	for part := range slices.Chunk(texts, each) {
		raw := strings.Join(part, "\n")
		valid := make([]string, len(part))
		for i, one := range part {
			valid[i] = strings.ToValidUTF8(one, "?")
		}

		all := strings.Join(valid, " ")

		issues := make([]map[string]any, len(valid))
		for i, one := range valid {
			issues[i] = map[string]any{
				"level": "warning", "description": one, "files": []string{one},
				"suggested_fix": one,
			}
		}

		data, err := json.Marshal(map[string]any{
			"status": "failed", "summary": all, "text": all, "blocked_reason": all,
			"next_steps": all, "issues": issues, "artifacts": []any{},
			"fields": map[string]any{"x": all},
			"errors": []map[string]any{
				{"code": "VALIDATION", "message": all, "recommendation": all},
			},
		})
		if err != nil {
			t.Fatal(err)
		}

		more[fmt.Sprintf("return.%d", calls)] = string(data)
		more[fmt.Sprintf("said.%d", calls)] = raw + "\n"
		calls++
	}

	more[".tercet/commands/evil.md"] = commandOf("evil",
		fmt.Sprintf("id: each\nforeach: \"[range(%d)]\"\n"+
			"as: n\nmax_parallel: 2\ndo:\n  - {id: call, delegate: evil, with: {n: $n}, on: "+
			"{failed: next, blocked: next}}\n",
			calls))
	more[".tercet/subagents/evil.md"] = strings.Replace(more[".tercet/subagents/evil.md"],
		"returns:", "inputs: {n: {type: number, required: true}}\nreturns:", 1)

	dir, home := files(t, more)
	b := serveTrusted(t, dir, home)
	run := b.start("/p/shop/start/evil", url.Values{})
	b.until(run, "class=\"outcome\"")

	id := run[strings.LastIndex(run, "/")+1:]
	d, err := b.server.Project(dir).Detail(id)
	if err != nil {
		t.Fatal(err)
	}

	pages := []string{"/", run}
	seen := 0
	for _, s := range d.Steps {
		address := run + "?step=" + url.QueryEscape(s.Path)
		pages = append(pages, address, address+"&pane=diff", address+"&pane=run")
		seen += s.Calls
	}

	if seen < calls {
		t.Errorf("%d calls of an agent, want %d", seen, calls)
	}

	ask := b.begin(url.Values{"what": {"1"}})
	b.until(ask, "waits for an answer")

	for i, one := range texts {
		text := strings.ToValidUTF8(one, "?")
		_, _, err := b.server.Project(dir).Tell(ask[strings.LastIndex(ask, "/")+1:], text, "")
		if err != nil && strings.Contains(err.Error(), "room for no more") {
			break
		}
		if err != nil && !strings.Contains(err.Error(), "without control characters") {
			t.Fatalf("message %d: %v", i, err)
		}
	}

	told := b.get(ask)
	rawIn(t, "the run that was told", told)

	w := b.post(b.get(ask+"/question"), ask+"/answer",
		url.Values{"choice": {"1"}, "note": {texts[0] + texts[1] + texts[2]}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the answer gives %d", w.Code)
	}

	b.until(ask, "class=\"outcome\"")
	pages = append(pages, ask, ask+"?step="+url.QueryEscape("go#1"))

	shown := told
	for _, address := range pages {
		page := b.get(address)
		shown += page
		rawIn(t, address, page)
	}

	for _, want := range []string{
		"&lt;script&gt;alert(1)&lt;/script&gt;", "Issues", "Transcript", "prints",
		"Told to the run", "class=\"issues\"",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no page shows %s", want)
		}
	}
}

// rawIn fails if a page holds anything of a hostile text that is not text.
func rawIn(t *testing.T, address, page string) {
	t.Helper()
	page = strings.ReplaceAll(page, `<script src="/static/page.js" defer></script>`, "")
	page = regexp.MustCompile(`<script src="/static/page.js\?[0-9a-f]+" defer></script>`).
		ReplaceAllString(page, "")
	page = strings.ReplaceAll(page, "<meta charset", "")
	if m := raw.FindString(page); m != "" {
		at := strings.Index(page, m)
		t.Errorf("%.80q has %q: %q", address, m, page[max(0, at-60):min(len(page), at+60)])
	}
}

// TestStepOfAnAgent: the page of a step has what the agent got, said and gave back: its state,
// time, prompt, issues, and the transcript as text.
func TestStepOfAnAgent(t *testing.T) {
	t.Parallel()

	dir, home := files(t, map[string]string{
		".tercet/subagents/helper.md": agentOf("helper", "sh", "helper.sh"),
		".tercet/commands/call.md":    commandOf("call", "id: call\ndelegate: helper\n"),
		"helper.sh": `echo "Reading the notes" >&2
printf '%s' '{"status": "completed", "summary": "All is well.", "artifacts": [],
 "issues": [{"level": "warning", "description": "A typo", "files": ["docs/notes.md"], "line": 3, "suggested_fix": "Mend it"}],
 "metadata": {"tokens_used": {"input": 1200, "output": 34}, "cost_usd": 0.5, "model": "m-1"}}'
`,
	})

	b := serveTrusted(t, dir, home)
	run := b.start("/p/shop/start/call", url.Values{})
	b.until(run, "class=\"outcome\"")

	page := b.get(run + "?step=" + url.QueryEscape("call#1"))
	has(t, "the step", page, "completed", "Step", "Diff of the step", "Diff of the run",
		"helper", "All is well.", "Issues", "A typo", "docs/notes.md:3", "Mend it",
		"Transcript", "prints", "Reading the notes")

	if strings.Contains(page, "{&#34;status") {
		t.Errorf("the step has JSON: %s", page)
	}
}
