package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tercet/formats"
	"tercet/internal/proc"
)

// Keeper puts the programs of one project within bounds.
type Keeper struct {
	Prober
	Root  string   // of the project, absolute
	Hide  []string // files and folders of tercet that no program sees, where the means can hide them
	Order []Tier   // the tiers that may be used, see Tighten
	// whether agent CLIs get bounds besides their own: "on", "off", or empty where a probe saw them at work
	Agents string
	Getenv func(string) string
	Allow  func() error // why nothing may be started yet
	Note   func(string) // tells the person something, once

	mu      sync.Mutex
	probes  []Probe // nil until they are needed; guarded by mu
	noCache sync.Once
}

// Room is what a call of an agent CLI has to write beside its own folder, as absolute paths.
type Room struct {
	Tree  bool     // the tree that it works in
	Write []string // what the program keeps of itself and of a person's login
	Keep  []string // inside of Write: what it, or a later start of it, obeys or runs
	Make  []string // folders of Write that are made if they are not there
	Nest  bool     // it makes bounds of its own for what it starts
	Asks  bool     // all that holds it besides is that it asks for leave
	Known bool     // what it keeps of itself is known
}

// Probes tries every means once. Before trust it starts nothing: a tier that was not allowed to show itself must not be
// taken for one that does not work.
func (k *Keeper) Probes(ctx context.Context) ([]Probe, error) {
	if err := k.Allow(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.probes != nil {
		return k.probes, nil
	}
	var err error
	k.probes, err = k.Probe(ctx)
	return k.probes, err
}

// wrap puts a program in the best tier that its risks allow, and names the tier.
func (k *Keeper) wrap(ctx context.Context, c proc.Command, r Report, b Bounds) (proc.Command, string, error) {
	need, why := Needs(r)
	p, err := k.Best(ctx, need, why)
	if err != nil {
		return c, Blocked.String(), err
	}
	box := k.Box(p)
	c, err = box.Wrap(c, b)
	return c, box.String(), err
}

// Script puts the commands of a plan within bounds. A person saw and approved them, so the network and reads are left
// to them; what they may write is the tree, the caches and their own folders.
func (k *Keeper) Script(ctx context.Context, r formats.Request, c proc.Command, script string) (proc.Command, string,
	error,
) {
	report, err := Classify(script, Place{Root: r.Dir, Dir: r.Dir, Home: k.Getenv("HOME")})
	if err != nil {
		report = Report{} // sh says better what is wrong with it, within the bounds
	}
	return k.wrap(ctx, c, report, k.bounds(r.Dir, filepath.Dir(r.Out)))
}

// Program puts the program of a subagent within the same bounds. What it will do nobody knows beforehand. net: the
// network was granted to it.
func (k *Keeper) Program(ctx context.Context, r formats.Request, c proc.Command, net bool) (proc.Command, string,
	error,
) {
	b := k.bounds(r.Dir, filepath.Dir(r.Out))
	b.Ask = net
	return k.wrap(ctx, c, Report{}, b)
}

// Check puts a project's check within bounds. What it does is known where it names a program that is; the project's own
// tools do what the checkout holds.
func (k *Keeper) Check(ctx context.Context, dir string, c proc.Command) (proc.Command, string, error) {
	report, err := ClassifyArgv(c.Argv, Place{Root: dir, Dir: dir, Home: k.Getenv("HOME")})
	if err != nil {
		return c, Blocked.String(), err
	}
	return k.wrap(ctx, c, report, k.bounds(dir, dir))
}

// Run puts a program within bounds that the person names. Without the network it sees no keys.
func (k *Keeper) Run(ctx context.Context, at Place, c proc.Command, net bool) (proc.Command, string, error) {
	report, err := ClassifyArgv(c.Argv, at)
	if err != nil {
		return c, "", err
	}
	b := k.bounds(k.Root, c.Dir)
	if b.Net, b.Ask = net, net; !net {
		b.Hide = append(b.Hide, keysOf(at.Home)...)
	}
	c, tier, err := k.wrap(ctx, c, report, b)
	if err == nil && tier == Advisory.String() {
		_, err = k.Starter.Look(c.Argv[0])
	}
	return c, tier, err
}

// Best gives the first means of the order that works and is at least what is needed.
func (k *Keeper) Best(ctx context.Context, need Tier, why []string) (Probe, error) {
	probes, err := k.Probes(ctx)
	if err != nil {
		return Probe{}, err
	}
	return Choose(need, why, k.Order, probes)
}

// Command puts a command that a subagent asks for within the bounds of p. It may write its tree, or what of it is
// named. Without the network it sees no keys.
func (k *Keeper) Command(p Probe, r formats.Request, c proc.Command, net bool, write []string) (proc.Command, string,
	error,
) {
	b := k.bounds(r.Dir, filepath.Dir(r.Out))
	if b.Net, b.Ask = net, net; len(write) > 0 {
		b.Write, b.Cache = append(slices.Clone(write), filepath.Dir(r.Out)), nil
	}
	if !net {
		b.Hide = append(b.Hide, keysOf(k.Getenv("HOME"))...)
	}
	box := k.Box(p)
	c, err := box.Wrap(c, b)
	return c, box.String(), err
}

// keysOf gives where the keys of the person are whose folder home is.
func keysOf(home string) (out []string) {
	for _, name := range keys {
		if filepath.IsAbs(home) {
			out = append(out, filepath.Join(home, name))
		}
	}
	return out
}

// keys are the folders and files in which programs keep keys of a person.
var keys = []string{
	".ssh", ".aws", ".gnupg", ".kube", ".azure", ".config/gcloud", ".config/gh", ".password-store", ".netrc",
	".git-credentials",
	".pypirc", ".docker",
}

// Agent puts an agent CLI within bounds, besides its own permissions, which its driver sets to what the subagent may
// do. It may write its tree, if it may write or run commands, the folder of its delegation and what it keeps of itself;
// it has the network, because its model is there.
func (k *Keeper) Agent(ctx context.Context, r formats.Request, c proc.Command, room Room) (proc.Command, string,
	error,
) {
	// What results show of an agent that nothing holds but itself: one that asks for leave binds nobody.
	itself, accepted := Platform.String()+" (the program's own)", slices.Contains(k.Order, Platform)
	if room.Asks {
		itself, accepted = Advisory.String()+" (what the agent asks leave for)", false
	}
	accepted = accepted || slices.Contains(k.Order, Advisory)
	if accepted && (k.Agents == "off" || k.Agents == "" && !room.Known) {
		return c, itself, nil
	}
	probes, err := k.Probes(ctx)
	if err != nil {
		return c, Blocked.String(), err
	}
	p, ok := agentProbe(k.Order, probes, room.Nest)
	switch {
	case ok:
	case accepted && k.Agents != "on":
		return c, itself, nil
	default:
		return c, Blocked.String(), blocked(k.Order[0], Blocked, c.Argv[0]+
			": the configuration asks for a sandbox around it, and neither bubblewrap nor landlock can give one here")
	}
	for _, dir := range room.Make {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return c, Blocked.String(), &formats.Failure{Code: formats.CodeIO, Err: err}
		}
	}
	b := k.bounds(r.Dir, filepath.Dir(r.Out))
	if !room.Tree {
		b = Bounds{Write: []string{filepath.Dir(r.Out)}, Hide: k.Hide, Net: true}
	}
	b.Write, b.Keep, b.Nest = append(b.Write, room.Write...), append(b.Keep, room.Keep...), room.Nest
	box := k.Box(p)
	c, err = box.Wrap(c, b)
	return c, box.String(), err
}

