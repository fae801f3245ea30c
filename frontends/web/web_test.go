package web_test

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tercet/formats"
	"tercet/frontends/web"
	"tercet/project"
	"tercet/state"
)

// clock is the time of the machine; some is ahead of it.
type clock struct{ ahead time.Duration }

func (c clock) Now() time.Time { return time.Now().Add(c.ahead) }

func (clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// name and address are those of the server of a test.
const name = "t-test.localhost"

// browser is a signed-in browser of a server without a network.
type browser struct {
	t      testing.TB
	server *web.Server
	dir    string
	host   string
	cookie string
	now    *time.Time // of the guard; nil: the time
	close  func() error
}

// ask is a gate; what it asks about is docs/notes.md.
const ask = `---
command: ask
description: Ask something
arguments:
  - {name: what, type: string, required: true, description: what it is about}
---

## Workflow Execution

### Step 1: Ask

` + "```yaml step\nid: go\ngate: \"Ship ${{ $args.what }}?\"\nevidence: docs/notes.md\n```" + `

### Step 2: Say so

` + "```yaml step\nreturn: \"shipped ${{ $args.what }} by ${{ $steps.go.by }}\"\n```\n"

// files is a workspace with the command /ask and some more files.
func files(tb testing.TB, more map[string]string) (dir, home string) {
	tb.Helper()
	dir = filepath.Join(tb.TempDir(), "shop")
	home = tb.TempDir()
	workspace(tb, dir, home, more)
	return dir, home
}

// workspace makes a folder one with the command /ask.
func workspace(tb testing.TB, dir, home string, more map[string]string) {
	tb.Helper()

	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}

	h := hostOf(dir, home, project.Unattended{})
	_, err := h.Init(tb.Context(), dir, project.Settings{}, state.InitOptions{NextNumber: 1}, false)
	if err != nil {
		tb.Fatal(err)
	}

	write(tb, dir, ".tercet/commands/ask.md", ask)
	write(tb, dir, "docs/notes.md", "notes\n")
	for name, text := range more {
		write(tb, dir, name, text)
	}
}

func write(tb testing.TB, dir, name, text string) {
	tb.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func hostOf(dir, home string, f project.Frontend) project.Host {
	return project.Host{
		Frontend:    f,
		Clock:       clock{},
		Version:     "test",
		User:        "ann",
		Session:     project.NewSessionID(time.Now()),
		CommandLine: "a test",
		Env: func(name string) string {
			return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
		},
		LookupEnv:    os.LookupEnv,
		Environ:      func() []string { return []string{"PATH=" + os.Getenv("PATH")} },
		AbortContext: context.Background,
		Agreed:       map[string]bool{},
		OwnProject:   dir,
	}
}

// serve opens a server for a project, and signs in.
func serve(tb testing.TB, dir, home string) *browser {
	tb.Helper()
	return serveLater(tb, home, 0, dir)
}

// serveLater opens a server for some projects, for which it is later than for this machine.
func serveLater(tb testing.TB, home string, ahead time.Duration, dirs ...string) *browser {
	tb.Helper()
	return serveAs(tb, home, ahead, func(*project.Host) {}, dirs...)
}

// serveTrusted opens a server for a project whose files may start programs.
func serveTrusted(tb testing.TB, dir, home string) *browser {
	tb.Helper()
	return serveAs(tb, home, 0, func(h *project.Host) {
		env := h.Env
		h.Env = func(name string) string {
			if name == "TERCET_TRUST" {
				return "1"
			}
			return env(name)
		}
	}, dir)
}

// serveAs is serveLater with another host for the projects.
func serveAs(
	tb testing.TB, home string, ahead time.Duration, change func(*project.Host), dirs ...string,
) *browser {
	tb.Helper()
	return serveFor(tb, nil, home, ahead, change, dirs...)
}

// serveFor is serveAs for a member of a team.
func serveFor(
	tb testing.TB, of project.Team, home string, ahead time.Duration, change func(*project.Host),
	dirs ...string,
) *browser {
	tb.Helper()

	b := &browser{t: tb, dir: dirs[0]}
	var mu sync.Mutex

	s, err := web.New(tb.Context(), web.Config{
		Dirs: dirs,
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			if b.now != nil {
				return *b.now
			}
			return clock{ahead}.Now()
		},
		Tell: func(line string) { tb.Log(line) },
		Team: of,
		Open: func(ctx context.Context, dir string, f project.Frontend) (*project.Project, error) {
			host := hostOf(dir, home, f)
			host.Clock = clock{ahead}
			change(&host)
			return project.Open(ctx, dir, true, host)
		},
	})
	if err != nil {
		tb.Fatal(err)
	}

	b.close = sync.OnceValue(func() error { return s.Close(context.Background()) })
	tb.Cleanup(func() {
		if err := b.close(); err != nil {
			tb.Error(err)
		}
	})

	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4410}
	if err := s.Listening(name, addr); err != nil {
		tb.Fatal(err)
	}

	b.server = s
	b.host = name + ":4410"
	b.signIn()

	return b
}

