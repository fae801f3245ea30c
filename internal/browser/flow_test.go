package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestRunOnThePage: a run begins by the form, moves while it is watched, survives a reload, and is
// shown in a second tab of the browser, which shares one stream with the first.
func TestRunOnThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	p.do(ctx, "the form", chromedp.Navigate(s.page("/p/shop/start/slow")), sees("At most"),
		click("button[value=start]"), sees("at work"), sees("Wait for the file"))
	var address string
	p.do(ctx, "the address", chromedp.Location(&address))
	p.do(ctx, "a reload in the middle", chromedp.Reload(), sees("at work"))
	p.do(ctx, "a message", click("#tell-run summary"),
		chromedp.SendKeys("#message", "keep it <b>short</b>", chromedp.ByQuery),
		click("#tell-run button"),
		sees("waits for the next worker"), sees("keep it <b>short</b>"))
	other := p.tab(ctx)
	p.open(other, address)
	p.do(other, "the second tab", sees("Wait for the file"))
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(other, "the second tab moves", sees("done at last"))
	p.do(ctx, "the first tab moves", chromedp.Evaluate("document.hidden", nil), chromedp.Reload(),
		sees("done at last"))
	p.do(ctx, "home", chromedp.Navigate(s.page("/")), sees("/slow"), sees("completed"))
}

// TestTerminalRunIsAnsweredOnThePage: a run of a terminal waits; the page shows its question while
// it is open, refuses an answer to what has changed, takes one, and the run of the terminal goes
// on.
func TestTerminalRunIsAnsweredOnThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	p.do(ctx, "home", sees("Nothing waits for you"))
	ended := make(chan string, 1)
	run := p.start("--await-answers", "/release 2.0.0")
	go func() { ended <- p.tercet("wait", run) }()
	p.do(ctx, "the question comes by itself", sees("Publish 2.0.0?"),
		chromedp.KeyEvent("a"), sees("What it is about"), sees("Release 1.2.0"))
	notes := filepath.Join(p.dir, "docs", "notes.md")
	before, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	// an update of the page may show the new text before the click: keep the form that was read
	p.do(ctx, "the form", chromedp.Evaluate(
		`window.read = document.querySelector("button[value='0']").form.cloneNode(true)`, nil))
	if err := os.WriteFile(notes, []byte("# Another release\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(ctx, "stale evidence", chromedp.Evaluate(
		`document.body.append(read); read.querySelector("button[value='0']").click()`, nil),
		sees("nothing was answered"), sees("Another release"))
	if err := os.WriteFile(notes, before, 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(ctx, "the answer", chromedp.Navigate(s.page("/p/shop/runs/"+run+"/question")),
		sees("Release 1.2.0"),
		chromedp.SendKeys("#note", "from the sofa", chromedp.ByQuery),
		click("button[value='0']"), sees("Released 2.0.0, as ann said: approve."))
	if said := <-ended; !strings.Contains(said, "Released 2.0.0, as ann said: approve.") {
		t.Errorf("the terminal's run says %s", said)
	}
}

// TestServerIsStartedAgain: a server that is ended suspends its run, and the next one goes on with
// it. So it does when that one was killed before the run did anything new.
func TestServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	p.do(ctx, "start", chromedp.Navigate(s.page("/p/shop/start/release")), sees("At most"),
		chromedp.SendKeys("#arg-version", "3.0.0", chromedp.ByQuery),
		click("button[value=start]"), sees("Publish 3.0.0?"))
	s.end(syscall.SIGTERM)
	p.do(ctx, "the page tells", sees("The server does not answer"))
	list := p.run(*program, "query", "--runs", "-r", ".runs[0] | .status, .why")
	if !strings.Contains(list, "suspended") {
		t.Errorf("after SIGTERM the run is %s", list)
	}

	s = p.serve()
	p.do(ctx, "sign in again", chromedp.Navigate(s.link), sees("Publish 3.0.0?"))
	p.do(ctx, "it goes on by itself", sees("waits for an answer"),
		click(".asking a"), sees("What it is about"))
	s.end(syscall.SIGKILL)
	s = p.serve()
	p.do(ctx, "after a kill", chromedp.Navigate(s.link), sees("Publish 3.0.0?"),
		click(".asking a"), sees("What it is about"),
		click("button[value='0']"), sees("Released 3.0.0"))
}

// TestTwoServers: a second server of a project prints a link to the first.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	out := p.tercet("serve")
	host := regexp.MustCompile(`http://[^/]+/`).FindString(s.link)
	if !strings.Contains(out, host) || strings.Contains(out, s.link) {
		t.Errorf("the second server prints %q, want a new link to %s", out, host)
	}
	ctx := p.browse()
	p.open(ctx, regexp.MustCompile(`http://\S+`).FindString(out))
	p.do(ctx, "its link works", sees("Nothing waits for you"))
}

