package modelserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tercet/internal/testkit/modelserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// client is what is common to the four wire formats.
type client struct {
	api          modelserver.API
	stream, flat string // paths
	body         func(stream bool, tools []string, results int) any
	order        []string // names of the events of a text, in order
}

type object = map[string]any

func clients() []client {
	return []client{
		{
			modelserver.Anthropic,
			"/v1/messages?beta=true",
			"/v1/messages",
			func(stream bool, tools []string, results int) any {
				messages := []any{object{"role": "user", "content": "do it"}}
				for range results {
					messages = append(messages, object{
						"role": "assistant",
						"content": []any{object{
							"type":  "tool_use",
							"id":    "a",
							"name":  "Write",
							"input": object{},
						}},
					},
						object{
							"role": "user",
							"content": []any{object{
								"type":        "tool_result",
								"tool_use_id": "a",
								"content":     "result",
							}},
						})
				}

				list := []any{}
				for _, name := range tools {
					list = append(list, object{
						"name":         name,
						"input_schema": object{"type": "object"},
					})
				}

				return object{
					"model":    "m-1",
					"stream":   stream,
					"system":   []any{object{"type": "text", "text": "be good"}},
					"messages": messages,
					"tools":    list,
				}
			},
			[]string{
				"message_start", "content_block_start", "content_block_delta", "content_block_stop",
				"message_delta", "message_stop",
			},
		},
		{
			modelserver.Responses,
			"/responses",
			"/responses",
			func(stream bool, tools []string, results int) any {
				input := []any{object{
					"type":    "message",
					"role":    "developer",
					"content": []any{object{"type": "input_text", "text": "be good"}},
				}, object{
					"type":    "message",
					"role":    "user",
					"content": []any{object{"type": "input_text", "text": "do it"}},
				}}
				for range results {
					input = append(input, object{
						"type":    "function_call_output",
						"call_id": "a",
						"output":  "result",
					})
				}
				list := []any{}
				for _, name := range tools {
					list = append(list, object{"type": "function", "name": name})
				}
				return object{"model": "m-1", "stream": stream, "input": input, "tools": list}
			},
			[]string{
				"response.created", "response.output_item.added", "response.output_text.delta",
				"response.output_item.done", "response.completed",
			},
		},
		{
			modelserver.Chat,
			"/v1/chat/completions",
			"/v1/chat/completions",
			func(stream bool, tools []string, results int) any {
				messages := []any{
					object{"role": "system", "content": "be good"},
					object{"role": "user", "content": "do it"},
				}
				for range results {
					messages = append(messages, object{
						"role":         "tool",
						"tool_call_id": "a",
						"content":      "result",
					})
				}
				list := []any{}
				for _, name := range tools {
					list = append(list, object{
						"type":     "function",
						"function": object{"name": name},
					})
				}
				return object{"model": "m-1", "stream": stream, "messages": messages, "tools": list}
			},
			[]string{"data", "data", "[DONE]"},
		},
		{
			modelserver.Gemini,
			"/v1beta/models/m-1:streamGenerateContent?alt=sse",
			"/v1beta/models/m-1:generateContent",
			func(_ bool, tools []string, results int) any {
				contents := []any{object{"role": "user", "parts": []any{object{"text": "do it"}}}}
				for range results {
					contents = append(contents, object{
						"role": "user",
						"parts": []any{object{"functionResponse": object{
							"name":     "x",
							"response": object{"output": "result"},
						}}},
					})
				}
				list := []any{}
				for _, name := range tools {
					list = append(list, object{"name": name})
				}
				return object{
					"contents":          contents,
					"systemInstruction": object{"parts": []any{object{"text": "be good"}}},
					"tools":             []any{object{"functionDeclarations": list}},
				}
			},
			[]string{"data"},
		},
	}
}

func start(t *testing.T, scripts map[string]modelserver.Script) (*modelserver.Server, string) {
	t.Helper()
	s := modelserver.New(scripts)
	l := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		l.CloseClientConnections()
		l.Close()
	})
	return s, l.URL
}

// post asks and reads what comes until it ends or is cut off.
func post(
	ctx context.Context,
	t *testing.T,
	url string,
	body any,
) (status int, got []byte, readErr error) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-test")
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	got, readErr = io.ReadAll(res.Body)
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return res.StatusCode, got, readErr
}

// events gives the names of a stream's events; "data" for those without one.
func events(t *testing.T, stream []byte) []string {
	t.Helper()
	var out []string
	name := "data"
	for lines := bufio.NewScanner(bytes.NewReader(stream)); lines.Scan(); {
		line := lines.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
			continue
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		switch {
		case data == "[DONE]":
			name = data
		case !json.Valid([]byte(data)):
			t.Errorf("data of %s = %q, want JSON", name, data)
		}
		out = append(out, name)
		name = "data"
	}
	return out
}