func (b *browser) signIn() {
	b.t.Helper()

	link, err := url.Parse(b.server.Link())
	if err != nil {
		b.t.Fatal(err)
	}

	r := b.request(http.MethodGet, link.RequestURI(), "")
	r.Header.Del("Cookie")
	w := b.send(r)

	if w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 1 {
		b.t.Fatalf("the link gives %d", w.Code)
	}

	c := w.Result().Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" {
		b.t.Errorf("the cookie is %v", c)
	}

	b.cookie = c.Value
}

// request is one of the signed-in browser.
func (b *browser) request(method, address, body string) *http.Request {
	r := httptest.NewRequest(method, "http://"+b.host+address, strings.NewReader(body))
	r.Header.Set("Cookie", "tercet="+b.cookie)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+b.host)
	}
	return r
}

func (b *browser) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return w
}

// get gives a page, which has to be there.
func (b *browser) get(address string) string {
	b.t.Helper()
	w := b.send(b.request(http.MethodGet, address, ""))
	if w.Code != http.StatusOK {
		b.t.Fatalf("%s is %d: %s", address, w.Code, w.Body)
	}
	return w.Body.String()
}

var hidden = regexp.MustCompile(`name="(token|gate|digest)" value="([^"]*)"`)

// post posts the form of a page, and gives the answer.
func (b *browser) post(page, action string, values url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	return b.send(b.request(http.MethodPost, action, values.Encode()))
}

