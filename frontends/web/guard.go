package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// codeLife is how long a code for the sign-in can be used. maxSessions bounds the browsers that are
// signed in, and maxBody the body of a post, in bytes.
const (
	codeLife    = time.Minute
	maxCodes    = 64
	maxSessions = 64
	maxBody     = 256 << 10
	cookieName  = "tercet"
)

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guard decides which requests reach the pages. Its fields are set before the first request.
type guard struct {
	hosts  []string // values of Host that are served; the first one is that of the page
	mounts []string // further ones for mounted handlers, which have a token of their own
	now    func() time.Time

	mu       sync.Mutex
	codes    map[string]time.Time // until when each can be used
	sessions map[string]*session  // by the value of the cookie
	order    []string             // these values, the oldest first
}

// session is a browser that is signed in.
type session struct{ token string }

// code makes a code that signs a browser in, once.
func (g *guard) code() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for code, until := range g.codes {
		if now.After(until) || len(g.codes) >= maxCodes {
			delete(g.codes, code)
		}
	}

	code := rand.Text()
	g.codes[code] = now.Add(codeLife)
	return code
}

// redeem takes a code back, and opens a session for it. It is empty if the code cannot be used.
func (g *guard) redeem(code string) (cookie string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.codes[code]
	delete(g.codes, code)
	if !ok || g.now().After(until) {
		return ""
	}

	cookie = rand.Text() + rand.Text()
	if len(g.order) >= maxSessions {
		delete(g.sessions, g.order[0])
		g.order = g.order[1:]
	}
	g.sessions[cookie] = &session{token: rand.Text()}
	g.order = append(g.order, cookie)
	return cookie
}

// session is that of a request; nil: its browser is not signed in.
func (g *guard) session(r *http.Request) *session {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[c.Value]
}

// foreignReason says why a request may come from another page than this one; empty: it may not.
func (g *guard) foreignReason(r *http.Request, mounted bool) string {
	if !g.servesHost(r.Host, mounted) {
		return "the address is another one than that of this server"
	}
	origin := r.Header.Get("Origin")
	if origin != "" && origin != "http://"+r.Host {
		return "the request comes from another page"
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
	default:
		return "the request comes from another page"
	}
	if r.Method == http.MethodPost && origin == "" && !mounted {
		return "a post has to tell its origin"
	}
	return ""
}

func (g *guard) servesHost(host string, mounted bool) bool {
	names := g.hosts
	if mounted {
		names = slices.Concat(names, g.mounts)
	}
	for _, name := range names {
		if strings.EqualFold(host, name) {
			return true
		}
	}
	return false
}

// hasToken reports whether a post has the token of the session's forms.
func (s *session) hasToken(r *http.Request) bool {
	return constantTimeEqual(r.PostFormValue("token"), s.token)
}

// constantTimeEqual compares texts in constant time.
func constantTimeEqual(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// setHeaders sets the headers of every response.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form tells the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}
