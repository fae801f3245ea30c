package subagents_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/secrets"
	"tercet/subagents"
)

func TestDelegateBadReturns(t *testing.T) {
	t.Parallel()
	plan := func(p string) formats.Artifact {
		return formats.Artifact{Type: formats.ArtifactPlan, Path: p}
	}
	file := func(p string) formats.Artifact {
		return formats.Artifact{Type: formats.ArtifactImplementation, Path: p}
	}
	tests := []struct {
		name string
		ret  formats.Return
		want []string
	}{
		{
			"missing",
			completed(plan("no.md")),
			[]string{`artifact "no.md" is not in the folder for documents`},
		},
		{"empty", completed(plan("empty.md")), []string{`artifact "empty.md" is empty`}},
		{"blank", completed(plan("blank.md")), []string{`artifact "blank.md" is empty`}},
		{"link", completed(plan("link.md")), []string{`artifact "link.md" is a symbolic link`}},
		{
			"through a link",
			completed(plan("up/secret.md")),
			[]string{
				`artifact "up/secret.md" cannot be read in the folder for documents: path escapes from parent`,
			},
		},
		{"folder", completed(plan("sub")), []string{`artifact "sub" is not a regular file`}},
		{
			"outside",
			completed(plan("../../../../secret.md")),
			[]string{
				`expected a relative slash-separated path for artifact 1, got "../../../../secret.md"`,
			},
		},
		{
			"outside after a folder",
			completed(plan("sub/../../x.md")),
			[]string{
				`expected a relative slash-separated path for artifact 1, got "sub/../../x.md"`,
			},
		},
		{
			"absolute",
			completed(plan("/etc/passwd")),
			[]string{`expected a relative slash-separated path for artifact 1, got "/etc/passwd"`},
		},
		{
			"backslash",
			completed(plan(`..\x.md`)),
			[]string{`expected a relative slash-separated path for artifact 1, got "..\\x.md"`},
		},
		{
			"control",
			completed(plan("a\x1b.md")),
			[]string{"artifact \"a\\x1b.md\" has a control character in its path"},
		},
		{
			"device",
			completed(plan("NUL.md")),
			[]string{`artifact "NUL.md" has a name in its path that Windows keeps for devices`},
		},
		{
			"dot",
			completed(plan("x.")),
			[]string{`artifact "x." has a name that ends in a dot or a space in its path`},
		},
		{
			"long",
			completed(plan(strings.Repeat("x", 256))),
			[]string{fmt.Sprintf("artifact %q has a name of more than 255 bytes in its path",
				strings.Repeat("x", 256))},
		},
		{
			"itself",
			completed(plan(".")),
			[]string{`expected a relative slash-separated path for artifact 1, got "."`},
		},
		{
			"no path",
			completed(plan("")),
			[]string{`expected a relative slash-separated path for artifact 1, got ""`},
		},
		{
			"twice",
			completed(plan("good.md"), plan("good.md")),
			[]string{`artifact "good.md" is listed twice`},
		},
		{"deleted document", completed(plan("good.md"), formats.Artifact{
			Type:    formats.ArtifactReport,
			Path:    "old.md",
			Deleted: true,
		}), []string{`artifact "old.md" is a document and cannot be deleted`}},
		{
			"tree: missing",
			completed(plan("good.md"), file("no.go")),
			[]string{`artifact "no.go" is not in the tree that was worked on`},
		},
		{
			"tree: empty",
			completed(plan("good.md"), file("empty.go")),
			[]string{`artifact "empty.go" is empty`},
		},
		{
			"tree: link",
			completed(plan("good.md"), file("link.go")),
			[]string{`artifact "link.go" is a symbolic link`},
		},
		{
			"several",
			completed(plan("no.md"), file("no.go")),
			[]string{
				`artifact "no.md" is not in the folder for documents`,
				`artifact "no.go" is not in the tree that was worked on`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			var told [][]string
			w.add(
				formats.AgentInfo{Name: "planner"},
				func(_ context.Context, r formats.Request) (formats.Return, error) {
					told = append(told, r.Repair)
					spoil(t, w.dir, r.Out)
					return tt.ret, nil
				},
			)
			got, err := w.Delegate(t.Context(), request("planner", "plan"))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != formats.StatusFailed || got.Class != formats.ClassInvalidReturn ||
				len(got.Artifacts) > 0 {
				t.Fatalf("Delegate = %+v, want failed, invalid_return", got)
			}
			if diff := cmp.Diff([][]string{nil, tt.want}, told); diff != "" {
				t.Errorf("told to the agent (-want +got):\n%s", diff)
			}
			if !strings.HasSuffix(
				got.Errors[0].Message,
				"(raw text in .tercet/runs/r1/plan-1/return)",
			) {
				t.Errorf("message = %s, want it to name the raw text", got.Errors[0].Message)
			}
			var raw formats.Return
			err = json.Unmarshal([]byte(w.read(".tercet/runs/r1/plan-1/return")), &raw)
			if err != nil || raw.Summary != "done" {
				t.Errorf("raw text = %+v, %v", raw, err)
			}
			if files := w.files(".tercet/specs"); len(files) > 0 {
				t.Errorf("specs hold %v, want nothing", files)
			}
		})
	}
}

