package sandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents/sandbox"
)

// TestEngine looks at a real engine what concerns images alone. It runs where -image names one.
func TestEngine(t *testing.T) {
	t.Parallel()
	if *imageFlag == "" {
		t.Skip("no -image: docker and podman take no part")
	}
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if !engine(b) {
			t.Skip("no engine")
		}
		dir := t.TempDir()
		script := `cat; echo "$SECRET|$PASSED|$HOME|$TMPDIR"; echo x > made; id -u; ls /proc/sys/net/ipv4/conf | tr '\n' ' '; ls "$1" 2>&1; touch /new 2>&1; echo x > "$TMPDIR/exec.sh" && echo ok`
		res := runIn(t, p, b, sandbox.Bounds{Write: []string{dir}}, proc.Command{
			Argv:  []string{"sh", "-c", script, "sh", filepath.Join(filepath.Dir(dir), "..")},
			Dir:   dir,
			Stdin: []byte("fed\n"),
			Env:   []string{"PASSED=yes"},
		})
		out := string(res.Stdout)
		for _, want := range []string{
			"fed\n", "|yes|/tmp|/tmp\n", "all default lo ", "Read-only file system", "ok\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("the program printed %q, stderr %q, want %q in it", out, res.Stderr, want)
			}
		}

		if strings.Contains(out, "eth0") {
			t.Errorf("the program sees %q, want no network", out)
		}
		f, err := os.OpenFile(filepath.Join(dir, "made"), os.O_RDWR, 0)
		if err != nil || f.Close() != nil {
			t.Errorf("made: %v, want a file of the person", err)
		}
		for name, c := range map[string]proc.Command{
			"timeout": {
				Argv:    []string{"sh", "-c", "trap '' INT TERM; while :; do sleep 1; done"},
				Timeout: proc.Timeout{Total: 6 * time.Second},
			},
			"left":  {Argv: []string{"sh", "-c", "sleep 600 & exit 0"}},
			"flood": {Argv: []string{"sh", "-c", "yes"}, Limit: 1 << 20},
		} {
			t.Run(name, func(t *testing.T) {
				c.Dir = dir
				runIn(t, p, b, sandbox.Bounds{Write: []string{dir}}, c)
				if left := containers(t, p, b); left != "" {
					t.Errorf("containers are left: %s", left)
				}
			})
		}
	})
}

func containers(t *testing.T, p *sandbox.Prober, b sandbox.Box) string {
	t.Helper()
	own, _, _ := strings.Cut(b.Image.NewName(), "-") // other tests have containers too
	res, err := p.Starter.Run(t.Context(), proc.Command{
		Argv:    []string{b.Tool, "ps", "--all", "--quiet", "--filter", "name=tercet-" + own},
		Env:     b.Image.Client,
		Purpose: proc.PurposeProbe,
	})
	if err != nil || !res.Success() {
		t.Fatalf("ps: %v, %+v, %s", err, res, res.Stderr)
	}
	return string(res.Stdout)
}

// scripted is a program that answers as an engine does. A container of it is a name in a file, and
// its program runs unbounded.
const scripted = `#!/bin/sh
dir=$(dirname "$0")
case $1 in
version) [ -e "$dir/down" ] && { echo 'Cannot connect' >&2; exit 1; }; [ -e "$dir/hangs" ] && exec sleep 60; echo 99.1 ;;
image) [ "$5" = tools:1 ] || { echo 'No such image' >&2; exit 1; } ;;
run)
	printf '%s\n' "$@" >"$dir/argv"
	while [ "$1" != "$IMAGE" ]; do
		[ "$1" = --name ] && echo "$2" >>"$dir/names"
		[ "$1" = --entrypoint ] && program=$2
		shift
	done
	shift
	"$program" "$@" ;;
rm) grep -v "^$3\$" "$dir/names" >"$dir/names.new"; mv "$dir/names.new" "$dir/names"; echo "$3" >>"$dir/removed" ;;
esac
`

