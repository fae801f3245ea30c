package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
	"tercet/subagents/checks"
	"tercet/subagents/sandbox"
)

// walls are what a probe saw at work, once a process, and what was said about them.
type walls struct {
	mu     sync.Mutex
	probes []sandbox.Probe // nil until they are needed; guarded by mu
	all    bool            // what cannot be used is asked too, for a person who wants to know

	noCache sync.Once // says once that the folder of caches cannot be made
}

// prober tries what keeps programs within bounds here.
func (w *world) prober() *sandbox.Prober {
	p := &sandbox.Prober{Starter: w.starter, Image: w.image(), All: w.walls.all}
	if self, err := os.Executable(); err == nil {
		p.Enter = []string{self, sandboxWord}
	}
	return p
}

// probes tries every means once a process. Before trust it starts nothing: a tier that was not allowed to show itself must
// not be taken for one that does not work.
func (w *world) probes(ctx context.Context) ([]sandbox.Probe, error) {
	v, err := w.gate.Verdict()
	if err != nil {
		return nil, err
	}
	if v.By == "" {
		return nil, v.Refused()
	}
	w.walls.mu.Lock()
	defer w.walls.mu.Unlock()
	if w.walls.probes != nil {
		return w.walls.probes, nil
	}
	w.walls.probes, err = w.prober().Probe(ctx)
	return w.walls.probes, err
}

// tiers is the order in which tiers are tried: the person's, held to the floor of the project.
func (w *world) tiers() []sandbox.Tier {
	person := tiersOf(w.cfg.Sandbox)
	if len(person) == 0 {
		person = sandbox.Order()
	}
	return sandbox.Tighten(person, tiersOf(w.cfg.SandboxFloor))
}

func tiersOf(names []string) []sandbox.Tier {
	var out []sandbox.Tier
	for _, n := range names {
		if t, err := sandbox.ParseTier(n); err == nil { // the configuration was checked when it was read
			out = append(out, t)
		}
	}
	return out
}

// box chooses the box for what was found in a command.
func (w *world) box(ctx context.Context, r sandbox.Report) (sandbox.Box, error) {
	probes, err := w.probes(ctx)
	if err != nil {
		return sandbox.Box{}, err
	}
	need, why := sandbox.Needs(r)
	p, err := sandbox.Choose(need, why, w.tiers(), probes)
	return w.prober().Box(p), err
}

// confineScript puts the commands of a plan within bounds. A person saw and approved them, so the network and reads are left
// to them; what they may write is the tree, the caches and their own folders.
func (w *world) confineScript(ctx context.Context, r formats.Request, c proc.Command, script string) (proc.Command, string, error) {
	report, err := sandbox.Classify(script, sandbox.Place{Root: r.Dir, Dir: r.Dir, Home: w.app.env("HOME")})
	if err != nil {
		report = sandbox.Report{} // sh says better what is wrong with it, within the bounds
	}
	return w.confine(ctx, r, c, needs{report: report})
}

// confineProgram puts the program of a subagent within the same bounds. What it will do nobody knows beforehand.
func (w *world) confineProgram(tools []string) agentcli.Wrap {
	return func(ctx context.Context, r formats.Request, c proc.Command) (proc.Command, string, error) {
		return w.confine(ctx, r, c, needs{net: slices.Contains(tools, "net")})
	}
}

// checkBounds are those of a project's checks, nil unless the configuration asks for them. What a check does is known where it
// names a program that is; the project's own tools do what the checkout holds.
func (w *world) checkBounds() checks.Confine {
	if !w.cfg.Boxes.Checks {
		return nil
	}
	return func(ctx context.Context, dir string, c proc.Command) (proc.Command, string, error) {
		report, err := sandbox.ClassifyArgv(c.Argv, sandbox.Place{Root: dir, Dir: dir, Home: w.app.env("HOME")})
		if err != nil {
			return c, sandbox.Blocked.String(), err
		}
		b, err := w.box(ctx, report)
		if err != nil {
			return c, sandbox.Blocked.String(), err
		}
		c, err = b.Wrap(c, w.bounds(dir, dir))
		return c, b.String(), err
	}
}

// needs is what is known of a program before it runs.
type needs struct {
	report sandbox.Report
	net    bool // the network was granted
}

func (w *world) confine(ctx context.Context, r formats.Request, c proc.Command, n needs) (proc.Command, string, error) {
	b, err := w.box(ctx, n.report)
	if err != nil {
		return c, sandbox.Blocked.String(), err
	}
	bounds := w.bounds(r.Dir, filepath.Dir(r.Out))
	bounds.Ask = n.net
	c, err = b.Wrap(c, bounds)
	return c, b.String(), err
}

// bounds of work in dir: the state of the project stays, and so does what git would run.
func (w *world) bounds(dir, folder string) sandbox.Bounds {
	b := sandbox.Bounds{Write: []string{dir, folder}, Keep: []string{filepath.Join(w.dir, formats.Workspace)}, Net: true, Cache: w.caches(), Project: w.dir}
	git := gitDir(w.dir)
	if git == "" {
		return b
	}
	b.Read = []string{git}
	if dir == w.dir {
		b.Write = append(b.Write, git)
	} else {
		for _, n := range []string{"objects", "refs", "logs", "worktrees"} {
			b.Write = append(b.Write, filepath.Join(git, n))
		}
	}
	b.Keep = append(b.Keep, filepath.Join(git, "config"), filepath.Join(git, "hooks"), filepath.Join(git, "info"))
	return b
}

// gitDir finds the folder of the repository that dir belongs to, empty if there is none.
func gitDir(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if git := filepath.Join(d, ".git"); isDir(git) {
			return git
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// caches are the folders in which builds keep what they can make again. The one of Go is made, because without it nothing
// is built.
func (w *world) caches() []string {
	env, home := w.app.env, w.app.env("HOME")
	var out []string
	add := func(name string, below ...string) {
		if name != "" && filepath.IsAbs(name) {
			out = append(out, filepath.Join(append([]string{name}, below...)...))
		}
	}
	for _, n := range []string{"XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "npm_config_cache"} {
		add(env(n))
	}
	for p := range strings.SplitSeq(env("GOPATH"), string(filepath.ListSeparator)) {
		add(p, "pkg")
	}
	for _, n := range []string{".cache", "go/pkg", ".cargo/registry", ".cargo/git", ".npm", ".gradle", ".m2"} {
		add(home, filepath.FromSlash(n))
	}
	if err := makeCache(env("GOCACHE")); err != nil {
		// What needs no cache runs all the same.
		w.walls.noCache.Do(func() {
			w.app.term.note("a folder for what builds keep cannot be made, set GOCACHE to one that can be written: %v", err)
		})
	}
	return out
}

// makeCache makes the named folder, or the person's own if none is named.
func makeCache(dir string) error {
	if !filepath.IsAbs(dir) {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil //nolint:nilerr // nobody has said where one would be: there is none to make
		}
		dir = cache
	}
	return os.MkdirAll(dir, 0o700)
}