// until asks for a page until it has a text.
func (b *browser) until(address, text string) {
	b.t.Helper()
	for {
		page := b.get(address)
		if strings.Contains(page, text) {
			return
		}
		select {
		case <-b.t.Context().Done():
			b.t.Fatalf("%s never shows %q", address, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// begin starts a line on the form, and gives the page of its run.
func (b *browser) begin(values url.Values) string {
	b.t.Helper()
	return b.start("/p/shop/start/ask", values)
}

// start starts the command of a form, and gives the page of its run.
func (b *browser) start(address string, values url.Values) string {
	b.t.Helper()
	values.Set("do", "start")
	w := b.post(b.get(address), address, values)
	if w.Code != http.StatusSeeOther {
		b.t.Fatalf("start gives %d: %s", w.Code, w.Body)
	}
	return w.Header().Get("Location")
}

// TestAnswerOnThePage: a run begins by the form, its question is answered on the page, and it ends.
// A changed document is shown instead of taking the answer.
func TestAnswerOnThePage(t *testing.T) {
	t.Parallel()
	dir, home := files(t, nil)
	b := serve(t, dir, home)
	run := b.begin(url.Values{"what": {"1.0"}})
	b.until(run, "waits for an answer")
	if home := b.get("/"); !strings.Contains(home, "Ship 1.0?") {
		t.Errorf("home shows no question: %s", home)
	}
	page := b.get(run + "/question")
	if !strings.Contains(page, "notes") || !strings.Contains(page, "Ship 1.0?") {
		t.Fatalf("the question is %s", page)
	}

	write(t, dir, "docs/notes.md", "other notes\n")
	w := b.post(page, run+"/answer", url.Values{"choice": {"0"}, "note": {"keep <this>"}})
	stale := w.Body.String()
	for _, want := range []string{
		"nothing was answered", "other notes", "has changed since the run asked",
		"keep &lt;this&gt;", "docs/notes.md",
	} {
		if w.Code != http.StatusConflict || !strings.Contains(stale, want) {
			t.Errorf("a stale answer gives %d without %q: %s", w.Code, want, stale)
		}
	}
	write(t, dir, "docs/notes.md", "notes\n")
	w = b.post(b.get(run+"/question"), run+"/answer", url.Values{"choice": {"0"}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the answer gives %d: %s", w.Code, w.Body)
	}
	b.until(run, "shipped 1.0 by ann")
}

// TestFormHasTheMessagesOfThePrompt: what is wrong with an argument is said as at the prompt.
func TestFormHasTheMessagesOfThePrompt(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)
	address := "/p/shop/start/ask"

	w := b.post(b.get(address), address, url.Values{"do": {"start"}, "what": {""}})
	if w.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(w.Body.String(), "/ask: missing &lt;what&gt;") {
		t.Errorf("an empty argument gives %d: %s", w.Code, w.Body)
	}

	w = b.post(b.get(address), address, url.Values{"do": {"look"}, "what": {"x"}})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "At most") {
		t.Errorf("a look gives %d: %s", w.Code, w.Body)
	}
}

// TestGuard: hostile requests reach no page and change nothing.
func TestGuard(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	form := b.get("/p/shop/start/ask")
	token := hidden.FindStringSubmatch(form)[2]
	secret := "Ask something" // of a page

	get := func(change func(*http.Request)) func() *http.Request {
		return func() *http.Request {
			r := b.request(http.MethodGet, "/p/shop/start/ask", "")
			change(r)
			return r
		}
	}

	post := func(body string, change func(*http.Request)) func() *http.Request {
		return func() *http.Request {
			r := b.request(http.MethodPost, "/p/shop/start/ask", body)
			change(r)
			return r
		}
	}

	good := url.Values{"token": {token}, "do": {"start"}, "what": {"x"}}.Encode()

	header := func(key, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(key, value) }
	}

	host := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Host = value }
	}

	drop := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del(key) }
	}

	hostile := map[string]func() *http.Request{
		"host as a number":        get(host("127.0.0.1:4410")),
		"host localhost":          get(host("localhost:4410")),
		"host of an attacker":     get(host("evil.example:4410")),
		"host of another start":   get(host("t-other.localhost:4410")),
		"host with another port":  get(host(name + ":4411")),
		"host without a port":     get(host(name)),
		"host as a suffix":        get(host("evil." + b.host)),
		"host with a user":        get(host("x@" + b.host)),
		"empty host":              get(host("")),
		"foreign origin":          get(header("Origin", "http://evil.example")),
		"origin null":             get(header("Origin", "null")),
		"origin by https":         get(header("Origin", "https://"+b.host)),
		"cross-site":              get(header("Sec-Fetch-Site", "cross-site")),
		"same-site":               get(header("Sec-Fetch-Site", "same-site")),
		"no cookie":               get(drop("Cookie")),
		"a guessed cookie":        get(header("Cookie", "tercet="+strings.Repeat("A", 52))),
		"an empty cookie":         get(header("Cookie", "tercet=")),
		"a post without token":    post("do=start&what=x", func(*http.Request) {}),
		"a post with a bad token": post("token=x&do=start&what=x", func(*http.Request) {}),
		"a post without cookie":   post(good, drop("Cookie")),
		"a post without origin":   post(good, drop("Origin")),
		"a post from elsewhere":   post(good, header("Origin", "http://evil.example")),
		"a post across sites":     post(good, header("Sec-Fetch-Site", "cross-site")),
		"a post as text":          post(good, header("Content-Type", "text/plain")),
		"a post as JSON": post(
			`{"token":"`+token+`"}`, header("Content-Type", "application/json"),
		),
		"a post that is too long": post("what="+strings.Repeat("x", 300<<10)+"&"+good,
			func(*http.Request) {}),
		"the token in the address": func() *http.Request {
			return b.request(http.MethodPost, "/p/shop/start/ask?"+good, "")
		},
		"another method": get(func(r *http.Request) { r.Method = http.MethodPut }),
		"options":        get(func(r *http.Request) { r.Method = http.MethodOptions }),
		"trace":          get(func(r *http.Request) { r.Method = http.MethodTrace }),
		"a used code": func() *http.Request {
			link, _ := url.Parse(b.server.Link())
			b.send(b.request(http.MethodGet, link.RequestURI(), ""))
			r := b.request(http.MethodGet, link.RequestURI(), "")
			r.Header.Del("Cookie")
			return r
		},
		"a guessed code": func() *http.Request {
			r := b.request(http.MethodGet, "/?code=AAAA", "")
			r.Header.Del("Cookie")
			return r
		},
		"a stream without cookie": func() *http.Request {
			r := b.request(http.MethodGet, "/live", "")
			r.Header.Del("Cookie")
			return r
		},
		"a stream from elsewhere": func() *http.Request {
			r := b.request(http.MethodGet, "/live", "")
			r.Header.Set("Origin", "http://evil.example")
			return r
		},
		"an asset without cookie": func() *http.Request {
			r := b.request(http.MethodGet, "/static/page.css", "")
			r.Header.Del("Cookie")
			return r
		},
	}

	if len(hostile) < 30 {
		t.Errorf("%d hostile requests, want 30", len(hostile))
	}

	for name, make := range hostile {
		w := b.send(make())
		if w.Code < 400 || strings.Contains(w.Body.String(), secret) ||
			len(w.Result().Cookies()) > 0 {
			t.Errorf("%s gives %d: %.200s", name, w.Code, w.Body)
		}

		for _, key := range []string{"Content-Security-Policy", "X-Content-Type-Options"} {
			if w.Header().Get(key) == "" {
				t.Errorf("%s has no %s", name, key)
			}
		}

		policy := w.Header().Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") ||
			!strings.HasPrefix(policy, "default-src 'none'; ") {
			t.Errorf("%s has the policy %s", name, policy)
		}

		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other pages", name)
		}
	}

	if list, err := os.ReadDir(filepath.Join(dir, ".tercet", "runs")); err == nil && len(list) > 0 {
		t.Errorf("%d runs began", len(list))
	}

	policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	for _, address := range []string{"/", "/p/shop/start/ask", "/static/page.js", "/none"} {
		w := b.send(b.request(http.MethodGet, address, ""))
		if got := w.Header().Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s has the policy %s", address, got)
		}
	}

	w := b.send(b.request(http.MethodPost, "/p/shop/start/ask", good))
	if w.Code != http.StatusSeeOther {
		t.Errorf("the same post with nothing wrong gives %d", w.Code)
	}
}

