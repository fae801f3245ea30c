package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPage: [!] page FILE PATH TEXT signs in with the link in FILE and expects TEXT on the page at
// PATH. With ! it expects TEXT where the link is refused.
func cmdPage(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] page FILE PATH TEXT")
	}

	link := regexp.MustCompile(`http://\S+`).FindString(ts.ReadFile(args[0]))
	host, _, ok := strings.Cut(strings.TrimPrefix(link, "http://"), "/")
	if !ok {
		ts.Fatalf("%s has no link", args[0])
	}

	jar, err := cookiejar.New(nil)
	ts.Check(err)
	client := &http.Client{
		Jar:     jar,
		Timeout: 2 * time.Minute,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			// browsers know that such a name leads to loopback
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				name, port, err := net.SplitHostPort(address)
				if err == nil && strings.HasSuffix(name, ".localhost") {
					address = net.JoinHostPort("127.0.0.1", port)
				}
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
		},
	}

	answer, err := client.Get(link)
	ts.Check(err)
	if answer.StatusCode == http.StatusOK && !neg {
		ts.Check(answer.Body.Close())
		answer, err = client.Get("http://" + host + args[1])
		ts.Check(err)
	}

	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Check(answer.Body.Close())

	if (answer.StatusCode == http.StatusOK) == neg || !strings.Contains(string(body), args[2]) {
		ts.Fatalf("%s gives %d without %q: %s", args[1], answer.StatusCode, args[2], body)
	}
}

// ownAddress is an address of this machine that others may reach; empty: it has none.
func ownAddress() string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}

	for _, one := range list {
		network, ok := one.(*net.IPNet)
		if ok && network.IP.To4() != nil && !network.IP.IsLoopback() {
			return network.IP.String()
		}
	}
	return ""
}

// cmdElsewhere: elsewhere DIR serves the project in DIR where others can reach it, and expects a
// warning and a link that leads there.
func cmdElsewhere(ts *testscript.TestScript, _ bool, args []string) {
	address := ownAddress()

	cmd := exec.Command(lookPath(ts, "tercet"), "serve", "--listen", net.JoinHostPort(address, "0"))
	cmd.Dir = ts.MkAbs(args[0])
	cmd.Env = environ(ts)

	link, err := os.Create(ts.MkAbs("elsewhere.txt"))
	ts.Check(err)
	defer link.Close()

	told, err := os.Create(ts.MkAbs("warned.txt"))
	ts.Check(err)
	defer told.Close()
	cmd.Stdout = link
	cmd.Stderr = told

	ts.Check(cmd.Start())
	cmdWaitFor(ts, false, []string{"elsewhere.txt", "code="})
	cmdPage(ts, false, []string{"elsewhere.txt", "/", "Nothing waits for you"})

	ts.Check(cmd.Process.Signal(os.Interrupt))
	ts.Check(cmd.Wait())

	warned := ts.ReadFile("warned.txt")
	if !strings.Contains(ts.ReadFile("elsewhere.txt"), "http://"+address+":") ||
		!strings.Contains(warned, "warning: others can reach "+address+":") {
		ts.Fatalf("the server at %s tells %q", address, warned)
	}
}
