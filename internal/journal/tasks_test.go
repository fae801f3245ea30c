package journal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
)

// recorded makes records of lines `type step data`, a second apart.
func recorded(t *testing.T, lines string) (out []journal.Record) {
	t.Helper()
	for line := range strings.Lines(lines) {
		word := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "", "")
		if word[0] == "" {
			continue
		}
		r := journal.Record{
			Seq:  len(out) + 1,
			Time: time.Date(2026, 3, 1, 12, 0, len(out), 0, time.UTC),
		}
		r.Type = formats.EntryType(word[0])
		r.Step = strings.TrimPrefix(word[1], "-")
		if word[2] != "" {
			r.Data = json.RawMessage(word[2])
			if !json.Valid([]byte(word[2])) {
				t.Fatalf("not JSON: %s", line)
			}
		}
		out = append(out, r)
	}
	return out
}

const flowBegins = `
run_started - {"format": 5, "started_at": "2026-02-28T09:00:00Z", "command": "/deliver a clock", "args": {"tier": null}, "seen": [{"key": "load design", "value": {"profile": "architecture", "path": "docs/ARCHITECTURE.md"}}]}
step_scheduled code#1
loop_entered code#1 {"items": [{"name": "The clock", "files": ["clock.go"]}, {"name": "The hands\n# x", "files": ["hands.go", "face.go"]}]}
step_scheduled code#1[0]/build#1
delegation_started code#1[0]/build#1 {"agent": "developer", "input": {"task": {"name": "The clock"}}}
step_finished code#1[0]/build#1 {"status": "completed"}
step_scheduled code#1[0]/save#1
delegation_result code#1[0]/save#1 {"status": "completed", "summary": "0123456789ab feat: The clock (TASK-1)", "fields": {"commit": "0123456789abcdef"}, "metadata": {"agent_type": "git-workflow-manager"}}
step_finished code#1[0]/save#1 {"status": "completed"}
step_scheduled code#1[1]/build#1
`

const flowGoesOn = `
step_finished code#1[1]/build#1 {"status": "suspended"}
gate_opened code#1[1]/build#1 {}
suspended - {"question": "which port?"}
resumed - {}
step_scheduled code#1[1]/build#2
step_finished code#1[1]/build#2 {"status": "completed"}
step_finished code#1 {"status": "completed"}
step_scheduled test#1
rollback test#1 {}
step_scheduled code#2
loop_entered code#2 {"items": [{"name": "Fix what was sent back"}]}
step_scheduled code#2[0]/build#2
step_finished code#2[0]/build#2 {"status": "failed"}
step_finished code#2 {"status": "failed"}
delegation_result test#2 {"artifacts": [{"type": "documentation", "path": "docs/ARCHITECTURE.md"}]}
run_finished - {"status": "failed"}
`

// TestTasks: the view of a run that works through a task, waits, was sent back and failed.
func TestTasks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ lines, want string }{
		{flowBegins, `# Tasks of /deliver

> Source: docs/ARCHITECTURE.md (2026-02-28)
> Run: r1

tercet writes this file from the journal of the run and never reads it.

## Phase: code

Last updated: 2026-03-01T12:00:09Z
Status: running

## Task list

- [x] TASK-001: The clock | Target file: clock.go
- [ ] TASK-002: The hands # x | Target file: hands.go, face.go

## Recent commits

- 0123456789ab feat: The clock (TASK-1)

## Suspension notes

- Reason: none
- Resume: tercet resume r1
`},
		{flowBegins + flowGoesOn, `# Tasks of /deliver

> Source: docs/ARCHITECTURE.md (2026-03-01)
> Run: r1

tercet writes this file from the journal of the run and never reads it.

## Phase: code

Last updated: 2026-03-01T12:00:25Z
Status: failed

## Task list

- [x] TASK-001: The clock | Target file: clock.go
- [x] TASK-002: The hands # x | Target file: hands.go, face.go

### Round 2

- [ ] TASK-001: Fix what was sent back

## Recent commits

- 0123456789ab feat: The clock (TASK-1)

## Suspension notes

- Reason: none
`},
	} {
		records := recorded(t, tt.lines)
		if text, news := journal.NewTasks("r1", records).View(); text != tt.want || !news {
			t.Errorf("the view is, news %v,\n%s\nwant\n%s", news, text, tt.want)
		}
		// a run that was killed behind any entry has the same view in the end
		for n := range records {
			killed := journal.NewTasks("r1", records[:n])
			for _, r := range records[n:] {
				killed.View()
				killed.Add(r)
			}
			if text, _ := killed.View(); text != tt.want {
				t.Errorf("killed behind entry %d, the view is\n%s\nwant\n%s", n, text, tt.want)
			}
		}
	}
}

