package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"tercet/internal/git"
	"tercet/internal/testkit"
)

// TestPlace: what is used of the addresses of remotes, and what is not.
func TestPlace(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]git.Remote{
		"https://github.com/o/r.git":             {Host: "github.com", Path: "o/r"},
		"https://user:token@github.com/o/r":      {Host: "github.com", Path: "o/r"},
		"https://git.example.org:8443/a/b/c.git": {Host: "git.example.org", Path: "a/b/c"},
		"ssh://git@gitlab.com/g/s/r.git":         {Host: "gitlab.com", Path: "g/s/r"},
		"git@github.com:o/r.git":                 {Host: "github.com", Path: "o/r"},
		"github.com:o/r":                         {Host: "github.com", Path: "o/r"},
		"/srv/r.git":                             {Path: "/srv/r.git"},
		"file:///srv/r.git":                      {Path: "/srv/r.git"},
		"ext::sh -c x":                           {},
		"ext::sh":                                {},
		"fd::3":                                  {},
		"http://github.com/o/r":                  {},
		"git://github.com/o/r":                   {},
		"ssh://-oProxyCommand=x/r":               {},
		"-oProxyCommand=x:r":                     {},
		"git@-oProxyCommand=x:r":                 {},
		"git@host:-x":                            {},
		"git@host:--upload-pack=x":               {},
		"file://r.git":                           {},
		"r.git":                                  {},
		"../r.git":                               {},
		"./a:b":                                  {},
		"https://github.com/o/r\nx":              {},
		"https://github.com/$(x)/r":              {},
		"https://github.com":                     {},
		"":                                       {},
		":":                                      {},
		"host:":                                  {},
		"https://gh.example.org/o/r?--repo=evil/evil": {Host: "gh.example.org", Path: "o/r"},
	} {
		got, ok := git.Place(address)
		if ok != (want != git.Remote{}) || ok && got != want {
			t.Errorf("place(%q) = %+v, %v, want %+v", address, got, ok, want)
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, seed := range []string{
		"https://u@h:1/o/r.git", "git@h:o/r", "ext::x", "/a", "file:///a", "ssh://-o/x", "a:-b",
		"h:o/r\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		r, ok := git.Place(address)
		if !ok {
			return
		}
		if strings.ContainsFunc(address, unicode.IsControl) || strings.HasPrefix(r.Host, "-") ||
			strings.HasPrefix(r.Path, "-") || strings.Contains(r.Host, "/") {
			t.Errorf("place(%q) = %+v", address, r)
		}
		if r.Host == "" && !filepath.IsAbs(r.Path) {
			t.Errorf("place(%q) = %+v: neither a host nor a folder", address, r)
		}
	})
}