// each runs a test for every wire format, streamed and plain.
func each(
	t *testing.T,
	scenario string,
	tools []string,
	check func(t *testing.T, c client, stream bool, url string, body any),
) {
	t.Helper()
	for _, c := range clients() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", c.api, stream), func(t *testing.T) {
				t.Parallel()
				_, url := start(t, map[string]modelserver.Script{
					"tool": func(turn modelserver.Turn) modelserver.Reply {
						return turn.Write("f.txt", "text\n")
					},
					"shell": func(turn modelserver.Turn) modelserver.Reply {
						return turn.Shell("true")
					},
					"called": func(modelserver.Turn) modelserver.Reply {
						return modelserver.Reply{Calls: []modelserver.Call{{
							Tool:   "mcp__srv__greet",
							Args:   object{},
							Forced: true,
						}}}
					},
				})
				path := c.flat
				if stream {
					path = c.stream
				}
				check(
					t, c, stream,
					modelserver.Base(url, scenario, "k")+path,
					c.body(stream, tools, 0),
				)
			})
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	each(t, "text", nil, func(t *testing.T, c client, stream bool, url string, body any) {
		t.Helper()
		status, got, err := post(t.Context(), t, url, body)
		if status != http.StatusOK || err != nil || !bytes.Contains(got, []byte("pong")) {
			t.Fatalf("text = %d, %q, %v, want pong", status, got, err)
		}
		if stream {
			if d := cmp.Diff(c.order, events(t, got)); d != "" {
				t.Errorf("events (-want +got)\n%s", d)
			}
		} else if !json.Valid(got) {
			t.Errorf("answer = %q, want JSON", got)
		}
	})
}