// TestTasksOf: which runs have a view, and what it says of each task.
func TestTasksOf(t *testing.T) {
	t.Parallel()
	flow := `run_started - {"format": 5, "command": "/x", "args": {"tier": "Patch"}}` + "\n"
	loop := `loop_entered a#1 {"items": [{"name": "A"}, {"name": "B"}]}` + "\n"
	one := `delegation_started a#1 {"input": {"task": {"name": "The brief"}}}` + "\n"
	for _, tt := range []struct{ name, lines, has, lacks string }{
		{
			"no flow",
			`run_started - {"format": 5, "command": "/x", "args": {}}` + "\n" + loop,
			"",
			"TASK",
		},
		{"no run", loop, "", "TASK"},
		{
			"another form",
			`run_started - {"format": 3, "command": "/x", "args": {"tier": null}}` + "\n" + loop,
			"",
			"TASK",
		},
		{"no tasks", flow + `step_scheduled a#1`, "", "TASK"},
		{
			"not all have names",
			flow + `loop_entered a#1 {"items": [{"name": "A"}, {"title": "B"}]}`,
			"",
			"TASK",
		},
		{"other elements", flow + `loop_entered a#1 {"items": ["A", 1, null]}`, "", "TASK"},
		{"no elements", flow + `loop_entered a#1 {"pass": 1}`, "", "TASK"},
		{"no source", flow + loop, "> Run: r1", "Source"},
		{
			"done before",
			flow + `loop_entered a#1 {"items": [{"name": "A", "done": true}]}`,
			"- [x] TASK-001: A",
			"",
		},
		{"one task, no loop", flow + one, "- [ ] TASK-001: The brief", ""},
		{
			"it is done",
			flow + one + `step_finished a#1 {"status": "approved"}`,
			"- [x] TASK-001: The brief",
			"",
		},
		{
			"it failed",
			flow + one + `step_finished a#1 {"status": "failed"}`,
			"- [ ] TASK-001: The brief",
			"",
		},
		{"tried again", flow + one + one, "TASK-001", "Round"},
		{"sent back", flow + one + strings.ReplaceAll(one, "a#1", "a#2"), "### Round 2", ""},
		{
			"another's task",
			flow + loop + strings.ReplaceAll(one, "a#1", "b#1"),
			"TASK-002: B",
			"brief",
		},
		{
			"a task's own tasks",
			flow + loop + strings.ReplaceAll(loop, "a#1", "a#1[0]/b#1"),
			"TASK-002: B",
			"Round",
		},
		{
			"another loop",
			flow + loop + `loop_entered b#1 {"items": [{"name": "C"}]}`,
			"TASK-001: C",
			"TASK-002",
		},
		{
			"a further step may follow",
			flow + loop + "step_scheduled a#1[0]/b#1\n" +
				`step_finished a#1[0]/b#1 {"status": "completed"}`,
			"- [ ] TASK-001",
			"[x]",
		},
		{
			"side by side",
			flow + loop + "step_scheduled a#1[0]/b#1\nstep_scheduled a#1[1]/b#1\n" +
				`step_finished a#1[0]/b#1 {"status": "completed"}`,
			"- [ ] TASK-001",
			"[x]",
		},
		{
			"then together",
			flow + loop + "step_scheduled a#1[0]/b#1\nstep_scheduled a#1[1]/b#1\n" +
				`step_finished a#1[0]/b#1 {"status": "completed"}` +
				"\n" + `step_finished a#1 {"status": "completed"}`,
			"- [x] TASK-001: A\n- [ ] TASK-002: B",
			"",
		},
		{
			"waits",
			flow + loop + `suspended - {"question": "which?"}`,
			"Status: suspended\n",
			"none\n- Resume",
		},
		{
			"waits for an answer",
			flow + loop + `suspended - {"question": "which?"}`,
			"- Reason: which?\n- Resume: tercet resume r1\n",
			"",
		},
		{"was stopped", flow + loop + `stopped - {}`, "Status: stopped\n", ""},
		{
			"goes on",
			flow + loop + "suspended - {\"question\": \"which?\"}\nresumed - {}",
			"Status: running\n",
			"which",
		},
		{
			"went back",
			flow + "step_scheduled a#1\n" + loop +
				"step_scheduled a#1[0]/b#1\nstep_scheduled a#1[1]/b#1\nwent_back a#1 {}\n" +
				"step_scheduled a#1\n" + loop,
			"- [ ] TASK-001: A",
			"Round",
		},
		{
			"an agent's word of a commit",
			flow + loop +
				`delegation_result a#1[0]/b#1 {"fields": {"commit": "0123456789abcdef"}, "metadata": {"agent_type": "developer"}}`,
			"## Recent commits\n\n- none",
			"0123",
		},
		{
			"a step of a subagent ends",
			flow + loop + `run_finished a#1[0]/b#1.1 {"status": "failed"}`,
			"Status: running",
			"failed",
		},
	} {
		text, _ := journal.NewTasks("r1", recorded(t, tt.lines)).View()
		if !strings.Contains(text, tt.has) || tt.lacks != "" && strings.Contains(text, tt.lacks) {
			t.Errorf("%s: the view lacks %q or has %q:\n%s", tt.name, tt.has, tt.lacks, text)
		}
	}

	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf(`{"name": "t%d"}`, i))
	}
	tasks := journal.NewTasks(
		"r1",
		recorded(t, flow+`loop_entered a#1 {"items": [`+strings.Join(many, ", ")+`]}`),
	)
	if text, _ := tasks.View(); !strings.Contains(text, "TASK-500: t499\n- and 100 more\n") {
		t.Errorf("the view of 600 tasks is\n%s", text)
	}
	tasks.Add(recorded(t, "observed a#1")[0])
	if _, news := tasks.View(); news {
		t.Error("an entry that changes nothing is news")
	}
}
