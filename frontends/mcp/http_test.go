package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const token = "the-token-of-this-server"

// withToken adds a token to each request.
type withToken string

// RoundTrip implements http.RoundTripper.
func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// listen serves the project over HTTP.
func (h *home) listen(t *testing.T, may func(*http.Request) error) string {
	t.Helper()
	server := httptest.NewServer(h.server().Handler(token, may))
	t.Cleanup(server.Close)
	return server.URL
}

// connectHTTP connects a client of one era over HTTP.
func connectHTTP(t *testing.T, url, era string, o *sdk.ClientOptions) *client {
	t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(
		t.Context(),
		&sdk.StreamableClientTransport{
			Endpoint:             url,
			HTTPClient:           &http.Client{Transport: withToken(token)},
			DisableStandaloneSSE: true,
		},
		&sdk.ClientSessionOptions{ProtocolVersion: era},
	)
	if err != nil {
		t.Fatal(err)
	}

	if got := cs.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("the session speaks %s, want %s", got, era)
	}

	t.Cleanup(func() { _ = cs.Close() })
	return &client{cs, t}
}

// TestOverHTTP: a client of either era starts a run, follows it, and answers only in the era in
// which a server can ask there.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()

			h := asks(t, true)
			seen := make(chan string, 9)
			o := accepting(seen)

			url := h.listen(t, nil)
			c := connectHTTP(t, url, era, o)
			run := c.begin()

			// a second client knows the run: nothing is kept between two requests
			c = connectHTTP(t, url, era, o)

			a := c.call("answer", map[string]any{"run": run})

			if era < "2026-07-28" {
				if a.of("answered") != false || len(seen) > 0 {
					t.Errorf("answer = %v, want it open: no request can go to the client", a.fields)
				}
				c.end(run)
				return
			}

			if a.of("answered") != true || len(seen) != 1 {
				t.Errorf("answer = %v, %d forms, want it answered", a.fields, len(seen))
			}

			if over := c.follow(run, "finished"); over.of("status") != "completed" {
				t.Errorf("the run came to %v", over.fields)
			}
		})
	}
}

// slowly works until there is a file go.
const slowly = `---
command: slowly
description: Work until told
---

## Workflow Execution

### Step 1: Work

` + "```yaml step\nid: work\ndelegate: worker\n```" + `

### Step 2: Say so

` + "```yaml step\nreturn: worked\n```\n"

// TestProgress: who waits for a run and asked for it is told which step it is at, over both
// transports and in both eras.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(era+" "+transport, func(t *testing.T) {
				t.Parallel()

				h := newHome(t, map[string]string{
					".tercet/commands/slowly.md": slowly,
					".tercet/subagents/worker.md": "---\nname: worker\ndescription: Works\n" +
						"runner: exec\nargv: [sh, work.sh]\n" +
						"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nWork.\n",
					"work.sh": "cat > /dev/null\nuntil [ -e go ]; do sleep 0.05; done\n" +
						`echo '{"status":"completed","summary":"done","artifacts":[],` +
						`"errors":[]}'` +
						"\n",
				})

				h.write(t, filepath.Join(h.user, ".config/tercet/config.yaml"),
					"sandbox: [advisory_only]\n")

				told := make(chan string, 9)
				o := &sdk.ClientOptions{ProgressNotificationHandler: func(
					_ context.Context, r *sdk.ProgressNotificationClientRequest,
				) {
					told <- r.Params.Message
				}}

				var c *client
				if transport == "http" {
					c = connectHTTP(t, h.listen(t, nil), era, o)
				} else {
					c = h.connect(t, era, o)
				}

				run, _ := c.call("run", map[string]any{"line": "/slowly"}).of("run").(string)
				params := &sdk.CallToolParams{
					Name:      "show",
					Arguments: map[string]any{"run": run, "wait": 50},
				}

				params.SetProgressToken("follow")

				shown := make(chan error, 1)
				go func() {
					_, err := c.CallTool(t.Context(), params)
					shown <- err
				}()

				select {
				case text := <-told:
					if !strings.Contains(text, "work") {
						t.Errorf("the notice is %q, want the step", text)
					}
				case err := <-shown:
					t.Errorf("show came back without a notice: %v", err)
				}

				h.write(t, filepath.Join(h.dir, "go"), "")
				if over := c.follow(run, "finished"); over.of("return", "status") != "completed" {
					t.Errorf("the run came to %v", over.fields)
				}
			})
		}
	}
}

// TestHTTPGuard: without the token, from another site and in another form nothing is served.
func TestHTTPGuard(t *testing.T) {
	t.Parallel()

	h := newHome(t, nil)
	url := h.listen(t, nil)
	refusing := h.listen(t, func(*http.Request) error { return errors.New("a run is above") })

	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run",` +
		`"arguments":{"line":"/task x"}}}`
	right := map[string]string{
		"Authorization": "Bearer " + token,
		"Content-Type":  "application/json",
		"Accept":        "application/json, text/event-stream",
	}

	for name, tt := range map[string]struct {
		url, method, body string
		change            map[string]string
		host              string
		want              int
	}{
		"no token":       {change: map[string]string{"Authorization": ""}, want: 401},
		"another token":  {change: map[string]string{"Authorization": "Bearer x"}, want: 401},
		"an empty token": {change: map[string]string{"Authorization": "Bearer "}, want: 401},
		"a longer token": {
			change: map[string]string{"Authorization": "Bearer " + token + "x"},
			want:   401,
		},
		"another scheme": {
			change: map[string]string{"Authorization": "Basic " + token},
			want:   401,
		},
		"a cookie": {
			change: map[string]string{"Authorization": "", "Cookie": "token=" + token},
			want:   401,
		},
		"another site": {change: map[string]string{
			"Origin":         "https://example.org",
			"Sec-Fetch-Site": "cross-site",
		}, want: 403},
		"another origin": {change: map[string]string{"Origin": "https://example.org"}, want: 403},
		"another host":   {host: "example.org", want: 403},
		"a form": {
			change: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			want:   415,
		},
		"GET":              {method: http.MethodGet, want: 405},
		"DELETE":           {method: http.MethodDelete, want: 405},
		"no JSON":          {body: "{", want: 400},
		"too large":        {body: strings.Repeat(" ", 5<<20), want: 413},
		"a caller in runs": {url: refusing, want: 403},
	} {
		body := tt.body
		if body == "" {
			body = call
		}

		method := tt.method
		if method == "" {
			method = http.MethodPost
		}

		to := tt.url
		if to == "" {
			to = url
		}

		r, err := http.NewRequestWithContext(t.Context(), method, to, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}

		for key, value := range right {
			r.Header.Set(key, value)
		}
		for key, value := range tt.change {
			r.Header.Del(key)
			if value != "" {
				r.Header.Set(key, value)
			}
		}

		r.Host = tt.host

		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		said, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != tt.want {
			t.Errorf("%s: %d %.200s, %v, want %d", name, res.StatusCode, said, err, tt.want)
		}

		if strings.Contains(string(said), token) {
			t.Errorf("%s: the answer has the token: %s", name, said)
		}
	}

	c := connectHTTP(t, url, eras[0], nil)
	if list, _ := c.call("runs", nil).of("runs").([]any); len(list) > 0 {
		t.Errorf("runs = %v, want none begun", list)
	}
}
