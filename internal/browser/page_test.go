package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var (
	program  = flag.String("tercet", "", "the `program` to try")
	chromium = flag.String("chromium", "", "the browser")
	pictures = flag.String("pictures", "", "the `folder` for pictures of the page")
)

// patience is how long a step may take. A slow machine is no failure.
func patience() time.Duration {
	return 4 * time.Minute
}

// place is a workspace and what runs in it.
type place struct {
	t   *testing.T
	dir string
	env []string
}

// newPlace makes a workspace with a command that works and asks.
func newPlace(t *testing.T) *place {
	t.Helper()
	if *program == "" || *chromium == "" {
		t.Skip("scripts/browser.sh runs this in a browser")
	}
	p := &place{
		t:   t,
		dir: filepath.Join(t.TempDir(), "shop"),
		env: []string{
			"PATH=" + os.Getenv("PATH"),
			"HOME=" + t.TempDir(),
			"XDG_RUNTIME_DIR=" + t.TempDir(),
			"USER=ann",
			"LANG=C.UTF-8",
			"TERCET_TRUST=1",
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=ann",
			"GIT_AUTHOR_EMAIL=ann@localhost",
			"GIT_COMMITTER_NAME=ann",
			"GIT_COMMITTER_EMAIL=ann@localhost",
		},
	}
	if err := os.CopyFS(p.dir, os.DirFS(filepath.Join("testdata", "shop"))); err != nil {
		t.Fatal(err)
	}
	p.run("git", "init", "-q", "-b", "main", ".")
	p.run("git", "add", ".")
	p.run("git", "commit", "-qm", "Begin")
	p.run(*program, "init")
	return p
}

// command makes a command in the workspace.
func (p *place) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	return cmd
}

// run runs a command, and gives what it prints.
func (p *place) run(name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// tercet runs the program, whatever its exit code.
func (p *place) tercet(args ...string) string {
	out, _ := p.command(*program, args...).CombinedOutput() // the code says that a run waits
	return string(out)
}

// start starts a line in the background, and gives its run.
func (p *place) start(args ...string) string {
	p.t.Helper()
	out, err := p.command(*program, append([]string{"start"}, args...)...).Output()
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// server is a running 'tercet serve'.
type server struct {
	p    *place
	cmd  *exec.Cmd
	link string
}

// serve starts a server, and waits for its link.
func (p *place) serve() *server {
	p.t.Helper()
	s := &server{p: p, cmd: p.command(*program, "serve")}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	s.link, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the server prints no link: %v", err)
	}
	s.link = strings.TrimSpace(s.link)
	p.t.Cleanup(func() { s.end(syscall.SIGTERM) })
	return s
}

// end ends the server by a signal, and waits for it.
func (s *server) end(sig syscall.Signal) {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Signal(sig) // it may have ended
		s.cmd.Wait()              // how it ended is in its state
	}
}

// page is the address of a page.
func (s *server) page(path string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(s.link, "http://"), "/")
	return "http://" + host + path
}

// browse opens a browser.
func (p *place) browse() context.Context {
	p.t.Helper()
	options := append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(*chromium),
		chromedp.NoSandbox, // it runs as root in a container
		chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE *.localhost"),
		chromedp.UserDataDir(p.t.TempDir()),
		chromedp.WSURLReadTimeout(patience()),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	p.t.Cleanup(stop)
	ctx, close := chromedp.NewContext(ctx)
	p.t.Cleanup(close)
	return ctx
}

// tab opens another tab of a browser.
func (p *place) tab(ctx context.Context) context.Context {
	tab, close := chromedp.NewContext(ctx)
	p.t.Cleanup(close)
	return tab
}

// do does something in a tab, within the patience.
func (p *place) do(ctx context.Context, what string, actions ...chromedp.Action) {
	p.t.Helper()
	limited, done := context.WithTimeout(ctx, patience())
	defer done()
	if err := chromedp.Run(limited, actions...); err != nil {
		text := ""
		seen, done := context.WithTimeout(ctx, 5*time.Second)
		defer done()
		_ = chromedp.Run(seen, chromedp.Text("body", &text, chromedp.ByQuery)) // for the message
		p.t.Fatalf("%s: %v\nthe page shows: %s\nthe runs are: %s", what, err, text, p.tercet("status"))
	}
}

// open opens a tab of the size of a screen, by the browser's first context. It has to be opened
// before a limit is put on it.
func (p *place) open(ctx context.Context, address string) {
	p.t.Helper()
	if err := chromedp.Run(ctx); err != nil {
		p.t.Fatal(err)
	}
	p.do(ctx, "open "+address, chromedp.Navigate(address))
}

// sees waits until the page shows a text, and its script is at work. It asks again after an error,
// because the page may be on its way to another one.
func sees(text string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		script := fmt.Sprintf(
			`document.readyState === "complete" && document.body.innerText.includes(%q)`, text)
		for {
			var shown bool
			err := chromedp.Evaluate(script, &shown).Do(ctx)
			if err == nil && shown {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the page never shows %q: %w", text, errors.Join(ctx.Err(), err))
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// click clicks what a selector of the page finds. An update of the page may replace that before the
// click reaches it, and then it is looked for again.
func click(selector string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := chromedp.Click(selector, chromedp.ByQuery).Do(ctx)
			if err == nil || !strings.Contains(err.Error(), "Could not find node") {
				return err
			}
		}
	})
}

// screen sets the size of the window and the colours of the system.
func screen(wide, high int64, scheme string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		err := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		}).Do(ctx)
		if err != nil {
			return err
		}
		return chromedp.EmulateViewport(wide, high).Do(ctx)
	})
}

// withoutScript switches scripts of pages off; those of the test still run.
func withoutScript() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		return emulation.SetScriptExecutionDisabled(true).Do(ctx)
	})
}

// until loads a page again until it has an element.
func (p *place) until(ctx context.Context, address, selector string) {
	p.t.Helper()
	for end := time.Now().Add(patience()); time.Now().Before(end); {
		var found []*cdp.Node
		p.do(ctx, "open "+address, chromedp.Navigate(address),
			chromedp.Nodes(selector, &found, chromedp.ByQueryAll, chromedp.AtLeast(0)))
		if len(found) > 0 {
			return
		}
	}
	p.t.Fatalf("%s never has %s", address, selector)
}

// countStreams notes the streams that the pages of a tab open from now on.
const countStreams = `window.streams = [];
window.EventSource = class extends window.EventSource {
  constructor(...words) { super(...words); window.streams.push(this); }
};`

// counting has the next pages of a tab count their streams.
func counting() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(countStreams).Do(ctx)
		return err
	})
}

// streams is how many streams some tabs have open.
func (p *place) streams(tabs []context.Context) (n int) {
	p.t.Helper()
	for _, tab := range tabs {
		var open int
		p.do(tab, "count", chromedp.Evaluate(
			"window.streams.filter(one => one.readyState !== EventSource.CLOSED).length", &open))
		n += open
	}
	return n
}

// process is the process that works on a run.
func (p *place) process(run string) int {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, ".tercet", "runs", run, "lock.info"))
	if err != nil {
		p.t.Fatal(err)
	}
	var holder struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal(data, &holder); err != nil || holder.Pid == 0 {
		p.t.Fatalf("%s names no process: %v", data, err)
	}
	return holder.Pid
}