// TestWithoutScript: with the script switched off, a run begins and its question is answered.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, "about:blank")
	p.do(ctx, "start", withoutScript(), chromedp.Navigate(s.link),
		chromedp.Navigate(s.page("/p/shop/start/release")),
		chromedp.SetValue("#arg-version", "4.0.0", chromedp.ByQuery),
		click("button[value=start]"))
	var address string
	p.do(ctx, "the address", chromedp.WaitVisible("#run-head", chromedp.ByQuery),
		chromedp.Location(&address))
	p.until(ctx, address+"/question", "button[value='0']")
	p.do(ctx, "the answer", click("button[value='0']"),
		chromedp.WaitVisible("#run-head", chromedp.ByQuery))
	p.until(ctx, address, ".outcome")
}

// TestStepsCome: the page of a run that waits for its turn shows its steps as soon as they begin,
// and what a terminal tells the run.
func TestStepsCome(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	home := strings.TrimPrefix(p.env[1], "HOME=")
	settings := filepath.Join(home, ".config", "tercet", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("limits: {runs: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)

	// The first run has the only slot once its worker is asked, and not yet when it is started.
	first := p.start("/slow")
	p.do(ctx, "the first run", chromedp.Navigate(s.page("/p/shop/runs/"+first)),
		sees("Wait for the file"), sees("at work"))
	second := p.start("/release 2.0.0")
	p.do(ctx, "the queued run", chromedp.Navigate(s.page("/p/shop/runs/"+second)),
		sees("queued, place 1"), sees("No step has begun."))
	p.run(*program, "tell", second, "mind the gap")
	p.do(ctx, "a message of a terminal", sees("mind the gap"))
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var empty bool
	p.do(ctx, "its steps", sees("Publish 2.0.0?"),
		chromedp.Evaluate(`document.body.innerText.includes("No step has begun.")`, &empty))
	if empty {
		t.Error("the page says that no step has begun beside the steps")
	}
}

// TestKeys: the keys lead through a list, open what is chosen, and to the question, and a key alone
// begins nothing.
func TestKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.tercet("/release", "1.0.0", "--no-input")
	p.tercet("/release", "2.0.0", "--yes")
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	at := func(what, want string) {
		t.Helper()
		p.do(ctx, "the focus after "+what, chromedp.Poll(
			fmt.Sprintf(`document.activeElement.textContent.includes(%q)`, want), nil,
			chromedp.WithPollingTimeout(0), // until the test is out of patience
		))
	}
	p.do(ctx, "home", sees("1 question waits for you"))
	p.do(ctx, "j", chromedp.KeyEvent("j"))
	at("j", "Publish 1.0.0?")
	p.do(ctx, "j again", chromedp.KeyEvent("j"))
	at("j again", "/release 2.0.0")
	p.do(ctx, "k", chromedp.KeyEvent("k"))
	at("k", "Publish 1.0.0?")
	p.do(ctx, "o", chromedp.KeyEvent("j"), chromedp.KeyEvent("o"), sees("Released 2.0.0"))
	var shown bool
	p.do(ctx, "?", chromedp.KeyEvent("?"), sees("the one before"),
		chromedp.Evaluate(`document.getElementById("keys").open`, &shown),
		click("#keys button"))
	if !shown {
		t.Error("? does not show the keys")
	}
	p.do(ctx, "a", chromedp.Navigate(s.page("/")), sees("1 question waits"),
		chromedp.KeyEvent("a"), sees("What it is about"))
	run := strings.TrimSpace(p.run(*program, "query", "--runs", "-r",
		`.runs[] | select(.status == "suspended") | .run`))
	p.do(ctx, "r", chromedp.Navigate(s.page("/p/shop/runs/"+run)), sees("Go on"),
		chromedp.KeyEvent("r"))
	at("r", "Go on")
	p.do(ctx, "the focus is seen", chromedp.Poll(
		`getComputedStyle(document.activeElement).outlineStyle !== "none"`, nil,
		chromedp.WithPollingTimeout(0),
	))
	if list := p.run(*program, "runs"); !strings.Contains(list, "suspended") {
		t.Errorf("the key r alone began something: %s", list)
	}
	p.do(ctx, "keys in a form", chromedp.Navigate(s.page("/p/shop/runs/"+run+"/question")),
		sees("What it is about"), chromedp.SendKeys("#note", "jar?", chromedp.ByQuery))
	var note string
	p.do(ctx, "the note", chromedp.Value("#note", &note, chromedp.ByQuery))
	if note != "jar?" {
		t.Errorf("the note is %q: a key in a form is text", note)
	}
}

// hide makes a page one that cannot be seen, or that can, as a browser tells it.
func hide(hidden bool) chromedp.Action {
	script := `Object.defineProperty(document, "hidden", {value: HIDDEN, configurable: true});
document.dispatchEvent(new Event("visibilitychange")); true`
	word := "false"
	if hidden {
		word = "true"
	}
	return chromedp.Evaluate(strings.ReplaceAll(script, "HIDDEN", word), nil)
}

// TestOneStream: three tabs share one stream. When the tab that has it is hidden, it closes it, and
// another one goes on; when all are hidden there is none.
func TestOneStream(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	first := p.browse()
	p.open(first, s.link)
	tabs := []context.Context{first, p.tab(first), p.tab(first)}
	for _, tab := range tabs {
		p.open(tab, "about:blank")
		p.do(tab, "home", counting(), chromedp.Navigate(s.page("/")),
			sees("Nothing waits for you"), hide(false))
	}
	streams := func(want int) {
		t.Helper()
		end := time.Now().Add(patience())
		for {
			n := p.streams(tabs)
			if n == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d streams, want %d", n, want)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	streams(1)
	p.tercet("/release", "1.0.0", "--no-input")
	for _, tab := range tabs {
		p.do(tab, "each tab shows it", sees("Publish 1.0.0?"))
	}
	p.do(first, "hide the first", hide(true))
	streams(1)
	p.tercet("/release", "2.0.0", "--no-input")
	for _, tab := range tabs[1:] {
		p.do(tab, "the others go on", sees("Publish 2.0.0?"))
	}
	for _, tab := range tabs[1:] {
		p.do(tab, "hide it", hide(true))
	}
	streams(0)
	p.do(first, "show the first", hide(false), sees("Publish 2.0.0?"))
	streams(1)
}

// TestNothingShifts: what is on the screen stays in its place while the steps of a run come and go.
func TestNothingShifts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.dir, ".tercet", "commands", "beat.md")
	text := commandFile("beat", "{steps: 2000}",
		"id: beat\nforeach: \"[range(12)]\"\ndo:\n  - {wait: 200ms}\n  - {check: 1 == 1}\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	run := p.start("/beat")
	var shift float64
	p.do(ctx, "the run", screen(1440, 900, "light"),
		chromedp.Navigate(s.page("/p/shop/runs/"+run)), sees("Steps"),
		chromedp.Evaluate(`window.shift = 0;
new PerformanceObserver(list => {
  for (const one of list.getEntries()) shift += one.value;
}).observe({type: "layout-shift", buffered: true}); true`, nil),
		sees("/beat done"), chromedp.Evaluate("shift", &shift))
	if shift > 0.1 { // what browsers call good
		t.Errorf("the page shifted by %.3f while the run moved", shift)
	}
	t.Logf("the page shifted by %.3f", shift)
}

// TestAKilledRun: the process of a run is killed, which changes no file, and the open page says so.
func TestAKilledRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	run := p.start("/slow")
	p.do(ctx, "the run", chromedp.Navigate(s.page("/p/shop/runs/"+run)),
		sees("Wait for the file"), sees("at work"))
	p.do(ctx, "its process", chromedp.ActionFunc(func(context.Context) error {
		return syscall.Kill(p.process(run), syscall.SIGKILL)
	}), sees("its process is gone"))
}

// TestAFailedRequest: what the page asked for in vain it asks for again, although the stream tells
// of a change only once.
func TestAFailedRequest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	run := p.start("/slow")
	p.do(ctx, "the run", chromedp.Navigate(s.page("/p/shop/runs/"+run)), sees("Wait for the file"),
		chromedp.Evaluate(`(() => {
  const real = window.fetch;
  const fails = [
    () => Promise.reject(new TypeError('lost')),
    () => Promise.resolve(new Response('', {status: 500})),
  ];
  window.fetch = (...words) => fails.length ? fails.shift()() : real(...words);
})()`, nil))
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var offline bool
	p.do(ctx, "the end", sees("done at last"),
		chromedp.Evaluate(`!document.getElementById("offline").hidden`, &offline))
	if offline {
		t.Error("the page still says that the server does not answer")
	}
}

// TestAFilterThatIsWrong: the page of a filter that cannot be read says so, and nothing else.
func TestAFilterThatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	var offline bool
	p.do(ctx, "the tasks", chromedp.Navigate(s.page("/p/shop/tasks?status=planed")),
		sees("expected task status"), chromedp.Sleep(2*time.Second),
		chromedp.Evaluate(`!document.getElementById("offline").hidden`, &offline))
	if offline {
		t.Error("the page says that the server does not answer")
	}
}
