package sandbox_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/shell"
	"tercet/internal/testkit"
	"tercet/subagents/sandbox"
)

type ctx = context.Context

// boxes gives every box that works here, and skips the others with their reason.
func boxes(t *testing.T, p *sandbox.Prober, f func(t *testing.T, b sandbox.Box)) {
	t.Helper()
	probes, err := p.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range probes {
		if one.Means == sandbox.None {
			continue
		}
		t.Run(one.Means.String(), func(t *testing.T) {
			if !one.OK {
				t.Skipf("%s: %s", one.Means, one.Why)
			}
			f(t, p.Box(one))
		})
	}
}

// engine tells containers of an image: what is not named is not there, and programs are those of
// the image.
func engine(b sandbox.Box) bool {
	return b.Means == sandbox.Docker || b.Means == sandbox.Podman
}

func runIn(
	t *testing.T,
	p *sandbox.Prober,
	b sandbox.Box,
	bounds sandbox.Bounds,
	c proc.Command,
) proc.Result {
	t.Helper()
	c.Purpose = proc.PurposeScript
	c.Private = true
	if c.Timeout.Total == 0 {
		c.Timeout.Total = time.Minute
	}
	c, err := b.Wrap(c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.Starter.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestWritesStayInside(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		in := t.TempDir()
		out := t.TempDir()
		for name, script := range map[string]string{
			"plain":      `echo x > "$2/a"`,
			"child":      `sh -c 'echo x > "$1/a"' sh "$2"`,
			"background": `(sh -c 'echo x > "$1/a"' sh "$2" &) ; sleep 0.1`,
			"own group":  `setsid sh -c 'echo x > "$1/a"' sh "$2"`,
			"remove":     `rm "$2/old"`,
			"rename in":  `mv "$2/old" "$1/stolen"`,
			"rename out": `mv "$1/new" "$2/a"`,
			"hard link":  `ln "$1/new" "$2/a"`,
			"symlink":    `ln -s "$2" "$1/way" && echo x > "$1/way/a"`,
			"dots":       `echo x > "$1/../$(basename "$2")/a"`,
			"truncate":   `: > "$2/old"`,
			"mkdir":      `mkdir "$2/d"`,
			"home":       `echo x > "$HOME/a"`,
			"remount":    `mount -o remount,rw / ; mount --bind "$1" "$2"; echo x > "$2/a"`,
		} {
			t.Run(name, func(t *testing.T) {
				old := filepath.Join(out, "old")
				err := errors.Join(
					os.WriteFile(old, []byte("old"), 0o600),
					os.WriteFile(filepath.Join(in, "new"), []byte("new"), 0o600),
				)
				if err != nil {
					t.Fatal(err)
				}
				runIn(
					t, p, b,
					sandbox.Bounds{Write: []string{in}},
					proc.Command{Argv: []string{"sh", "-c", script, "sh", in, out}, Dir: in},
				)
				names, err := filepath.Glob(filepath.Join(out, "*"))
				got, readErr := os.ReadFile(old)
				if err != nil || readErr != nil || string(got) != "old" ||
					!slices.Equal(names, []string{old}) {
					t.Errorf("after %s: files %q, old is %q, %v, want nothing changed",
						script, names, got, errors.Join(err, readErr))
				}
				_ = os.Remove(filepath.Join(in, "way")) // made by one of the scripts
			})
		}

		res := runIn(t, p, b, sandbox.Bounds{Write: []string{in}}, proc.Command{
			Argv: []string{
				"sh", "-ec",
				`mkdir a b; echo x > a/x; mv a/x b/y; ln b/y b/z; echo y > "$TMPDIR/t"; cat "$TMPDIR/t" /etc/passwd > /dev/null; cat b/z; pwd`,
			},
			Dir: in,
		})
		real, err := filepath.EvalSymlinks(in)
		if err != nil || string(res.Stdout) != "x\n"+real+"\n" || !res.Success() {
			t.Errorf("inside: %+v, stderr %q, want work as always", res, res.Stderr)
		}
	})
}