// TestCodeEnds: a code can be used within a minute.
func TestCodeEnds(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	link, err := url.Parse(b.server.Link())
	if err != nil {
		t.Fatal(err)
	}

	later := time.Now().Add(61 * time.Second)
	b.now = &later
	w := b.send(b.request(http.MethodGet, link.RequestURI(), ""))
	if w.Code != http.StatusForbidden {
		t.Errorf("a code after a minute gives %d", w.Code)
	}
}

// TestPathsLeadNowhere: no address reads a file that no page shows.
func TestPathsLeadNowhere(t *testing.T) {
	t.Parallel()

	dir, home := files(t, map[string]string{".env": "TOKEN=sesame\n"})
	b := serve(t, dir, home)
	run := b.begin(url.Values{"what": {"1"}})
	id := run[strings.LastIndex(run, "/")+1:]

	for _, path := range []string{
		".env", "../.env", "../../etc/passwd", "/etc/passwd", "%2e%2e/.env", "..%2f.env",
		".tercet/state.json", "docs/../.env", "docs/notes.md/../../.env", "\x00", "C:\\x", ".",
	} {
		for _, address := range []string{
			"/p/shop/document?run=" + id + "&path=" + url.QueryEscape(path),
			"/p/shop/document?task=1&path=" + url.QueryEscape(path),
			"/p/shop/files?name=" + url.QueryEscape(path),
			"/p/shop/runs/" + url.PathEscape(path),
			"/p/" + url.PathEscape(path) + "/tasks",
			"/static/" + url.PathEscape(path),
			"/static/../" + url.PathEscape(path),
		} {
			r := b.request(http.MethodGet, "/", "")
			r.URL.Path, _ = url.PathUnescape(strings.Split(address, "?")[0])
			_, r.URL.RawQuery, _ = strings.Cut(address, "?")

			w := b.send(r)
			if w.Code == http.StatusOK || strings.Contains(w.Body.String(), "sesame") ||
				strings.Contains(w.Body.String(), "root:") {
				t.Errorf("%q gives %d: %.100s", address, w.Code, w.Body)
			}
		}
	}
}

