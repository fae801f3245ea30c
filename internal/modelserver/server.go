package modelserver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request.
const maxBody = 32 << 20

// Config is what a Server is made from.
type Config struct {
	// Scripts are scenarios of the caller's, by name; they come before the built-in ones.
	Scripts map[string]Script
	// Now stamps the requests.
	Now func() time.Time
	// Pause lies between the parts of a slow answer; 0 means half a second.
	Pause time.Duration
}

// Entry is one request that was made.
type Entry struct {
	Time          time.Time
	Scenario, Key string
	Method, Path  string // Path is that behind scenario and key
	Query         string
	Header        http.Header
	Body          json.RawMessage // nil if it was empty or no JSON
	Turn          *Turn           // nil for requests that ask for no answer of the model
}

// Server answers as a model. Make one with New.
type Server struct {
	cfg    Config
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	entries []Entry        // guarded by mu
	turns   map[string]int // requests for an answer by scenario and key, guarded by mu
}

// New makes a server. Now must be set.
func New(c Config) (*Server, error) {
	if c.Now == nil {
		return nil, ErrNoNow
	}
	if c.Pause <= 0 {
		c.Pause = 500 * time.Millisecond
	}
	return &Server{cfg: c, closed: make(chan struct{}), turns: map[string]int{}}, nil
}

// Base is the address that a client is given: scenario and key below the address of the listener.
func Base(listener, scenario, key string) string {
	return strings.TrimSuffix(listener, "/") + "/" + scenario + "/" + key
}

// Close lets every request end that hangs.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// Requests lists what was asked under a key, in order of arrival; an empty key means all.
func (s *Server) Requests(key string) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.entries), func(e Entry) bool { return key != "" && e.Key != key })
}

// Turns lists the requests under a key that asked for an answer of the model.
func (s *Server) Turns(key string) []Turn {
	var out []Turn
	for _, e := range s.Requests(key) {
		if e.Turn != nil {
			out = append(out, *e.Turn)
		}
	}
	return out
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	scenario, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	key, rest, _ := strings.Cut(rest, "/")
	e := Entry{
		Time: s.cfg.Now(), Scenario: scenario, Key: key, Method: r.Method, Path: "/" + rest, Query: r.URL.RawQuery, Header: r.Header.Clone(),
	}
	if json.Valid(body) {
		e.Body = body
	}
	api, kind := endpoint(r.Method, e.Path)
	if kind != asksAnswer {
		s.keep(e)
		s.other(w, api, kind)
		return
	}
	turn, err := parseTurn(api, body)
	if err != nil {
		s.keep(e)
		fail(w, api, http.StatusBadRequest, err.Error())
		return
	}
	if api == Gemini {
		_, name, _ := strings.Cut(e.Path, "/models/")
		turn.Model, _, _ = strings.Cut(name, ":")
		turn.Stream = strings.HasSuffix(e.Path, ":streamGenerateContent")
	}
	turn.Scenario, turn.Key = scenario, key
	s.mu.Lock()
	s.turns[scenario+"/"+key]++
	turn.Count = s.turns[scenario+"/"+key]
	e.Turn = &turn
	s.entries = append(s.entries, e)
	s.mu.Unlock()
	script, ok := s.cfg.Scripts[scenario]
	if !ok {
		script, ok = builtin(scenario)
	}
	if !ok {
		fail(w, api, http.StatusNotFound, "unknown scenario "+scenario)
		return
	}
	s.answer(w, r, turn, script(turn))
}

func (s *Server) keep(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
}

type kind string

const (
	asksAnswer kind = "answer"
	asksTokens kind = "tokens"
	asksModels kind = "models"
	asksOther  kind = "other"
)

// endpoint tells the wire format by the end of the path.
func endpoint(method, path string) (API, kind) {
	post := method == http.MethodPost
	ends := []struct {
		suffix string
		api    API
		kind   kind
	}{
		{"/v1/messages", Anthropic, asksAnswer},
		{"/v1/messages/count_tokens", Anthropic, asksTokens},
		{"/responses", Responses, asksAnswer},
		{"/chat/completions", Chat, asksAnswer},
		{":streamGenerateContent", Gemini, asksAnswer},
		{":generateContent", Gemini, asksAnswer},
		{":countTokens", Gemini, asksTokens},
	}
	for _, e := range ends {
		if post && strings.HasSuffix(path, e.suffix) {
			return e.api, e.kind
		}
	}
	if method == http.MethodGet && strings.HasSuffix(path, "/models") {
		return Chat, asksModels
	}
	return Chat, asksOther
}

// other answers requests that are not for the model.
func (s *Server) other(w http.ResponseWriter, api API, k kind) {
	switch k {
	case asksTokens:
		if api == Gemini {
			send(w, http.StatusOK, map[string]any{"totalTokens": 100})
			return
		}
		send(w, http.StatusOK, map[string]any{"input_tokens": 100})
	case asksModels:
		send(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "fake-model", "object": "model"}}, "models": []any{}})
	case asksAnswer, asksOther:
		fail(w, api, http.StatusNotFound, "no such endpoint")
	}
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	ignore(json.NewEncoder(w).Encode(v)) // a client that went away is its own business
}

// fail sends an error in the words of the wire format.
func fail(w http.ResponseWriter, api API, status int, message string) {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	switch api {
	case Anthropic:
		send(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
	case Gemini:
		word := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}[status]
		send(w, status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": word}})
	case Responses, Chat:
		send(w, status, map[string]any{"error": map[string]any{"type": kind, "message": message, "code": nil, "param": nil}})
	}
}

// answer sends a reply, with its fault.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, t Turn, reply Reply) {
	reply.fill(t)
	switch {
	case reply.Fault == Hang:
		s.wait(r, 0)
		return
	case reply.Status >= 400:
		fail(w, t.API, reply.Status, "the model said no")
		return
	}
	frames, sse := encode(t, reply)
	if reply.Fault == Garbage {
		frames = [][]byte{[]byte(`{"broken": `)}
		if sse {
			frames = [][]byte{[]byte("event: message_start\ndata: {\"broken\": \n\n")}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if sse {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(http.StatusOK)
	for i, frame := range frames {
		if middle := i >= (len(frames)+1)/2 || len(frames) == 1; middle && (reply.Fault == Cut || reply.Fault == HangMid) {
			part := frame[:len(frame)/2]
			ignore(write(w, part)) // the fault itself ends the answer
			if reply.Fault == HangMid {
				s.wait(r, 0)
			}
			cut(w)
			return
		}
		if err := write(w, frame); err != nil {
			return
		}
		if reply.Fault == Slow && !s.wait(r, s.cfg.Pause) {
			return
		}
	}
}

// wait returns after d, or never by itself if d is 0; false if the client or the server ended it.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-after:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

func write(w http.ResponseWriter, p []byte) error {
	_, err := w.Write(p)
	return errors.Join(err, http.NewResponseController(w).Flush())
}

// cut closes the connection in the middle of an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the answer ends here in any case; over HTTP/2, which is not spoken here, it would look whole
	}
	ignore(conn.Close()) // what is cut off cannot be lost
}

// ignore takes an error that has no news for anybody; every call says why.
func ignore(error) {}
