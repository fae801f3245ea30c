package sandbox

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/internal/proc"
)

// Image configures containers of docker or podman.
type Image struct {
	Name string // as the engine knows it; empty: no containers
	// Engine is docker or podman; empty: the first that works.
	Engine Means
	// Net gives every container a network; otherwise only Bounds.Ask does.
	Net bool
	// Client is KEY=VALUE for the engine's client, such as the daemon's address. The sandboxed
	// program does not see it.
	Client []string
	// Env lists the variables that the sandboxed program sees, besides those of its Command.
	Env []string
	// NewName makes an unguessable container name of letters, digits and dashes.
	NewName func() string
}

// namePrefix stands before the name of every container.
const namePrefix = "tercet-"

// Timeouts of the engine: queries are fast, but making a container may take long on a slow disk.
const (
	askTime    = 5 * time.Second
	engineTime = 60 * time.Second
)

// hostOnly are the variables whose values mean nothing in another file system.
const hostOnly = "PATH HOME TMPDIR SHELL XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME " +
	"XDG_STATE_HOME XDG_RUNTIME_DIR"

// probeEngine asks whether an engine is reached, has the image, and keeps a program within bounds.
func (p *Prober) probeEngine(ctx context.Context, m Means) (Probe, error) {
	out := Probe{
		Tier:  Container,
		Means: m,
		image: p.Image.Name,
	}
	if p.Image.Engine != "" && p.Image.Engine != m {
		out.Why = "not asked: the configuration names " + p.Image.Engine.String()
		return out, nil
	}

	tool, err := p.Starter.LookPath(m.String())
	if err != nil {
		out.Why = "not installed"
		return out, nil //nolint:nilerr // that it is not there is the answer
	}

	out.Tool = tool
	if p.Image.Name == "" && !p.All {
		out.Why = "not asked: no image is named"
		return out, nil
	}

	version := []string{tool, "version", "--format", "{{.Server.Version}}"}
	if m == Podman {
		version = []string{tool, "info", "--format", "{{.Version.Version}}"}
	}
	said, why, err := p.ask(ctx, version)
	switch {
	case err != nil:
		return out, err
	case why != "":
		out.Why = "no engine answers: " + why
		return out, nil
	case p.Image.Name == "":
		out.Why = "version " + said +
			" answers, but is not used: name an image in `sandbox: {image: NAME}`"
		return out, nil
	}

	_, why, err = p.ask(ctx, []string{
		tool, "image", "inspect", "--format", "{{.Id}}", p.Image.Name,
	})
	if err != nil {
		return out, err
	}
	if why != "" {
		out.Why = fmt.Sprintf(
			"the image %s is not on this machine, and tercet does not pull it: run %s pull %s",
			p.Image.Name, m, p.Image.Name,
		)
		return out, nil
	}

	first := ""
	for _, out.user = range users(m) {
		if out, err = p.try(ctx, out); err != nil || out.OK {
			break
		}
		first = cmp.Or(first, out.Why)
	}

	out.Why = first
	if out.OK {
		out.Why = fmt.Sprintf(
			"version %s, image %s: a file system of its own, no network unless granted",
			said, p.Image.Name,
		)
	}
	return out, err
}

// ask runs the engine's program for one line; why says that it did not work.
func (p *Prober) ask(ctx context.Context, argv []string) (said, why string, err error) {
	res, err := p.Starter.Run(ctx, proc.Command{
		Argv:    argv,
		Env:     p.Image.Client,
		Purpose: proc.PurposeProbe,
		Private: true,
		Timeout: proc.Timeout{Total: askTime},
	})
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case err != nil:
		return "", err.Error(), nil //nolint:nilerr // why it does not work is the answer
	case res.TimedOut != proc.TimeoutNone:
		return "", fmt.Sprintf("no answer within %s", askTime), nil
	case !res.Success():
		if why = lastLine(res.Stderr); why == "" {
			why = fmt.Sprintf("exit %d", res.Exit)
		}
		return "", why, nil
	}
	return lastLine(res.Stdout), "", nil
}

