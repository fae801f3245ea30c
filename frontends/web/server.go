package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/project"
)

//go:embed static
var static embed.FS

// Config is what a Server is made of.
type Config struct {
	Dirs []string // the projects
	// Open opens a project whose frontend is the page.
	Open func(ctx context.Context, dir string, f project.Frontend) (*project.Project, error)
	Now  func() time.Time
	Tell func(line string) // takes notes for the terminal of the server
	Team project.Team      // of the user; nil: none
}

// Server serves the pages of some projects.
type Server struct {
	config Config
	guard  guard
	hub    *hub
	team   *teamWatcher
	sites  []*site
	mux    *http.ServeMux
	mounts []mount
	times  times
	runs   context.Context //nolint:containedctx // runs outlive the requests that begin them
}

// mount is a handler of another protocol.
type mount struct {
	path  string
	token string
	serve http.Handler
}

// New opens the projects. Close releases them. Runs that begin on the page are interrupted when the
// context ends: close the server before.
func New(ctx context.Context, c Config) (*Server, error) {
	s := &Server{config: c, hub: newHub(), times: usualTimes, runs: ctx}
	s.team = &teamWatcher{team: c.Team, now: c.Now, onChange: s.hub.poke}
	s.guard = guard{
		now:      c.Now,
		codes:    map[string]time.Time{},
		sessions: map[string]*session{},
	}
	for _, dir := range c.Dirs {
		one, err := s.open(ctx, dir)
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
		s.sites = append(s.sites, one)
	}
	s.mux = s.routes()
	return s, nil
}

// Close suspends the runs of the server and releases the projects. When the context ends, what is
// not done is interrupted.
func (s *Server) Close(ctx context.Context) error {
	results := make(chan error, len(s.sites))
	for _, one := range s.sites {
		go func() { results <- one.close(ctx) }()
	}
	var errs []error
	for range s.sites {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// Mount serves another protocol at a path of the server, such as /mcp. Its clients are programs:
// they have no cookie, give the token as 'Authorization: Bearer TOKEN', and may use the server's
// address as a number. Call it before Serve.
func (s *Server) Mount(at, token string, h http.Handler) {
	s.mounts = append(s.mounts, mount{path: at, token: token, serve: h})
}

// Name makes the name of a server: new at each start, so that no page of another server gets its
// cookie, which browsers send to every port of a name.
func Name() string {
	return "t-" + strings.ToLower(rand.Text()) + ".localhost"
}

// Project gives the project in a folder, for what else is served beside the pages.
func (s *Server) Project(dir string) *project.Project {
	for _, one := range s.sites {
		if one.dir == dir {
			return one.current()
		}
	}
	return nil
}

// Listening tells the server its name and the address at which it listens. Another address than
// loopback is served by its number, because the name leads to loopback.
func (s *Server) Listening(name string, at net.Addr) error {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return err
	}
	ip := net.ParseIP(host)
	if ip.IsLoopback() {
		s.guard.hosts = []string{net.JoinHostPort(name, port)}
		s.guard.mounts = []string{at.String(), net.JoinHostPort("localhost", port)}
	} else {
		s.guard.hosts = []string{at.String()}
	}
	return nil
}

// Link is an address that signs a browser in, once, within a minute.
func (s *Server) Link() string {
	return "http://" + s.guard.hosts[0] + "/?code=" + url.QueryEscape(s.guard.code())
}

// times are the timeouts of a connection.
type times struct {
	head, request, idle time.Duration // for the head of a request, all of it, and until the next
}

var usualTimes = times{head: 5 * time.Second, request: 20 * time.Second, idle: 2 * time.Minute}

const (
	writeTime  = 60 * time.Second // for an answer
	maxHead    = 32 << 10
	closeGrace = 2 * time.Second
)

// Serve answers requests until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.times.head,
		ReadTimeout:       s.times.request,
		IdleTimeout:       s.times.idle,
		MaxHeaderBytes:    maxHead,
	}
	for _, one := range s.sites {
		one.resumeClosed(s.runs)
		// it expects what is due, and the first page tells what is wrong
		go one.list() //nolint:errcheck // see above
	}

	watching, stop := context.WithCancel(ctx)
	defer stop()
	go s.hub.run(watching, s.sites, s.team)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()

	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.hub.close()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer done()
	if srv.Shutdown(grace) != nil {
		return srv.Close()
	}
	return nil
}

// ServeHTTP implements http.Handler: the guard, then the pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	for _, m := range s.mounts {
		if r.URL.Path == m.path || strings.HasPrefix(r.URL.Path, m.path+"/") {
			s.serveMount(w, r, m)
			return
		}
	}

	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.refuse(w, http.StatusMethodNotAllowed, "this page takes no such request")
		return
	}

	if why := s.guard.foreignReason(r, false); why != "" {
		s.refuse(w, http.StatusForbidden, why)
		return
	}

	if code := r.URL.Query().Get("code"); code != "" && r.URL.Path == "/" {
		s.signIn(w, r, code)
		return
	}

	if r.URL.Path != path.Clean(r.URL.Path) {
		s.refuse(w, http.StatusNotFound, "there is no such page")
		return
	}

	own := s.guard.session(r)
	if own == nil {
		s.refuse(w, http.StatusUnauthorized, "this browser is not signed in")
		return
	}

	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			s.refuse(w, http.StatusRequestEntityTooLarge, "the form cannot be read, or is too long")
			return
		}
		if !own.hasToken(r) {
			s.refuse(w, http.StatusForbidden, "the form is not one of this page; open it again")
			return
		}
	}

	if r.URL.Path != livePath {
		deadline := http.NewResponseController(w)
		//nolint:errcheck // a connection without deadlines is a test's
		_ = deadline.SetWriteDeadline(s.config.Now().Add(writeTime)) // see above
	}
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, own)))
}

