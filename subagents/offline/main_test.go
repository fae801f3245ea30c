package offline_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents/offline"
)

var update = flag.Bool("update", false, "write golden files")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// clock stands still.
type clock struct{}

func (clock) Now() time.Time {
	return time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
}

// docs are the documents of a project by path.
type docs map[string]string

func (d docs) Open(_ context.Context, path string) ([]byte, error) {
	text, ok := d[path]
	if !ok {
		return nil, &fs.PathError{
			Op:   "open",
			Path: path,
			Err:  fs.ErrNotExist,
		}
	}
	return []byte(text), nil
}

// approver answers every gate and keeps it.
type approver struct {
	answer string
	err    error
	gates  []formats.Gate
}

func (a *approver) Approve(_ context.Context, g formats.Gate) (formats.Decision, error) {
	a.gates = append(a.gates, g)
	return formats.Decision{Answer: a.answer, By: "test"}, a.err
}

// starter starts children with the caches of the user and nothing else of theirs.
func starter(t *testing.T) *proc.Starter {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	goCache := os.Getenv("GOCACHE")
	if goCache == "" {
		goCache = filepath.Join(cache, "go-build")
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil },
		Env: []string{
			"PATH=" + os.Getenv("PATH"),
			"HOME=" + t.TempDir(),
			"GOCACHE=" + goCache,
			"GOPROXY=off",
			"GOTOOLCHAIN=local",
			"GOFLAGS=-mod=mod",
			"GIT_CONFIG_NOSYSTEM=1",
			"LC_ALL=C",
			"GIT_AUTHOR_NAME=A",
			"GIT_AUTHOR_EMAIL=a@localhost",
			"GIT_COMMITTER_NAME=A",
			"GIT_COMMITTER_EMAIL=a@localhost",
		},
		Now:  time.Now,
		Temp: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sh runs a program in a folder and gives its exit code and output.
func sh(t *testing.T, s *proc.Starter, dir string, argv ...string) (int, string) {
	t.Helper()
	res, err := s.Run(t.Context(), proc.Command{
		Argv:    argv,
		Dir:     dir,
		Purpose: proc.PurposeScript,
		Private: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return res.Exit, string(res.Stdout) + string(res.Stderr)
}

func must(t *testing.T, s *proc.Starter, dir string, argv ...string) string {
	t.Helper()
	exit, out := sh(t, s, dir, argv...)
	if exit != 0 {
		t.Fatalf("%s = exit %d\n%s", strings.Join(argv, " "), exit, out)
	}
	return out
}

// writeFile puts files into a folder.
func writeFile(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// fixture is an archive of the demo's shape: commits, their messages and a task.
type fixture struct {
	commits  []map[string]string
	messages []string
	task     formats.Task
}

func open(t *testing.T, path string) fixture {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	for _, file := range a.Files {
		folder, name, _ := strings.Cut(file.Name, "/")
		switch {
		case file.Name == "commits.txt":
			f.messages = strings.Split(strings.TrimSpace(string(file.Data)), "\n")
		case file.Name == "task.md":
			title, description, _ := strings.Cut(string(file.Data), "\n")
			f.task = formats.Task{
				Number:      196,
				Title:       strings.TrimPrefix(title, "# "),
				Description: strings.TrimSpace(description),
				Slug:        "demo",
				Language:    "go",
			}
		case strings.HasPrefix(folder, "commit-"):
			n := int(folder[len("commit-")] - '1')
			for len(f.commits) <= n {
				f.commits = append(f.commits, map[string]string{})
			}
			f.commits[n][name] = string(file.Data)
		default:
			t.Fatalf("%s holds %s, which is no part of a fixture", path, file.Name)
		}
	}

	return f
}

// repository makes a git repository of commits, a day between them, and gives its folder.
func repository(t *testing.T, s *proc.Starter, f fixture) string {
	t.Helper()
	dir := t.TempDir()
	template, _ := repositories.LoadOrStore(fmt.Sprint(f), &testkit.Template{})
	template.(*testkit.Template).Copy(t, dir, func() { commitAll(t, s, dir, f) })
	return dir
}

// repositories are the templates that repository copies, by their fixture.
var repositories sync.Map

func commitAll(t *testing.T, s *proc.Starter, dir string, f fixture) {
	t.Helper()
	must(t, s, dir, "git", "init", "-q", "-b", "main")
	for i, files := range f.commits {
		writeFile(t, dir, files)
		must(t, s, dir, "git", "add", "-A")
		date := time.Date(2025, 1, 2+i, 12, 0, 0, 0, time.UTC).Format(time.RFC3339)
		must(
			t, s, dir, "env",
			"GIT_AUTHOR_DATE="+date,
			"GIT_COMMITTER_DATE="+date,
			"git",
			"commit",
			"-q",
			"-m",
			f.messages[i],
		)
	}
}

const (
	pagesFixture = "../../cmd/tercet/demo/pages.txtar"
	clampFixture = "../../cmd/tercet/testdata/fixtures/clamp.txtar"
)

// request is a delegation with a folder for documents of its own.
func request(t *testing.T, dir string, task *formats.Task, input map[string]any) formats.Request {
	t.Helper()
	return formats.Request{
		Task:    task,
		Input:   input,
		Dir:     dir,
		Out:     t.TempDir(),
		Session: "sess_1741064767_abc123",
		Run:     "r1",
		Step:    "work",
		Attempt: 1,
		Timeout: formats.Timeout{Total: time.Minute},
	}
}

// document reads the only document of a return and checks it against its profile.
func document(
	t *testing.T,
	r formats.Request,
	ret formats.Return,
	kind formats.ArtifactType,
) string {
	t.Helper()
	i := slices.IndexFunc(ret.Artifacts, func(a formats.Artifact) bool {
		return a.Type == kind
	})
	if i < 0 {
		t.Fatalf("return %+v has no artifact %s", ret, kind)
	}
	data, err := os.ReadFile(filepath.Join(r.Out, ret.Artifacts[i].Path))
	if err != nil {
		t.Fatal(err)
	}
	if _, found := documents.Parse(string(kind), string(kind), data); found != nil {
		t.Errorf("the %s breaks its profile: %v\n%s", kind, found, data)
	}
	return string(data)
}

// valid checks a return against the rules of returns.
func valid(t *testing.T, ret formats.Return, role formats.Role) {
	t.Helper()
	if bad := returns.Validate(ret, formats.AgentInfo{Name: "x", Role: role}); bad != nil {
		t.Errorf("%+v breaks the rules of returns: %q", ret, bad)
	}
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// workers gives all workers of a project.
func workers(s *proc.Starter, d docs, a *approver, newRepo func(string) *git.Repo) offline.Workers {
	return offline.Workers{
		Docs:     d,
		Git:      newRepo,
		Starter:  s,
		Approver: a,
		Clock:    clock{},
	}
}

func typeName(v any) string {
	return fmt.Sprintf("%T", v)
}
