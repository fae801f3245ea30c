package sandbox

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
)

// Bounds are the limits of a sandbox. Paths are absolute; missing ones are ignored.
type Bounds struct {
	Write []string // writable, with everything below; includes the private TMPDIR
	Cache []string // like Write; an image has its own, which is removed with the container
	Keep  []string // inside Write, but read-only; containers only
	Hide  []string // appears empty; containers only
	// Secret appears empty in a container. Under landlock its files cannot be read, and of the
	// folders on the way to it only what was there at the start.
	Secret  []string
	Sockets []string // files of sockets outside of Write to which the program may connect
	Net     bool     // network access to other machines
	Nest    bool     // starts sandboxes of its own; impossible under landlock

	// The rest is for an image only, in which unnamed paths of this machine do not exist. Read are
	// readable folders, Project is the root below which the program may be a project file, and Ask
	// tells whether the network was requested.
	Read    []string
	Project string
	Ask     bool
}

// resolveLinks leaves out what does not exist, and resolves links.
func (b *Bounds) resolveLinks() {
	for _, list := range []*[]string{&b.Write, &b.Keep, &b.Hide, &b.Sockets} {
		var out []string
		for _, name := range *list {
			if real, err := filepath.EvalSymlinks(name); err == nil {
				out = append(out, real)
			}
		}
		*list = out
	}
}

// layer is a folder or file as a program within bounds sees it.
type layer struct {
	name     string
	writable bool
}

// layers gives what the bounds say of files, outer ones first, in which order they are laid over
// each other. Keep is stronger than Write. What is as the folder around it is left out, and so is
// what of Keep has none around it.
func (b Bounds) layers() (out []layer) {
	writable := map[string]bool{}
	inner := map[string]bool{}
	for _, name := range b.Read {
		writable[filepath.Clean(name)] = false
	}

	for _, name := range b.Write {
		writable[filepath.Clean(name)] = true
	}
	for _, name := range b.Keep {
		name = filepath.Clean(name)
		_, named := writable[name]
		writable[name] = false
		inner[name] = !named
	}

	for _, name := range slices.Sorted(maps.Keys(writable)) {
		needed := !inner[name]
		for _, outer := range out { // the last is the nearest
			if below(name, outer.name) {
				needed = outer.writable != writable[name]
			}
		}
		if needed {
			out = append(out, layer{name, writable[name]})
		}
	}

	return out
}

// programPath is the path of the program of a command, or its name where it is to be found on the
// PATH.
func programPath(c proc.Command) string {
	if name := c.Argv[0]; strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		return filepath.Join(c.Dir, name)
	}
	return c.Argv[0]
}

// below tells whether name is a folder or something in it.
func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// belowAny tells whether name is one of the folders or something in one.
func belowAny(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return below(name, folder) })
}

// Box starts programs in a sandbox of one kind.
type Box struct {
	Tier  Tier
	Means Means
	// Tool is the path of the program that makes a container; empty for other kinds.
	Tool string
	// Look finds programs like the Starter.
	Look func(name string) (string, error)
	// Now tells the time.
	Now func() time.Time
	// Image is for docker and podman.
	Image Image

	user []string // how a container of the image names the user
	// bubblewrap makes a user namespace, which it does unasked for everybody but root
	userNS bool
}

// String is the tier with its means, as in results.
func (b Box) String() string {
	if b.Tier == Advisory || b.Means == "" {
		return b.Tier.String()
	}
	return b.Tier.String() + " (" + b.Means.String() + ")"
}

// Wrap gives the sandboxed command. In the tier advisory_only it is the command itself.
func (b Box) Wrap(c proc.Command, bounds Bounds) (proc.Command, error) {
	if b.Tier == Advisory {
		return c, nil
	}
	if len(c.Argv) == 0 {
		return c, &proc.NotFoundError{}
	}
	if b.Means == Docker || b.Means == Podman {
		return b.contain(c, bounds)
	}

	bounds.Write = slices.Concat(bounds.Write, bounds.Cache)
	bounds.Cache = nil
	bounds.Read = nil
	if b.Means == Landlock {
		if err := bounds.checkSecrets(); err != nil {
			return c, err
		}
	}
	path, err := b.Look(programPath(c))
	if err != nil {
		return c, err
	}

	argv := c.Argv
	dir := c.Dir
	if dir == "" {
		dir, err = os.Getwd()
		if err != nil {
			return c, err
		}
	}
	c.Wrap = func(temp string) proc.Launch {
		bounds := bounds
		if temp != "" {
			bounds.Write = append(slices.Clip(bounds.Write), temp)
		}
		bounds.resolveLinks()
		if b.Means == Landlock {
			return proc.Launch{
				Path:  path,
				Argv:  argv,
				Rules: landlockRules(bounds),
			}
		}
		words := append(b.bubblewrap(bounds), "--chdir", dir, "--", path)
		return proc.Launch{
			Path:   b.Tool,
			Argv:   append(words, argv[1:]...),
			Rules:  scopeRules(),
			Status: true,
		}
	}
	return c, nil
}

