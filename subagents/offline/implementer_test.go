package offline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/proc"
	"tercet/subagents/offline"
)

// bench is a repository with a plan that an implementer works on.
type bench struct {
	s     *proc.Starter
	dir   string
	task  *formats.Task
	docs  docs
	gate  *approver
	agent offline.Implementer
}

func newBench(t *testing.T, description string) *bench {
	t.Helper()
	b := &bench{
		s:    starter(t),
		docs: docs{},
		gate: &approver{answer: "approve"},
	}
	b.dir = repository(t, b.s, fixture{
		commits: []map[string]string{{
			"a.txt":              "a\n",
			"b.txt":              "b\n",
			".tercet/.gitignore": "runs\n",
		}},
		messages: []string{"all: begin"},
	})
	b.task = &formats.Task{
		Number:      9,
		Title:       "Work",
		Description: description,
	}
	r := request(t, b.dir, b.task, nil)
	ret, err := offline.Planner{Docs: b.docs}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	b.docs["p.md"] = document(t, r, ret, formats.ArtifactPlan)
	b.task.Artifacts = []formats.Artifact{{Type: formats.ArtifactPlan, Path: "p.md"}}
	b.agent = offline.Implementer{
		Docs:     b.docs,
		Git:      repos(b.s),
		Starter:  b.s,
		Approver: b.gate,
	}
	return b
}

// run does a phase; 0 means the one that comes next.
func (b *bench) run(t *testing.T, phase int) (formats.Request, formats.Return) {
	t.Helper()
	r := request(t, b.dir, b.task, nil)
	if phase > 0 {
		r.Input = map[string]any{"phase": map[string]any{"number": float64(phase)}}
	}
	ret, err := b.agent.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, ret, formats.RoleImplementer)
	return r, ret
}

// finish commits what is there and marks a phase completed, as the command does.
func (b *bench) finish(t *testing.T, phase int) {
	t.Helper()
	must(t, b.s, b.dir, "git", "add", "-A")
	must(t, b.s, b.dir, "git", "commit", "-q", "--allow-empty", "-m", "phase")
	src, err := documents.SetPhase([]byte(b.docs["p.md"]), phase, documents.PhaseCompleted)
	if err != nil {
		t.Fatal(err)
	}
	b.docs["p.md"] = string(src)
}

func TestImplementer(t *testing.T) {
	t.Parallel()
	b := newBench(t, text(
		"First:", "'''sh", "echo changed >a.txt", "git rm -q b.txt", "mkdir -p sub/deep",
		"echo \"$TERCET_RUN\" >sub/deep/run.txt", "echo x >.tercet/state.json", ": >empty.txt",
		"ln -s a.txt link", "echo x >a:b", "'''",
		"Second:", "'''sh", "git mv a.txt \"c d.txt\"", "'''",
		"## Acceptance", "- it is right", "## Verification", "'''sh", "test -f \"c d.txt\"",
		"'''",
	))
	_, ret := b.run(t, 1)
	want := []formats.Artifact{
		{Type: formats.ArtifactImplementation, Path: "a.txt"},
		{Type: formats.ArtifactImplementation, Path: "b.txt", Deleted: true},
		{Type: formats.ArtifactImplementation, Path: "sub/deep/run.txt"},
	}
	if diff := cmp.Diff(want, ret.Artifacts); diff != "" || ret.Status != formats.StatusCompleted {
		t.Fatalf("phase 1 = %+v, artifacts (-want +got):\n%s", ret, diff)
	}
	wantWarnings := []string{
		"not verified: phase 1 (First) names no verification",
		`"a:b" changed and is no artifact: it has a colon in its path, which means a drive or ` +
			"a stream on Windows",
		"empty.txt changed and is no artifact: it is empty or no regular file",
		"link changed and is no artifact: it is empty or no regular file",
	}
	if diff := cmp.Diff(wantWarnings, ret.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	got, err := os.ReadFile(filepath.Join(b.dir, "sub/deep/run.txt"))
	if err != nil || string(got) != "r1\n" {
		t.Errorf("TERCET_RUN of the commands = %q, %v, want r1", got, err)
	}
	if log := must(t, b.s, b.dir, "git", "log", "--format=%s"); log != "all: begin\n" {
		t.Errorf("git log = %q, want no commit of the implementer", log)
	}
	b.finish(t, 1)
	r, ret := b.run(t, 0)
	want = []formats.Artifact{
		{Type: formats.ArtifactImplementation, Path: "a.txt", Deleted: true},
		{Type: formats.ArtifactImplementation, Path: "c d.txt"},
		{Type: formats.ArtifactSummary, Path: "summary.md", Summary: "summary of 2 phases"},
	}
	if diff := cmp.Diff(want, ret.Artifacts); diff != "" || len(ret.Warnings) != 0 {
		t.Fatalf("phase 2 = %+v, artifacts (-want +got):\n%s", ret, diff)
	}
	golden(t, "summary.md", document(t, r, ret, formats.ArtifactSummary))
	if len(b.gate.gates) != 2 || b.gate.gates[0].Digest != b.gate.gates[1].Digest {
		t.Errorf("gates = %+v, want one a phase with the same digest", b.gate.gates)
	}
	if left, err := os.ReadDir(b.s.Temp); err != nil || len(left) > 0 {
		t.Errorf("temporary folder holds %v, %v, want nothing", left, err)
	}
	// All phases are completed: there is nothing to go on with.
	b.finish(t, 2)
	_, ret = b.run(t, 0)
	if ret.Status != formats.StatusFailed || ret.Errors[0].Code != formats.CodeValidationFailed {
		t.Errorf("Run on a finished plan = %+v, want failed", ret)
	}
}

// A phase that changes no file shows the summary of what it did: a completed return has an
// artifact.
func TestImplementerWithoutChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, text("A:", "'''sh", "true", "'''", "B:", "'''sh", "true", "'''"))
	r, ret := b.run(t, 1)
	if len(ret.Artifacts) != 1 || ret.Artifacts[0].Summary != "summary of phase 1 (A)" {
		t.Fatalf("Run = %+v, want one summary", ret)
	}
	doc := document(t, r, ret, formats.ArtifactSummary)
	if !strings.Contains(doc, "No file changed.") {
		t.Errorf("the summary claims changes:\n%s", doc)
	}
}

func TestImplementerAsksFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, text(
		"A:", "'''sh", "echo x >ran.txt", "'''", "B:", "'''sh", "two",
		"for f in *; do echo $f; done", "'''", "## Verification", "'''sh", "check $(pwd)",
		"'''",
	))
	plan, _ := documents.ParsePlan("p.md", []byte(b.docs["p.md"]))
	want := formats.Gate{
		Question: "Run the 3 commands of p.md?",
		Show: []string{
			"phase 1: A\necho x >ran.txt",
			"phase 2: B\ntwo\nfor f in *; do echo $f; done\n" +
				"(unknown: line 2: which of its commands run shows only when it runs)",
			"phase 2, verification\ncheck $(pwd)\n" +
				"(unknown: line 1: what its commands print shows only when it runs)",
		},
		Choices: []formats.Choice{
			{Label: "approve", Approves: true},
			{Label: "reject", Leaves: true},
		},
		Digest:      plan.CommandDigest(),
		NeedsPerson: true,
		Run:         "r1",
		Step:        "work",
	}
	for name, tc := range map[string]struct {
		gate   approver
		status formats.ReturnStatus
		code   formats.Code
	}{
		"rejected":     {approver{answer: "reject"}, formats.StatusFailed, formats.CodeRejected},
		"empty answer": {approver{}, formats.StatusFailed, formats.CodeRejected},
	} {
		gate := tc.gate
		b.agent.Approver = &gate
		_, ret := b.run(t, 1)
		if ret.Status != tc.status || tc.code != "" && ret.Errors[0].Code != tc.code {
			t.Errorf("%s: Run = %+v, want %s %s", name, ret, tc.status, tc.code)
		}
		if diff := cmp.Diff([]formats.Gate{want}, gate.gates); diff != "" {
			t.Errorf("%s: gate (-want +got):\n%s", name, diff)
		}
		if tc.status == formats.StatusBlocked &&
			(!strings.Contains(ret.NextSteps, "p.md") || formats.ExitCode(ret) != 75) {
			t.Errorf("%s: Run = %+v, want the plan in the next steps and exit 75", name, ret)
		}
		if status := must(t, b.s, b.dir, "git", "status", "--porcelain"); status != "" {
			t.Fatalf("%s: git status = %q, want nothing to have run", name, status)
		}
	}

	broken := approver{err: errors.New("no terminal driver")}
	b.agent.Approver = &broken
	if _, err := b.agent.Run(t.Context(), request(t, b.dir, b.task, nil)); err == nil {
		t.Error("Run with a broken approver = nil, want its error")
	}
}

func TestImplementerFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		description string
		code        formats.Code
		want        []string // in the message
	}{
		"commands": {
			text("A:", "'''sh", "echo before", "false", "echo x >after.txt", "'''"),
			formats.CodeUnknown,
			[]string{"the commands of phase 1 (A) ended with exit 1", "before"},
		},
		"unset variable": {
			text("A:", "'''sh", "echo \"$NO_SUCH_THING\"", "'''"),
			formats.CodeUnknown,
			[]string{"ended with exit 2", "commands.sh", "NO_SUCH_THING"},
		},
		"verification": {
			text(
				"A:", "'''sh", "echo x >ran.txt", "'''", "Verification:", "'''sh",
				"echo it is wrong >&2", "exit 7", "'''",
			),
			formats.CodeValidationFailed,
			[]string{"the verification of phase 1 (A) ended with exit 7", "it is wrong"},
		},
		"signal": {
			text("A:", "'''sh", "kill -9 $$", "'''"),
			formats.CodeUnknown,
			[]string{"signal SIGKILL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.description)
			_, ret := b.run(t, 1)
			if ret.Status != formats.StatusFailed || ret.Errors[0].Code != tc.code ||
				len(ret.Artifacts) != 0 || len(ret.Issues) == 0 {
				t.Fatalf("Run = %+v, want failed %s with issues", ret, tc.code)
			}
			for _, w := range tc.want {
				if !strings.Contains(ret.Errors[0].Message, w) {
					t.Errorf("message %q does not say %q", ret.Errors[0].Message, w)
				}
			}
			if strings.Contains(ret.Errors[0].Message, b.s.Temp) {
				t.Errorf("message %q names a temporary folder", ret.Errors[0].Message)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "after.txt")); err == nil {
				t.Error("the script went on after a command that failed")
			}
		})
	}
}