func TestToolIsOneThatIsOffered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ scenario, tools, want string }{
		{"tool", "Read,Write", `Write`},
		{"tool", "read,write", `filePath`},
		{"tool", "read_file,write_file", `write_file`},
		{"tool", "exec_command,write_stdin", "END_OF_FILE"},
		{"tool", "nothing", "no tool that can do this"},
		{"shell", "Other,Bash", `"Bash"`},
		{"shell", "bash", `"bash"`},
		{"shell", "run_shell_command", `"run_shell_command"`},
		{"shell", "Other", "no tool that can do this"},
		{"called", "Other", `"mcp__srv__greet"`},
	} {
		t.Run(tt.scenario+" "+tt.tools, func(t *testing.T) {
			t.Parallel()
			each(
				t,
				tt.scenario,
				strings.Split(tt.tools, ","),
				func(t *testing.T, _ client, _ bool, url string, body any) {
					t.Helper()
					_, got, err := post(t.Context(), t, url, body)
					if err != nil || !strings.Contains(string(got), tt.want) {
						t.Errorf("%s of %s = %q, %v, want %q in it",
							tt.scenario, tt.tools, got, err, tt.want)
					}
				},
			)
		})
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 429, 500, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			each(
				t,
				fmt.Sprint(status),
				nil,
				func(t *testing.T, _ client, _ bool, url string, body any) {
					t.Helper()
					got, text, err := post(t.Context(), t, url, body)
					var v struct {
						Error struct {
							Message string `json:"message"`
						} `json:"error"`
					}
					if got != status || err != nil || json.Unmarshal(text, &v) != nil ||
						v.Error.Message == "" {
						t.Errorf("status = %d, %q, %v, want %d with an error object",
							got, text, err, status)
					}
				},
			)
		})
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	each(t, "garbage", nil, func(t *testing.T, _ client, stream bool, url string, body any) {
		t.Helper()
		status, got, err := post(t.Context(), t, url, body)
		data := got
		if stream {
			_, data, _ = bytes.Cut(got, []byte("data: "))
		}
		if status != http.StatusOK || err != nil || len(data) == 0 ||
			json.Valid(bytes.TrimSpace(data)) {
			t.Errorf("garbage = %d, %q, %v, want status 200 with what is no JSON", status, got, err)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	each(t, "cut", nil, func(t *testing.T, _ client, stream bool, url string, body any) {
		t.Helper()
		status, got, err := post(t.Context(), t, url, body)
		if status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || len(got) == 0 {
			t.Errorf(
				"cut (streamed %v) = %d, %d bytes, %v, want a beginning and the connection lost",
				stream, status, len(got), err,
			)
		}
	})
}

func TestHang(t *testing.T) {
	t.Parallel()
	each(t, "hang", nil, func(t *testing.T, _ client, _ bool, url string, body any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, got, err := post(ctx, t, url, body)
		if !errors.Is(err, context.DeadlineExceeded) || len(got) > 0 {
			t.Errorf("hang = %d bytes, %v, want no end", len(got), err)
		}
	})
}

func TestCloseEndsWhatHangs(t *testing.T) {
	t.Parallel()
	s, url := start(t, nil)
	done := make(chan error, 1)
	c := clients()[0]
	go func() {
		_, _, err := post(
			t.Context(), t,
			modelserver.Base(url, "hang", "k")+c.flat,
			c.body(false, nil, 0),
		)
		done <- err
	}()
	for len(s.Turns("k")) == 0 {
		<-time.After(time.Millisecond)
	}
	s.Close()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Error("the request still hangs two minutes after Close")
	}
}

func TestScenariosAreKnown(t *testing.T) {
	t.Parallel()
	_, url := start(t, nil)
	c := clients()[0]
	for _, name := range []string{
		"text", "schema-ignored", "400", "529", "garbage", "hang", "cut",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if strings.HasPrefix(name, "hang") {
			ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		}
		status, got, _ := post(
			ctx, t,
			modelserver.Base(url, name, "k")+c.flat,
			c.body(false, nil, 0),
		)
		if status == http.StatusNotFound {
			t.Errorf("scenario %s = %d, %s, want it known", name, status, got)
		}
		cancel()
	}

	status, _, _ := post(
		t.Context(), t,
		modelserver.Base(url, "nonesuch", "k")+c.flat,
		c.body(false, nil, 0),
	)
	if status != http.StatusNotFound {
		t.Errorf("unknown scenario = %d, want 404", status)
	}
}

func TestOtherEndpoints(t *testing.T) {
	t.Parallel()
	_, url := start(t, nil)
	base := modelserver.Base(url, "text", "k")
	for path, want := range map[string]int{
		"/v1/messages/count_tokens":    200,
		"/v1beta/models/m:countTokens": 200,
		"/v1/unknown":                  404,
		"/":                            404,
	} {
		status, _, err := post(t.Context(), t, base+path, object{})
		if status != want || err != nil {
			t.Errorf("POST %s = %d, %v, want %d", path, status, err, want)
		}
	}
	for _, broken := range []string{"/v1/messages", "/responses"} {
		status, _, err := post(t.Context(), t, base+broken, "no object")
		if status != http.StatusBadRequest || err != nil {
			t.Errorf("POST %s with a text = %d, %v, want 400", broken, status, err)
		}
	}
}

func TestEveryRequestIsKept(t *testing.T) {
	t.Parallel()
	s, url := start(t, nil)
	for _, c := range clients() {
		_, _, err := post(
			t.Context(), t,
			modelserver.Base(url, "text", string(c.api))+c.stream,
			c.body(true, []string{"Write", "Bash"}, 1),
		)
		if err != nil {
			t.Fatal(err)
		}
		all := s.Requests(string(c.api))
		if len(all) != 1 || all[0].Header.Get("Authorization") != "Bearer sk-test" ||
			!json.Valid(all[0].Body) || all[0].Scenario != "text" {
			t.Fatalf("Requests(%s) = %+v, want the one request with headers and body", c.api, all)
		}
		got := s.Turns(string(c.api))[0]
		if got.Prompt != "do it" || got.System != "be good" || got.Model != "m-1" ||
			got.Results != 1 || !got.Stream || got.Count != 1 ||
			!slices.Equal(got.Tools, []string{"Write", "Bash"}) ||
			!strings.Contains(got.Outputs[0], "result") {
			t.Errorf("turn of %s = %+v, want what was asked", c.api, got)
		}
	}

	if n := len(s.Requests("")); n != len(clients()) {
		t.Errorf("Requests() = %d, want %d", n, len(clients()))
	}
}

func TestScriptOfTheCaller(t *testing.T) {
	t.Parallel()
	scripts := map[string]modelserver.Script{
		"text": func(turn modelserver.Turn) modelserver.Reply {
			return modelserver.Reply{
				Text:  "own " + turn.Prompt,
				Calls: []modelserver.Call{{Tool: "absent"}},
			}
		},
	}
	_, url := start(t, scripts)
	c := clients()[0]
	_, got, err := post(
		t.Context(), t,
		modelserver.Base(url, "text", "k")+c.flat,
		c.body(false, nil, 0),
	)
	if err != nil || !strings.Contains(string(got), "the tool absent is not offered") {
		t.Errorf(
			"answer = %q, %v, want the script of the caller, and no call of a tool that is not "+
				"offered",
			got, err,
		)
	}
}

func FuzzRequest(f *testing.F) {
	for _, c := range clients() {
		data, err := json.Marshal(c.body(true, []string{"Write"}, 1))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.stream, data)
	}

	s := modelserver.New(nil)
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \x00\r\n") {
			return
		}
		req, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodPost,
			"http://x/tool/fuzz"+path,
			bytes.NewReader(body),
		)
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest &&
			w.Code != http.StatusNotFound {
			t.Errorf("POST %q %q = %d, want 200, 400 or 404", path, body, w.Code)
		}
	})
}
