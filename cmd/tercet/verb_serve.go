package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/web"
	"tercet/internal/proc"
	"tercet/project"
)

// serveVerb serves the page of some projects until a signal ends it.
func serveVerb(cmd *cobra.Command, a *app) run {
	listen := cmd.Flags().String("listen", "127.0.0.1:0", "the `address` and port to listen at")
	open := cmd.Flags().Bool("open", false, "open the page in your browser")
	agents := cmd.Flags().Bool("mcp", false,
		"also serve this project to agents by the Model Context Protocol, and say how they connect")
	cmd.Long = `serve shows the runs of this project, or of the projects in the folders, in a browser. It prints a link
that signs one browser in, once, within a minute. While it runs, 'tercet serve' prints a new link to it.

Runs that you start there belong to the server. When a signal ends it, it suspends them as soon as what
they began is done, and goes on with them when it starts again. A second signal interrupts them.`
	return func(c call) error {
		dirs, err := a.servedDirs(c.args)
		if err != nil {
			return err
		}
		if *agents && len(dirs) != 1 {
			return usage("expected one project with --mcp, got %d", len(dirs))
		}

		if link := a.runningServerLink(c.ctx, dirs); link != "" {
			if *agents {
				return formats.Fail(formats.CodeUsage, "end that server first",
					"the project is served already, and its token was told when it began")
			}
			a.term.Note("the project is served already; a new link to the page:")
			return a.printLink(link, *open)
		}

		l, err := listenAt(c.ctx, *listen)
		if err != nil {
			return err
		}
		return a.serve(c.ctx, dirs, l, *open, *agents)
	}
}

// servedDirs gives the projects to serve, absolute: those of the arguments, else the current one.
func (a *app) servedDirs(args []string) ([]string, error) {
	if len(args) == 0 {
		dir, has, err := a.projectDir()
		if err == nil && !has {
			err = project.NoWorkspace()
		}
		return []string{dir}, err
	}

	var dirs []string
	for _, arg := range args {
		dir, err := filepath.Abs(arg)
		if err != nil {
			return nil, broken(formats.CodeUsage, arg, err)
		}
		if !isDir(filepath.Join(dir, formats.Workspace)) {
			return nil, formats.Fail(formats.CodeNoWorkspace, "run 'tercet init' there",
				"no workspace in %s", dir)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// listenAt listens at an address with a number. Who gives another one than loopback is warned by
// the caller.
func listenAt(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		return nil, usage("expected --listen ADDRESS:PORT such as 127.0.0.1:4410, got %q", address)
	case ip == nil || ip.IsUnspecified():
		return nil, formats.Fail(formats.CodeUsage,
			"name the one address that others reach, as in --listen 192.168.1.5:4410",
			"expected an address as a number for --listen, got %q", host)
	}

	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, "--listen "+address, err,
			"choose another port, or 0 for a free one")
	}
	return l, nil
}