// TestTheMachineStays: root writes to no file of the kernel, and no signal leaves.
func TestTheMachineStays(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		dir := t.TempDir()
		// Each is opened as for writing and nothing is written, so that a machine on which it works
		// does not change.
		res := runIn(t, p, b, sandbox.Bounds{Write: []string{dir}, Net: true}, proc.Command{
			Dir: dir,
			Argv: []string{
				"sh", "-c", `for f in kernel/core_pattern kernel/randomize_va_space vm/swappiness; do ( : > /proc/sys/$f ) 2>/dev/null && echo $f; done
for f in sysrq-trigger irq/default_smp_affinity; do ( : > /proc/$f ) 2>/dev/null && echo $f; done
find /proc/bus -type f -exec sh -c ': >"$1"' sh {} \; -exec echo {} \; 2>/dev/null
kill -0 "$1" 2>/dev/null && echo signal`, "sh", strconv.Itoa(os.Getpid()),
			},
		})
		if os.Getpid() < 100 {
			t.Skip("a program in a container may have the number of this process")
		}
		if len(res.Stdout) > 0 {
			t.Errorf("can be reached from inside: %q, want nothing", res.Stdout)
		}
	})
}

func TestTheNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := prober(t)
	if _, err := p.Starter.LookPath("bash"); err != nil {
		t.Skip("no bash here, which can open a connection")
	}
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		for _, may := range []bool{true, false} {
			if engine(b) {
				// whether it has a network of its own that leads here is the engine's matter;
				// TestEngine looks that it has none unless granted
				continue
			}
			res := runIn(t, p, b, sandbox.Bounds{Net: may}, proc.Command{
				Argv: []string{"bash", "-c", ": < /dev/tcp/" + host + "/" + port},
				Dir:  t.TempDir(),
			})
			if res.Success() != may {
				t.Errorf("Net %v: %+v, stderr %q, want success %v", may, res, res.Stderr, may)
			}
		}
	})
}

func TestKeepAndHide(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if b.Means == sandbox.Landlock {
			t.Skip("only a container takes a folder out again")
		}
		dir := t.TempDir()
		for _, name := range []string{"state/s", "state/runs/r", "secret/key", "file"} {
			err := errors.Join(
				os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
				os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600),
			)
			if err != nil {
				t.Fatal(err)
			}
		}

		at := func(n string) string { return filepath.Join(dir, n) }
		res := runIn(t, p, b, sandbox.Bounds{
			Write: []string{dir, at("state/runs")},
			Keep:  []string{at("state")},
			Hide:  []string{at("secret"), at("file")},
		},
			proc.Command{
				Argv: []string{
					"sh", "-c",
					"echo y > a; echo y > state/runs/n; echo y > state/s; ls secret; cat file",
				},
				Dir: dir,
			})
		got, err := os.ReadFile(at("state/s"))
		hidden := len(res.Stdout) == 0 || engine(b)
		if err != nil || string(got) != "x" || !hidden {
			t.Errorf("state %q, %v, output %q, want x and nothing", got, err, res.Stdout)
		}
		for _, n := range []string{"a", "state/runs/n"} {
			if _, err := os.Stat(at(n)); err != nil {
				t.Errorf("%s: %v, want it written; stderr %q", n, err, res.Stderr)
			}
		}
	})
}

// TestAskedPolitely: a program within bounds has its time to clean up, as one without.
func TestAskedPolitely(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		testkit.Widen(t, 500*time.Millisecond, func(limit time.Duration) bool {
			dir := t.TempDir()
			res := runIn(t, p, b, sandbox.Bounds{Write: []string{dir}}, proc.Command{
				Argv: []string{
					"sh", "-c",
					"trap 'echo cleaned > done; exit 7' INT; echo ready; while :; do sleep " +
						"0.05; done",
				},
				Dir:     dir,
				Timeout: proc.Timeout{Total: time.Hour, Idle: limit},
			})
			if !strings.Contains(string(res.Stdout), "ready") {
				return false
			}
			got, err := os.ReadFile(filepath.Join(dir, "done"))
			if err != nil || string(got) != "cleaned\n" || res.Exit != 7 {
				t.Errorf("done is %q, %v, result %+v, want it cleaned up and exit 7", got, err, res)
			}
			return true
		})
	})
}