// users gives the ways in which files of a container may come to belong to the user. Which one it
// is depends on whether the engine runs without rights; the probe finds out.
func users(m Means) [][]string {
	uid := os.Getuid()
	gid := os.Getgid()
	own := []string{"--user", fmt.Sprintf("%d:%d", uid, gid)}
	switch {
	case uid <= 0:
		return [][]string{{"--user", "0:0"}}
	case m == Podman:
		return [][]string{append([]string{"--userns=keep-id"}, own...), own, {"--user", "0:0"}}
	}
	return [][]string{own, {"--user", "0:0"}}
}

// contain gives the command that runs in a container of the image. The container goes with the run,
// however that ends.
func (b Box) contain(c proc.Command, bounds Bounds) (proc.Command, error) {
	if b.Image.NewName == nil || b.Image.Name == "" {
		return c, errors.New("expected an image and a source of names for containers, got none")
	}
	program := programPath(c)
	if filepath.IsAbs(program) && bounds.Project != "" && below(program, bounds.Project) {
		// a tool of the project that lies outside of the tree at hand
		bounds.Read = append(slices.Clone(bounds.Read), program)
	}
	if c.Dir != "" {
		// a folder that can be written stays so
		bounds.Read = append(slices.Clone(bounds.Read), c.Dir)
	}
	mounts, err := bounds.mounts()
	if err != nil {
		return c, err
	}

	name := namePrefix + b.Image.NewName()
	args := []string{
		b.Tool, "run", "--rm", "--name", name, "--label", "tercet", "--pull", "never",
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt",
		"label=disable", "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777", "--entrypoint", program,
	}
	args = append(args, b.user...)
	if !b.Image.Net && !bounds.Ask {
		args = append(args, "--network", "none")
	}
	if c.Stdin != nil || c.Talk != nil {
		args = append(args, "--interactive")
	}
	if c.Dir != "" {
		args = append(args, "--workdir", c.Dir)
	}
	names := slices.Clone(b.Image.Env)
	for _, kv := range c.Env {
		key, _, _ := strings.Cut(kv, "=")
		names = append(names, key)
	}

	slices.Sort(names)
	for _, key := range slices.Compact(names) {
		if !slices.Contains(strings.Fields(hostOnly), key) {
			args = append(args, "--env", key) // the value is in no list of processes
		}
	}

	args = append(append(args, "--env", "TMPDIR=/tmp", "--env", "HOME=/tmp"), mounts...)
	c.Argv = append(append(args, b.Image.Name), c.Argv[1:]...)
	c.Env = append(slices.Clone(c.Env), b.Image.Client...)
	c.After = removal(b.Means, b.Tool, name)
	return c, nil
}

// removal ends and removes a container. One that is gone already is no fault.
func removal(m Means, tool, name string) []string {
	if m == Podman {
		return []string{tool, "rm", "--force", "--ignore", "--time", "0", name}
	}
	return []string{tool, "rm", "--force", name}
}

// Removal checks the recorded words of a container's removal, so that nothing else runs in their
// place, and looks the program up again. ok is false for any other words.
func Removal(words []string) (argv []string, ok bool) {
	if len(words) < 3 {
		return nil, false
	}
	m := Means(path.Base(filepath.ToSlash(words[0])))
	if m != Docker && m != Podman {
		return nil, false
	}

	name := words[len(words)-1]
	id, ours := strings.CutPrefix(name, namePrefix)
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	if !ours || len(id) < 16 || strings.Trim(id, letters) != "" {
		return nil, false
	}
	if !slices.Equal(removal(m, words[0], name), words) {
		return nil, false
	}
	return removal(m, m.String(), name), true
}

// mounts gives the folders of the bounds as an engine is told. A folder keeps its name; a link in
// it is followed here, where it means something.
func (b Bounds) mounts() (out []string, err error) {
	for _, l := range b.layers() {
		real, err := filepath.EvalSymlinks(l.name)
		if err != nil {
			continue // what does not exist is left out
		}
		fields := []string{"type=bind", "source=" + real, "target=" + l.name}
		if !l.writable {
			fields = append(fields, "readonly")
		}
		var text strings.Builder
		if err := csv.NewWriter(&text).WriteAll([][]string{fields}); err != nil {
			return nil, err
		}
		out = append(out, "--mount", strings.TrimSuffix(text.String(), "\n"))
	}
	return out, nil
}