// serve serves until the context ends, and then suspends the runs of the page.
func (a *app) serve(
	ctx context.Context, dirs []string, l net.Listener, open, agents bool,
) (err error) {
	debug.SetGCPercent(100) // it stays for days, and most of the time it does nothing
	hard := a.signals.AbortContext()
	s, err := web.New(hard, web.Config{
		Dirs: dirs,
		Now:  clock{}.Now,
		Tell: func(line string) { a.term.Note("%s", line) },
		Team: a.team(),
		Open: func(ctx context.Context, dir string, f project.Frontend) (*project.Project, error) {
			host := a.host()
			host.Frontend = f
			return project.Open(ctx, dir, true, host)
		},
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, s.Close(hard)) }()

	if err := s.Listening(web.Name(), l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	if ip, ok := l.Addr().(*net.TCPAddr); ok && !ip.IP.IsLoopback() {
		a.term.Note("warning: others can reach %s, and what they read there is not encrypted",
			l.Addr().String())
	}

	for _, dir := range dirs {
		done, err := a.offerLinks(s.Project(dir), s.Link)
		if err != nil {
			a.term.Note("warning: 'tercet serve' will print no new link to this server: %s",
				err.Error())
			continue
		}
		defer done()
	}

	if agents {
		a.mountMCP(s, dirs[0], l.Addr())
	}

	if err := a.printLink(s.Link(), open); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(ctx, l)
}

// printLink prints a link to the page, and opens it if that was asked for.
func (a *app) printLink(link string, open bool) error {
	if !a.answerJSON("tercet.serve/1", fields{"url": link}) {
		a.term.Answer("%s\n", link)
	}
	if !open {
		return nil
	}

	program := []string{"xdg-open", link}
	switch runtime.GOOS {
	case "darwin":
		program[0] = "open"
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler", link}
	}

	if err := proc.StartDetached(program, os.Environ()); err != nil {
		a.term.Note("warning: --open: %s; open the link yourself", err.Error())
	}
	return nil
}

// linkSocket is where the server of a project gives links to other programs of the user. A folder
// of the system's temporary one is used where the user has none for sockets, whose path must be
// short.
func (a *app) linkSocket(name string) (string, error) {
	dir := a.env("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		dir = os.TempDir()
	}
	dir = filepath.Join(
		dir, "tercet-"+strings.ReplaceAll(userName(), string(filepath.Separator), "-"),
	)

	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByUser(info) {
		return "", formats.Fail(formats.CodeIO, "remove it",
			"%s is not a folder of yours alone", dir)
	}
	return filepath.Join(dir, name+".sock"), nil
}

// linkTime bounds the exchange over the socket.
const linkTime = 3 * time.Second

// offerLinks gives a fresh link to every program of the user that asks for one. A worker gets none:
// a supervisor is among its ancestors.
func (a *app) offerLinks(p *project.Project, link func() string) (done func(), err error) {
	name, err := a.linkSocket(p.Name())
	if err != nil {
		return nil, err
	}

	// of a server that was killed: this one holds the lock of the project
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}

	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go giveLink(c, link)
		}
	}()
	return func() {
		l.Close() //nolint:errcheck // it also removes the socket
	}, nil
}

// giveLink answers one program.
func giveLink(c *net.UnixConn, link func() string) {
	defer c.Close() //nolint:errcheck // what was written is read, or not
	own, supervised, err := proc.Peer(c, childWord)
	if err != nil || !own || supervised {
		return
	}
	if c.SetDeadline(time.Now().Add(linkTime)) == nil {
		io.WriteString(c, link()+"\n") //nolint:errcheck // see above
	}
}

// runningServerLink is a link to the page of the one server that serves all of the projects; empty:
// there is none.
func (a *app) runningServerLink(ctx context.Context, dirs []string) string {
	link := ""
	for _, dir := range dirs {
		next := a.askLink(ctx, dir)
		if next == "" || link != "" && pageOf(next) != pageOf(link) {
			return ""
		}
		link = next
	}
	return link
}

// pageOf is the address of the page that a link signs in to.
func pageOf(link string) string {
	page, _, _ := strings.Cut(link, "?")
	return page
}

// askLink asks the server of a project for a link to its page; empty: no server gives one.
func (a *app) askLink(ctx context.Context, dir string) string {
	name, err := a.linkSocket(project.NameOf(dir))
	if err != nil {
		return ""
	}

	dialer := net.Dialer{Timeout: linkTime}
	c, err := dialer.DialContext(ctx, "unix", name)
	if err != nil {
		return ""
	}

	link := ""
	if err = c.SetDeadline(time.Now().Add(linkTime)); err == nil {
		link, err = bufio.NewReader(c).ReadString('\n')
	}
	if errors.Join(err, c.Close()) != nil || !strings.HasPrefix(link, "http://") {
		return ""
	}
	return strings.TrimSpace(link)
}