// spoil makes every kind of file that is no artifact.
func spoil(t *testing.T, dir, out string) {
	t.Helper()
	for name, text := range map[string]string{
		filepath.Join(out, "good.md"):   "# Plan\n",
		filepath.Join(out, "empty.md"):  "",
		filepath.Join(out, "blank.md"):  " \n\t\n",
		filepath.Join(dir, "secret.md"): "secret",
		filepath.Join(dir, "empty.go"):  "",
		filepath.Join(dir, "real.go"):   "package x\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	for name, to := range map[string]string{
		filepath.Join(out, "link.md"): filepath.Join(dir, "secret.md"),
		filepath.Join(dir, "link.go"): "real.go",
		filepath.Join(out, "up"):      dir,
	} {
		if err := os.Symlink(to, name); err != nil && !os.IsExist(err) {
			t.Error(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(out, "sub"), 0o700); err != nil {
		t.Error(err)
	}
}

func TestDelegateRepairs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	calls := 0
	w.add(planner(), func(ctx context.Context, r formats.Request) (formats.Return, error) {
		calls++
		if calls == 1 {
			return formats.Return{}, &subagents.ReturnError{
				Agent:    "planner",
				Raw:      []byte("I am done!\n"),
				Problems: []string{"no return was found"},
			}
		}
		if !slices.Equal(r.Repair, []string{"no return was found"}) ||
			!strings.HasSuffix(r.Out, "plan-1/out") {
			t.Errorf("repair request = %+v", r)
		}
		return writes(t, "p.md", "# Plan\n")(ctx, r)
	})
	got, err := w.Delegate(t.Context(), request("planner", "plan"))
	if err != nil || got.Status != formats.StatusCompleted || calls != 2 {
		t.Errorf("Delegate = %+v, %v after %d calls", got, err, calls)
	}
	if raw := w.read(".tercet/runs/r1/plan-1/return-1"); raw != "I am done!\n" {
		t.Errorf("raw text = %q", raw)
	}
}

func TestDelegateRepairsOnlyWorkers(t *testing.T) {
	t.Parallel()
	for kind, set := range map[string]func(*formats.AgentInfo){
		"builtin":  func(i *formats.AgentInfo) { i.Builtin = true },
		"workflow": func(i *formats.AgentInfo) { i.Workflow = true },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			info := utility("clerk")
			set(&info)
			calls := 0
			w.add(info, func(context.Context, formats.Request) (formats.Return, error) {
				calls++
				return completed(formats.Artifact{Type: formats.ArtifactPlan, Path: "x.md"}), nil
			})
			got, err := w.Delegate(t.Context(), request("clerk", "do"))
			if err != nil || got.Class != formats.ClassInvalidReturn || calls != 1 {
				t.Errorf("Delegate = %+v, %v after %d calls, want one", got, err, calls)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, dir)
	w.add(
		formats.AgentInfo{Name: "writer"},
		func(_ context.Context, r formats.Request) (formats.Return, error) {
			ret := completed()
			if s, ok := r.Input["status"].(formats.ReturnStatus); ok {
				ret.Status = s
			}
			switch ret.Status {
			case formats.StatusFailed:
				ret.Errors = []formats.ReturnError{{
					Type:    formats.ErrorExecution,
					Message: "no",
					Code:    formats.CodeBuildError,
				}}
			case formats.StatusBlocked:
				ret.BlockedReason = "why?"
			case formats.StatusCompleted, formats.StatusPartial, formats.StatusSuspended:
			}

			for i, kind := range r.Input["kinds"].([]formats.ArtifactType) {
				name := fmt.Sprintf("%s-%d.md", kind, i)
				if err := os.WriteFile(
					filepath.Join(r.Out, name),
					[]byte(r.Step),
					0o600,
				); err != nil {
					t.Error(err)
				}
				ret.Artifacts = append(ret.Artifacts, formats.Artifact{Type: kind, Path: name})
			}

			return ret, nil
		},
	)
	const specs = ".tercet/specs/007_fix_it/"
	steps := []struct {
		name   string
		edit   func(*formats.Request)
		kinds  []formats.ArtifactType
		status formats.ReturnStatus
		want   []string
	}{
		{
			"first report",
			nil,
			[]formats.ArtifactType{formats.ArtifactReport},
			"",
			[]string{specs + "reports/research-001.md"},
		},
		{
			"the same step again",
			nil,
			[]formats.ArtifactType{formats.ArtifactReport},
			"",
			[]string{specs + "reports/research-001.md"},
		},
		{
			"another step",
			func(r *formats.Request) { r.Step = "phases[1]/b" },
			[]formats.ArtifactType{formats.ArtifactReport, formats.ArtifactReport},
			"",
			[]string{specs + "reports/research-002.md", specs + "reports/research-003.md"},
		},
		{
			"the same step of another run",
			func(r *formats.Request) { r.Run = "r2" },
			[]formats.ArtifactType{formats.ArtifactReport},
			"",
			[]string{specs + "reports/research-004.md"},
		},
		{
			"first plan",
			nil,
			[]formats.ArtifactType{formats.ArtifactPlan},
			formats.StatusPartial,
			[]string{specs + "plans/implementation-001.md"},
		},
		{
			"summary",
			nil,
			[]formats.ArtifactType{formats.ArtifactSummary},
			"",
			[]string{specs + "summaries/implementation-summary-20260105.md"},
		},
		{
			"second summary of the day",
			func(r *formats.Request) { r.Step = "again" },
			[]formats.ArtifactType{formats.ArtifactSummary},
			"",
			[]string{specs + "summaries/implementation-summary-20260105-2.md"},
		},
		{
			"review",
			nil,
			[]formats.ArtifactType{formats.ArtifactReview},
			"",
			[]string{specs + "reviews/review-001.md"},
		},
		{
			"failed",
			func(r *formats.Request) { r.Step = "f" },
			[]formats.ArtifactType{formats.ArtifactPlan},
			formats.StatusFailed,
			[]string{".tercet/runs/r1/f-1/out/plan-0.md"},
		},
		{
			"blocked",
			func(r *formats.Request) { r.Step = "f[2]/x" },
			[]formats.ArtifactType{formats.ArtifactPlan},
			formats.StatusBlocked,
			[]string{".tercet/runs/r1/f.2.x-1/out/plan-0.md"},
		},
		{
			"no task, review",
			func(r *formats.Request) { r.Task = nil },
			[]formats.ArtifactType{formats.ArtifactReview},
			"",
			[]string{".tercet/reviews/review-001.md"},
		},
		{
			"no task, report",
			func(r *formats.Request) {
				r.Task = nil
				r.Step = "n"
			},
			[]formats.ArtifactType{formats.ArtifactReport},
			"",
			[]string{".tercet/runs/r1/n-1/out/report-0.md"},
		},
		{
			"four digits",
			func(r *formats.Request) {
				r.Task.Number = 1234
				r.Task.Slug = ""
			},
			[]formats.ArtifactType{formats.ArtifactPlan},
			"",
			[]string{".tercet/specs/1234_task/plans/implementation-001.md"},
		},
	}
	for _, s := range steps {
		r := request("writer", "a")
		r.Input = map[string]any{"kinds": s.kinds}
		if s.status != "" {
			r.Input["status"] = s.status
		}
		if s.edit != nil {
			s.edit(&r)
		}
		got, err := w.Delegate(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		var paths []string
		for _, a := range got.Artifacts {
			paths = append(paths, a.Path)
			if text := w.read(a.Path); text != r.Step {
				t.Errorf("%s: %s = %q, want %q", s.name, a.Path, text, r.Step)
			}
		}
		if !slices.Equal(paths, s.want) {
			t.Errorf("%s: placed at %v, want %v", s.name, paths, s.want)
		}
	}

	// A new process goes on with the run: the record tells what belongs to it.
	again := newWorld(t, dir)
	again.Set = w.Set
	r := request("writer", "a")
	r.Input = map[string]any{"kinds": []formats.ArtifactType{formats.ArtifactReport}}
	got, err := again.Delegate(t.Context(), r)
	if err != nil || got.Artifacts[0].Path != specs+"reports/research-001.md" {
		t.Errorf("after a restart: %+v, %v, want research-001.md", got.Artifacts, err)
	}
}

// TestBareNames: an artifact that came without a type is what its place says: a document in the
// folder for documents, else a file of the tree.
func TestBareNames(t *testing.T) {
	t.Parallel()
	documented := formats.AgentInfo{Artifacts: []formats.ArtifactSpec{{
		Type: formats.ArtifactDocumentation,
	}}}
	for _, tt := range []struct {
		name, file string // below out/ or tree/
		guess      formats.ArtifactType
		info       formats.AgentInfo
		want       string // type and path, or what is refused
	}{
		{
			"the one document of the contract",
			"out/notes.md",
			formats.ArtifactDocumentation,
			planner(),
			"plan .tercet/specs/007_fix_it/plans/implementation-001.md",
		},
		{
			"the one of its name",
			"out/AUDIT.txt",
			formats.ArtifactReview,
			formats.AgentInfo{Artifacts: []formats.ArtifactSpec{
				{Type: formats.ArtifactPlan}, {Type: formats.ArtifactReport, Name: "AUDIT.txt"},
			}},
			"expected an artifact of type plan",
		},
		{
			"as the name says",
			"out/review.md",
			formats.ArtifactReview,
			formats.AgentInfo{},
			"review .tercet/specs/007_fix_it/reviews/review-001.md",
		},
		{
			"as the role says",
			"out/thoughts.md",
			formats.ArtifactDocumentation,
			formats.AgentInfo{Role: formats.RolePlanner},
			"plan .tercet/specs/007_fix_it/plans/implementation-001.md",
		},
		{
			"as nobody says",
			"out/data.csv",
			formats.ArtifactImplementation,
			formats.AgentInfo{Role: formats.RoleUtility},
			"report .tercet/specs/007_fix_it/reports/research-001.md",
		},
		{
			"a file of the tree",
			"docs/plan.md",
			formats.ArtifactPlan,
			formats.AgentInfo{},
			"documentation docs/plan.md",
		},
		{
			"documentation of the contract", "out/SPEC.md", formats.ArtifactDocumentation,
			documented, "documentation docs/SPEC.md",
		},
		{
			"documentation that guesses as a report", "out/RESEARCH_RESULT.md",
			formats.ArtifactReport, documented, "documentation docs/RESEARCH_RESULT.md",
		},
		{
			"documentation in a folder", "out/docs/deliverables/x/hld.en.md",
			formats.ArtifactDocumentation, documented,
			"documentation docs/deliverables/x/hld.en.md",
		},
		{
			"documentation of a part of the project", "out/parts/a/docs/hld.en.md",
			formats.ArtifactDocumentation, documented, "documentation parts/a/docs/hld.en.md",
		},
		{
			"documentation of git", "out/.git/docs/x.md", formats.ArtifactDocumentation, documented,
			`artifact ".git/docs/x.md" is not in the tree`,
		},
		{
			"documentation at the top of the project", "out/TOP.md", formats.ArtifactDocumentation,
			documented, "documentation TOP.md",
		},
		{
			"documentation elsewhere", "out/.github/x.md", formats.ArtifactDocumentation,
			documented, `artifact ".github/x.md" is not in the tree`,
		},
		{
			"code", "a.go",
			formats.ArtifactImplementation,
			formats.AgentInfo{},
			"implementation a.go",
		},
		{
			"nowhere",
			"",
			formats.ArtifactPlan,
			formats.AgentInfo{},
			`artifact "no.md" is not in the folder for documents`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			tt.info.Name = "planner"
			if err := os.WriteFile(
				filepath.Join(w.dir, "TOP.md"),
				[]byte("old\n"),
				0o600,
			); err != nil {
				t.Fatal(err)
			}
			w.add(tt.info, func(_ context.Context, r formats.Request) (formats.Return, error) {
				name, inOut := strings.CutPrefix(tt.file, "out/")
				at := filepath.Join(w.dir, tt.file)
				if inOut {
					at = filepath.Join(r.Out, name)
				}
				if name == "" {
					return completed(formats.Artifact{
						Type:    tt.guess,
						Guessed: true,
						Path:    "no.md",
					}), nil
				}
				err := errors.Join(
					os.MkdirAll(filepath.Dir(at), 0o700),
					os.WriteFile(at, []byte("text\n"), 0o600),
				)
				if err != nil {
					t.Error(err)
				}
				return completed(formats.Artifact{
					Type:    tt.guess,
					Guessed: true,
					Path:    name,
				}), nil
			})
			kind, to, _ := strings.Cut(tt.want, " ")
			// of a process that was killed as it placed the document
			half := filepath.Join(w.dir, to+".tmp-7-0123456789abcdef")
			if kind == "documentation" {
				err := errors.Join(
					os.MkdirAll(filepath.Dir(half), 0o700),
					os.WriteFile(half, nil, 0o600),
				)
				if err != nil {
					t.Fatal(err)
				}
			}
			ret, err := w.Delegate(t.Context(), request("planner", "plan"))
			got := ret.Summary
			if len(ret.Artifacts) == 1 {
				got = string(ret.Artifacts[0].Type) + " " + ret.Artifacts[0].Path
			}
			if err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("Delegate = %s, %v, want %s", got, err, tt.want)
			}
			if kind == "documentation" {
				_, err := os.Lstat(half)
				if strings.HasPrefix(tt.file, "out/") && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: %v, want it gone", half, err)
				}
				text, err := os.ReadFile(filepath.Join(w.dir, to))
				if err != nil || string(text) != "text\n" {
					t.Errorf("%s = %q, %v, want the text", to, text, err)
				}
			}
		})
	}
}

