package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler serves the project over HTTP to clients that have the token. No session outlives its
// request, so a server may be restarted between two of them. Clients with a handshake cannot be
// asked anything there, so their questions stay open.
//
// May says whether a caller with the token may come in; nil: each may.
func (s *Server) Handler(token string, may func(*http.Request) error) http.Handler {
	serve := sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return s.session() },
		&sdk.StreamableHTTPOptions{
			Stateless:                    true,
			MaxRequestBodyBytes:          maxMessage,
			PropagateRequestCancellation: true,
		},
	)

	want := sha256.Sum256([]byte(token))
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(bearer(r)))
		if token == "" || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="tercet"`)
			http.Error(w, "expected the token of this server", http.StatusUnauthorized)
			return
		}
		if may != nil {
			if err := may(r); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
		}
		// a call may wait longer than a server gives for a request
		//nolint:errcheck // a connection without deadlines needs none
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // see above
		serve.ServeHTTP(w, r)
	})

	// a page that the user has open cannot make the browser call
	return http.NewCrossOriginProtection().Handler(guarded)
}

// bearer is the token of a request, empty without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