// fakeEngine puts an engine on the PATH of a prober and gives its folder.
func fakeEngine(t *testing.T, image string) (*sandbox.Prober, string) {
	t.Helper()
	p := prober(t)
	dir := t.TempDir()
	if err := testkit.WriteProgram(filepath.Join(dir, "docker"), scripted); err != nil {
		t.Fatal(err)
	}
	s := *p.Starter
	s.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "IMAGE=" + image}
	s.Grace.Interrupt = 300 * time.Millisecond
	s.Grace.Terminate = 300 * time.Millisecond
	p.Starter = &s
	p.Image.Name = image
	p.Image.Engine = sandbox.Docker
	p.Image.Client = []string{"DOCKER_HOST=unix:///nowhere"}
	return p, dir
}

func TestEngineProbe(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		image, file string
		all         bool
		want        string
	}{
		"no image": {want: "not asked: no image is named"},
		"no image, asked": {
			all: true,
			want: "version 99.1 answers, but is not used: name an image in `sandbox: {image: " +
				"NAME}`",
		},
		"no daemon": {
			image: "tools:1",
			file:  "down",
			want:  "no engine answers: Cannot connect",
		},
		"not here": {
			image: "other:1",
			want: "the image other:1 is not on this machine, and tercet does not pull it: run " +
				"docker pull other:1",
		},
		"it keeps no bounds": {image: "tools:1", want: "a write outside was not refused"},
		"a daemon that hangs": {
			image: "tools:1",
			file:  "hangs",
			want:  "no engine answers: no answer within 5s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := fakeEngine(t, tt.image)
			p.All = tt.all
			if tt.file != "" {
				if err := os.WriteFile(filepath.Join(dir, tt.file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			probes, err := p.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := probes[0]; got.OK || got.Means != sandbox.Docker || got.Why != tt.want {
				t.Errorf("Probe = %+v, want %q", got, tt.want)
			}
			want := "not asked: the configuration names docker"
			if got := probes[1]; got.OK || got.Means != sandbox.Podman || got.Why != want {
				t.Errorf("Probe = %+v, want %q", got, want)
			}
			if left, err := os.ReadFile(filepath.Join(dir, "names")); err == nil && len(left) > 0 {
				t.Errorf("containers are left: %s", left)
			}
		})
	}
}

func TestContainersGoWithTheRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]containerEnd{
		"ended":    {script: "exit 3", exit: 3},
		"timeout":  {script: "trap '' INT TERM; while :; do sleep 1; done", times: true, exit: -1},
		"flood":    {script: "exec yes", limit: 1 << 16, exit: -1},
		"canceled": {script: "echo ready; sleep 60", cancel: true, exit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !tt.times {
				tt.comes(t, time.Minute)
				return
			}
			testkit.Widen(t, time.Second/2, func(limit time.Duration) bool {
				return tt.comes(t, limit)
			})
		})
	}
}

// containerEnd is a way in which the program of a container ends.
type containerEnd struct {
	script string
	limit  int64 // bytes of output; 0: the default
	times  bool  // it ends at the limit of time
	cancel bool
	exit   int
}

