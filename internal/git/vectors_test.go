package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/internal/testkit"
)

// trap is a repository that is about to be armed.
type trap struct {
	t      *testing.T
	r      *git.Repo
	beside string // a folder outside of the repository
	evil   string // a program that makes the canary
	canary string
}

func (a trap) config(key, value string) {
	a.t.Helper()
	raw(
		a.t,
		a.r.Dir,
		"config",
		strings.ReplaceAll(key, "EVIL", a.evil),
		strings.ReplaceAll(value, "EVIL", a.evil),
	)
}

func (a trap) file(name, text string) {
	a.t.Helper()
	write(a.t, a.r.Dir, name, strings.ReplaceAll(text, "EVIL", a.evil))
}

func (a trap) program(name, text string) string {
	a.t.Helper()
	err := errors.Join(
		os.MkdirAll(filepath.Dir(name), 0o755),
		testkit.WriteProgram(name, "#!/bin/sh\n"+text+"\n"),
	)
	if err != nil {
		a.t.Fatal(err)
	}
	return name
}

func (a trap) sprung() bool {
	_, err := os.Stat(a.canary)
	return err == nil
}

// plain runs git as a person would, whatever it says to it. TMP is a folder outside, an empty list
// is a conflict.
func (a trap) plain(lines ...string) {
	a.t.Helper()
	write(a.t, a.r.Dir, "a.txt", "sprung\n")
	for _, line := range lines {
		if line == "conflict" {
			a.conflict()
			continue
		}
		args := strings.Fields(strings.NewReplacer("TMP", a.beside, "EVIL", a.evil).Replace(line))
		_, err := starter(a.t).Run(a.t.Context(), proc.Command{
			Argv: append(
				[]string{"git", "-c", "user.name=U", "-c", "user.email=u@localhost"},
				args...,
			),
			Dir:     a.r.Dir,
			Purpose: proc.PurposeGit,
			Stdin:   []byte("protocol=https\nhost=localhost\n\n"),
			Timeout: proc.Timeout{Total: 20 * time.Second},
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// conflict makes two branches that change the same line, and merges them.
func (a trap) conflict() {
	a.plain("add a.txt", "commit -qm here", "checkout -qb side HEAD~1")
	a.plain("add a.txt")
	write(a.t, a.r.Dir, "a.txt", "the other way\n")
	for _, line := range []string{"add a.txt", "commit -qm there", "merge -q --no-edit main"} {
		_, err := starter(a.t).Run(a.t.Context(), proc.Command{
			Argv: append(
				[]string{"git", "-c", "user.name=U", "-c", "user.email=u@localhost"},
				strings.Fields(line)...,
			),
			Dir:     a.r.Dir,
			Purpose: proc.PurposeGit,
			Timeout: proc.Timeout{Total: 20 * time.Second},
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// vector is one way to make git run a program, and what a person does to be caught by it; none
// where that takes a terminal, a network, or a setting that git takes only from the person's own
// files.
type vector struct {
	name   string
	arm    func(trap)
	spring []string
}

func setting(key, value string, spring ...string) vector {
	return vector{
		name:   key,
		arm:    func(a trap) { a.config(key, value) },
		spring: spring,
	}
}

// attribute arms a driver of a kind, for files that an attribute names.
func attribute(key string, spring ...string) vector {
	kind, rest, _ := strings.Cut(key, ".")
	name := rest[:strings.LastIndexByte(rest, '.')]
	return vector{
		name: key,
		arm: func(a trap) {
			a.config(key, "EVIL")
			a.file(".git/info/attributes", "*.txt "+kind+"="+name+"\n")
		},
		spring: spring,
	}
}

func hook(name string, spring ...string) vector {
	return vector{
		name: "hook " + name,
		arm: func(a trap) {
			a.program(filepath.Join(a.r.Dir, ".git/hooks", name), "touch "+a.canary)
		},
		spring: spring,
	}
}

const (
	stage    = "add a.txt"
	snapshot = "commit -qam sprung"
	checkout = "worktree add --detach TMP/sprung"
)

// vectors are the ways that are known.
func vectors() []vector {
	return slices.Concat(
		hookVectors(),
		settingVectors(),
		driverVectors(),
		signVectors(),
		remoteVectors(),
		placeVectors(),
	)
}

func hookVectors() []vector {
	list := []vector{
		hook("pre-commit", snapshot),
		hook("prepare-commit-msg", snapshot),
		hook("commit-msg", snapshot),
		hook("post-commit", snapshot),
		hook("reference-transaction", snapshot),
		hook("post-index-change", stage),
		hook("post-checkout", "checkout -q -f HEAD~1"),
		hook("post-rewrite", "commit -q --amend -am x"),
		hook("pre-rebase", snapshot, "rebase -f HEAD~1"),
		hook("pre-merge-commit", "conflict", "checkout -q -f HEAD~2", "merge --no-ff -m x main"),
		hook("post-merge", "checkout -q -f HEAD~2", "merge -q main"),
		hook("pre-auto-gc"),
		hook(
			"pre-push",
			"push TMP/nowhere main",
			"init -q --bare TMP/there",
			"push TMP/there main",
		),
		hook("applypatch-msg"),
		hook("pre-applypatch"),
		hook("post-applypatch"),
		hook("pre-receive"),
		hook("update"),
		hook("post-receive"),
		hook("post-update"),
		hook("push-to-checkout"),
		hook("proc-receive"),
		hook("fsmonitor-watchman"),
		hook("sendemail-validate"),
	}
	return append(list,
		vector{
			name:   "hooks path in the tree",
			spring: []string{stage},
			arm: func(a trap) {
				a.program(filepath.Join(a.r.Dir, "tools/post-index-change"), "touch "+a.canary)
				a.config("core.hooksPath", "tools")
			},
		},
		vector{
			name:   "hooks path elsewhere",
			spring: []string{stage},
			arm: func(a trap) {
				a.program(filepath.Join(a.beside, "hooks/post-index-change"), "touch "+a.canary)
				a.config("core.hooksPath", filepath.Join(a.beside, "hooks"))
			},
		},
		vector{
			name:   "hooks folder is a link",
			spring: []string{stage},
			arm: func(a trap) {
				a.program(filepath.Join(a.beside, "hooks/post-index-change"), "touch "+a.canary)
				at := filepath.Join(a.r.Dir, ".git/hooks")
				err := errors.Join(
					os.RemoveAll(at),
					os.Symlink(filepath.Join(a.beside, "hooks"), at),
				)
				if err != nil {
					a.t.Fatal(err)
				}
			},
		},
	)
}

func settingVectors() []vector {
	return []vector{
		setting("core.fsmonitor", "EVIL", "status"),
		setting("core.editor", "EVIL", "commit --allow-empty"),
		setting("sequence.editor", "EVIL", snapshot, "rebase -i HEAD~1"),
		setting("core.askPass", "EVIL", "credential fill"),
		setting("credential.helper", "EVIL", "credential fill"),
		setting("credential.https://localhost.helper", "!EVIL", "credential fill"),
		setting("alias.evilalias", "!EVIL", "evilalias"),
		setting("alias.status", "!EVIL"),
		setting("alias.merge-file", "!EVIL"),
		setting("core.pager", "EVIL"),
		setting("pager.log", "EVIL"),
		setting("pager.diff", "EVIL"),
		setting("interactive.diffFilter", "EVIL"),
		setting("uploadpack.packObjectsHook", "EVIL"),
		setting("gc.recentObjectsHook", "EVIL"),
		setting("trailer.evil.cmd", "EVIL", "interpret-trailers --trailer evil=x"),
		setting("trailer.evil.command", "EVIL", "interpret-trailers"),
		setting("tar.evil.command", "EVIL", "archive --format=evil -o TMP/x HEAD"),
		setting("difftool.evil.cmd", "EVIL", "difftool -y -t evil HEAD"),
		setting("mergetool.evil.cmd", "EVIL", "conflict", "mergetool -y -t evil"),
		setting("man.viewer", "evil"),
		setting("browser.evil.cmd", "EVIL"),
	}
}

func driverVectors() []vector {
	list := []vector{
		attribute("filter.evil.clean", stage),
		attribute("filter.evil.smudge", checkout),
		attribute("filter.evil.process", stage),
		attribute("filter.a=b.clean", stage),
		attribute("filter.x.y.smudge", checkout),
		attribute("filter.UPPER.clean", stage),
		attribute(`filter.qu"ote.clean`, stage),
		attribute("diff.evil.textconv", "diff HEAD"),
		attribute("diff.evil.command", "diff HEAD"),
		setting("diff.external", "EVIL", "diff HEAD"),
		attribute("merge.evil.driver", "conflict"),
		attribute("merge.a=b.driver", "conflict"),
	}
	clean := func(name, file, text string) vector {
		return vector{
			name:   name,
			spring: []string{stage},
			arm: func(a trap) {
				a.config("filter.evil.clean", "EVIL")
				a.config("filter.evil.required", "true")
				a.file(file, text)
			},
		}
	}
	return append(list,
		clean("attributes of the tree", ".gitattributes", "*.txt filter=evil\n"),
		clean("attributes of a macro", ".gitattributes", "[attr]m filter=evil\n*.txt m\n"),
		vector{
			name:   "attributes of a setting",
			spring: []string{stage},
			arm: func(a trap) {
				a.config("filter.evil.clean", "EVIL")
				a.config("core.attributesFile", filepath.Join(a.r.Dir, "attrs"))
				a.file("attrs", "*.txt filter=evil\n")
			},
		},
		vector{
			name:   "merge.default",
			spring: []string{"conflict"},
			arm: func(a trap) {
				a.config("merge.evil.driver", "EVIL")
				a.config("merge.default", "evil")
			},
		},
		vector{
			name:   "textconv with a cache",
			spring: []string{"diff HEAD"},
			arm: func(a trap) {
				attribute("diff.evil.textconv").arm(a)
				a.config("diff.evil.cachetextconv", "true")
			},
		},
	)
}

func signVectors() []vector {
	signing := func(name string, pairs ...string) vector {
		return vector{
			name:   name,
			spring: []string{"commit -q --allow-empty -m x"},
			arm: func(a trap) {
				a.config("commit.gpgSign", "true")
				a.config("tag.gpgSign", "true")
				for i := 0; i+1 < len(pairs); i += 2 {
					a.config(pairs[i], pairs[i+1])
				}
			},
		}
	}
	checking := func(key string, spring ...string) vector {
		return vector{
			name:   key,
			spring: spring,
			arm: func(a trap) {
				signer := a.program(
					filepath.Join(a.beside, "signer"),
					`cat >/dev/null; printf '\n[GNUPG:] SIG_CREATED x\n' >&2; echo '-----BEGIN PGP SIGNATURE-----'; echo '-----END PGP SIGNATURE-----'`,
				)
				raw(
					a.t,
					a.r.Dir,
					"-c",
					"gpg.program="+signer,
					"commit",
					"-qS",
					"--allow-empty",
					"-m",
					"signed",
				)
				raw(a.t, a.r.Dir, "branch", "signed")
				a.config("gpg.program", "EVIL")
				a.config(key, "true")
			},
		}
	}
	return []vector{
		signing("gpg.program", "gpg.program", "EVIL"),
		signing("gpg.openpgp.program", "gpg.openpgp.program", "EVIL"),
		signing("gpg.x509.program", "gpg.format", "x509", "gpg.x509.program", "EVIL"),
		signing(
			"gpg.ssh.program", "gpg.format", "ssh", "user.signingKey", "key::x", "gpg.ssh.program",
			"EVIL",
		),
		signing(
			"gpg.ssh.defaultKeyCommand",
			"gpg.format",
			"ssh",
			"gpg.ssh.defaultKeyCommand",
			"EVIL",
		),
		checking("log.showSignature", "log"),
		checking("merge.verifySignatures", "checkout -q -f signed~1", "merge -q signed"),
	}
}

func remoteVectors() []vector {
	remote := func(name, spring string, pairs ...string) vector {
		return vector{
			name:   name,
			spring: []string{spring},
			arm: func(a trap) {
				for i := 0; i+1 < len(pairs); i += 2 {
					a.config(pairs[i], strings.ReplaceAll(pairs[i+1], "TMP", a.beside))
				}
			},
		}
	}
	return []vector{
		setting("core.sshCommand", "EVIL", "ls-remote ssh://localhost/x"),
		setting("core.gitProxy", "EVIL", "ls-remote git://localhost/x"),
		remote(
			"remote.origin.uploadpack", "fetch origin", "remote.origin.url", "TMP",
			"remote.origin.uploadpack", "EVIL",
		),
		remote(
			"remote.origin.receivepack", "push origin main", "remote.origin.url", "TMP",
			"remote.origin.receivepack", "EVIL",
		),
		remote(
			"protocol.ext.allow", "fetch origin", "remote.origin.url", "ext::EVIL",
			"protocol.ext.allow", "always",
		),
		remote(
			"url.ext.insteadOf", "ls-remote https://localhost/x", "url.ext::EVIL .insteadOf",
			"https://", "protocol.ext.allow", "always",
		),
		{
			name:   "core.alternateRefsCommand",
			spring: []string{"init -q --bare TMP/there", "fetch TMP/there", "fetch TMP/alt main"},
			arm: func(a trap) {
				other := fresh(a.t)
				if err := os.Rename(other.Dir, filepath.Join(a.beside, "alt")); err != nil {
					a.t.Fatal(err)
				}
				a.file(
					".git/objects/info/alternates",
					filepath.Join(a.beside, "alt/.git/objects")+"\n",
				)
				a.config("core.alternateRefsCommand", "EVIL")
			},
		},
		{
			name:   "submodule update",
			spring: []string{"submodule update"},
			arm: func(a trap) {
				raw(
					a.t,
					a.r.Dir,
					"-c",
					"protocol.file.allow=always",
					"submodule",
					"--quiet",
					"add",
					fresh(a.t).Dir,
					"mod",
				)
				raw(a.t, a.r.Dir, "commit", "-qm", "submodule")
				raw(
					a.t,
					filepath.Join(a.r.Dir, "mod"),
					"commit",
					"-q",
					"--allow-empty",
					"-m",
					"ahead",
				)
				a.config("submodule.mod.update", "!EVIL")
				a.config("submodule.recurse", "true")
			},
		},
		{
			name:   "submodule settings",
			spring: []string{"status"},
			arm: func(a trap) {
				raw(
					a.t,
					a.r.Dir,
					"-c",
					"protocol.file.allow=always",
					"submodule",
					"--quiet",
					"add",
					fresh(a.t).Dir,
					"mod",
				)
				raw(a.t, a.r.Dir, "commit", "-qm", "submodule")
				raw(a.t, filepath.Join(a.r.Dir, "mod"), "config", "core.fsmonitor", a.evil)
				a.config("submodule.mod.ignore", "none")
				a.config("status.submoduleSummary", "true")
				a.config("diff.ignoreSubmodules", "none")
				a.config("diff.submodule", "diff")
				a.config("submodule.recurse", "true")
			},
		},
	}
}

func placeVectors() []vector {
	monitor := "[core]\n\tfsmonitor = EVIL\n"
	including := func(name, key string, pairs ...string) vector {
		return vector{
			name:   name,
			spring: []string{"status"},
			arm: func(a trap) {
				a.file(".git/inc", monitor)
				for i := 0; i+1 < len(pairs); i += 2 {
					a.config(pairs[i], pairs[i+1])
				}
				a.config(key, filepath.Join(a.r.Dir, ".git/inc"))
			},
		}
	}
	return []vector{
		including("include.path", "include.path"),
		including("includeIf.gitdir", "includeIf.gitdir:/**.path"),
		including("includeIf.onbranch", "includeIf.onbranch:**.path"),
		including(
			"includeIf.hasconfig",
			"includeIf.hasconfig:remote.*.url:**.path",
			"remote.x.url",
			"https://localhost/x",
		),
		{
			name:   "include of the tree",
			spring: []string{"status"},
			arm: func(a trap) {
				a.file("settings", monitor)
				a.config("include.path", "../settings")
			},
		},
		{
			name:   "worktree settings",
			spring: []string{"status"},
			arm: func(a trap) {
				a.config("extensions.worktreeConfig", "true")
				a.file(".git/config.worktree", monitor)
			},
		},
		{
			name:   "folder of git elsewhere",
			spring: []string{"status"},
			arm: func(a trap) {
				a.config("core.fsmonitor", "EVIL")
				away := filepath.Join(a.beside, "gitdir")
				if err := os.Rename(filepath.Join(a.r.Dir, ".git"), away); err != nil {
					a.t.Fatal(err)
				}
				a.file(".git", "gitdir: "+away+"\n")
			},
		},
		{
			name:   "common folder elsewhere",
			spring: []string{"status"},
			arm: func(a trap) {
				a.config("core.fsmonitor", "EVIL")
				away := filepath.Join(a.beside, "common")
				if err := os.Mkdir(away, 0o755); err != nil {
					a.t.Fatal(err)
				}
				for _, name := range []string{"config", "objects", "refs"} {
					err := os.Rename(
						filepath.Join(a.r.Dir, ".git", name),
						filepath.Join(away, name),
					)
					if err != nil {
						a.t.Fatal(err)
					}
				}
				a.file(".git/commondir", away+"\n")
			},
		},
	}
}

// together is in how many repositories the vectors are set: those that stand beside one another in
// the table, and set the same key, are apart.
const together = 8

// TestEveryVector arms a repository in several ways, and calls every method of the wrapper in it:
// the methods do their work, and nothing of the repository runs. Plain git, with one way by itself,
// shows that each trap is a live one.
func TestEveryVector(t *testing.T) {
	t.Parallel()
	list := vectors()
	for n := range together {
		if !testkit.Deep() && n%4 != 0 {
			continue
		}
		t.Run(fmt.Sprint("together ", n), func(t *testing.T) {
			t.Parallel()
			a := armed(t)
			for i := n; i < len(list); i += together {
				list[i].arm(a)
			}
			// arming is done with plain git, which may spring what is set already
			_ = os.Remove(a.canary)
			everything(t, a.r)
			if a.sprung() {
				t.Fatal("the repository ran its program")
			}
		})
	}

	live := 0
	for i, v := range list {
		if len(v.spring) == 0 {
			continue
		}
		live++
		if !testkit.Deep() && i%6 != 0 {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			a := armed(t, v)
			for _, text := range []string{"second\n", "third\n"} {
				write(t, a.r.Dir, "a.txt", text)
				commit(t, a.r, "one more", "a.txt")
			}
			a.plain(v.spring...)
			if !a.sprung() {
				t.Errorf("git %q did not spring the trap: it proves nothing", v.spring)
			}
		})
	}

	if n := len(list); n < 70 || live < 50 {
		t.Errorf("%d vectors, %d of them live, want at least 70 and 50", n, live)
	}
}

func armed(t *testing.T, list ...vector) trap {
	t.Helper()
	beside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := trap{
		t:      t,
		r:      fresh(t),
		beside: beside,
		canary: filepath.Join(beside, "canary"),
	}
	a.evil = a.program(filepath.Join(beside, "evil"), "touch "+a.canary)
	for _, v := range list {
		v.arm(a)
	}
	return a
}

// A repository that says that its objects are to be fetched from a program is not asked for them:
// what needs one fails.
func TestMissingObjectsAreNotFetched(t *testing.T) {
	t.Parallel()
	a := armed(t, vector{arm: func(a trap) {
		blob := raw(a.t, a.r.Dir, "rev-parse", "HEAD:a.txt")
		err := os.Remove(filepath.Join(a.r.Dir, ".git/objects", blob[:2], blob[2:]))
		if err != nil {
			a.t.Fatal(err)
		}
		a.config("core.repositoryFormatVersion", "1")
		a.config("extensions.partialClone", "origin")
		a.config("remote.origin.promisor", "true")
		a.config("remote.origin.url", "ext::EVIL")
		a.config("protocol.ext.allow", "always")
	}})
	write(t, a.r.Dir, "a.txt", "changed\n")
	if _, err := a.r.Diff(t.Context(), "HEAD", ""); err == nil {
		t.Error("Diff() of an object that is not there = nil, want an error")
	}
	err := a.r.WorktreeAdd(t.Context(), git.NewWorktree{
		Path:  filepath.Join(a.beside, "tree"),
		Start: "HEAD",
	})
	if err == nil {
		t.Error("WorktreeAdd() of an object that is not there = nil, want an error")
	}
	commit(t, a.r, "changed", "a.txt")
	if a.sprung() {
		t.Fatal("the repository ran its program")
	}
	a.plain("diff HEAD~1 HEAD")
	if !a.sprung() {
		t.Error("plain git did not spring the trap")
	}
}

// everything calls each method of a Repo, in the order of a task's life: a change, a worktree, a
// conflict, a merge.
func everything(t *testing.T, r *git.Repo) {
	t.Helper()
	called := map[string]bool{}
	did := func(names ...string) {
		for _, name := range names {
			called[name] = true
		}
	}
	base := looks(t, r, did)
	tree := filepath.Join(t.TempDir(), "tree")
	cx := t.Context()
	err := r.WorktreeAdd(cx, git.NewWorktree{
		Path:   tree,
		Branch: "task/1",
		Start:  "HEAD",
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &git.Repo{Starter: r.Starter, Dir: tree}
	write(t, tree, "a.txt", "task\nchanged\n")
	write(t, tree, "n.wt", "y\n")
	_ = must[[]git.Entry](t)(w.StatusPorcelain(cx))
	commit(t, w, "on task", "a.txt", "n.wt")
	ok := w.Unstage(cx)
	write(t, r.Dir, "a.txt", "main again\nchanged\n")
	commit(t, r, "in conflict", "a.txt")
	if m := must[git.Merge](t)(r.MergeInWorktree(cx, "task/1", "Merge")); len(m.Conflicts) != 1 {
		t.Errorf(
			"MergeInWorktree() = %+v, want one conflict, as without the repository's merge driver",
			m,
		)
	}
	write(t, r.Dir, "a.txt", "main\nchanged\n")
	commit(t, r, "back", "a.txt")
	if m := must[git.Merge](t)(r.MergeInWorktree(cx, "task/1", "Merge")); len(m.Conflicts) != 0 {
		t.Errorf("MergeInWorktree() = %+v, want no conflict", m)
	}
	if got := readFile(t, r.Dir, "a.txt"); got != "task\nchanged\n" {
		t.Errorf("a.txt after the merge = %q", got)
	}
	ok = errors.Join(ok, w.FastForward(cx, "main"))
	head := must[string](t)(w.Head(cx))
	ok = errors.Join(ok, w.Revert(cx, head)) // a merge: against its first parent
	if got := readFile(t, w.Dir, "a.txt"); got != "main\nchanged\n" {
		t.Errorf("a.txt after the revert = %q", got)
	}
	did("Revert")
	if list := must[[]git.Worktree](t)(r.Worktrees(cx)); len(list) != 2 || list[1].Path != tree {
		t.Errorf("Worktrees() = %+v, want %s as the second", list, tree)
	}
	lock := filepath.Join(
		strings.TrimSpace(strings.TrimPrefix(readFile(t, tree, ".git"), "gitdir: ")),
		"index.lock",
	)
	err = errors.Join(os.WriteFile(lock, nil, 0o600), r.RemoveStaleLocks(filepath.Base(tree)))
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lock); err == nil {
		t.Error("Unlock() left the lock of a linked worktree")
	}
	if at := must[string](t)(r.WorktreeOfBranch(cx, "task/1")); at != tree {
		t.Errorf("CheckedOut() = %q, want %s", at, tree)
	}
	ok = errors.Join(
		ok,
		r.WorktreeRemove(cx, tree),
		r.WorktreePrune(cx),
		r.DeleteBranch(cx, "task/1", head),
	)
	did(
		"WorktreeAdd", "StatusPorcelain", "Unstage", "MergeInWorktree", "FastForward", "Head",
		"Worktrees", "WorktreeOfBranch", "RemoveStaleLocks", "WorktreeRemove", "WorktreePrune", "DeleteBranch",
	)
	ok = errors.Join(
		ok,
		r.CreateBranch(cx, "other", base),
		r.UpdateRef(cx, "refs/heads/other", head, base),
		r.SetHead(cx, "other"),
		r.SetHead(cx, "main"),
		r.DeleteBranch(cx, "other", head),
	)
	ok = errors.Join(ok, r.Init(cx, "main"))
	did("CreateBranch", "UpdateRef", "SetHead", "Init")
	_ = must[git.Fingerprint](t)(r.Fingerprint(cx))
	if refs := must[git.Refs](t)(r.Refs()); refs["refs/heads/main"] != head {
		t.Errorf("Refs() = %v, want main at %s", refs, head)
	}
	list := must[[]string](t)(r.Trailers(cx, "", head, "Tercet-Txn"))
	if len(list) != 1 || list[0] != "" {
		t.Errorf("Trailers() = %q for a commit without one, want one empty value", list)
	}
	if print, ok := r.StatFingerprint(); print == "" || !ok {
		t.Errorf("StatFingerprint() = %q, %v, want a fingerprint", print, ok)
	}
	did("Fingerprint", "Refs", "Trailers", "StatFingerprint")
	plumbing(t, r, did)
	online(t, r, did)
	if ok != nil {
		t.Error(ok)
	}
	for m := range reflect.TypeFor[*git.Repo]().Methods() {
		if !called[m.Name] {
			t.Errorf("%s was not called", m.Name)
		}
	}
}

// online pushes a branch to a folder elsewhere.
func online(t *testing.T, r *git.Repo, did func(...string)) {
	t.Helper()
	cx := t.Context()
	there := &git.Repo{Starter: r.Starter, Dir: t.TempDir()}
	if err := there.Init(cx, "main"); err != nil {
		t.Fatal(err)
	}
	dir := raw(t, r.Dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	text := readFile(
		t, dir,
		"config",
	) + fmt.Sprintf("\n[remote \"up\"]\n\turl = %s\n[remote]\n\tpushDefault = up\n", there.Dir)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	remote := must[git.Remote](t)(r.PushRemote(cx, "main"))
	if got := must[[]string](t)(r.Remotes(cx)); !slices.Contains(got, "up") {
		t.Errorf("Remotes = %q, want up", got)
	}
	head := must[string](t)(r.Head(cx))
	if err := r.Push(cx, remote, head, "task/9"); err != nil {
		t.Error(err)
	}
	got := must[string](t)(there.Resolve(cx, "refs/heads/task/9"))
	if remote.Name != "up" || got != head {
		t.Errorf("%s has %s, want up and %s", remote.Name, got, head)
	}
	// an empty repository tells of no branch
	raw(t, there.Dir, "symbolic-ref", "HEAD", "refs/heads/task/9")
	if got := must[string](t)(r.DefaultBranch(cx, remote)); got != "task/9" {
		t.Errorf("DefaultBranch = %q, want task/9", got)
	}
	if _, _, err := r.HostCLI(cx, remote); err != nil {
		t.Error(err)
	}
	empty := &git.Repo{
		Starter: r.Starter,
		Dir:     t.TempDir(),
		Online:  r.Online,
	}
	commit, zip, err := empty.Archive(cx, "file://"+
		there.Dir, "task/9", git.Bounds{Files: 100, Bytes: 1 << 20})
	if err != nil || commit != head || len(zip) == 0 {
		t.Errorf("Archive() = %s, %d bytes, %v, want %s", commit, len(zip), err, head)
	}
	const ref = "refs/tercet/runs/r1/t1/1"
	if err := r.PushNew(cx, remote, head, ref); err != nil {
		t.Error(err)
	}
	tree := must[string](t)(r.Tree(cx, head))
	other := must[string](t)(r.CommitTree(cx, tree, []string{head}, "another"))
	for _, taken := range []string{ref, "refs/heads/main", "refs/tercet/../heads/main"} {
		if err := r.PushNew(cx, remote, other, taken); err == nil {
			t.Errorf("%s was pushed to, which is there or not tercet's own", taken)
		}
	}
	const second = "refs/tercet/runs/r10/t1/1"
	if err := r.PushNew(cx, remote, other, second); err != nil {
		t.Error(err)
	}
	own := must[map[string]string](t)(r.RemoteOwnRefs(cx, remote, "refs/tercet/runs/"))
	if len(own) != 2 || own[ref] != head || own[second] != other {
		t.Errorf("OwnRefsAt = %v, want %s and %s", own, ref, second)
	}
	if err := r.DeleteRemoteOwnRefs(cx, remote, map[string]string{ref: other}); err == nil {
		t.Error("a ref that has another commit was deleted at the remote")
	}
	if err := r.DeleteRemoteOwnRefs(cx, remote, map[string]string{second: other}); err != nil {
		t.Error(err)
	}
	own = must[map[string]string](t)(r.RemoteOwnRefs(cx, remote, "refs/tercet/runs/r1/"))
	if len(own) != 1 || own[ref] != head {
		t.Errorf("OwnRefsAt of a run = %v, want %s", own, ref)
	}
	for _, taken := range []string{"refs/heads/", "refs/tercet/../heads/"} {
		if _, err := r.RemoteOwnRefs(cx, remote, taken); err == nil {
			t.Errorf("%s was listed, which is not tercet's own", taken)
		}
		if err := r.DeleteRemoteOwnRefs(cx, remote, map[string]string{taken + "task/9": head}); err == nil {
			t.Errorf("%stask/9 was deleted, which is not tercet's own", taken)
		}
	}
	if err := r.FetchCommit(cx, remote, head); err != nil {
		t.Error(err)
	}
	if named, err := r.NamedRemote(cx, remote.Name); err != nil || named != remote {
		t.Errorf("NamedRemote(%s) = %+v, %v, want %+v", remote.Name, named, err, remote)
	}
	if _, err := r.NamedRemote(cx, "nobody"); err == nil {
		t.Error("a remote that is not there was found")
	}
	bundle := filepath.Join(t.TempDir(), "own.bundle")
	for range 2 { // the ref is gone again
		if err := r.BundleCommit(cx, git.Bundle{
			File:    bundle,
			Ref:     ref + "0",
			Commit:  other,
			Remote:  remote,
			Without: []string{head},
		}); err != nil {
			t.Error(err)
		}
	}
	if needs, err := git.BundlePrerequisites(bundle); err != nil || !slices.Contains(needs, head) {
		t.Errorf("BundleNeeds = %v, %v, want %s", needs, err, head)
	}
	if err := r.Unbundle(cx, bundle); err != nil {
		t.Error(err)
	}
	if err := r.DeleteOwnRef(cx, "refs/heads/main", head); err == nil {
		t.Error("a branch was deleted as a ref of tercet's own")
	}
	did("Remotes", "PushRemote", "NamedRemote", "DefaultBranch", "Push", "PushNew", "FetchCommit",
		"RemoteOwnRefs", "DeleteRemoteOwnRefs", "BundleCommit",
		"Unbundle", "DeleteOwnRef", "HostCLI", "Archive")
}

// plumbing commits beside the person's index, and brings files back from a tree.
func plumbing(t *testing.T, r *git.Repo, did func(...string)) {
	t.Helper()
	cx := t.Context()
	if !r.Exists() || r.OperationInProgress() != "" || r.CheckUsable() != nil {
		t.Errorf("Exists, Underway, Usable = %v, %q, %v, want true and nothing",
			r.Exists(), r.OperationInProgress(), r.CheckUsable())
	}
	if file, text := r.WorktreeLink(r.Dir); file != filepath.Join(r.Dir, ".git") || text == "" {
		t.Errorf("LinkOf = %q, %q, want .git and what links a worktree", file, text)
	}
	own := &git.Repo{
		Starter: r.Starter,
		Dir:     r.Dir,
		Index:   filepath.Join(t.TempDir(), "index"),
	}
	head := must[string](t)(r.Head(cx))
	write(t, r.Dir, "p.wt", "x\n")
	err := errors.Join(own.ReadTree(cx, head), own.Add(cx, "p.wt"))
	err = errors.Join(err, own.CopyIndex(filepath.Join(t.TempDir(), "index")))
	if some := must[bool](t)(own.HasStaged(cx)); !some {
		t.Error("Staged() = false, want true")
	}
	if some := must[bool](t)(r.HasStaged(cx)); some {
		t.Error("Staged() of the person's index = true, want false")
	}
	tree := must[string](t)(own.WriteTree(cx))
	made := must[string](t)(r.CommitTree(cx, tree, []string{head}, "beside"))
	if got := must[string](t)(r.Tree(cx, made)); got != tree {
		t.Errorf("Tree() = %s, want %s", got, tree)
	}
	if list := must[[]string](t)(
		r.DiffPaths(cx, head, made),
	); !slices.Equal(list, []string{"p.wt"}) {
		t.Errorf("Differ() = %q, want p.wt", list)
	}
	if in := must[map[string]string](t)(r.Files(cx, made, "p.wt")); len(in) != 1 {
		t.Errorf("Files() = %q, want p.wt", in)
	}
	if by := must[map[string]string](t)(r.FiltersOf(cx, []string{"a.txt"})); len(by) > 1 {
		t.Errorf("Filtered() = %v, want at most that file", by)
	}
	if list := must[[]string](t)(r.Submodules(cx)); len(list) > 1 { // one vector has one
		t.Errorf("Submodules() = %q, want at most one", list)
	}
	if list := must[[]string](t)(r.IgnoredFiles(cx, "p.wt")); len(list) != 0 {
		t.Errorf("Ignored() = %q, want none", list)
	}
	names := must[[]string](t)(r.Patches(cx, filepath.Join(t.TempDir(), "series"), head, made))
	if len(names) != 1 {
		t.Errorf("Patches() = %q, want one", names)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	err = errors.Join(
		err,
		r.UpdateRef(cx, "refs/heads/beside", made, ""),
		r.Bundle(cx, bundle, "refs/heads/beside", head),
		r.DeleteBranch(cx, "beside", made),
	)
	if _, none := os.Stat(bundle); none != nil {
		t.Error(none)
	}
	did("Patches", "Bundle")
	err = errors.Join(err, own.Restore(cx, head), r.Reset(cx, "a.txt"))
	if _, gone := os.Stat(filepath.Join(r.Dir, "p.wt")); gone == nil {
		t.Error("Restore() left p.wt, which the tree has not")
	}
	if err != nil {
		t.Error(err)
	}
	did(
		"Exists", "OperationInProgress", "CheckUsable", "WorktreeLink", "ReadTree", "CopyIndex",
		"HasStaged", "WriteTree", "CommitTree",
		"Tree", "DiffPaths", "Files", "Submodules", "FiltersOf", "IgnoredFiles", "Restore", "Reset",
	)
}

// looks calls what only reads, around one commit, and gives the commit before it.
func looks(t *testing.T, r *git.Repo, did func(...string)) string {
	t.Helper()
	cx := t.Context()
	base := must[string](t)(r.Head(cx))
	write(t, r.Dir, "a.txt", "main\nchanged\n")
	write(t, r.Dir, "n.eq", "x\n")
	write(t, r.Dir, "n.dot", "x\n")
	write(t, r.Dir, "n.wt", "x\n")
	st := must[[]git.Entry](t)(r.StatusPorcelain(cx))
	if !slices.ContainsFunc(st, func(e git.Entry) bool {
		return e.Path == "a.txt" && e.Code == " M"
	}) {
		t.Errorf("StatusPorcelain() = %v, want a.txt changed", st)
	}
	if d := must[[]byte](t)(r.Diff(cx, "HEAD", "")); !strings.Contains(string(d), "\n+changed\n") {
		t.Errorf("Diff() = %s, want the line that was added", d)
	}
	commit(t, r, "on main", "a.txt", "n.eq", "n.dot", "n.wt")
	for _, from := range []string{"", base} {
		if err := r.EachAddedLine(cx, from, "HEAD", func(string, int, string) {}); err != nil {
			t.Errorf("Added(%q) = %v", from, err)
		}
	}

	added := 0
	err := r.EachLineAddedToTree(cx, base, "HEAD", func(string, int, string) { added++ })
	if err != nil || added == 0 {
		t.Errorf("AddedToTree() = %d lines, %v", added, err)
	}

	did("EachAddedLine", "EachLineAddedToTree")
	if _, files, err := r.Changes(cx, r, ".tercet"); err != nil {
		t.Errorf("Changes() = %q, %v", files, err)
	}
	write(t, r.Dir, "fresh.txt", "fresh\n")
	patch, err := r.FullPatch(cx, r, ".tercet")
	if err != nil || !strings.Contains(patch, "+++ b/fresh.txt\n@@ -0,0 +1 @@\n+fresh\n") {
		t.Errorf("Work() = %q, %v, want the new file in it", patch, err)
	}
	since, err := r.PatchSince(cx, "HEAD", ".tercet")
	if err != nil || !strings.Contains(since, "+++ b/fresh.txt\n@@ -0,0 +1 @@\n+fresh\n") {
		t.Errorf("PatchSince() = %q, %v, want the new file in it", since, err)
	}
	if err := os.Remove(filepath.Join(r.Dir, "fresh.txt")); err != nil {
		t.Error(err)
	}
	did("Changes", "FullPatch", "PatchSince")
	if s := must[[]git.Stat](t)(r.DiffStat(cx, base, "HEAD")); len(s) != 4 {
		t.Errorf("DiffStat() = %v, want 4 files", s)
	}
	if list := must[[]string](t)(r.VisibleFiles(cx)); !slices.Contains(list, "n.wt") {
		t.Errorf("Visible() = %q, want n.wt among them", list)
	}
	if list := must[[]string](t)(r.LsFiles(cx)); !slices.Contains(list, "n.wt") {
		t.Errorf("LsFiles() = %q, want n.wt among them", list)
	}
	if log := must[[]git.Commit](t)(r.Log(cx, 5, "a.txt")); len(log) != 2 {
		t.Errorf("Log() = %v, want 2 commits", log)
	}
	_ = must[string](t)(r.CommitByTrailer(cx, git.Trailer{Key: "Tercet-Txn", Value: "x"}))
	if got := must[string](t)(r.MergeBase(cx, base, "HEAD")); got != base {
		t.Errorf("MergeBase() = %s, want %s", got, base)
	}
	if top := must[string](t)(r.Toplevel(cx)); top != r.Dir {
		t.Errorf("Toplevel() = %s, want %s", top, r.Dir)
	}
	if top, rel, err := r.Locate(cx); top != r.Dir || rel != "." || err != nil {
		t.Errorf("Within() = %s, %s, %v, want %s, .", top, rel, err, r.Dir)
	}
	for name, ask := range map[string]func() (bool, error){
		"IsAncestor": func() (bool, error) {
			return r.IsAncestor(cx, base, "HEAD")
		},
		"HasIndex": func() (bool, error) { return r.HasIndex(), nil },
		"WorktreeLock": func() (bool, error) {
			_, ok := r.WorktreeLock()
			return !ok, nil
		},
		"BranchExists": func() (bool, error) {
			return r.BranchExists(cx, "main")
		},
		"CurrentBranch": func() (bool, error) {
			b, err := r.CurrentBranch(cx)
			return b == "main", err
		},
		"Branches": func() (bool, error) {
			b, err := r.Branches(cx, "ma")
			return slices.Equal(b, []string{"main"}), err
		},
		"BranchesContaining": func() (bool, error) {
			b, err := r.BranchesContaining(cx, base)
			return slices.Contains(b, "main"), err
		},
		"Resolve": func() (bool, error) {
			h, err := r.Resolve(cx, "HEAD~1")
			return h == base, err
		},
	} {
		if yes, err := ask(); !yes || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s() = %v, %v, want true", name, yes, err)
		}
		did(name)
	}

	did(
		"Diff", "Add", "Commit", "DiffStat", "LsFiles", "VisibleFiles", "Log", "CommitByTrailer",
		"MergeBase", "Toplevel", "Locate",
	)
	return base
}