// TestNoKeysAmongArtifacts: a file whose name is that of a secret is no artifact; the work that
// made it is rejected.
func TestNoKeysAmongArtifacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.Allow = []secrets.Allowed{{File: "certs/public.pem"}}
	made := map[string]bool{
		"plan.md":              true,
		".env":                 true,
		"certs/public.pem":     false,
		"tests/fixtures/x.key": false,
		"deploy/id_rsa":        false,
	}
	w.add(planner(), func(_ context.Context, r formats.Request) (formats.Return, error) {
		ret := completed(formats.Artifact{
			Type:    formats.ArtifactImplementation,
			Path:    "old.key",
			Deleted: true,
		})
		for _, name := range slices.Sorted(maps.Keys(made)) {
			kind := formats.ArtifactImplementation
			at := filepath.Join(w.dir, name)
			if made[name] {
				kind = formats.ArtifactPlan
				at = filepath.Join(r.Out, name)
			}
			err := errors.Join(
				os.MkdirAll(filepath.Dir(at), 0o700),
				os.WriteFile(at, []byte("text\n"), 0o600),
			)
			if err != nil {
				t.Error(err)
			}
			ret.Artifacts = append(ret.Artifacts, formats.Artifact{Type: kind, Path: name})
		}
		return ret, nil
	})
	got, err := w.Delegate(t.Context(), request("planner", "plan"))
	if err != nil {
		t.Fatal(err)
	}
	var paths, issues []string
	for _, a := range got.Artifacts {
		paths = append(paths, a.Path)
	}

	for _, i := range got.Issues {
		issues = append(issues, i.Files...)
	}
	plan := ".tercet/specs/007_fix_it/plans/implementation-001.md"
	want := []string{"old.key", "certs/public.pem", plan, "tests/fixtures/x.key"}
	if got.Outcome() != formats.OutcomeRejected || !slices.Equal(paths, want) ||
		!slices.Equal(issues, []string{".env", "deploy/id_rsa"}) {
		t.Errorf(
			"Delegate = %s with %q and issues about %q, want rejected with %q and issues about "+
				".env and deploy/id_rsa",
			got.Outcome(), paths, issues, want,
		)
	}
	if placed := w.files(".tercet/specs"); !slices.Equal(placed, []string{plan}) {
		t.Errorf("placed: %q", placed)
	}
}