// TestPushRunsNothing: neither the hooks of the repository nor what its configuration says of the
// other side runs, and nothing but the branch is pushed; what the person's own configuration says
// of ssh is used.
func TestPushRunsNothing(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	beside := t.TempDir()
	canary := filepath.Join(beside, "canary")
	ssh := filepath.Join(beside, "ssh")
	for name, text := range map[string]string{
		filepath.Join(beside, "evil"):               "touch " + canary,
		filepath.Join(r.Dir, ".git/hooks/pre-push"): "touch " + canary,
		ssh:                                      "echo \"$@\" > " + ssh + ".log; exit 1",
		filepath.Join(beside, "home/.gitconfig"): "",
	} {
		err := errors.Join(
			os.MkdirAll(filepath.Dir(name), 0o755),
			testkit.WriteProgram(name, "#!/bin/sh\n"+text+"\n"),
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	there := filepath.Join(beside, "there")
	raw(t, beside, "init", "-q", "--bare", there)
	for _, pair := range [][2]string{
		{"remote.up.url", there},
		{"remote.up.receivepack", filepath.Join(beside, "evil")},
		{"remote.up.uploadpack", filepath.Join(beside, "evil")},
		{"push.followTags", "true"},
		{"push.gpgSign", "true"},
		{"core.sshCommand", filepath.Join(beside, "evil")},
		{"credential.helper", filepath.Join(beside, "evil")},
		{"remote.far.url", "ssh://far.example/x"},
		{"push.recurseSubmodules", "on-demand"},
		{"push.pushOption", "evil"},
		{"core.askPass", filepath.Join(beside, "evil")},
	} {
		raw(t, r.Dir, "config", pair[0], pair[1])
	}

	raw(t, r.Dir, "-c", "user.name=U", "-c", "user.email=u@localhost", "tag", "-a", "-m", "x", "v1")
	err := os.WriteFile(
		filepath.Join(beside, "home/.gitconfig"),
		[]byte("[core]\n\tsshCommand = "+ssh+"\n"),
		0o600,
	)
	if err != nil {
		t.Fatal(err)
	}
	r.Starter = starter(
		t,
		"HOME="+filepath.Join(beside, "home"),
		"GIT_CONFIG_GLOBAL="+filepath.Join(beside, "home/.gitconfig"),
	)
	cx := t.Context()
	head := must[string](t)(r.Head(cx))
	if err := r.Push(cx, git.Remote{Name: "up"}, head, "task/1"); err != nil {
		t.Error(err)
	}
	if err := r.Push(cx, git.Remote{Name: "up"}, head, "task/1"); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if refs := raw(t, there, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/task/1" {
		t.Errorf("pushed %q, want the branch alone", refs)
	}
	write(t, r.Dir, "a.txt", "another way\n")
	commit(t, r, "another way", "a.txt")
	young := must[string](t)(r.Head(cx))
	raw(
		t, there,
		"update-ref",
		"refs/heads/task/1",
		raw(t, there, "rev-parse", "refs/heads/task/1"),
	)
	if err := r.Push(cx, git.Remote{Name: "up"}, young, "task/1"); err != nil {
		t.Error(err)
	}
	err = r.Push(cx, git.Remote{Name: "up"}, head, "task/1")
	if !errors.As(err, new(*git.RefusedError)) ||
		!strings.Contains(err.Error(), "up does not take branch task/1: [rejected] (") {
		t.Errorf("by force: %v", err)
	}
	err = r.Push(cx, git.Remote{Name: "far"}, head, "task/1")
	if !errors.As(err, new(*git.Error)) {
		t.Errorf("without an answer: %v", err)
	}
	log, err := os.ReadFile(ssh + ".log")
	if err != nil || !strings.Contains(string(log), "far.example git-receive-pack") {
		t.Errorf("the person's ssh is told %q, %v", log, err)
	}
	raw(t, there, "symbolic-ref", "HEAD", "refs/heads/task/1")
	if got, err := r.DefaultBranch(cx, git.Remote{Name: "up"}); got != "task/1" || err != nil {
		t.Errorf("DefaultBranch = %q, %v, want task/1", got, err)
	}
	if err := r.Push(cx, git.Remote{Name: "up"}, head, "--mirror"); err == nil {
		t.Error("a branch that is an option is taken")
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("the repository ran its program")
	}
}

// TestAsker: what gh and glab print decides only where it is what was asked for, and neither is
// waited for without an end.
func TestAsker(t *testing.T) {
	t.Parallel()
	const commit = "0123456789012345678901234567890123456789"
	const at = "https://h.example/o/r/pull/7"
	q := git.Request{
		Branch: "task/1",
		To:     "main",
		Commit: commit,
		Title:  "-t",
		Body:   "$(x)",
	}
	for name, c := range map[string]struct {
		host         string
		list, create string // what a shell does for it
		found, want  string
		fails        string // part of the error of either
	}{
		"none yet": {list: "echo '[]'", create: "echo " + at, want: at},
		"words around it": {
			list:   "echo '[]'",
			create: "echo Warning: 1 uncommitted change; echo " + at,
			want:   at,
		},
		"one is open": {
			list: `echo '[{"url":"` + at +
				`","state":"OPEN","headRefOid":"x","baseRefName":"main"}]'`,
			found: at,
		},
		"for another branch": {
			list: `echo '[{"url":"` + at +
				`","state":"OPEN","headRefOid":"x","baseRefName":"dev"}]'`,
			create: "echo " + at,
			want:   at,
		},
		"of a stranger": {
			list: `echo '[{"url":"` + at +
				`","state":"OPEN","headRefOid":"x","baseRefName":"main","isCrossRepository":true}]'`,
			create: "echo " + at,
			want:   at,
		},
		"merged meanwhile": {
			list: `echo '[{"url":"` + at + `","state":"MERGED","headRefOid":"` + commit +
				`","baseRefName":"main"}]'`,
			found: at,
		},
		"an old one": {
			list: `echo '[{"url":"` + at +
				`","state":"CLOSED","headRefOid":"x","baseRefName":"main"}]'`,
			create: "echo " + at,
			want:   at,
		},
		"glab": {
			host: "gitlab.example",
			list: `echo '[{"web_url":"` + at +
				`","state":"opened","sha":"x","target_branch":"main","source_project_id":1,"target_project_id":1}]'`,
			found: at,
		},
		"made, and said nothing": {
			list: `if [ -e made ]; then echo '[{"url":"` + at +
				`","state":"OPEN","headRefOid":"x","baseRefName":"main"}]'; else echo '[]'; fi`,
			create: "echo 1 > made; exit 1",
			want:   at,
		},
		"garbage": {
			list:  "echo '<html>'",
			fails: `output of gh: expected a list of requests, got "<html>`,
		},
		"no list": {
			list:  "echo '{\"url\": 1}'",
			fails: "output of gh: expected a list",
		},
		"an address of a program": {
			list:   "echo '[]'",
			create: "echo 'javascript:alert(1)'",
			fails:  `output of gh: expected the address of a request, got "javascript`,
		},
		"it fails": {
			list:   "echo '[]'",
			create: "echo no rights >&2; exit 1",
			fails:  "gh pr: exit 1: no rights",
		},
		"it hangs": {list: "sleep 60", fails: "deadline"},
		"a flood":  {list: "yes | head -c 80000000", fails: "too much"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			bin := t.TempDir()
			script := "#!/bin/sh\ncd " + bin +
				"\necho \"$*\" >> log\ncase \"$1 $2\" in\n'auth status') exit 0;;\n*list) " +
				c.list + ";;\n*create) " + c.create + "\n;;\nesac\n"
			for _, tool := range []string{"gh", "glab"} {
				err := testkit.WriteProgram(filepath.Join(bin, tool), script)
				if err != nil {
					t.Fatal(err)
				}
			}

			r.Starter = starter(t, "PATH="+bin+":"+os.Getenv("PATH"))
			a, _, err := r.HostCLI(t.Context(), git.Remote{
				Name: "up",
				Host: c.host,
				Path: "o/r",
			})
			if err != nil || a == nil {
				t.Fatal(a, err)
			}
			cx := t.Context()
			if name == "it hangs" {
				var stop func()
				cx, stop = context.WithTimeout(cx, 300*time.Millisecond)
				defer stop()
			}
			got, err := a.Find(cx, q)
			if got != c.found {
				t.Errorf("Find = %q, %v, want %q", got, err, c.found)
			}
			if err == nil && got == "" {
				got, err = a.Open(cx, q)
			}
			if got != c.want+c.found || (err != nil) != (c.fails != "") ||
				err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("Open = %q, %v, want %q, %s", got, err, c.want, c.fails)
			}
			log, err := os.ReadFile(filepath.Join(bin, "log"))
			if err != nil ||
				c.want != "" &&
					!strings.Contains(
						string(log),
						"pr create --head=task/1 --base=main --title=-t --body=$(x)",
					) {
				t.Errorf("it was called %s, %v", log, err)
			}
			if c.host != "" &&
				!strings.Contains(
					string(log),
					"mr list --all --source-branch=task/1 --output=json "+
						"--repo=https://gitlab.example/o/r",
				) {
				t.Errorf("it was called %s", log)
			}
		})
	}
}