// TestSupervisorIsOutside: a program under landlock traces no thread of its supervisor, and sends
// it no signal. A thread that can be traced is a way around every rule.
func TestSupervisorIsOutside(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		if b.Means != sandbox.Landlock {
			t.Skip("the supervisor is not to be seen in a container")
		}
		script := `for task in /proc/$PPID/task/*; do
( : < $task/mem ) && echo traces
kill -0 ${task##*/} && echo signals
done 2>/dev/null
echo end`
		res := runIn(
			t, p, b,
			sandbox.Bounds{Net: true},
			proc.Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir()},
		)
		got := string(res.Stdout)
		if !sandbox.RefusesAbstract() { // nor signals
			got = strings.ReplaceAll(got, "signals\n", "")
		}
		if got != "end\n" {
			t.Errorf("stdout %q, stderr %q, want the end alone", res.Stdout, res.Stderr)
		}
	})
}

// TestSignalToTheGroup: a program that sends a signal to its process group reaches neither
// supervisor nor bubblewrap.
func TestSignalToTheGroup(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		for _, network := range []bool{true, false} {
			res := runIn(t, p, b, sandbox.Bounds{Net: network}, proc.Command{
				Argv: []string{"sh", "-c", "trap '' TERM; kill -TERM 0; echo on; exit 5"},
				Dir:  t.TempDir(),
			})
			if string(res.Stdout) != "on\n" || res.Exit != 5 {
				t.Errorf("network %v: %+v, stdout %q, stderr %q, want on and exit 5",
					network, res, res.Stdout, res.Stderr)
			}
		}
	})
}

func TestEndsOfPrograms(t *testing.T) {
	t.Parallel()
	p := prober(t)
	boxes(t, p, func(t *testing.T, b sandbox.Box) {
		t.Helper()
		for script, want := range map[string]int{"exit 0": 0, "exit 3": 3} {
			res := runIn(t, p, b, sandbox.Bounds{}, proc.Command{Argv: []string{
				"sh", "-c", script,
			}})
			if res.Exit != want {
				t.Errorf("%s: %+v, stderr %q, want exit %d", script, res, res.Stderr, want)
			}
		}
		_, err := b.Wrap(proc.Command{Argv: []string{"no-such-program"}}, sandbox.Bounds{})
		if !engine(b) && !errors.As(err, new(*proc.NotFoundError)) {
			t.Errorf("Wrap(no such program) = %v, want a NotFoundError", err)
		}
	})
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []sandbox.Probe{
		{Tier: sandbox.Container, Means: sandbox.Docker},
		{Tier: sandbox.Container, Means: sandbox.Bubblewrap, OK: true},
		{Tier: sandbox.Platform, Means: sandbox.Landlock, OK: true},
		{Tier: sandbox.Advisory, Means: sandbox.None, OK: true},
	}
	weak := []sandbox.Probe{
		{Tier: sandbox.Container, Means: sandbox.Bubblewrap},
		{Tier: sandbox.Advisory, Means: sandbox.None, OK: true},
	}
	c := sandbox.Container
	p := sandbox.Platform
	a := sandbox.Advisory
	for _, tt := range []struct {
		need   sandbox.Tier
		order  []sandbox.Tier
		probes []sandbox.Probe
		want   sandbox.Means
	}{
		{a, sandbox.Order(), all, sandbox.Bubblewrap},
		{a, []sandbox.Tier{p, c, a}, all, sandbox.Landlock},
		{a, []sandbox.Tier{a, c}, all, sandbox.None},
		{c, []sandbox.Tier{p, c, a}, all, sandbox.Bubblewrap},
		{p, []sandbox.Tier{a, p}, all, sandbox.Landlock},
		{a, sandbox.Order(), weak, sandbox.None},
		{p, sandbox.Order(), weak, ""},
		{c, []sandbox.Tier{p, a}, all, ""},
		{a, []sandbox.Tier{c}, weak, ""},
		{c, []sandbox.Tier{a}, weak, sandbox.None},
		{a, nil, all, ""},
	} {
		got, err := sandbox.Choose(tt.need, []string{"rm: why"}, tt.order, sandbox.Among(tt.probes))
		if got.Means != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Choose(%s, %v) = %s, %v, want %q", tt.need, tt.order, got.Means, err, tt.want)
		}
		if err != nil &&
			(formats.CodeOf(err) != formats.CodeDenied ||
				!strings.Contains(err.Error(), "rm: why") || formats.HelpOf(err) == "") {
			t.Errorf("Choose(%s) = %v, want DENIED with the reason and what to do", tt.need, err)
		}
	}
}