func TestPlaceRefusesSlugs(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{"../x", "a/b", "a.b", strings.Repeat("x", 61)} {
		w := newWorld(t, t.TempDir())
		w.add(planner(), writes(t, "p.md", "# Plan\n"))
		r := request("planner", "plan")
		r.Task.Slug = slug
		if _, err := w.Delegate(t.Context(), r); formats.CodeOf(err) != formats.CodeInvalidState {
			t.Errorf("Delegate with slug %q = %v, want INVALID_STATE", slug, err)
		}
	}
}

// TestPlaceSideBySide has two processes write documents of one task at once: nothing is lost or
// overwritten.
func TestPlaceSideBySide(t *testing.T) {
	t.Parallel()
	const each = 20
	dir := t.TempDir()
	var wg sync.WaitGroup
	for _, run := range []string{"r1", "r2"} {
		w := newWorld(t, dir)
		w.add(planner(), func(ctx context.Context, r formats.Request) (formats.Return, error) {
			return writes(t, "p.md", r.Run+" "+r.Step)(ctx, r)
		})
		for i := range each {
			wg.Go(func() {
				r := request("planner", fmt.Sprintf("s%d", i))
				r.Run = run
				got, err := w.Delegate(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				if text := w.read(got.Artifacts[0].Path); text != r.Run+" "+r.Step {
					t.Errorf("%s = %q, want %s %s", got.Artifacts[0].Path, text, r.Run, r.Step)
				}
			})
		}
	}

	wg.Wait()
	w := newWorld(t, dir)
	seen := map[string]bool{}
	for _, f := range w.files(".tercet/specs") {
		seen[w.read(f)] = true
	}

	if len(seen) != 2*each {
		t.Errorf("%d different documents, want %d", len(seen), 2*each)
	}
}

// TestPlacedByAKilledProcess: a run whose process was killed while it placed a document writes it
// to the same place when it is resumed, and leaves neither a second one nor a part of one. What
// somebody else put there meanwhile stays.
func TestPlacedByAKilledProcess(t *testing.T) {
	t.Parallel()
	const folder = ".tercet/specs/007_fix_it/plans/"
	const first = folder + "implementation-001.md"
	const second = folder + "implementation-002.md"
	const torn = folder + "implementation-001.md.tmp-99-0123456789abcdef"
	for name, c := range map[string]struct {
		there map[string]string // of what the killed process, or another, left
		want  map[string]string
	}{
		"before it is there": {map[string]string{torn: "# P"}, map[string]string{first: "# New\n"}},
		"behind it": {
			map[string]string{first: "# Plan\n"},
			map[string]string{first: "# New\n"},
		},
		"another's": {
			map[string]string{first: "# Mine\n"},
			map[string]string{first: "# Mine\n", second: "# New\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.add(planner(), writes(t, "p.md", "# New\n"))
			sum := sha256.Sum256([]byte("# Plan\n"))
			c.there[".tercet/runs/r1/documents.json"] = fmt.Sprintf(
				`[{"step":"plan","type":"plan","n":0,"path":%q,"sha256":"%x","begun":true}]`,
				first, sum,
			)
			for file, text := range c.there {
				at := filepath.Join(w.dir, file)
				err := errors.Join(
					os.MkdirAll(filepath.Dir(at), 0o755),
					os.WriteFile(at, []byte(text), 0o600),
				)
				if err != nil {
					t.Fatal(err)
				}
			}

			if _, err := w.Delegate(t.Context(), request("planner", "plan")); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, file := range w.files(".tercet/specs") {
				got[file] = w.read(file)
			}

			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("documents (-want +got)\n%s", d)
			}
			list, err := subagents.Documents(w.Root, "r1")
			if err != nil || len(list) != 1 || list[0].Begun {
				t.Errorf("Documents = %+v, %v; want the one that is there", list, err)
			}
		})
	}
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.add(planner(), writes(t, "p.md", "# Plan\n"))
	if err := w.Discard(t.Context(), "r1", []formats.Artifact{{Path: "x.md"}}); err != nil {
		t.Errorf("Discard before anything was placed = %v", err)
	}
	for _, step := range []string{"a", "b"} {
		if _, err := w.Delegate(t.Context(), request("planner", step)); err != nil {
			t.Fatal(err)
		}
	}

	const plans = ".tercet/specs/007_fix_it/plans/"
	again := newWorld(t, w.Root.Name()) // a process that resumes the run
	if err := again.Discard(t.Context(), "r1", []formats.Artifact{
		{Path: plans + "implementation-002.md"},
		{Path: "main.go"},
	}); err != nil {
		t.Fatal(err)
	}
	files := w.files(".tercet/specs")
	if !slices.Equal(files, []string{plans + "implementation-001.md"}) {
		t.Errorf("specs = %v, want the first plan", files)
	}
	if text := w.read(".tercet/runs/r1/discarded/implementation-002.md"); text != "# Plan\n" {
		t.Errorf("discarded = %q", text)
	}
	path := plans + "implementation-002.md"
	for range 2 { // the second time there is nothing to be done
		if err := newWorld(t, w.Root.Name()).Restore("r1", []string{path}); err != nil {
			t.Fatal(err)
		}
		if text := w.read(path); text != "# Plan\n" {
			t.Errorf("restored = %q", text)
		}
	}

	last := newWorld(t, w.Root.Name())
	if err := last.Discard(t.Context(), "r1", []formats.Artifact{{Path: path}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Root.WriteFile(path, []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := last.Restore("r1", []string{path})
	if formats.CodeOf(err) != formats.CodeInvalidState || w.read(path) != "of somebody else" {
		t.Errorf("Restore over another file = %v, and it holds %q", err, w.read(path))
	}
	if err := w.Root.Remove(path); err != nil {
		t.Fatal(err)
	}
	again.add(planner(), writes(t, "p.md", "# Plan\n"))
	got, err := again.Delegate(t.Context(), request("planner", "b"))
	if err != nil || got.Artifacts[0].Path != plans+"implementation-002.md" {
		t.Errorf("Delegate after Discard = %+v, %v, want the number again", got.Artifacts, err)
	}
}