// comes runs the program until it ends, and looks for containers that are left. It tells whether
// the engine was started.
func (e containerEnd) comes(t *testing.T, limit time.Duration) bool {
	t.Helper()
	p, dir := fakeEngine(t, "tools:1")
	tool, err := p.Starter.LookPath("docker")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := proc.Command{
		Argv:    []string{"sh", "-c", e.script},
		Purpose: proc.PurposeScript,
		Dir:     t.TempDir(),
		Private: true,
		Limit:   e.limit,
		Timeout: proc.Timeout{Total: limit},
	}
	c.Watch = func([]byte) bool {
		if e.cancel {
			cancel()
		}
		return true
	}
	b := sandbox.Box{
		Tier:  sandbox.Container,
		Means: sandbox.Docker,
		Tool:  tool,
		Image: p.Image,
	}
	c, err = b.Wrap(c, sandbox.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.Starter.Run(ctx, c)
	if (err != nil) != e.cancel || res.Exit != e.exit && e.exit >= 0 {
		t.Errorf("Run = %+v, %v, want exit %d", res, err, e.exit)
	}
	left, err := os.ReadFile(filepath.Join(dir, "names"))
	if e.times && errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil || len(left) > 0 {
		t.Errorf("containers left: %q, %v, want none", left, err)
	}
	return true
}

// boxed is an engine that makes its containers by bubblewrap: of this machine they have the
// programs in /usr and what is mounted.
const boxed = `#!/bin/sh
case $1 in
version) echo 99.1 ;;
run)
	words='--unshare-user --unshare-pid --die-with-parent --ro-bind /usr /usr --proc /proc --dev /dev --tmpfs /tmp'
	words="$words --ro-bind /proc/sys /proc/sys"
	words="$words --setenv TMPDIR /tmp --setenv HOME /tmp"
	for name in bin sbin lib lib64; do words="$words --symlink usr/$name /$name"; done
	for word; do
		case $last in
		--mount)
			source=${word#*source=} target=${word#*target=} bind=--bind
			case $word in *,readonly) bind=--ro-bind ;; esac
			words="$words $bind ${source%%,*} ${target%%,*}" ;;
		--workdir) words="$words --chdir $word" ;;
		--entrypoint) program=$word ;;
		esac
		last=$word
	done
	while [ "$1" != "$IMAGE" ]; do shift; done
	shift
	exec bwrap $words --remount-ro / "$program" "$@" ;;
esac
`

// wordless is a board on which nothing stands.
type wordless struct{}

func (wordless) Publish(string) error { return nil }

func (wordless) Since(int) (list []formats.Posting, all int) { return nil, 0 }

// TestBoardInAnImage: an image lacks tercet, so a worker with a board sees the file of the tercet
// at work there, and cannot change it. Any other worker does not see it.
func TestBoardInAnImage(t *testing.T) {
	t.Parallel()
	p, dir := fakeEngine(t, "tools:1")
	if err := testkit.WriteProgram(filepath.Join(dir, "docker"), boxed); err != nil {
		t.Fatal(err)
	}
	probes, err := p.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !probes[0].OK {
		t.Skipf("bubblewrap makes no such container here: %s", probes[0].Why)
	}

	tercet := filepath.Join(t.TempDir(), "tercet")
	if err := testkit.WriteProgram(tercet, "#!/bin/sh\necho heard\n"); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	out := filepath.Join(root, "call", "out")
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}
	k := &sandbox.Keeper{
		Prober: *p,
		Root:   root,
		Tercet: tercet,
		Order:  []sandbox.Tier{sandbox.Container},
		Getenv: func(string) string { return "" },
		Allow:  func() error { return nil },
		Note:   func(text string) { t.Errorf("note %q", text) },
	}
	for want, board := range map[string]formats.Board{"heard\n": wordless{}, "none\n": nil} {
		r := formats.Request{Dir: root, Out: out}
		r.Terms.Board = board
		script := `if test -e "$1"; then "$1"; (: > "$1") 2>/dev/null && echo changed; else echo none; fi`
		c, tier, err := k.Program(t.Context(), r, proc.Command{
			Argv:    []string{"sh", "-c", script, "sh", tercet},
			Dir:     root,
			Private: true,
			Purpose: proc.PurposeAgent,
		}, false)
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Starter.Run(t.Context(), c)
		if got := string(res.Stdout); err != nil || got != want {
			t.Errorf("in %s: %q, stderr %q, %v, want %q", tier, got, res.Stderr, err, want)
		}
		if tier != "container (docker)" {
			t.Errorf("the tier is %s, want that of the image", tier)
		}
	}
}

