package offline_test

import (
	"io/fs"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents"
	"tercet/subagents/offline"
)

// The archives of the demo hold what they promise: a history of two commits, a test that fails
// after the second, and a task whose one command mends it.
func TestFixturesGoFromRedToGreen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ path, name, file string }{
		{pagesFixture, "Expand", "pages/pages.go"},
		{clampFixture, "Clamp", "clamp/clamp.go"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.path != clampFixture {
				testkit.OnlyDeep(t, "builds another program")
			}
			f := open(t, tc.path)
			s := starter(t)
			if len(f.commits) != 2 || len(f.messages) != 2 {
				t.Fatalf("%s has %d commits and %d messages, want 2 and 2",
					tc.path, len(f.commits), len(f.messages))
			}
			for _, word := range []string{tc.name, tc.file} {
				if !strings.Contains(f.task.Description, "`"+word) {
					t.Errorf("the task does not name `%s`", word)
				}
			}

			dir := repository(t, s, f)
			must(t, s, dir, "git", "checkout", "-q", "HEAD~1")
			must(t, s, dir, "go", "test", "./...")
			must(t, s, dir, "git", "checkout", "-q", "main")
			exit, out := sh(t, s, dir, "go", "test", "./...")
			if exit == 0 || !strings.Contains(out, "--- FAIL: Test"+tc.name) {
				t.Errorf("go test before the patch = exit %d, want a failing Test%s\n%s",
					exit, tc.name, out)
			}
			got := offline.Read(f.task.Description)
			if len(got.Blocks) != 1 || len(got.Last) != 1 || len(got.Every) != 0 ||
				len(got.Checks) != 2 || len(got.Notes) != 0 {
				t.Fatalf(
					"read(task.md) = %+v, want one block, one verification after it, two checks",
					got,
				)
			}
			if !strings.HasPrefix(got.Blocks[0], "git apply <<'EOF'\n") ||
				got.Last[0] != "go test ./...\n" {
				t.Errorf("read(task.md) = %q, %q, want git apply and go test ./...",
					got.Blocks[0], got.Last[0])
			}
			scripts := tree(t, map[string]string{"do.sh": got.Blocks[0], "check.sh": got.Last[0]})
			must(t, s, dir, "sh", "-eu", scripts+"/do.sh")
			must(t, s, dir, "sh", "-eu", scripts+"/check.sh")
			must(t, s, dir, "go", "vet", "./...")
			if out := must(t, s, dir, "gofmt", "-l", "."); out != "" {
				t.Errorf("gofmt -l = %q, want nothing", out)
			}
		})
	}
}

// site is a project at work: what the commands around the workers would do, without them.
type site struct {
	s       *proc.Starter
	dir     string
	task    *formats.Task
	docs    docs
	workers offline.Workers
}

func newSite(t *testing.T, path string, change func(string) string) *site {
	t.Helper()
	f := open(t, path)
	f.task.Description = change(f.task.Description)
	p := &site{
		s:    starter(t),
		task: &f.task,
		docs: docs{},
	}
	p.dir = repository(t, p.s, f)
	p.workers = workers(p.s, p.docs, &approver{answer: "approve"}, repos(p.s))
	return p
}

// do runs the worker of a role and keeps its document as the newest of the task.
func (p *site) do(t *testing.T, role formats.Role) formats.Return {
	t.Helper()
	src, err := fs.ReadFile(subagents.Library(), role.String()+".md")
	if err != nil {
		t.Fatal(err)
	}
	def, err := subagents.ParseDefinition(role.String()+".md", src)
	if err != nil || def.Info.Role != role {
		t.Fatalf("the shipped %s has role %s, error %v", role, def.Info.Role, err)
	}
	r := request(t, p.dir, p.task, nil)
	ret, err := p.workers.For(def.Info).Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if bad := returns.Validate(ret, def.Info); bad != nil {
		t.Errorf("%+v breaks the shipped contract: %q", ret, bad)
	}
	for _, a := range ret.Artifacts {
		if a.Type.IsDocument() {
			p.docs[string(a.Type)+".md"] = document(t, r, ret, a.Type)
			p.task.Artifacts = append(p.task.Artifacts, formats.Artifact{
				Type: a.Type,
				Path: string(a.Type) + ".md",
			})
		}
	}

	return ret
}

// The whole way of a task with no model: what it finds, plans, runs and judges comes from the
// archive.
func TestFixturesEndToEnd(t *testing.T) {
	t.Parallel()
	same := func(s string) string { return s }
	for name, tc := range map[string]struct {
		path   string
		change func(string) string
		want   formats.Outcome // of the implementer
		file   string          // changed, empty: none
		green  bool
	}{
		"pages": {pagesFixture, same, formats.OutcomeCompleted, "pages/pages.go", true},
		"clamp": {clampFixture, same, formats.OutcomeCompleted, "clamp/clamp.go", true},
		"no command": {pagesFixture, func(s string) string {
			before, rest, _ := strings.Cut(s, "```sh\ngit apply")
			_, after, _ := strings.Cut(rest, "```\n")
			return before + after
		}, formats.OutcomePartial, "", false},
		"no help": {pagesFixture, func(s string) string {
			return strings.Replace(
				s,
				"+\t\tfor page := first; page <= last; page++ {",
				"+\t\tfor page := first; page < last+0; page++ {",
				1,
			)
		}, formats.OutcomeFailed, "pages/pages.go", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "clamp" && name != "no command" {
				testkit.OnlyDeep(t, "tests another program several times")
			}
			p := newSite(t, tc.path, tc.change)
			if ret := p.do(t, formats.RoleReviewer); ret.Outcome() != formats.OutcomeRejected ||
				len(ret.Issues) == 0 {
				t.Errorf("review before the change = %+v, want rejected with issues", ret)
			}
			if ret := p.do(t, formats.RoleResearcher); ret.Outcome() != formats.OutcomeCompleted {
				t.Errorf("research = %+v, want completed", ret)
			}
			if ret := p.do(t, formats.RolePlanner); ret.Outcome() != formats.OutcomeCompleted ||
				!strings.Contains(p.docs["plan.md"], "Read `report.md` first") ||
				strings.Contains(p.docs["plan.md"], "How each file was found") {
				t.Errorf("plan = %+v, want completed with the report named", ret)
			}
			ret := p.do(t, formats.RoleImplementer)
			if ret.Outcome() != tc.want {
				t.Fatalf("implementation = %+v, want %s", ret, tc.want)
			}
			if tc.want == formats.OutcomeFailed &&
				(ret.Errors[0].Code != formats.CodeValidationFailed || len(ret.Issues) == 0 ||
					ret.Issues[0].Line == 0) {
				t.Errorf(
					"implementation = %+v, want VALIDATION_FAILED with an issue that has a line",
					ret,
				)
			}
			got := strings.TrimSpace(must(t, p.s, p.dir, "git", "diff", "--name-only"))
			if got != tc.file {
				t.Errorf("git diff = %q, want %q", got, tc.file)
			}
			if exit, out := sh(t, p.s, p.dir, "go", "test", "./..."); (exit == 0) != tc.green {
				t.Errorf("go test = exit %d, want green %v\n%s", exit, tc.green, out)
			}
			want := formats.OutcomeRejected
			if tc.green {
				want = formats.OutcomeApproved
			}
			if ret := p.do(t, formats.RoleReviewer); ret.Outcome() != want {
				t.Errorf("review after the change = %+v, want %s", ret, want)
			}
		})
	}
}
