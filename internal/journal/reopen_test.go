package journal_test

import (
	"slices"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
)

const (
	worked = `delegation_result a#1 {"status":"completed","metadata":{"runner":"exec"},"artifacts":[{"type":"plan","path":"p.md"}]}
`
	failedEnd = `run_finished - {"status":"failed"}
`
	limitEnd = `run_finished - {"status":"failed","code":"LIMIT"}
`
)

// TestReopens: a failed run is offered from its last step, from the step around steps side by side,
// and not at all if nothing that was paid for would be kept.
func TestReopens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lines, want string }{
		"a step": {
			"step_scheduled a#1\n" + worked + "step_scheduled c#1\n" + failedEnd,
			"c",
		},
		"nothing is kept": {"step_scheduled a#1\n" + worked + failedEnd, ""},
		"an element": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled l#1\nstep_scheduled l#1[0]/b#1\nstep_scheduled l#1[1]/b#1\n" +
				failedEnd,
			"l[1]/b",
		},
		"elements side by side": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled l#1\nstep_scheduled l#1[0]/b#1\nstep_scheduled l#1[1]/b#1\n" +
				"step_scheduled l#1[0]/c#1\n" + failedEnd,
			"l",
		},
		"a check that used up its rounds": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled c#1\nredo c#1 {}\nstep_scheduled a#2\n" +
				"step_scheduled b#1\nstep_scheduled c#2\n" + limitEnd,
			"a",
		},
		"a check that sent nothing back": {
			"step_scheduled a#1\n" + worked + "step_scheduled c#1\n" + limitEnd,
			"c",
		},
		"a round of another check": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled b#1\nredo b#1 {}\nstep_scheduled a#2\n" +
				"step_scheduled b#2\nstep_scheduled c#1\n" + limitEnd,
			"c",
		},
		"a check that failed within its rounds": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled c#1\nredo c#1 {}\nstep_scheduled a#2\n" +
				"step_scheduled c#2\n" + failedEnd,
			"c",
		},
		"a child": {
			"step_scheduled a#1\n" + worked + "step_scheduled both#1\nstep_scheduled both#1/x#1\n" +
				failedEnd,
			"both",
		},
		"a step of a subagent": {
			"step_scheduled a#1\n" + worked + "step_scheduled w#1\nstep_scheduled w#1.1/x#1\n" +
				failedEnd,
			"w",
		},
		"what ran at the end": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled c#1\nstep_scheduled error_handling/log#1\n" + failedEnd,
			"c",
		},
		"a kept step was taken back": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled c#1\nstep_scheduled a.compensate#1\n" + failedEnd,
			"",
		},
		"one that passed": {
			"step_scheduled a#1\n" + worked +
				"step_scheduled c#1\nrun_finished - {\"status\":\"completed\"}\n",
			"",
		},
		"one that was stopped": {
			"step_scheduled a#1\n" + worked + "step_scheduled c#1\nstopped\n" + failedEnd,
			"",
		},
		"one that did not end": {"step_scheduled a#1\n" + worked + "step_scheduled c#1\n", ""},
		"one that is reopened": {
			"step_scheduled a#1\n" + worked + "step_scheduled c#1\n" + failedEnd +
				"reopened\nwent_back c#1\n",
			"",
		},
		"one that failed again": {
			"step_scheduled a#1\n" + worked + "step_scheduled c#1\n" + failedEnd +
				"reopened\nwent_back c#1\nstep_scheduled c#2\n" + failedEnd,
			"c",
		},
		"an answer that was given": {
			"step_scheduled a#1\ngate_decided a#1 {\"person\":true}\nstep_scheduled c#1\n" +
				failedEnd,
			"c",
		},
		"an answer by default": {
			"step_scheduled a#1\ngate_decided a#1 {\"person\":false}\nstep_scheduled c#1\n" +
				failedEnd,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := journal.ReopenStep(recorded(t, c.lines)); got != c.want {
				t.Errorf("Reopens = %q, want %q", got, c.want)
			}
		})
	}
}

// TestReopeningOf: what the end of a run took away is put back once, before the reopened run calls
// anybody.
func TestReopeningOf(t *testing.T) {
	t.Parallel()
	lines := "step_scheduled a#1\n" + worked +
		"step_finished a#1 {\"status\":\"completed\"}\nstep_scheduled c#1\n" +
		`delegation_result c#1 {"status":"completed","artifacts":[{"type":"plan","path":"dropped.md"}]}` +
		"\n" +
		`delegation_result worktree/close#1 {"status":"completed","fields":{"wip":"tercet/wip/1-r1"}}` +
		"\n" + failedEnd
	if journal.ReopeningOf(recorded(t, lines)) != nil {
		t.Error("a run that failed is reopened")
	}
	again := lines + "reopened\nwent_back c#1\n"
	got := journal.ReopeningOf(recorded(t, again))
	if got == nil || got.Wip != "tercet/wip/1-r1" ||
		!slices.Equal(got.Documents, []string{"p.md"}) {
		t.Errorf("ReopeningOf = %+v", got)
	}
	if journal.Finished(recorded(t, again)) || !journal.Finished(recorded(t, lines)) {
		t.Error("Over does not tell a run that was reopened")
	}
	if journal.ReopeningOf(recorded(t, again+"delegation_started c#2\n")) != nil {
		t.Error("what was put back is put back again")
	}
	twice := recorded(
		t,
		again+"step_scheduled c#2\nstep_finished c#2 {\"status\":\"failed\"}\n"+failedEnd,
	)
	if kept := journal.StepsBefore(twice, "c#2"); len(kept) != 1 || kept[0].Path != "a#1" {
		t.Errorf("Kept after two ends = %+v, want a", kept)
	}
	to := journal.ToReopen(recorded(t, lines), "c#1")
	if to.Wip != got.Wip || !slices.Equal(to.Documents, got.Documents) {
		t.Errorf("ToReopen = %+v, want %+v", to, got)
	}
}

// TestLeftAs: the status in which a run left its task.
func TestLeftAs(t *testing.T) {
	t.Parallel()
	started := func(step, input string) string {
		return `delegation_started ` + step +
			` {"agent":"status-sync-manager","input":{"operation":"update_status","task_number":1,` +
			input + `}}` + "\n" + `delegation_result ` + step + ` {"status":"completed"}` + "\n"
	}
	begin := started("during#1", `"status":"planning"`)
	back := started("during/back#1", `"back":true`)
	for name, c := range map[string]struct {
		lines string
		want  formats.TaskStatus
	}{
		"unchanged": {"", formats.NotStarted},
		"put back":  {begin + back, formats.NotStarted},
		"finished":  {begin + started("s#1", `"status":"planned"`), "planned"},
		"put back to later": {
			begin + started("s#1", `"status":"planned"`) + started(
				"t#1",
				`"status":"implementing"`,
			) + back,
			"planned",
		},
		"another task": {
			`delegation_started s#1 {"agent":"status-sync-manager","input":{"operation":"update_status","task_number":2,"status":"planned"}}` +
				"\n" + `delegation_result s#1 {"status":"completed"}` + "\n",
			formats.NotStarted,
		},
		"reopened": {
			begin + started("during/back#1", `"status":"partial"`) + "reopened\n" +
				started("during/back#2", `"back":true`),
			"partial",
		},
	} {
		if got := journal.FinalStatus(recorded(t, c.lines), 1, formats.NotStarted); got != c.want {
			t.Errorf("%s: LeftAs = %s, want %s", name, got, c.want)
		}
	}
}
