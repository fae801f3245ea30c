package formats_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// transitions is the table of the specification, (reason) where a change asks for one that its
// target does not.
const transitions = `
not_started: researching, planning, implementing, blocked, abandoned, on_hold, expanded
researching: researched, blocked, abandoned
researched: researching, planning, implementing, blocked, abandoned, on_hold, expanded
planning: planned, blocked, abandoned
planned: planning, revising, researching (reason), implementing, blocked, abandoned, on_hold, expanded
revising: revised, blocked, abandoned
revised: implementing, planning, revising, researching (reason), blocked, abandoned, on_hold, expanded
implementing: completed, partial, blocked, abandoned, researching (reason), revising (reason)
partial: implementing, planning, researching (reason), revising (reason), completed, blocked, abandoned
blocked: researching, planning, revising, implementing, abandoned
on_hold: abandoned
expanded: completed (children), abandoned
abandoned: not_started (recover)
completed: not_started (recover) (reason)
`

func TestTransitions(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(transitions, "\n")) {
		from := formats.TaskStatus(line[:strings.IndexByte(line, ':')])
		var moves []string
		for _, m := range formats.Moves(from) {
			word := string(m.To)
			if m.ChildrenTerminal {
				word += " (children)"
			}
			if m.Recover {
				word += " (recover)"
			}
			always := m.To == formats.Blocked || m.To == formats.Abandoned
			if m.NeedsReason && !always {
				word += " (reason)"
			}
			if always && !m.NeedsReason {
				t.Errorf("move %s to %s needs no reason, want one", from, m.To)
			}
			if got := formats.CanMove(from, m.To); got == m.Recover {
				t.Errorf("CanMove(%s, %s) = %v, want %v", from, m.To, got, !m.Recover)
			}
			moves = append(moves, word)
		}
		fmt.Fprintf(&b, "%s: %s\n", from, strings.Join(moves, ", "))
	}

	if diff := cmp.Diff(strings.TrimPrefix(transitions, "\n"), b.String()); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	if rows := strings.Count(transitions, ":"); rows != len(formats.TaskStatuses()) {
		t.Errorf("the table has %d rows, want one for each of %d statuses",
			rows, len(formats.TaskStatuses()))
	}
	want := []formats.TaskStatus{
		formats.NotStarted, formats.Researched, formats.Planned, formats.Revised,
		formats.Implementing, formats.Partial, formats.Blocked,
	}
	if diff := cmp.Diff(want, formats.MovesInto(formats.Researching)); diff != "" {
		t.Errorf("MovesInto(researching) (-want +got):\n%s", diff)
	}
}

func TestTaskStatusFacts(t *testing.T) {
	t.Parallel()
	needs := map[formats.TaskStatus][]formats.ArtifactType{
		formats.Researched: {formats.ArtifactReport},
		formats.Planned:    {formats.ArtifactPlan},
		formats.Revised:    {formats.ArtifactPlan},
		formats.Completed:  {formats.ArtifactSummary, formats.ArtifactImplementation},
	}
	busy := []formats.TaskStatus{
		formats.Researching, formats.Planning, formats.Revising, formats.Implementing,
	}
	for _, s := range formats.TaskStatuses() {
		if got := formats.ArtifactsFor(s); !slices.Equal(got, needs[s]) {
			t.Errorf("ArtifactsFor(%s) = %q, want %q", s, got, needs[s])
		}
		got := s.InProgress()
		want := slices.Contains(busy, s)
		if got != want {
			t.Errorf("%s.InProgress() = %v, want %v", s, got, want)
		}
		keeps := slices.Contains(busy, s) || s == formats.Blocked || s == formats.OnHold
		if got := s.KeepsPrior(); got != keeps {
			t.Errorf("%s.KeepsPrior() = %v, want %v", s, got, keeps)
		}
		got = s.Terminal()
		want = s == formats.Completed || s == formats.Abandoned
		if got != want {
			t.Errorf("%s.Terminal() = %v, want %v", s, got, want)
		}
		if got, err := formats.ParseTaskStatus(string(s)); err != nil || got != s {
			t.Errorf("ParseTaskStatus(%s) = %v, %v", s, got, err)
		}
	}

	if _, err := formats.ParseTaskStatus("Planned"); formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("ParseTaskStatus(Planned) = %v, want a usage error", err)
	}
}