// sessionKey is the key of the session in the context of a request.
type sessionKey struct{}

func sessionOf(r *http.Request) *session {
	own, _ := r.Context().Value(sessionKey{}).(*session) //nolint:errcheck // the guard has set it
	return own
}

// serveMount asks for the token, and hands over.
func (s *Server) serveMount(w http.ResponseWriter, r *http.Request, m mount) {
	if why := s.guard.foreignReason(r, true); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || m.token == "" || !constantTimeEqual(token, m.token) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "expected the bearer token of this server", http.StatusUnauthorized)
		return
	}
	m.serve.ServeHTTP(w, r)
}

// signIn opens a session for a code.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, code string) {
	cookie := s.guard.redeem(code)
	if cookie == "" {
		s.refuse(w, http.StatusForbidden, "this link was used already, or is older than a minute")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name:     cookieName,
		Value:    cookie,
		Path:     "/",
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// hintStyle is the style of the hint. It stands in the page, because nothing else is served without
// a session; the policy of the hint names it by its hash.
const hintStyle = `:root{color-scheme:light dark;--paper:#fbfaf8;--sheet:#fff;--ink:#1d1f21;` +
	`--soft:#5a5f63;--line:#e2dfd9;--accent:#0d6b63}
@media(prefers-color-scheme:dark){:root{--paper:#16181a;--sheet:#1d2022;--ink:#e7e5e1;` +
	`--soft:#a3a8ab;--line:#2f3336;--accent:#5ec8bb}}
body{margin:0;padding:clamp(1rem,8vh,5rem) 1rem;background:var(--paper);color:var(--ink);` +
	`font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
main{max-width:34rem;margin:auto;padding:1.6rem 2rem 2rem;background:var(--sheet);` +
	`border:1px solid var(--line);border-radius:.9rem}
.mark{font-weight:700;margin:0 0 1.4rem}
.mark::before{content:"";display:inline-block;width:.62em;height:.62em;margin-right:.42em;` +
	`border-radius:.16em;background:var(--accent)}
h1{font-size:1.3rem;line-height:1.3;margin:0 0 .8rem;text-wrap:balance}
p{margin:.5rem 0 0;color:var(--soft)}
code{font:.92em ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;color:var(--ink)}`

// hintPage is all that a browser without a session gets.
const hintPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>tercet</title>
<style>` + hintStyle + `</style>
<main>
<p class="mark">tercet</p>
<h1>%s.</h1>
<p>Run <code>tercet serve</code> in a terminal, and open the link that it prints. Each link works
once. While a server runs, the same command prints a new link to it.</p>
</main>
`

// hintPolicy allows the style of the hint, and nothing else.
var hintPolicy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(hintStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
})

// refuse refuses a request. The reason is a text of this package.
func (s *Server) refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", hintPolicy())
	w.WriteHeader(code)
	page := strings.Replace(hintPage, "%s", strings.ToUpper(why[:1])+why[1:], 1)
	io.WriteString(w, page) //nolint:errcheck // whoever asked may be gone
}

// assetVersion is the query of the addresses of assets: a browser may keep what it names.
var assetVersion = sync.OnceValue(func() string {
	sum := sha256.New()
	for _, name := range []string{"page.css", "page.js", "icon.svg"} {
		data, err := static.ReadFile("static/" + name)
		if err != nil { // the folder is part of the program
			return ""
		}
		sum.Write(data)
	}
	const enough = 8
	return "?" + hex.EncodeToString(sum.Sum(nil)[:enough])
})

// routes are the pages.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	page := func(pattern string, f func(*view) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.handle(w, r, f)
		})
	}

	assets, err := fs.Sub(static, "static")
	if err == nil { // the folder is part of the program
		files := http.StripPrefix("/static/", http.FileServerFS(assets))
		mux.HandleFunc("GET /static/", func(w http.ResponseWriter, r *http.Request) {
			if "?"+r.URL.RawQuery == assetVersion() { // these bytes never change
				w.Header().Set("Cache-Control", "private, max-age=86400, immutable")
			}
			files.ServeHTTP(w, r)
		})
	}

	mux.HandleFunc("GET "+livePath, s.live)
	page("GET /{$}", s.home)
	page("GET /team", s.teamPage)
	page("GET /team/{run}", s.teamRun)
	page("POST /team/{run}/answer", s.teamAnswer)
	page("POST /team/{run}/order", s.teamOrder)
	const run = "/p/{project}/runs/{run}"
	page("GET "+run, s.run)
	page("GET "+run+"/question", s.question)
	page("POST "+run+"/answer", s.answer)
	page("POST "+run+"/tell", s.tell)
	page("POST "+run+"/pause", s.pause)
	page("POST "+run+"/resume", s.resume)
	page("POST "+run+"/cancel", s.cancel)
	page("GET /p/{project}/start", s.commands)
	page("GET /p/{project}/start/{command...}", s.form)
	page("POST /p/{project}/start/{command...}", s.start)
	page("GET /p/{project}/trust", s.trust)
	page("POST /p/{project}/trust", s.agree)
	page("GET /p/{project}/tasks", s.tasks)
	page("GET /p/{project}/tasks/{task}", s.task)
	page("GET /p/{project}/files", s.files)
	page("GET /p/{project}/document", s.document)
	page("/", func(*view) error {
		return formats.Fail(formats.CodeNotFound, "go back to Home", "there is no such page")
	})
	return mux
}
