package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestTellOnThePage: a message that is left on the page of a run waits for the next worker, as
// text. What is no message is refused and not lost, and a run that ended takes none.
func TestTellOnThePage(t *testing.T) {
	t.Parallel()
	dir, home := files(t, nil)
	b := serve(t, dir, home)
	run := b.begin(url.Values{"what": {"1"}})
	b.until(run, "waits for an answer")
	page := b.get(run)
	if !strings.Contains(page, "Tell the run&#39;s agents") {
		t.Fatalf("the run has no form: %s", page)
	}
	tell := func(message string) (code int, body string) {
		t.Helper()
		w := b.post(page, run+"/tell", url.Values{"message": {message}})
		return w.Code, w.Body.String()
	}

	for message, want := range map[string]string{
		" \r\n":                      "expected a message, got an empty one",
		"ring \a":                    "without control characters",
		strings.Repeat("ü", 8<<10+1): "at most 16384 bytes, got 16386",
	} {
		code, body := tell(message)
		if code != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%.10q gives %d without %q: %.300s", message, code, want, body)
		}
	}
	code, body := tell("keep </textarea><script>alert(1)</script>\x1b[2J")
	if code != http.StatusUnprocessableEntity || strings.Contains(body, "<script>alert") ||
		!strings.Contains(body, "keep &lt;/textarea&gt;&lt;script&gt;alert(1)") {
		t.Errorf("a refused message gives %d: %s", code, body)
	}
	if page := b.get(run); strings.Contains(page, "waits for the next worker") {
		t.Errorf("a refused message was left: %s", page)
	}

	code, _ = tell("use the <b>old</b> API\r\nplease")
	if code != http.StatusSeeOther {
		t.Fatalf("a message gives %d", code)
	}
	page = b.get(run)
	for _, want := range []string{
		"waits for the next worker", "by ann, ", "use the &lt;b&gt;old&lt;/b&gt; API\nplease",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the run lacks %q: %s", want, page)
		}
	}

	// Without the token of the form nothing is left.
	w := b.send(b.request(http.MethodPost, run+"/tell", "message=forged"))
	if w.Code != http.StatusForbidden || strings.Contains(b.get(run), "forged") {
		t.Errorf("a post without token gives %d", w.Code)
	}

	if w := b.post(page, run+"/cancel", url.Values{}); w.Code != http.StatusSeeOther {
		t.Fatalf("cancel gives %d", w.Code)
	}
	b.until(run, "cancelled")
	if page := b.get(run); strings.Contains(page, "Tell the run") {
		t.Errorf("a run that ended has the form: %s", page)
	}
	code, body = tell("too late")
	if code != http.StatusConflict || !strings.Contains(body, "has ended") {
		t.Errorf("a message after the end gives %d: %s", code, body)
	}
}
