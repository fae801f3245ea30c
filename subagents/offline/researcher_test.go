package offline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/subagents/offline"
)

// repos opens repositories with a starter.
func repos(s *proc.Starter) func(string) *git.Repo {
	return func(dir string) *git.Repo { return &git.Repo{Starter: s, Dir: dir} }
}

// plain replaces dates and hashes, which golden files do not hold.
func plain(doc string) string {
	doc = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`).ReplaceAllString(doc, "DATE")
	return regexp.MustCompile("`[0-9a-f]{7,40}`").ReplaceAllString(doc, "`HASH`")
}

func TestResearcher(t *testing.T) {
	t.Parallel()
	s := starter(t)
	for name, path := range map[string]string{"pages": pagesFixture, "clamp": clampFixture} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, path)
			dir := repository(t, s, f)
			writeFile(t, dir, map[string]string{
				".tercet/state.json": f.task.Description,
				"task.md":            f.task.Description,
				"untracked.go":       "// Expand Clamp\n",
			})
			r := request(t, dir, &f.task, nil)
			agent := offline.Researcher{Git: repos(s), Clock: clock{}}
			ret, err := agent.Run(t.Context(), r)
			if err != nil || ret.Status != formats.StatusCompleted {
				t.Fatalf("Run = %+v, %v, want completed", ret, err)
			}
			valid(t, ret, formats.RoleResearcher)
			doc := document(t, r, ret, formats.ArtifactReport)
			golden(t, "report_"+name+".md", plain(doc))
			log := must(t, s, dir, "git", "log", "--format=%h")
			for hash := range strings.FieldsSeq(log) {
				if !strings.Contains(doc, "`"+hash+"`") {
					t.Errorf("the report does not cite commit %s", hash)
				}
			}

			cited := regexp.MustCompile(
				"(?m)^- `([^`]+):(\\d+)`: `+ ?(.*?) ?`+ \\(",
			).FindAllStringSubmatch(doc, -1)
			if len(cited) == 0 {
				t.Fatal("the report cites no line")
			}
			for _, c := range cited {
				src, err := os.ReadFile(filepath.Join(dir, c[1]))
				if err != nil {
					t.Errorf("the report cites %s: %v", c[1], err)
					continue
				}
				lines := strings.Split(string(src), "\n")
				n := 0
				for _, d := range c[2] {
					n = n*10 + int(d-'0')
				}
				if got := strings.Join(strings.Fields(lines[n-1]), " "); got != c[3] {
					t.Errorf("the report quotes %s:%d as %q, the file has %q", c[1], n, c[3], got)
				}
			}

			if _, err := agent.Run(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(doc, document(t, r, ret, formats.ArtifactReport)); diff != "" {
				t.Errorf("a second report differs:\n%s", diff)
			}
		})
	}
}

func TestResearcherWithoutGit(t *testing.T) {
	t.Parallel()
	s := starter(t)
	f := open(t, pagesFixture)
	r := request(t, tree(t, f.commits[1]), &f.task, nil)
	writeFile(t, r.Dir, map[string]string{".tercet/state.json": "Expand"})
	ret, err := offline.Researcher{Git: repos(s), Clock: clock{}}.Run(t.Context(), r)
	if err != nil || ret.Status != formats.StatusCompleted || len(ret.Warnings) != 1 {
		t.Fatalf("Run = %+v, %v, want completed with a warning", ret, err)
	}
	doc := document(t, r, ret, formats.ArtifactReport)
	if !strings.Contains(doc, "no git repository") || !strings.Contains(doc, "`pages/pages.go:") ||
		strings.Contains(doc, ".tercet/") {
		t.Errorf(
			"the report does not say that there is no git, cites no line, or cites the "+
				"workspace:\n%s",
			doc,
		)
	}
	// Without the program it is the same as without a repository.
	none := *s
	none.Env = []string{"PATH=" + t.TempDir()}
	again, err := offline.Researcher{Git: repos(&none), Clock: clock{}}.Run(t.Context(), r)
	if diff := cmp.Diff(ret, again); err != nil || diff != "" {
		t.Errorf("Run without git = %v (-without a repository +got):\n%s", err, diff)
	}
}

func TestResearcherFindsNothing(t *testing.T) {
	t.Parallel()
	s := starter(t)
	dir := repository(t, s, fixture{
		commits:  []map[string]string{{"a.go": "package a\n"}},
		messages: []string{"a: begin"},
	})
	for name, task := range map[string]formats.Task{
		"no such word": {Number: 4, Title: "Frobnicate", Description: "the `gizmo`"},
		"no word":      {Number: 4, Title: "Fix it", Description: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, dir, &task, nil)
			ret, err := offline.Researcher{Git: repos(s), Clock: clock{}}.Run(t.Context(), r)
			if err != nil || ret.Status != formats.StatusPartial || ret.NextSteps == "" {
				t.Fatalf("Run = %+v, %v, want partial with next steps", ret, err)
			}
			valid(t, ret, formats.RoleResearcher)
			golden(
				t,
				"report_"+strings.ReplaceAll(name, " ", "_")+".md",
				plain(document(t, r, ret, formats.ArtifactReport)),
			)
		})
	}
}

// A project that is a folder of a repository is searched by paths relative to itself.
func TestResearcherInASubfolder(t *testing.T) {
	t.Parallel()
	s := starter(t)
	dir := repository(t, s, fixture{
		commits: []map[string]string{{
			"sub/a.go":   "package gizmo\n",
			"other/b.go": "package gizmo\n",
		}},
		messages: []string{"all: begin"},
	})
	task := &formats.Task{Number: 4, Title: "gizmo"}
	r := request(t, filepath.Join(dir, "sub"), task, nil)
	ret, err := offline.Researcher{Git: repos(s), Clock: clock{}}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	doc := document(t, r, ret, formats.ArtifactReport)
	if !strings.Contains(doc, "`a.go:1`") || strings.Contains(doc, "b.go") ||
		!strings.Contains(doc, "all: begin (`a.go`)") {
		t.Errorf("the report does not cite a.go alone and its history:\n%s", doc)
	}
}
