package web_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tercet/project"
)

// listen serves the pages on a port, and gives the events of the stream as they come.
func (b *browser) listen() <-chan string {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.server.Listening(name, l.Addr()); err != nil {
		b.t.Fatal(err)
	}
	b.host = name + l.Addr().String()[strings.LastIndex(l.Addr().String(), ":"):]
	ctx, stop := context.WithCancel(b.t.Context())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, l) }()

	r := b.request(http.MethodGet, "/live", "")
	r.RequestURI = ""
	r.URL.Host = l.Addr().String()
	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // it is closed when the reader ends
	if err != nil {
		b.t.Fatal(err)
	}
	events := make(chan string)
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				select {
				case events <- data:
				case <-ctx.Done():
				}
			}
		}
	}()
	b.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			b.t.Error(err)
		}
		<-read
		answer.Body.Close()
	})
	return events
}

// TestToldElsewhere: what another process tells a run comes over the stream although nothing else
// of the run changes, and is on the page then.
func TestToldElsewhere(t *testing.T) {
	t.Parallel()
	dir, home := files(t, nil)
	b := serve(t, dir, home)
	run := b.begin(url.Values{"what": {"1"}})
	b.until(run, "waits for an answer")
	id := run[strings.LastIndex(run, "/")+1:]
	events := b.listen()
	still := time.Now()
	for time.Since(still) < time.Second { // what the run did before has been told
		select {
		case <-events:
			still = time.Now()
		case <-time.After(50 * time.Millisecond):
		}
	}

	p, err := project.Open(t.Context(), dir, true, hostOf(dir, home, project.Unattended{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := p.Tell(id, "use the old API", ""); err != nil {
		t.Fatal(err)
	}
	for event := range events {
		if strings.Contains(event, id) {
			break
		}
	}
	part := b.request(http.MethodGet, strings.TrimPrefix(run, "http://"+b.host), "")
	part.Header.Set("Tercet-Since", "1")
	if w := b.send(part); !strings.Contains(w.Body.String(), "use the old API") {
		t.Errorf("the script gets %s", w.Body)
	}
}