// agentProbe gives the first means of the order that can hold an agent CLI: an image has none of them, and under
// landlock a program cannot make bounds of its own. Where the order comes to advisory_only first, a person wants none.
func agentProbe(order []Tier, probes []Probe, nest bool) (Probe, bool) {
	for _, t := range order {
		if t == Advisory {
			break
		}
		for _, p := range probes {
			if p.Tier == t && p.OK && (p.Means == Bubblewrap || p.Means == Landlock && !nest) {
				return p, true
			}
		}
	}
	return Probe{}, false
}

// bounds of work in dir: the state of the project stays, and so does what git would run.
func (k *Keeper) bounds(dir, folder string) Bounds {
	b := Bounds{
		Write: []string{dir, folder}, Keep: []string{filepath.Join(k.Root,
			formats.Workspace)}, Hide: slices.Clone(k.Hide), Net: true,
		Cache: k.caches(), Project: k.Root,
	}
	b.Read = k.modules()
	git := gitDir(k.Root)
	if git == "" {
		return b
	}
	b.Read = append(b.Read, git)
	if dir == k.Root {
		b.Write = append(b.Write, git)
	} else {
		for _, n := range []string{"objects", "refs", "logs", "worktrees"} {
			b.Write = append(b.Write, filepath.Join(git, n))
		}
	}
	for _, n := range []string{"config", "hooks", "info"} {
		b.Keep = append(b.Keep, filepath.Join(git, n))
	}
	return b
}

