package team_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/project"
)

const done = `echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'` + "\n"

// TestWhatDoesNotTravel: a worktree whose work a snapshot cannot hold stops its run with the
// reason, and nothing of it is pushed. What the repository has already may be there.
func TestWhatDoesNotTravel(t *testing.T) {
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
	for name, c := range map[string]struct{ work, says string }{
		"repository": {
			"git init -q inner && echo x > inner/x", "a repository of its own or a submodule",
		},
		"submodule": {
			"git -C mod init -q && echo x > mod/x", "a repository of its own or a submodule",
		},
		"filter":  {"echo x > new.bin", `new.bin belongs to the filter "lfs" of .gitattributes`},
		"pointer": {"cp big.bin copy.bin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.change(t, map[string]string{
				".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
				"big.bin":        pointer,
				"maker.sh":       c.work + "\necho line >> made.txt\n" + done,
			})
			// a submodule that is not checked out here, as in a fresh clone
			head := git(t, p.home.Dir, "rev-parse", "HEAD")
			git(t, p.home.Dir, "update-index", "--add", "--cacheinfo", "160000,"+head+",mod")
			git(t, p.home.Dir, "commit", "-q", "-m", "submodule")
			git(t, p.home.Dir, "push", "-q", "origin", "main")

			k := p.keeper(t, 0)
			job, err := k.Begin("/make 1", false)
			if err != nil {
				t.Fatal(err)
			}
			ret, err := p.clone(t, "one", k).TakeRun(t.Context(), job.Run, "t1", project.Options{})
			if c.says == "" {
				if err != nil || ret.Status != formats.StatusCompleted {
					t.Errorf("the run ended with %+v, %v", ret, err)
				}
				if _, err := os.Stat(filepath.Join(p.home.Dir, "copy.bin")); err != nil {
					t.Error(err)
				}
				return
			}
			data, _ := json.Marshal(ret)
			if err != nil {
				data = append(data, err.Error()...)
			}
			if ret.Status == formats.StatusCompleted ||
				!strings.Contains(string(data), strings.ReplaceAll(c.says, `"`, `\"`)) {
				t.Errorf("the run ended with %s, want %q", data, c.says)
			}
			if ret.Status != formats.StatusSuspended && ret.Status != formats.StatusBlocked ||
				len(ret.Errors) == 0 || ret.Errors[0].Code != formats.CodePrecondition {
				t.Errorf("the run ended with %s, want it stopped with PRECONDITION", data)
			}
			remote := filepath.Join(p.dir, "remote.git")
			refs := git(t, remote, "for-each-ref", "--format=%(refname)")
			for ref := range strings.FieldsSeq(refs) {
				files := git(t, remote, "ls-tree", "-r", ref)
				if strings.Contains(files, "made.txt") {
					t.Errorf("the work was pushed to %s:\n%s", ref, files)
				}
			}
		})
	}
}
