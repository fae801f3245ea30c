package main

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/mcp"
	"tercet/frontends/web"
	"tercet/internal/proc"
	"tercet/project"
)

// mcpVerb serves the project to an agent on the streams of the process.
func mcpVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = `mcp speaks the Model Context Protocol on standard input and output, for an agent that should start and
follow runs: claude mcp add tercet -- tercet mcp`
	return func(c call) error {
		return c.app.mcpServer().Serve(c.ctx, c.app.in, c.app.term.Out)
	}
}

// mcpServer serves the project in which the process stands.
func (a *app) mcpServer() *mcp.Server {
	return a.mcpServerOf(a.projectDir)
}

// mcpServerOf serves a project that is found anew for each call.
func (a *app) mcpServerOf(find func() (dir string, has bool, err error)) *mcp.Server {
	return mcp.New(mcp.Config{
		Version: version,
		Open: func(ctx context.Context, f project.Frontend) (*project.Project, error) {
			dir, has, err := find()
			if err != nil {
				return nil, err
			}
			host := a.host()
			host.Frontend = f
			return project.Open(ctx, dir, has, host)
		},
	})
}

// mountMCP serves a project to agents beside its page, and tells how they connect. The token is new
// at each start and is told here only: in a file a worker could read it.
func (a *app) mountMCP(s *web.Server, dir string, at net.Addr) {
	token := rand.Text()
	server := a.mcpServerOf(func() (string, bool, error) { return dir, true, nil })
	s.Mount("/mcp", token, server.Handler(token, checkCaller))
	a.term.Note("agents connect by: claude mcp add --transport http tercet http://%s/mcp "+
		"--header 'Authorization: Bearer %s'", at.String(), token)
}

// checkCaller refuses the request of a worker of a run. Where the system shows which processes have
// a connection open, one that hides it is refused as well.
func checkCaller(r *http.Request) error {
	//nolint:errcheck // nil: no TCP
	own, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if own == nil || err != nil {
		return nil //nolint:nilerr // no connection over TCP, which has no ancestors to look at
	}

	switch proc.TCPPeer(unmapped(own.AddrPort()), unmapped(peer), childWord) {
	case proc.CallerSupervised:
		return formats.Fail(formats.CodeDenied, "return what you want done instead",
			"a subagent may not use tercet over HTTP (exit code 77)")
	case proc.CallerHidden:
		return formats.Fail(formats.CodeDenied, "connect by 'tercet mcp' instead",
			"the process that calls does not show its connections, so it may be a subagent's "+
				"(exit code 77)")
	case proc.CallerUnknown, proc.CallerFree:
	}
	return nil
}

// unmapped is an address of IPv4 as such, also where the system has it as one of IPv6.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