func TestWordsOfAContainer(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"app/.tercet/runs/r1", "app/tools", "app/.git/hooks", "other"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(root, "app/tools/x,y"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	b := sandbox.Box{
		Tier:  sandbox.Container,
		Means: sandbox.Podman,
		Tool:  "/bin/podman",
		Image: sandbox.Image{
			Name:    "tools:1",
			Client:  []string{"DOCKER_HOST=x"},
			Env:     []string{"LANG"},
			NewName: func() string { return "0123456789abcdef" },
		},
	}
	c, err := b.Wrap(proc.Command{
		Argv:  []string{"tools/x,y", "-a", "b c"},
		Dir:   at("app"),
		Env:   []string{"B=secret", "PATH=/x"},
		Stdin: []byte{},
	}, sandbox.Bounds{
		Write:   []string{at("app"), at("app/.tercet/runs/r1"), at("missing")},
		Keep:    []string{at("app/.tercet"), at("app/.git/hooks"), at("other")},
		Cache:   []string{at("other")},
		Read:    []string{at("app/.git")},
		Net:     true,
		Project: at("app"),
	})
	if err != nil {
		t.Fatal(err)
	}
	mount := func(name, more string) []string {
		return []string{"--mount", "type=bind,source=" + at(name) + ",target=" + at(name) + more}
	}
	want := slices.Concat([]string{
		"/bin/podman",
		"run",
		"--rm",
		"--name",
		"tercet-0123456789abcdef",
		"--label",
		"tercet",
		"--pull",
		"never",
		"--read-only",
		"--cap-drop",
		"ALL",
		"--security-opt",
		"no-new-privileges",
		"--security-opt",
		"label=disable",
		"--tmpfs",
		"/tmp:rw,exec,nosuid,nodev,mode=1777",
		"--entrypoint",
		at("app/tools/x,y"),
		"--network",
		"none",
		"--interactive",
		"--workdir",
		at("app"),
		"--env",
		"B",
		"--env",
		"LANG",
		"--env",
		"TMPDIR=/tmp",
		"--env",
		"HOME=/tmp",
	}, mount("app", ""), mount("app/.git", ",readonly"), mount("app/.tercet", ",readonly"),
		mount("app/.tercet/runs/r1", ""), []string{
			"--mount",
			`type=bind,"source=` + at("app/tools/x,y") + `","target=` + at("app/tools/x,y") +
				`",readonly`,
			"tools:1",
			"-a",
			"b c",
		})
	if diff := cmp.Diff(want, c.Argv); diff != "" {
		t.Errorf("words differ (-want +got):\n%s", diff)
	}
	last := []string{
		"/bin/podman", "rm", "--force", "--ignore", "--time", "0", "tercet-0123456789abcdef",
	}
	if diff := cmp.Diff(last, c.After); diff != "" {
		t.Errorf("the removal differs (-want +got):\n%s", diff)
	}
	if strings.Contains(strings.Join(c.Argv, " "), "secret") ||
		!slices.Contains(c.Env, "DOCKER_HOST=x") {
		t.Errorf("words %q, environment %q, want values in the environment of the engine alone",
			c.Argv, c.Env)
	}
	b.Image.NewName = nil
	if _, err := b.Wrap(proc.Command{Argv: []string{"true"}}, sandbox.Bounds{}); err == nil {
		t.Error("Wrap without names = nil, want an error")
	}
}

func TestRemoval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		words string
		want  string
	}{
		{
			"/usr/bin/docker rm --force tercet-0123456789abcdef",
			"docker rm --force tercet-0123456789abcdef",
		},
		{
			"/x/podman rm --force --ignore --time 0 tercet-0123456789abcdef",
			"podman rm --force --ignore --time 0 tercet-0123456789abcdef",
		},
		{"/usr/bin/docker rm --force database", ""},
		{"/usr/bin/docker rm --force tercet-short", ""},
		{"/usr/bin/docker rm --force --volumes tercet-0123456789abcdef", ""},
		{"/usr/bin/docker run tools tercet-0123456789abcdef", ""},
		{"/bin/sh -c tercet-0123456789abcdef", ""},
		{"/usr/bin/docker rm --force tercet-0123456789abcdef/../x", ""},
		{"docker", ""},
	} {
		got, ok := sandbox.Removal(strings.Fields(tt.words))
		if strings.Join(got, " ") != tt.want || ok != (tt.want != "") {
			t.Errorf("Removal(%s) = %q, %v, want %q", tt.words, got, ok, tt.want)
		}
	}
}