func TestTighten(t *testing.T) {
	t.Parallel()
	const c = sandbox.Container
	const p = sandbox.Platform
	const a = sandbox.Advisory
	for _, tt := range []struct {
		person, project string
		want            []sandbox.Tier
	}{
		{"container platform_permission advisory_only", "", []sandbox.Tier{c, p, a}},
		{"", "", []sandbox.Tier{c, p, a}},
		{"container platform_permission advisory_only", "advisory_only", []sandbox.Tier{c, p, a}},
		{
			"container platform_permission advisory_only",
			"platform_permission",
			[]sandbox.Tier{c, p},
		},
		{
			"platform_permission container advisory_only",
			"container platform_permission",
			[]sandbox.Tier{p, c},
		},
		{"advisory_only", "platform_permission container", []sandbox.Tier{c, p}},
		{"container", "advisory_only", []sandbox.Tier{c}},
	} {
		diff := cmp.Diff(
			tt.want,
			sandbox.Tighten(strings.Fields(tt.person), strings.Fields(tt.project)),
		)
		if diff != "" {
			t.Errorf("Tighten(%v, %v) differs (-want +got):\n%s", tt.person, tt.project, diff)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]sandbox.Tier{
		"go test ./...":            sandbox.Advisory,
		"rm -rf src":               sandbox.Advisory,
		"rm -rf /":                 sandbox.Platform,
		"sudo ls":                  sandbox.Platform,
		"git push":                 sandbox.Platform,
		"git push --force":         sandbox.Platform,
		"cat ~/.ssh/id_rsa":        sandbox.Platform,
		"psql -h db.example.com":   sandbox.Platform,
		"curl https://example.com": sandbox.Advisory,

		"for f in a b; do echo $f; done":   sandbox.Platform,
		"if true; then ls; fi":             sandbox.Platform,
		"ls $(pwd)":                        sandbox.Platform,
		"$PROGRAM":                         sandbox.Platform,
		"ls | wc -l && (cd src; { pwd; })": sandbox.Advisory,
	} {
		r, err := shell.Classify(src, shell.Place{Root: "/work/app", Home: "/people/ann"})
		got, why := sandbox.Needs(r)
		if err != nil || got != want || (len(why) > 0) != (want != sandbox.Advisory) {
			t.Errorf("Needs(%s) = %s, %q, %v, want %s", src, got, why, err, want)
		}
	}
}

// TestFallback is the chart of tiers: the container, else platform_permission, else advisory_only
// if the class of the command is not required, else blocked.
func TestFallback(t *testing.T) {
	t.Parallel()
	const container = sandbox.Container
	const platform = sandbox.Platform
	const advisory = sandbox.Advisory
	const blocked = sandbox.Blocked
	required := []string{
		"git push --force", "cat ~/.ssh/id_rsa", "psql -h db.example.com", "rm -rf /", "sudo ls",
	}
	others := []string{"rm -rf src", "curl https://example.com", "go test ./..."}
	works := func(tiers ...sandbox.Tier) (out []sandbox.Probe) {
		for tier, means := range map[sandbox.Tier]sandbox.Means{
			container: sandbox.Bubblewrap,
			platform:  sandbox.Landlock,
			advisory:  sandbox.None,
		} {
			out = append(out, sandbox.Probe{
				Tier:  tier,
				Means: means,
				OK:    slices.Contains(tiers, tier),
			})
		}
		return out
	}
	for _, tt := range []struct {
		probes           []sandbox.Probe
		required, others sandbox.Tier
	}{
		{works(container, platform, advisory), container, container},
		{works(platform, advisory), platform, platform},
		{works(container, advisory), container, container},
		{works(advisory), blocked, advisory},
		{works(), blocked, blocked},
	} {
		for _, flow := range []string{"Light", "Standard", "Minor", "Full", "Major"} {
			check := func(src string, want sandbox.Tier) {
				report, err := shell.Classify(src, shell.Place{
					Root: "/work/app",
					Home: "/people/ann",
				})
				if err != nil {
					t.Fatal(err)
				}
				need, why, bare := sandbox.ForFlow(flow, "", report)
				got := blocked
				p, err := sandbox.Choose(need, why, sandbox.Order(), sandbox.Among(tt.probes))
				if err == nil {
					got = p.Tier
				}
				if got != want || bare {
					t.Errorf("%s in %s, with %+v = %s, bare %t, want %s",
						src, flow, tt.probes, got, bare, want)
				}
			}
			for _, src := range required {
				check(src, tt.required)
			}
			for _, src := range others {
				check(src, tt.others)
			}
		}
	}
}

// TestUnknownCode: from Standard on, what only execution would show needs a sandbox, unless a
// reason is given.
func TestUnknownCode(t *testing.T) {
	t.Parallel()
	report, err := shell.Classify("${X:-true}", shell.Place{Root: "/work/app"})
	if err != nil || len(report.Unknown) == 0 {
		t.Fatalf("Classify = %+v, %v, want unknown code", report, err)
	}
	for flow, want := range map[string]sandbox.Tier{
		"Minimal":  sandbox.Advisory,
		"Light":    sandbox.Advisory,
		"Standard": sandbox.Platform,
		"Major":    sandbox.Platform,
	} {
		if need, _, bare := sandbox.ForFlow(flow, "", report); need != want || bare {
			t.Errorf("ForFlow(%s) = %s, bare %t, want %s", flow, need, bare, want)
		}
		if need, _, _ := sandbox.ForFlow(flow, "measured", report); need != sandbox.Advisory {
			t.Errorf("ForFlow(%s) with a reason = %s, want advisory_only", flow, need)
		}
	}
}

// TestHolds: tercet's keys are safe from programs in a container and under landlock.
func TestHolds(t *testing.T) {
	t.Parallel()
	for tier, want := range map[string]bool{
		"":                               true,
		"container (bubblewrap)":         true,
		"container (docker)":             true,
		"platform_permission (landlock)": true,
		"platform_permission (the program's own)": false,
		"advisory_only": false,
		"bypassed":      false,
		"advisory_only (what the agent asks leave for)": false,
	} {
		if got := sandbox.Holds(tier); got != want {
			t.Errorf("Holds(%q) = %t, want %t", tier, got, want)
		}
	}
}

func TestParseTier(t *testing.T) {
	t.Parallel()
	for _, tier := range sandbox.Order() {
		if got, err := sandbox.ParseTier(tier.String()); got != tier || err != nil {
			t.Errorf("ParseTier(%s) = %s, %v", tier, got, err)
		}
	}
	for _, s := range []string{"", "blocked", "Container"} {
		if _, err := sandbox.ParseTier(s); formats.CodeOf(err) != formats.CodeUsage {
			t.Errorf("ParseTier(%q) = %v, want USAGE", s, err)
		}
	}
}
