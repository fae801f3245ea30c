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
	"tercet/internal/shell"
)

// Keeper sandboxes the programs of one project.
type Keeper struct {
	Prober
	Root string   // project root, absolute
	Hide []string // files of the project that no program may see, if the sandbox can hide them
	// the user's folder of tercet, with the keys; no program within bounds may read it
	Own string
	// Tercet is the file of this program: where an image lacks it, a worker with a board sees it.
	Tercet string
	// Sockets are files of sockets to which a program may connect that has a grant for the network.
	Sockets []string
	Order   []Tier // allowed tiers, see Tighten
	// whether agent CLIs are sandboxed besides their own permissions: "on", "off", or empty: if a
	// probe shows that it works
	Agents string
	Getenv func(string) string
	Allow  func() error // error while nothing may start yet
	Note   func(string) // shows a note once

	mu      sync.Mutex
	probes  map[Means]Probe // those that were needed so far; guarded by mu
	noCache sync.Once
}

// Room is what a call of an agent CLI writes besides its own folder, as absolute paths.
type Room struct {
	Tree  bool     // working tree
	Write []string // the CLI's own data and login
	Keep  []string // inside Write: what the CLI obeys or runs, now or at a later start
	Make  []string // folders of Write to create if missing
	Nest  bool     // it starts sandboxes of its own
	Net   bool     // it has a grant for the network
	Asks  bool     // its only other limit is that it asks for permission
	Known bool     // its own data is known
}

