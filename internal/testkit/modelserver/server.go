package modelserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// maxBody bounds a request.
const maxBody = 32 << 20

// Entry is one request.
type Entry struct {
	Scenario, Key string
	Header        http.Header
	Body          json.RawMessage // nil if empty or not JSON
	Turn          *Turn           // nil for requests that need no answer of the model
}

// Server answers like a model. Make one with New.
type Server struct {
	scripts map[string]Script
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	entries []Entry        // guarded by mu
	turns   map[string]int // requests for an answer by scenario and key, guarded by mu
}

// New makes a server. scripts are the caller's scenarios by name; they override built-in ones.
func New(scripts map[string]Script) *Server {
	return &Server{
		scripts: scripts,
		closed:  make(chan struct{}),
		turns:   map[string]int{},
	}
}

// Base is the address for a client: the listener's, with scenario and key.
func Base(listener, scenario, key string) string {
	return strings.TrimSuffix(listener, "/") + "/" + scenario + "/" + key
}

// Close ends every hanging request.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closed) })
}

// Requests lists the requests under a key, in order of arrival; an empty key means all.
func (s *Server) Requests(key string) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.entries), func(e Entry) bool {
		return key != "" && e.Key != key
	})
}

// Turns lists the requests under a key that needed an answer of the model.
func (s *Server) Turns(key string) []Turn {
	var out []Turn
	for _, e := range s.Requests(key) {
		if e.Turn != nil {
			out = append(out, *e.Turn)
		}
	}
	return out
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	scenario, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	key, rest, _ := strings.Cut(rest, "/")
	e := Entry{
		Scenario: scenario,
		Key:      key,
		Header:   r.Header.Clone(),
	}
	path := "/" + rest
	if json.Valid(body) {
		e.Body = body
	}
	at := slices.IndexFunc(endpoints, func(e endpoint) bool {
		return r.Method == e.method && strings.HasSuffix(path, e.suffix)
	})
	if at < 0 || endpoints[at].reply != nil {
		s.addEntry(e)
		if at < 0 {
			sendError(w, Chat, http.StatusNotFound, "no such endpoint")
		} else {
			sendJSON(w, http.StatusOK, endpoints[at].reply)
		}
		return
	}

	api := endpoints[at].api
	turn, err := parseTurn(api, body)
	if err != nil {
		s.addEntry(e)
		sendError(w, api, http.StatusBadRequest, err.Error())
		return
	}
	if api == Gemini {
		_, name, _ := strings.Cut(path, "/models/")
		turn.Model, _, _ = strings.Cut(name, ":")
		turn.Stream = strings.HasSuffix(path, ":streamGenerateContent")
	}
	turn.Scenario = scenario
	turn.Key = key
	s.mu.Lock()
	s.turns[scenario+"/"+key]++
	turn.Count = s.turns[scenario+"/"+key]
	e.Turn = &turn
	s.entries = append(s.entries, e)
	s.mu.Unlock()
	script, ok := s.scripts[scenario]
	if !ok {
		script, ok = builtinScript(scenario)
	}
	if !ok {
		sendError(w, api, http.StatusNotFound, "unknown scenario "+scenario)
		return
	}

	s.sendReply(w, r, turn, script(turn))
}

func (s *Server) addEntry(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
}

// endpoint is one kind of request, by its method and the end of its path.
type endpoint struct {
	method, suffix string
	api            API
	reply          object // to what is not for the model; nil: the model answers
}

var endpoints = []endpoint{
	{http.MethodPost, "/v1/messages", Anthropic, nil},
	{http.MethodPost, "/v1/messages/count_tokens", Anthropic, object{"input_tokens": 100}},
	{http.MethodPost, "/responses", Responses, nil},
	{http.MethodPost, "/chat/completions", Chat, nil},
	{http.MethodPost, ":streamGenerateContent", Gemini, nil},
	{http.MethodPost, ":generateContent", Gemini, nil},
	{http.MethodPost, ":countTokens", Gemini, object{"totalTokens": 100}},
	{http.MethodGet, "/models", Chat, object{
		"object": "list",
		"data":   []any{object{"id": model, "object": "model"}},
		"models": []any{},
	}},
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	ignore(json.NewEncoder(w).Encode(v)) // a client that went away is its own business
}

// sendError sends an error in the words of the wire format.
func sendError(w http.ResponseWriter, api API, status int, message string) {
	words := map[int][2]string{ // of the others, of Gemini
		400: {"invalid_request_error", "INVALID_ARGUMENT"},
		401: {"authentication_error", "UNAUTHENTICATED"},
		429: {"rate_limit_error", "RESOURCE_EXHAUSTED"},
		500: {"api_error", "INTERNAL"},
		529: {"overloaded_error", ""},
	}[status]

	kind := cmp.Or(words[0], "api_error")
	body := object{"error": object{"type": kind, "message": message, "code": nil, "param": nil}}
	switch api {
	case Anthropic:
		body = object{"type": "error", "error": object{"type": kind, "message": message}}
	case Gemini:
		body = object{"error": object{
			"code":    status,
			"message": message,
			"status":  words[1],
		}}
	case Responses, Chat:
	}

	sendJSON(w, status, body)
}

// sendReply sends a reply, with its fault.
func (s *Server) sendReply(w http.ResponseWriter, r *http.Request, t Turn, reply Reply) {
	reply.setDefaults(t)
	switch {
	case reply.Fault == Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return
	case reply.Status >= 400:
		sendError(w, t.API, reply.Status, "the model said no")
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
		if middle := i >= (len(frames)+1)/2 || len(frames) == 1; middle && reply.Fault == Cut {
			ignore(write(w, frame[:len(frame)/2])) // the fault itself ends the answer
			cutConnection(w)
			return
		}
		if err := write(w, frame); err != nil {
			return
		}
	}
}

func write(w http.ResponseWriter, p []byte) error {
	_, err := w.Write(p)
	return errors.Join(err, http.NewResponseController(w).Flush())
}

// cutConnection closes the connection in the middle of an answer.
func cutConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// the answer ends here in any case; over HTTP/2, which is not spoken here, it would look
		// whole
		return
	}
	ignore(conn.Close()) // what is cut off cannot be lost
}

// ignore takes an error that tells nothing new; every call says why.
func ignore(error) {}