// checkSecrets refuses a secret inside of what can be written: landlock cannot take it out.
func (b Bounds) checkSecrets() error {
	written := make([]string, len(b.Write))
	for i, name := range b.Write {
		written[i] = realPath(name)
	}
	for _, secret := range b.Secret {
		real := realPath(secret)
		for i, name := range b.Write {
			if below(real, written[i]) {
				return formats.Fail(formats.CodeDenied,
					"install bubblewrap, or set XDG_STATE_HOME to a folder outside of it",
					"expected %s outside of %s, which a program may write: landlock cannot hide "+
						"it there", secret, name)
			}
		}
	}
	return nil
}

// restriction is what Ruleset is told, as JSON.
type restriction struct {
	Write, Secret, Sockets []string // of Bounds, as Net
	Net                    bool
	Scope                  bool // take only the right to use abstract sockets and signals outside
}

// landlockRules are those of a program that nothing but landlock restricts.
func landlockRules(b Bounds) []byte {
	return restriction{
		Write:   b.Write,
		Secret:  b.Secret,
		Sockets: b.Sockets,
		Net:     b.Net,
	}.encode()
}

// scopeRules are those of bubblewrap itself, which has no namespace for abstract sockets of a
// shared network.
func scopeRules() []byte {
	return restriction{Scope: true}.encode()
}

func (r restriction) encode() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		return []byte("unreadable") // which strings never are; Ruleset refuses it
	}
	return text
}

// bubblewrap gives the words of bwrap but for the program.
func (b Box) bubblewrap(bounds Bounds) []string {
	args := []string{
		b.Tool, "--json-status-fd", "3", "--die-with-parent", "--new-session", "--unshare-pid",
		"--unshare-ipc",
		"--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL", "--ro-bind", "/", "/",
		"--dev", "/dev", "--proc", "/proc",
	}

	// it could change the kernel there; bubblewrap itself covers sysrq-trigger, irq and bus
	if os.Geteuid() == 0 {
		args = append(
			args, "--ro-bind-try", "/proc/sys", "/proc/sys", "--ro-bind-try", "/proc/acpi",
			"/proc/acpi",
		)
	}

	if b.userNS && !bounds.Nest {
		args = append(args, "--unshare-user")
	}
	if !bounds.Net {
		args = append(args, "--unshare-net")
	}
	if bounds.Nest && os.Geteuid() == 0 {
		// The kernel lets a user namespace have a root only if its maker has this right, which
		// no_new_privs keeps without effect on files.
		args = append(args, "--cap-add", "CAP_SETFCAP")
	}

	// A later mount covers an earlier one.
	layers := bounds.layers()
	hidden := slices.Concat(bounds.Hide, bounds.Secret)
	hasLayerInside := func(name string) bool { // what is hidden has a folder inside that is not
		return slices.ContainsFunc(layers, func(l layer) bool { return below(l.name, name) })
	}
	for _, name := range hidden {
		if hasLayerInside(name) {
			args = append(args, coverWords(name)...)
		}
	}

	for _, l := range layers {
		bind := "--ro-bind"
		if l.writable {
			bind = "--bind"
		}
		args = append(args, bind, l.name, l.name)
	}

	for _, name := range append(hidden, bounds.sockets(b.Now())...) {
		if !hasLayerInside(name) {
			args = append(args, coverWords(name)...)
		}
	}

	for _, name := range bounds.Sockets {
		args = append(args, "--bind", name, name)
	}
	return args
}

// coverWords gives the words of bwrap that make a file or folder appear empty. What does not exist
// needs none.
func coverWords(name string) []string {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return []string{"--tmpfs", name}
	}
	return []string{"--ro-bind", "/dev/null", name}
}
