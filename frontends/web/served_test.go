package web_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSeveralProjects: one server shows the runs of several projects in one list, also of two with
// the same name. When one of them vanishes, the page says so, and the others go on.
func TestSeveralProjects(t *testing.T) {
	t.Parallel()
	first, home := files(t, nil)

	second := filepath.Join(t.TempDir(), "shop")
	third := filepath.Join(t.TempDir(), "yard")
	workspace(t, second, home, nil)
	workspace(t, third, home, nil)

	b := serveLater(t, home, 0, first, second, third)

	runs := map[string]string{}
	for name, what := range map[string]string{"shop": "one", "shop-2": "two", "yard": "three"} {
		runs[name] = b.start("/p/"+name+"/start/ask", url.Values{"what": {what}})
		b.until(runs[name], "Ship "+what+"?")
	}

	page := b.get("/")
	for _, want := range []string{
		"3 questions wait for you", "Ship one?", "Ship two?", "Ship three?", "shop-2", "yard",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("home has no %q: %s", want, page)
		}
	}

	w := b.send(b.request(http.MethodGet, "/p/shop-3/tasks", ""))
	if w.Code != http.StatusNotFound {
		t.Errorf("a project that is not served gives %d", w.Code)
	}

	// a run ends before its project goes: what it holds open is not what is tried here
	w = b.post(b.get(runs["shop-2"]+"/question"), runs["shop-2"]+"/answer",
		url.Values{"choice": {"0"}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the answer gives %d: %s", w.Code, w.Body)
	}
	b.until(runs["shop-2"], "shipped two")
	if err := os.Rename(second, second+".away"); err != nil {
		t.Fatal(err)
	}
	page = b.get("/")
	if !strings.Contains(page, "Ship one?") || !strings.Contains(page, "Ship three?") ||
		!strings.Contains(page, "restore the folder") {
		t.Errorf("home without a project is %s", page)
	}
	for _, address := range []string{runs["shop-2"], "/p/shop-2/tasks", "/p/shop-2/start"} {
		w := b.send(b.request(http.MethodGet, address, ""))
		if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), "restore the folder") {
			t.Errorf("%s of a project that is gone gives %d: %s", address, w.Code, w.Body)
		}
	}
	if err := os.Rename(second+".away", second); err != nil {
		t.Fatal(err)
	}
	if page := b.get(runs["shop-2"]); !strings.Contains(page, "shipped two") {
		t.Errorf("a project that is back shows %s", page)
	}
}

// TestSlowRequests: a request whose head or body does not come ends, begins nothing, and keeps
// nobody else waiting.
func TestSlowRequests(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)
	b.server.Hurry(50*time.Millisecond, 100*time.Millisecond)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	if err := b.server.Listening(name, l.Addr()); err != nil {
		t.Fatal(err)
	}
	b.host = name + l.Addr().String()[strings.LastIndex(l.Addr().String(), ":"):]

	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, l) }()

	head := "POST /p/shop/start/ask HTTP/1.1\r\nHost: " + b.host + "\r\nOrigin: http://" + b.host +
		"\r\nCookie: tercet=" + b.cookie + "\r\n" +
		"Content-Type: application/x-www-form-urlencoded\r\n"

	token := hidden.FindStringSubmatch(b.get("/p/shop/start/ask"))[2]
	body := "token=" + token + "&do=start&what=x"

	for name, text := range map[string]string{
		"nothing":         "",
		"half a head":     head,
		"a head, no body": head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)),
		"half a body":     head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+9, body),
		"half a chunk":    head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + body,
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}

		if page := b.get("/p/shop/start"); !strings.Contains(page, "/ask") {
			t.Errorf("%s: meanwhile the page is %s", name, page)
		}

		answer, _ := io.ReadAll(c) // until the server ends the connection, however it does
		if strings.Contains(string(answer), " 303 ") || strings.Contains(string(answer), " 200 ") {
			t.Errorf("%s gives %s", name, answer)
		}
		c.Close()
	}

	if list, err := os.ReadDir(filepath.Join(dir, ".tercet", "runs")); err == nil && len(list) > 0 {
		t.Errorf("%d runs began", len(list))
	}

	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// nap waits for longer than a process does.
const nap = `---
command: nap
description: Wait for two hours
limits: {auto_resume: 6h}
---

## Workflow Execution

### Step 1: Wait

` + "```yaml step\nid: pause\nwait: 2h\n```" + `

### Step 2: Say so

` + "```yaml step\nreturn: rested\n```\n"

// TestDueRunsGoOn: the server goes on with a run whose time has come, by itself.
func TestDueRunsGoOn(t *testing.T) {
	t.Parallel()

	dir, home := files(t, map[string]string{".tercet/commands/nap.md": nap})
	b := serve(t, dir, home)

	run := b.start("/p/shop/start/nap", url.Values{})
	b.until(run, "suspended")

	if err := b.close(); err != nil {
		t.Fatal(err)
	}

	b = serveLater(t, home, 3*time.Hour, dir)
	b.get("/") // as Serve does at its start
	b.until(run, "rested")
}

// TestStepsAreText: what a subagent was given and gave back stands on the page as text, and not as
// JSON.
func TestStepsAreText(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	b.until(b.start("/p/shop/start/task", url.Values{"text": {"Fix the parser"}}), "completed")
	run := b.start("/p/shop/start/plan", url.Values{"task_number": {"1"}})
	b.until(run, "completed")

	page := b.get(run + "?step=" + url.QueryEscape("plan#1"))

	for _, want := range []string{
		"<summary>Input</summary>", "<summary>Return</summary>",
		`<dt class="mono">title</dt><dd>Fix the parser</dd>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the step has no %s: %s", want, page)
		}
	}

	if strings.Contains(page, "{&#34;") || strings.Contains(page, "&#34;: ") {
		t.Errorf("the step has JSON: %s", page)
	}
}

// TestFirstRead: the page of a run shows its steps, also if the first page has read its journal just
// before and its trace is still empty.
func TestFirstRead(t *testing.T) {
	t.Parallel()

	dir, home := files(t, map[string]string{".tercet/commands/nap.md": nap})
	b := serve(t, dir, home)

	run := b.start("/p/shop/start/nap", url.Values{})
	b.until(run, "suspended")

	if err := b.close(); err != nil {
		t.Fatal(err)
	}

	id := run[strings.LastIndex(run, "/")+1:]
	if err := os.Remove(filepath.Join(dir, ".tercet/runs", id, "trace.jsonl")); err != nil {
		t.Fatal(err)
	}

	b = serve(t, dir, home)
	b.get("/")
	if page := b.get(run); !strings.Contains(page, `id="s0"`) {
		t.Errorf("the page has no step: %s", page)
	}
}