// hostileTexts are what agents, tasks and files could hold to become a part of the page.
func hostileTexts() (list []string) {
	for _, one := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</title><script>x()</script>",
		"\"><svg onload=alert(1)>", "' onmouseover='x()", "</pre><h1>evil</h1>", "</textarea><b>",
		"javascript:alert(1)", "<!--", "]]>", "&lt;script&gt;", "<iframe src=//evil.example>",
		"<style>*{display:none}</style>", "<base href=//evil.example/>",
		"<meta http-equiv=refresh>", "<form action=//evil.example>",
		"<a href=//evil.example>click</a>", "{{.}}", "${7*7}",
		"<link rel=stylesheet href=//evil.example>",
	} {
		for _, around := range []string{
			"%s", "a\x1b[31m%s\x1b[0m", "\u202e%s", "\x00%s", "%s\u2028x", "\xff%s",
			"%s\r\nSet-Cookie: a=b", "\u200b%s", "%s\x07", "\"%s",
		} {
			list = append(list, fmt.Sprintf(around, one))
		}
	}
	return list
}

// raw is what no page may hold of a hostile text.
var raw = regexp.MustCompile("(?i)<script>|<img|<svg|<iframe|<style|<base|<meta http|<form " +
	"action=//|<a href=//|<h1>evil|<b>|<link rel=stylesheet " +
	"href=//|</title><script|on(error|load|mouseover)='|[\x00\x07\x1b\u202e\u2028\u200b]")