// Probes tries every kind of sandbox once, the strongest first.
func (k *Keeper) Probes(ctx context.Context) ([]Probe, error) {
	var out []Probe
	for _, kind := range kinds {
		p, err := k.find(ctx)(kind.means)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// find tries a means when it is first asked for. Before trust it starts nothing, because an
// untested tier must not count as broken.
func (k *Keeper) find(ctx context.Context) FindProbe {
	return func(m Means) (Probe, error) {
		if err := k.Allow(); err != nil {
			return Probe{}, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if p, ok := k.probes[m]; ok {
			return p, nil
		}
		p, err := k.ProbeMeans(ctx, m)
		if err != nil {
			return Probe{}, err
		}
		if k.probes == nil {
			k.probes = map[Means]Probe{}
		}
		k.probes[m] = p
		return p, nil
	}
}

// wrap puts a program in the best tier that its risks allow, and names the tier.
func (k *Keeper) wrap(
	ctx context.Context,
	c proc.Command,
	r shell.Report,
	b Bounds,
) (proc.Command, string, error) {
	need, why := Needs(r)
	p, err := k.Best(ctx, need, why)
	if err != nil {
		return c, Blocked.String(), err
	}
	box := k.Box(p)
	c, err = box.Wrap(c, b)
	return c, box.String(), err
}

// Script sandboxes the commands of a plan. The user has approved them, so network and reads are
// allowed; they can write the tree, the caches and their own folders.
func (k *Keeper) Script(
	ctx context.Context,
	r formats.Request,
	c proc.Command,
	script string,
) (proc.Command, string, error) {
	report, err := shell.Classify(script, shell.Place{
		Root: r.Dir,
		Dir:  r.Dir,
		Home: k.Getenv("HOME"),
	})
	if err != nil {
		report = shell.Report{} // sh says better what is wrong with it, within the bounds
	}
	return k.wrap(ctx, c, report, k.bounds(r.Dir, filepath.Dir(r.Out)))
}

// Program sandboxes a subagent's executable in the same way. What it will do is unknown. net: it
// has a grant for the network.
func (k *Keeper) Program(
	ctx context.Context,
	r formats.Request,
	c proc.Command,
	net bool,
) (proc.Command, string, error) {
	b := k.bounds(r.Dir, filepath.Dir(r.Out))
	b.grantNet(net)
	if r.Terms.Board != nil && k.Tercet != "" {
		b.Read = append(b.Read, k.Tercet)
	}
	return k.wrap(ctx, c, shell.Report{}, b)
}

// Check sandboxes a project's check. Its risk follows from the named program; the project's own
// tools do whatever the checkout contains.
func (k *Keeper) Check(
	ctx context.Context,
	dir string,
	c proc.Command,
) (proc.Command, string, error) {
	report, err := shell.ClassifyArgv(c.Argv, shell.Place{
		Root: dir,
		Dir:  dir,
		Home: k.Getenv("HOME"),
	})
	if err != nil {
		return c, Blocked.String(), err
	}
	return k.wrap(ctx, c, report, k.bounds(dir, dir))
}

// Run sandboxes a program that the user names. Without network it sees no keys.
func (k *Keeper) Run(
	ctx context.Context,
	at shell.Place,
	c proc.Command,
	net bool,
) (proc.Command, string, error) {
	report, err := shell.ClassifyArgv(c.Argv, at)
	if err != nil {
		return c, "", err
	}
	b := k.bounds(k.Root, c.Dir)
	b.grantNet(net)
	b.Net = net
	if !net {
		b.Secret = append(b.Secret, keysOf(at.Home)...)
	}
	c, tier, err := k.wrap(ctx, c, report, b)
	if err == nil && tier == Advisory.String() {
		_, err = k.Starter.LookPath(c.Argv[0])
	}
	return c, tier, err
}

// Best gives the first kind of sandbox in the order that works and is at least the needed tier.
func (k *Keeper) Best(ctx context.Context, need Tier, why []string) (Probe, error) {
	return Choose(need, why, k.Order, k.find(ctx))
}

// Tier names the tier in which a program is started whose risks are not known.
func (k *Keeper) Tier(ctx context.Context) (string, error) {
	p, err := k.Best(ctx, Blocked, nil)
	if err != nil {
		return "", err
	}
	box := k.Box(p)
	return box.String(), nil
}

// Command sandboxes a command of a subagent within p. It can write its tree, or named parts of it.
// Without network it sees no keys.
func (k *Keeper) Command(
	p Probe,
	r formats.Request,
	c proc.Command,
	net bool,
	write []string,
) (proc.Command, string, error) {
	b := k.bounds(r.Dir, filepath.Dir(r.Out))
	b.grantNet(net)
	b.Net = net
	if len(write) > 0 {
		b.Write = append(slices.Clone(write), filepath.Dir(r.Out))
		b.Cache = nil
	}
	if !net {
		b.Secret = append(b.Secret, keysOf(k.Getenv("HOME"))...)
	}
	box := k.Box(p)
	c, err := box.Wrap(c, b)
	return c, box.String(), err
}

// keysOf gives where the keys of the user with this home folder are.
func keysOf(home string) (out []string) {
	for _, name := range keys {
		if filepath.IsAbs(home) {
			out = append(out, filepath.Join(home, name))
		}
	}
	return out
}

// keys are the folders and files in which programs keep keys of the user.
var keys = []string{
	".ssh", ".aws", ".gnupg", ".kube", ".azure", ".config/gcloud", ".config/gh", ".password-store",
	".netrc", ".git-credentials", ".pypirc", ".docker",
}

// Agent sandboxes an agent CLI, besides the CLI's own permissions, which its driver sets from
// `tools`. It can write its tree (with the tools write or shell), the folder of its delegation, and
// its own data. It has the network, because it must reach its model.
func (k *Keeper) Agent(
	ctx context.Context,
	r formats.Request,
	c proc.Command,
	room Room,
) (proc.Command, string, error) {
	// What results show of an agent that nothing holds but itself: a rule that only asks is no
	// bound.
	itself := Platform.String() + " (the program's own)"
	accepted := slices.Contains(k.Order, Platform)
	if room.Asks {
		itself = Advisory.String() + " (what the agent asks leave for)"
		accepted = false
	}
	accepted = accepted || slices.Contains(k.Order, Advisory)
	if accepted && (k.Agents == "off" || k.Agents == "" && !room.Known) {
		return c, itself, nil
	}

	p, err := agentProbe(k.Order, k.find(ctx), room.Nest)
	switch {
	case err != nil:
		return c, Blocked.String(), err
	case p.OK:
	case accepted && k.Agents != "on":
		return c, itself, nil
	default:
		return c, Blocked.String(), blocked(k.Order[0], Blocked, c.Argv[0]+
			": the configuration asks for a sandbox around it, and neither bubblewrap nor "+
			"landlock can give one here")
	}

	for _, dir := range room.Make {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return c, Blocked.String(), &formats.Failure{Code: formats.CodeIO, Err: err}
		}
	}

	b := k.bounds(r.Dir, filepath.Dir(r.Out))
	if !room.Tree {
		b = k.base()
		b.Write = []string{filepath.Dir(r.Out)}
	}
	b.grantNet(room.Net)
	b.Write = append(b.Write, room.Write...)
	b.Keep = append(b.Keep, room.Keep...)
	b.Nest = room.Nest
	box := k.Box(p)
	c, err = box.Wrap(c, b)
	return c, box.String(), err
}

// agentProbe gives the first means of the order that can hold an agent CLI, or one that is not OK.
// An image contains none, and under landlock an agent CLI cannot make a sandbox of its own. If
// advisory_only comes first in the order, the user wants no sandbox.
func agentProbe(order []Tier, find FindProbe, nest bool) (Probe, error) {
	for _, t := range order {
		var means Means
		switch {
		case t == Container:
			means = Bubblewrap
		case t == Platform && !nest:
			means = Landlock
		case t == Advisory:
			return Probe{}, nil
		default:
			continue
		}
		if p, err := find(means); err != nil || p.OK {
			return p, err
		}
	}
	return Probe{}, nil
}

// base are the bounds of every program: what is tercet's is hidden, and so are the sockets of the
// user's session.
func (k *Keeper) base() Bounds {
	b := Bounds{
		Hide:    slices.Clone(k.Hide),
		Sockets: k.Sockets,
		Net:     true,
	}
	if k.Own != "" {
		b.Secret = []string{k.Own}
	}
	if dir := k.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		b.Hide = append(b.Hide, dir)
	}
	return b
}

// grantNet takes in whether a subagent has a grant for the network, without which it connects to no
// socket either.
func (b *Bounds) grantNet(net bool) {
	b.Ask = net
	if !net {
		b.Sockets = nil
	}
}

// bounds of work in dir: the state of the project stays, and so does what git would run.
func (k *Keeper) bounds(dir, folder string) Bounds {
	b := k.base()
	b.Write = []string{dir, folder}
	b.Keep = []string{filepath.Join(k.Root, formats.Workspace)}
	b.Cache = k.caches()
	b.Project = k.Root
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

// caches are folders in which builds keep what they can make again. No program is started and no
// tool is configured from them. Each has a variable that names a folder, the folder below the home
// folder if it is not set, and what of it may be written. The cache of Go's modules is not among
// them: what is there is compiled into the next program.
var caches = []struct {
	name, home string
	below      []string
}{
	{"GOCACHE", "", []string{""}},
	{
		"XDG_CACHE_HOME",
		".cache",
		[]string{"go-build", "golangci-lint", "staticcheck", "pip", "yarn", "ccache", "sccache"},
	},
	{"CARGO_HOME", ".cargo", []string{"registry", "git"}},
	{"npm_config_cache", ".npm", []string{"_cacache", "_logs"}},
	{"GRADLE_USER_HOME", ".gradle", []string{"caches"}},
	{"", ".m2", []string{"repository"}},
}

// caches gives those of the user. The one of Go is made, because without it nothing is built.
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

	i := slices.IndexFunc(out, func(dir string) bool {
		return filepath.Base(dir) == "go-build"
	})
	if dir := k.Getenv("GOCACHE"); filepath.IsAbs(dir) {
		i = 0
	}
	if i < 0 {
		return out // no variable says where one would be: there is none to make
	}

	if err := os.MkdirAll(out[i], 0o700); err != nil { // what needs no cache runs all the same
		k.noCache.Do(func() {
			k.Note(fmt.Sprintf(
				"a folder for what builds keep cannot be made, set GOCACHE to one that can be "+
					"written: %v",
				err,
			))
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

// engineNames are the variables that the program of an engine needs to find its daemon, its images
// and its settings.
var engineNames = []string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
	"CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF",
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
}

// EngineEnv is KEY=VALUE for Image.Client only.
func EngineEnv(getenv func(string) string) []string {
	var out []string
	for _, name := range engineNames {
		if v := getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}