// exits is the table of the specification: number, name, codes.
const exits = `
0 ok:
1 failed:
2 usage: USAGE
3 partial:
4 auth: AUTH
5 rejected: REJECTED
6 not-found: NOT_FOUND
7 limit: LIMIT MAX_DEPTH_EXCEEDED CYCLE_DETECTED
65 data: INVALID_RETURN INVALID_COMMAND INVALID_STATE SECRET_FOUND
69 unavailable: TOOL_UNAVAILABLE
70 bug: BUG
74 io: IO
75 suspended: SUSPENDED LOCKED LEASE_HELD
76 not-durable: NOT_DURABLE
77 denied: DENIED UNTRUSTED
78 config: CONFIG NO_WORKSPACE
79 running: STILL_RUNNING
124 timeout: TIMEOUT
130 interrupted: CANCELLED
143 terminated:
`

func TestExits(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteByte('\n')
	listed := map[formats.Code]int{}
	for _, e := range formats.Exits() {
		fmt.Fprintf(&b, "%d %s:", e.Number, e.Name)
		for _, c := range e.Codes {
			fmt.Fprintf(&b, " %s", c)
			listed[c]++
			if got := formats.ExitFor(c); got != e.Number {
				t.Errorf("ExitFor(%s) = %d, want %d", c, got, e.Number)
			}
		}
		b.WriteByte('\n')
		if e.Name == "" || e.Meaning == "" {
			t.Errorf("exit %d has name %q and meaning %q, want both", e.Number, e.Name, e.Meaning)
		}
	}

	if diff := cmp.Diff(exits, b.String()); diff != "" {
		t.Errorf("exits (-want +got):\n%s", diff)
	}
	plain := []formats.Code{
		formats.CodeTransient, formats.CodePrecondition, formats.CodePhasesOpen,
		formats.CodeIllegalTransition, formats.CodeValidationFailed, formats.CodeBuildError,
		formats.CodeFileNotFound, formats.CodeStatusSyncFailed, formats.CodeGitCommitFailed,
		formats.CodeUnknown,
	}
	for _, c := range formats.Codes() {
		want := 1
		if slices.Contains(plain, c) {
			want = 0
			if got := formats.ExitFor(c); got != 1 {
				t.Errorf("ExitFor(%s) = %d, want 1", c, got)
			}
		}
		if listed[c] != want {
			t.Errorf("code %s stands in %d rows, want %d", c, listed[c], want)
		}
		if got, err := formats.ParseCode(string(c)); err != nil || got != c {
			t.Errorf("ParseCode(%s) = %v, %v", c, got, err)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()

	failed := func(c formats.Code) formats.Return {
		return formats.Return{
			Status: formats.StatusFailed,
			Errors: []formats.ReturnError{{Code: c}},
		}
	}

	tests := []struct {
		in   formats.Return
		want int
	}{
		{formats.Return{Status: formats.StatusCompleted}, 0},
		{formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictConditional}, 0},
		{formats.Return{Status: formats.StatusCompleted, Verdict: formats.VerdictRejected}, 5},
		{formats.Return{Status: formats.StatusCompleted, Said: formats.OutcomeSkipped}, 0},
		{formats.Return{Status: formats.StatusPartial}, 3},
		{formats.Return{Status: formats.StatusPartial, Said: formats.OutcomeSuspended}, 75},
		{formats.Return{Status: formats.StatusBlocked}, 75},
		{formats.Return{Status: formats.StatusFailed, Said: formats.OutcomeRejected}, 5},
		{formats.Return{}, 1},
		{failed(formats.CodeTimeout), 124},
		{failed(formats.CodeBuildError), 1},
		{formats.Failed(tooDeep(t)), 7},
		{formats.Failed(errors.New("odd")), 1},
	}

	for _, tt := range tests {
		if got := formats.ExitCode(tt.in); got != tt.want {
			t.Errorf("ExitCode(%+v) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()

	var d formats.Depth
	var err error

	for want := 1; want <= formats.MaxDepth; want++ {
		if d, err = d.Next(); err != nil || d.Int() != want {
			t.Fatalf("Next() = %v, %v, want %d", d, err, want)
		}
	}

	if again, _ := (formats.Depth{}).Next(); again != formats.CommandDepth() {
		t.Errorf("CommandDepth() = %v, want the router's next", formats.CommandDepth())
	}

	deep, err := d.Next()
	if err == nil || err.Error() != "expected delegation depth at most 3, got 4" || deep != d {
		t.Errorf("the fourth Next() = %v, %v, want an error that names both", deep, err)
	}

	if formats.CodeOf(err) != formats.CodeMaxDepth || formats.HelpOf(err) == "" {
		t.Errorf("the fourth Next() has code %s, want MAX_DEPTH_EXCEEDED with help",
			formats.CodeOf(err))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	got := formats.Limits{Retries: 1}.WithDefaults()

	want := formats.Limits{
		Rollbacks: 3,
		Retries:   1,
		Visits:    5,
		Steps:     200,
		Elements:  1000,
		Parallel:  4,
		Duration:  2 * time.Hour,
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("WithDefaults (-want +got):\n%s", diff)
	}

	if formats.MaxDepth != 3 || formats.DefaultRetries != 3 || formats.DefaultRollbacks != 3 {
		t.Error("depth, retries and rollbacks are limited to 3 each")
	}
}

func TestOutcomePasses(t *testing.T) {
	t.Parallel()
	passing := []formats.Outcome{"completed", "approved", "conditional", "skipped"}
	stopping := []formats.Outcome{"partial", "rejected", "blocked", "suspended", "failed"}

	if diff := cmp.Diff(slices.Concat(passing, stopping), formats.Outcomes()); diff != "" {
		t.Errorf("Outcomes (-want +got):\n%s", diff)
	}

	for _, o := range formats.Outcomes() {
		got := o.Passes()
		want := slices.Contains(passing, o)

		if got != want {
			t.Errorf("%s.Passes() = %v, want %v", o, got, want)
		}
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	byCode := map[formats.Code]formats.Class{
		formats.CodeTimeout:         formats.ClassTimeout,
		formats.CodeTransient:       formats.ClassTransient,
		formats.CodeDenied:          formats.ClassPermission,
		formats.CodeUntrusted:       formats.ClassPermission,
		formats.CodeToolUnavailable: formats.ClassUnavailable,
		formats.CodeAuth:            formats.ClassUnavailable,
		formats.CodeInvalidReturn:   formats.ClassInvalidReturn,
		formats.CodeCancelled:       formats.ClassCancelled,
	}
	for _, c := range formats.Codes() {
		want, ok := byCode[c]
		if !ok {
			want = formats.ClassQuality
		}
		got := formats.ClassOf(formats.ReturnError{Code: c, Type: formats.ErrorExecution})
		if got != want {
			t.Errorf("ClassOf(%s) = %s, want %s", c, got, want)
		}
	}

	byType := map[formats.ErrorType]formats.Class{
		formats.ErrorPermission:      formats.ClassPermission,
		formats.ErrorToolUnavailable: formats.ClassUnavailable,
		formats.ErrorTimeout:         formats.ClassTimeout,
		formats.ErrorValidation:      formats.ClassQuality,
	}
	for kind, want := range byType {
		got := formats.ClassOf(formats.ReturnError{Code: formats.CodeUnknown, Type: kind})
		if got != want {
			t.Errorf("ClassOf(type %s) = %s, want %s", kind, got, want)
		}
	}
}

func TestSessionID(t *testing.T) {
	t.Parallel()
	made := formats.NewSessionID(time.Unix(1767610000, 0), [6]byte{0, 1, 2, 25, 26, 255})
	if made != "sess_1767610000_abcz0d" {
		t.Errorf("NewSessionID = %s, want sess_1767610000_abcz0d", made)
	}
	for id, ok := range map[string]bool{
		made:                      true,
		"sess_$(date":             false,
		"sess_$(date +%s)_abcdef": false,
		"sess_1767610000_ABCDEF":  false,
		"sess_1767610000_abcde":   false,
		"sess__abcdef":            false,
		"":                        false,
		"sess_1_abcdef\n":         false,
	} {
		if err := formats.CheckSessionID(id); (err == nil) != ok {
			t.Errorf("CheckSessionID(%q) = %v, want ok %v", id, err, ok)
		}
	}

	early := formats.NewRunID(time.Unix(1767610000, 0), [6]byte{9})
	late := formats.NewRunID(time.Unix(1767610001, 0), [6]byte{})
	if early >= late {
		t.Errorf("run ids %s and %s do not sort by time", early, late)
	}
	got := formats.TaskFolder(7, "x")
	if got != "007_x" || formats.TaskOfFolder(got) != 7 ||
		formats.TaskOfFolder("x_7")+formats.TaskOfFolder("7") != 0 {
		t.Errorf("TaskFolder(7, x) = %s, want 007_x", got)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, r := range formats.Roles() {
		during, after := r.Statuses()
		if (during == "") != (after == "") || during != "" && !formats.CanMove(during, after) {
			t.Errorf("%s.Statuses() = %s, %s, want none or a legal change", r, during, after)
		}
		if after != "" && !slices.Contains(formats.ArtifactsFor(after), r.Artifact()) {
			t.Errorf("%s makes %q, want the artifact of %s", r, r.Artifact(), after)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	var none *formats.Diagnostics
	if none.HasErrors() {
		t.Error("HasErrors of nil = true, want false")
	}

	d := &formats.Diagnostics{List: []formats.Diagnostic{
		{Code: "W001", Severity: formats.SeverityWarning, File: "b", Message: "m", Help: "h"},
		{
			Code:     "E001",
			Severity: formats.SeverityError,
			File:     "a",
			Pos:      formats.Pos{Line: 2, Col: 1},
			Message:  "n",
		},
		{
			Code:     "E001",
			Severity: formats.SeverityError,
			File:     "a",
			Pos:      formats.Pos{Line: 2, Col: 1},
			Message:  "n",
		},
	}}

	d.Sort()
	got := d.Error()
	want := "a:2:1: E001: n\nb: W001: m"

	if got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}

	if got := formats.HelpOf(d); got != "h" {
		t.Errorf("HelpOf(d) = %q, want h", got)
	}

	if !d.HasErrors() || d.ErrorCode() != formats.CodeInvalidCommand {
		t.Errorf("HasErrors, ErrorCode = %v, %s, want true, INVALID_COMMAND",
			d.HasErrors(), d.ErrorCode())
	}
}

func TestOpenGateSaysHowToAgree(t *testing.T) {
	t.Parallel()
	plain := &formats.GateOpenError{Gate: formats.Gate{Question: "q", Digest: "ab"}}

	bound := &formats.GateOpenError{Gate: formats.Gate{
		Question:    "q",
		Digest:      "ab",
		NeedsPerson: true,
	}}

	if got := formats.HelpOf(plain); strings.Contains(got, "--trust") {
		t.Errorf("HelpOf(gate) = %q, want no digest", got)
	}
	if got := formats.HelpOf(bound); !strings.Contains(got, "--trust sha256:ab ") {
		t.Errorf("HelpOf(gate about commands) = %q, want its digest", got)
	}
}

// tooDeep is the error of the fourth level.
func tooDeep(t *testing.T) error {
	t.Helper()

	d := formats.Depth{}
	for range formats.MaxDepth {
		next, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		d = next
	}

	_, err := d.Next()
	return err
}

// TestShownTexts: who answers a gate reads a list of artifacts as lines; any other text stays.
func TestShownTexts(t *testing.T) {
	t.Parallel()

	texts := []string{
		`[{"type":"plan","path":"a.md","summary":"two\nphases"},{"type":"report","path":"b.md"}]`,
		`[{"path":"a.md"}]`,
		`[{"type":"plan","path":"a.md"}`,
		`[{"a":1}]`,
		"a text",
		"",
	}

	want := slices.Clone(texts)
	want[0] = "plan  a.md  two phases\nreport  b.md"
	got := formats.Gate{Show: texts}.ShownTexts()

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ShownTexts (-want +got):\n%s", diff)
	}
}

// TestUnrecordedError: the reason's code stays where trying again cannot help.
func TestUnrecordedError(t *testing.T) {
	t.Parallel()
	for code, want := range map[formats.Code]formats.Code{
		formats.CodePrecondition:    formats.CodePrecondition,
		formats.CodeSecretFound:     formats.CodeSecretFound,
		formats.CodeLimit:           formats.CodeLimit,
		formats.CodeNotDurable:      formats.CodeNotDurable,
		formats.CodeIO:              formats.CodeNotDurable,
		formats.CodeToolUnavailable: formats.CodeNotDurable,
	} {
		err := &formats.UnrecordedError{Err: formats.Fail(code, "help", "reason")}
		if got := formats.CodeOf(err); got != want {
			t.Errorf("the code for %s is %s, want %s", code, got, want)
		}
		if got := formats.HelpOf(err); got != "help" {
			t.Errorf("the help for %s is %q, want that of the reason", code, got)
		}
	}
}