// TestHostileTexts: 200 texts in every field that a task, a file, a line or a question can fill
// stand on the pages as text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()

	texts := hostileTexts()
	if len(texts) < 200 {
		t.Fatalf("%d texts, want 200", len(texts))
	}

	dir, home := files(t, nil)
	all := strings.Join(texts, "\n")
	valid := strings.ToValidUTF8(strings.ReplaceAll(all, "\x00", ""), "?")

	write(t, dir, "docs/notes.md", all)
	write(t, dir, ".tercet/commands/evil.md", "---\ncommand: evil\ndescription: "+
		"\"<script>alert(1)</script>\"\n---\n\n## Workflow Execution\n\n"+valid+"\n")
	write(t, dir, ".tercet/subagents/evil.md", "---\nname: <img src=x onerror=x>\n---\n"+valid)

	b := serve(t, dir, home)
	p := b.server.Project(dir)
	ctx := t.Context()

	for i := range 4 {
		text := strings.ToValidUTF8(strings.ReplaceAll(texts[i*50], "\x00", ""), "?")
		_, err := p.CreateTasks(
			ctx, project.Transaction{}, project.NewTask{Title: text, Description: text},
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	run := b.begin(url.Values{"what": {texts[0]}})
	b.until(run, "waits for an answer")

	pages := []string{
		"/", run, run + "/question", run + "?step=" + url.QueryEscape(texts[3]), "/p/shop/start",
		"/p/shop/start/ask?what=" + url.QueryEscape(texts[13]), "/p/shop/tasks", "/p/shop/tasks/1",
		"/p/shop/tasks?search=" + url.QueryEscape(texts[33]), "/p/shop/files", "/p/shop/trust",
		"/p/shop/files?name=" + url.QueryEscape(".tercet/commands/evil.md"),
		"/p/shop/files?name=" + url.QueryEscape(".tercet/subagents/evil.md"),
		"/p/shop/trust?back=" + url.QueryEscape(texts[3]),
	}

	for i, one := range texts {
		query := url.QueryEscape(one)
		switch i % 4 {
		case 0:
			pages = append(pages, "/p/shop/tasks?search="+query)
		case 1:
			pages = append(pages, "/p/shop/start/ask?what="+query)
		case 2:
			pages = append(pages, "/p/shop/files?name="+query)
		case 3:
			pages = append(pages, "/p/shop/document?task="+query+"&path="+query)
		}
	}

	for _, address := range pages {
		w := b.send(b.request(http.MethodGet, address, ""))
		page := strings.ReplaceAll(w.Body.String(),
			`<script src="/static/page.js" defer></script>`, "")
		page = strings.ReplaceAll(page, "<meta charset", "")

		if m := raw.FindString(page); m != "" {
			at := strings.Index(page, m)
			t.Errorf("%.80q has %q: %q", address, m, page[max(0, at-60):min(len(page), at+60)])
		}

		if w.Code >= 500 {
			t.Errorf("%.80q gives %d: %.300s", address, w.Code, w.Body)
		}
	}
}

// TestMount: another protocol has its token, and no cookie opens it.
func TestMount(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	b.server.Mount("/mcp", "secret", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "mounted")
	}))

	for name, tt := range map[string]struct {
		host, token, origin string
		want                int
	}{
		"the token":             {"127.0.0.1:4410", "Bearer secret", "", 200},
		"by the name":           {b.host, "Bearer secret", "", 200},
		"another token":         {b.host, "Bearer secre", "", 401},
		"no token":              {b.host, "", "", 401},
		"another host":          {"evil.example:4410", "Bearer secret", "", 403},
		"a page of another one": {b.host, "Bearer secret", "http://evil.example", 403},
	} {
		r := b.request(http.MethodPost, "/mcp", "{}")
		r.Host = tt.host
		r.Header.Del("Origin")
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		r.Header.Set("Authorization", tt.token)

		if w := b.send(r); w.Code != tt.want {
			t.Errorf("%s gives %d, want %d", name, w.Code, tt.want)
		}
	}
}

// TestVanishedAndDamaged: a run whose journal is damaged is shown as that, and the others work; a
// project that vanishes is named.
func TestVanishedAndDamaged(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	run := b.begin(url.Values{"what": {"1"}})
	other := b.begin(url.Values{"what": {"2"}, "do": {"start"}})
	b.until(run, "waits for an answer")
	b.until(other, "waits for an answer")

	journal := filepath.Join(
		dir, ".tercet", "runs", run[strings.LastIndex(run, "/")+1:], "journal.jsonl",
	)
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}

	damaged := strings.Replace(string(text), "Ship 1", "Shop 1", 1)
	if err := os.WriteFile(journal, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}

	fresh := serve2(t, dir, home)

	if page := fresh.get(run); !strings.Contains(page, "damaged") ||
		!strings.Contains(page, "does not match its hash") {
		t.Errorf("the damaged run is %s", page)
	}

	if page := fresh.get(other); !strings.Contains(page, "Ship 2?") {
		t.Errorf("the other run is %s", page)
	}

	if page := fresh.get("/"); !strings.Contains(page, "damaged") {
		t.Errorf("home is %s", page)
	}
}

// serve2 shows a project without being its server.
func serve2(t *testing.T, dir, home string) *browser {
	t.Helper()

	_, err := web.New(t.Context(), web.Config{
		Dirs: []string{dir},
		Now:  time.Now,
		Tell: func(string) {},
		Open: func(ctx context.Context, dir string, f project.Frontend) (*project.Project, error) {
			return project.Open(ctx, dir, true, hostOf(dir, home, f))
		},
	})
	if formats.CodeOf(err) != formats.CodeLocked {
		t.Errorf("a second server of a project gives %v, want LOCKED", err)
	}

	copied := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return serve(t, copied, home)
}
