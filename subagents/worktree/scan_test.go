package worktree_test

import (
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/secrets"
	"tercet/subagents/worktree"
)

// key is put together here, so that no scanner takes this file for a leak.
const key = "AK" + "IA" + "ABCDEFGH12345678"

func refused(t *testing.T, err error, place string) {
	t.Helper()
	if formats.CodeOf(err) != formats.CodeSecretFound || !strings.Contains(err.Error(), place) ||
		formats.HelpOf(err) == "" {
		t.Errorf("got %v, want SECRET_FOUND at %s", err, place)
	}
	if err != nil && strings.Contains(err.Error()+formats.HelpOf(err), key) {
		t.Errorf("the message tells the secret: %v", err)
	}
}

func TestSecretsAreNotCommitted(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{"", "app"} {
		p := newProject(t, sub)
		tree := p.open(worktree.Spec{
			Run:  "r1",
			Task: 7,
			Slug: "x",
		})
		head := p.git(tree.Dir, "rev-parse", "HEAD")
		p.write(tree.Dir, "conf/b.txt", "one\nkey = "+key+"\n")
		p.write(tree.Dir, "deploy/.env", "A=1\n")
		_, err := p.Commit(t.Context(), tree.Dir, worktree.Message{Subject: "task 7: b"})
		refused(t, err, "conf/b.txt:2: cloud key")
		refused(t, err, "deploy/.env: file of secrets")
		_, err = p.Close(t.Context(), tree.Dir)
		refused(t, err, "conf/b.txt:2: cloud key")
		if got := p.read(tree.Dir, "conf/b.txt"); !strings.Contains(got, key) {
			t.Errorf("the file is now %q, want it as it was", got)
		}
		got := p.git(tree.Dir, "rev-parse", "HEAD")
		if got != head || p.git(tree.Dir, "branch", "--list", "tercet/wip/*") != "" {
			t.Error("something was committed")
		}
		p.tidy("r1")

		// Once it is taken out the work goes on, and what is allowed passes.
		p.write(tree.Dir, "conf/b.txt", "one\n")
		p.Allow = []secrets.Allowed{{File: "deploy/.env"}}
		if _, files := p.commit(tree.Dir, "task 7: b", ""); len(files) != 2 {
			t.Errorf("Commit() = %q, want both files", files)
		}
		p.write(tree.Dir, "deploy/.env", "A=1\nB="+key+"\n")
		_, err = p.Commit(t.Context(), tree.Dir, worktree.Message{Subject: "task 7: c"})
		refused(t, err, "deploy/.env:2: cloud key")
		p.Allow = append(p.Allow, secrets.Allowed{
			File: "deploy/.env",
			Sum:  secrets.Line("", 2, "B="+key)[0].Sum,
		})
		p.commit(tree.Dir, "task 7: c", "")
	}
}

// An agent that commits by itself does not get past the scan: the branch is looked at before it is
// merged.
func TestSecretsAreNotMerged(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	p.write(tree.Dir, "b.txt", key+"\n")
	p.git(tree.Dir, "add", "b.txt")
	p.git(tree.Dir, "commit", "-qm", "mine")
	p.write(tree.Dir, "b.txt", "taken out again\n")
	p.git(tree.Dir, "commit", "-qam", "not mine")
	main := p.git(p.top, "rev-parse", "main")
	_, err := p.Publish(t.Context(), tree.Dir, worktree.Target{})
	refused(t, err, "b.txt:1: cloud key")
	if got := p.git(p.top, "rev-parse", "main"); got != main {
		t.Errorf("main = %s, want it as it was", got)
	}
	p.tidy("r1")
}