func TestImplementerIsPartialWithoutCommands(t *testing.T) {
	t.Parallel()
	b := newBench(
		t,
		text("- [ ] write the manual", "Verification:", "'''sh", "echo x >ran.txt", "'''"),
	)
	for name, input := range map[string]map[string]any{
		"of the plan":      {"phase": map[string]any{"number": 1, "name": "x"}, "plan": "p.md"},
		"made of feedback": {"phase": map[string]any{"number": 0, "name": "Fix what was rejected"}},
	} {
		r := request(t, b.dir, b.task, input)
		r.Feedback = &formats.Feedback{Issues: []formats.Issue{{
			Description: "the index is missing",
		}}}
		ret, err := b.agent.Run(t.Context(), r)
		if err != nil || ret.Status != formats.StatusPartial ||
			!strings.Contains(ret.NextSteps, "the index is missing") {
			t.Errorf("%s: Run = %+v, %v, want partial with the issue in the next steps",
				name, ret, err)
		}
		named := strings.Contains(ret.NextSteps, "write the manual")
		if named != (name == "of the plan") {
			t.Errorf("%s: next steps %q", name, ret.NextSteps)
		}
		valid(t, ret, formats.RoleImplementer)
	}

	if len(b.gate.gates) != 0 {
		t.Error("a phase without commands was asked about")
	}
	if status := must(t, b.s, b.dir, "git", "status", "--porcelain"); status != "" {
		t.Errorf("git status = %q, want nothing to have run", status)
	}
}

func TestImplementerRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, text("A:", "'''sh", "true", "'''"))
	bare := *b.task
	bare.Artifacts = nil
	elsewhere := tree(t, map[string]string{"a": "a"})
	for name, tc := range map[string]struct {
		task  *formats.Task
		input map[string]any
		dir   string
		want  formats.Code
	}{
		"no task":        {nil, nil, b.dir, formats.CodeValidationFailed},
		"no plan":        {&bare, nil, b.dir, formats.CodePrecondition},
		"plan not there": {b.task, map[string]any{"plan": "gone.md"}, b.dir, formats.CodeUnknown},
		"no such phase": {
			b.task,
			map[string]any{"phase": map[string]any{"number": 4}},
			b.dir,
			formats.CodeValidationFailed,
		},
		"phase is text": {
			b.task,
			map[string]any{"phase": "one"},
			b.dir,
			formats.CodeValidationFailed,
		},
		"half a number": {
			b.task,
			map[string]any{"phase": map[string]any{"number": 1.5}},
			b.dir,
			formats.CodeValidationFailed,
		},
		"no repository":   {b.task, nil, elsewhere, formats.CodeConfig},
		"plan is no text": {b.task, map[string]any{"plan": 1}, b.dir, formats.CodeValidationFailed},
	} {
		ret, err := b.agent.Run(t.Context(), request(t, tc.dir, tc.task, tc.input))
		if err != nil || ret.Status != formats.StatusFailed || ret.Errors[0].Code != tc.want {
			t.Errorf("%s: Run = %+v, %v, want failed with %s", name, ret, err, tc.want)
		}
	}

	_, err := (offline.Implementer{}).Run(t.Context(), request(t, b.dir, b.task, nil))
	if formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Run without parts = %v, want BUG", err)
	}
}

func TestImplementerStops(t *testing.T) {
	t.Parallel()
	b := newBench(t, text("A:", "'''sh", "exec sleep 60", "'''"))
	r := request(t, b.dir, b.task, nil)
	r.Timeout.Total = 1
	ret, err := b.agent.Run(t.Context(), r)
	if err != nil || ret.Status != formats.StatusFailed ||
		ret.Errors[0].Code != formats.CodeTimeout {
		t.Errorf("Run over its time = %+v, %v, want failed TIMEOUT", ret, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.agent.Approver = stopper{cancel}
	_, err = b.agent.Run(ctx, request(t, b.dir, b.task, nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run cancelled = %v, want %v", err, context.Canceled)
	}
}

// stopper approves and ends the run at the same moment.
type stopper struct{ cancel func() }

func (s stopper) Approve(context.Context, formats.Gate) (formats.Decision, error) {
	s.cancel()
	return formats.Decision{Answer: "approve"}, nil
}
