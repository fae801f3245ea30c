package proc_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tercet/internal/proc"
)

// TestPeers: whoever connects is told apart by whether a supervisor is above it, over TCP and over
// a unix socket, whatever it does to its environment, session and parents.
func TestPeers(t *testing.T) {
	t.Parallel()
	if proc.IsSupervised(superviseWord) {
		t.Skip("the tests themselves run below a supervisor")
	}
	ask := "env -i PROC_CHILD=dial \"$0\" "
	for _, network := range []string{"tcp4", "tcp6", "unix"} {
		for name, script := range map[string]string{
			"child":   ask + "%[1]s %[2]s",
			"session": "setsid -w " + ask + "%[1]s %[2]s",
			"orphan": "mkfifo done; (setsid sh -c '(" + ask +
				"%[1]s %[2]s) > out; echo > done' \"$0\" &); cat done; cat out",
		} {
			for _, supervisor := range [][]string{nil, {ownProc(t), superviseWord}} {
				address := answerPeers(t, network)
				s := starter(t, func(s *proc.Starter) {
					s.Supervisor = supervisor
				})
				c := sh("")
				c.Argv = []string{"bash", "-c", fmt.Sprintf(script, network, address), ownProc(t)}
				c.Dir = t.TempDir()
				res, err := s.Run(t.Context(), c)
				want := "free"
				if supervisor != nil {
					want = "supervised"
				}
				if got := strings.TrimSpace(string(res.Stdout)); err != nil || got != want {
					t.Errorf("%s, %s, supervisor %q: %q, %v, stderr %q, want %s",
						network, name, supervisor, got, err, res.Stderr, want)
				}
			}
		}
	}
}

// answerPeers tells each peer what it is, and gives the address.
func answerPeers(t *testing.T, network string) string {
	t.Helper()
	address := map[string]string{
		"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": t.TempDir() + "/s",
	}[network]
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(network, ": ", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, peerOf(c))
			c.Close()
		}
	}()
	return l.Addr().String()
}

// peerOf says what a peer is.
func peerOf(c net.Conn) string {
	if c, ok := c.(*net.UnixConn); ok {
		own, supervised, err := proc.Peer(c, superviseWord)
		switch {
		case err != nil || !own:
			return fmt.Sprint("own ", own, err)
		case supervised:
			return "supervised"
		}
		return "free"
	}
	own := c.LocalAddr().(*net.TCPAddr).AddrPort()
	peer := c.RemoteAddr().(*net.TCPAddr).AddrPort()
	return map[proc.TCPCaller]string{
		proc.CallerUnknown: "unknown", proc.CallerHidden: "hidden",
		proc.CallerSupervised: "supervised", proc.CallerFree: "free",
	}[proc.TCPPeer(own, peer, superviseWord)]
}

// TestPeerHasEnded: who connects and leaves the connection to a child is not taken for free.
func TestPeerHasEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := starter(t, func(s *proc.Starter) {
		s.Supervisor = []string{ownProc(t), superviseWord}
	})
	said := make(chan string, 1)
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "gone")); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		c, err := l.Accept()
		if err != nil {
			said <- err.Error()
			return
		}
		said <- peerOf(c)
		c.Close()
	}()
	c := sh("")
	c.Argv = []string{
		"bash", "-c", `env -i PROC_CHILD=leave PATH="$PATH" "$0" unix s > out; echo > gone; ` +
			`wait; cat < s.done`, ownProc(t),
	}
	c.Dir = dir
	if err := unix.Mkfifo(filepath.Join(dir, "s.done"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), c)
		ended <- err
	}()
	if got := <-said; got != "supervised" {
		t.Errorf("a peer that has ended is %s, want it refused", got)
	}
	done, err := os.OpenFile(filepath.Join(dir, "s.done"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	done.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPeerIsGone: a caller of this machine whose end of the connection is closed is hidden; of
// another machine nothing is known.
func TestPeerIsGone(t *testing.T) {
	t.Parallel()
	own := netip.MustParseAddrPort("127.0.0.1:1")
	for peer, want := range map[string]proc.TCPCaller{
		"127.0.0.1:2": proc.CallerHidden,
		"[::1]:2":     proc.CallerHidden,
		"192.0.2.1:2": proc.CallerUnknown, // an address for documents
	} {
		if got := proc.TCPPeer(own, netip.MustParseAddrPort(peer), superviseWord); got != want {
			t.Errorf("%s = %v, want %v", peer, got, want)
		}
	}
}