// gitDir finds the folder of the repository that dir belongs to, empty if there is none.
func gitDir(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		git := filepath.Join(d, ".git")
		if info, err := os.Stat(git); err == nil && info.IsDir() {
			return git
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// caches are folders in which builds keep what they can make again, of these only such from which no program is started
// and no tool is configured: a variable that names a folder, the folder below the home folder where it is not set, and
// what of it may be written. The cache of Go's modules is not among them: what is there is compiled into the next
// program.
var caches = []struct {
	name, home string
	below      []string
}{
	{"GOCACHE", "", []string{""}},
	{"XDG_CACHE_HOME", ".cache", []string{"go-build", "golangci-lint", "staticcheck", "pip", "yarn", "ccache", "sccache"}},
	{"CARGO_HOME", ".cargo", []string{"registry", "git"}},
	{"npm_config_cache", ".npm", []string{"_cacache", "_logs"}},
	{"GRADLE_USER_HOME", ".gradle", []string{"caches"}},
	{"", ".m2", []string{"repository"}},
}

// caches gives those of the person. The one of Go is made, because without it nothing is built.
func (k *Keeper) caches() []string {
	var out []string
	for _, c := range caches {
		dir := k.Getenv(c.name)
		if home := k.Getenv("HOME"); !filepath.IsAbs(dir) && c.home != "" && filepath.IsAbs(home) {
			dir = filepath.Join(home, c.home)
		}
		for _, name := range c.below {
			if filepath.IsAbs(dir) {
				out = append(out, filepath.Join(dir, name))
			}
		}
	}
	i := slices.IndexFunc(out, func(dir string) bool { return filepath.Base(dir) == "go-build" })
	if dir := k.Getenv("GOCACHE"); filepath.IsAbs(dir) {
		i = 0
	}
	if i < 0 {
		return out // nobody has said where one would be: there is none to make
	}
	if err := os.MkdirAll(out[i], 0o700); err != nil { // what needs no cache runs all the same
		k.noCache.Do(func() {
			k.Note(fmt.Sprintf("a folder for what builds keep cannot be made, set GOCACHE to one that can be written: %v", err))
		})
	}
	return out
}

// modules are the caches of Go's modules, which an image reads.
func (k *Keeper) modules() []string {
	dirs := []string{k.Getenv("GOMODCACHE"), filepath.Join(k.Getenv("HOME"), "go", "pkg", "mod")}
	for _, p := range filepath.SplitList(k.Getenv("GOPATH")) {
		dirs = append(dirs, filepath.Join(p, "pkg", "mod"))
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// engineNames are the variables that the program of an engine needs to find its daemon, its images and its settings.
var engineNames = []string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST",
	"CONTAINERS_CONF",
	"CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
}

// EngineEnv is KEY=VALUE for Image.Client. Nothing else sees it.
func EngineEnv(getenv func(string) string) []string {
	var out []string
	for _, name := range engineNames {
		if v := getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}
