package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// page measures 'tercet serve': how fast a run of 1,000 steps is there, how fast an event is, and
// what the server uses for that.
func (l *lab) page() {
	dir := l.newManyProject(10)
	for name, text := range map[string]string{"wait": waitCommand(), "beat": beatCommand} {
		err := os.WriteFile(filepath.Join(dir, ".tercet/commands", name+".md"), []byte(text), 0o600)
		if err != nil {
			l.t.Fatal(err)
		}
	}
	l.waits(dir, "/wait", "1000").output(l.t)
	all, err := filepath.Glob(filepath.Join(dir, ".tercet/runs/r*"))
	if err != nil || len(all) != 1 {
		l.t.Fatalf("runs %q, %v; want one", all, err)
	}
	address := "/p/" + filepath.Base(dir) + "/runs/" + filepath.Base(all[0])

	var first, later []cost
	size := 0
	for range l.n {
		s := l.serve(dir)
		for _, costs := range []*[]cost{&first, &later} {
			before := s.used()
			begin := time.Now()
			size = len(s.get(address, ""))
			*costs = append(*costs, cost{time.Since(begin), s.used() - before})
		}
		s.end()
	}
	for _, one := range []struct {
		what string
		took cost
	}{
		{"the first page of a run of 1,000 steps after the start", median(first)},
		{"the same page again", median(later)},
	} {
		l.add(row{
			goal:   "P14",
			what:   fmt.Sprintf("%s, all of its %d KB", one.what, size>>10),
			figure: show(one.took.wall) + " / " + show(one.took.cpu),
			limit:  "<= 200 ms",
			met:    one.took.wall <= 200*time.Millisecond,
		})
	}
	l.pageAtWork(dir)
}

// beatCommand is a run that goes on for some seconds, with some steps in each.
const beatCommand = "---\ncommand: beat\ndescription: Some steps a second\n" +
	"limits: {steps: 2000}\n---\n\n## Workflow Execution\n\n### Step 1: Beat\n\n" +
	"```yaml step\nid: beat\nforeach: \"[range(60)]\"\ndo:\n  - {wait: 200ms}\n  - {check: 1 == 1}\n```\n"

// pageAtWork measures a server while a run is at work and while nothing is.
func (l *lab) pageAtWork(dir string) {
	s := l.serve(dir)
	defer s.end()
	const quiet = 5 * time.Second
	before := s.settled()
	time.Sleep(quiet)
	idle := s.used() - before
	l.add(row{
		goal:   "P14",
		what:   "processor time of a server without a browser, of " + quiet.String(),
		figure: show(idle),
		limit:  "0",
		met:    idle == 0,
	})

	begun := l.runMany(dir, "none", 0)
	begun.argv = []string{l.tercet, "start", "/beat"}
	run := strings.TrimSpace(begun.output(l.t))
	address := "/p/" + filepath.Base(dir) + "/runs/" + run
	watching, stop := context.WithCancel(context.Background())
	events := s.listen(watching)
	seen := &sightings{at: map[string]time.Time{}}
	const tabs = 20
	var open sync.WaitGroup
	news := make([]chan struct{}, tabs)
	for i := range news {
		news[i] = make(chan struct{}, 1)
		open.Go(func() { s.tab(watching, address, news[i], seen) })
	}
	before = s.used()
	begin := time.Now()
	done := make(chan struct{})
	go func() {
		wait := l.runMany(dir, "none", 0)
		wait.argv = []string{l.tercet, "wait", run}
		wait.output(l.t)
		close(done)
	}()
	for going := true; going; {
		select {
		case <-events:
			for _, one := range news {
				select {
				case one <- struct{}{}:
				default:
				}
			}
		case <-done:
			going = false
		}
	}
	share := float64(s.used()-before) / float64(time.Since(begin))
	stop()
	open.Wait()

	late := seen.delays(l, filepath.Join(dir, ".tercet/runs", run, "journal.jsonl"))
	l.add(row{
		goal: "P14",
		what: fmt.Sprintf("a step from its journal line to the answer with its row, 20 tabs, "+
			"95 %% of %d (median %s)", len(late), show(late[len(late)/2])),
		figure: show(late[len(late)*95/100]),
		limit:  "<= 100 ms",
		met:    late[len(late)*95/100] <= 100*time.Millisecond,
	})
	l.add(row{
		goal:   "P14",
		what:   "the server's share of a core, 20 tabs on a run of some steps a second",
		figure: fmt.Sprintf("%.1f %%", 100*share),
		limit:  "<= 10 %",
		met:    share <= 0.1,
	})
	peak := s.peak()
	l.add(row{
		goal:   "P14",
		what:   "peak memory of that server",
		figure: mb(peak),
		limit:  "<= 60 MB",
		met:    peak <= 60<<20,
	})
}

// pageServer is a running 'tercet serve' with a signed-in browser.
type pageServer struct {
	l      *lab
	cmd    *exec.Cmd
	client *http.Client
	host   string // its name and port
	cookie string
}

// serve starts a server and signs in.
func (l *lab) serve(dir string) *pageServer {
	like := l.runMany(dir, "none", 0)
	s := &pageServer{l: l, cmd: exec.Command(l.tercet, "serve")}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), like.env...)
	s.cmd.Env = append(s.cmd.Env, "XDG_RUNTIME_DIR="+l.t.TempDir())
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	link := regexp.MustCompile(`http://([^/]+)(/\S+)`).FindStringSubmatch(line)
	if err != nil || link == nil {
		l.t.Fatalf("the server prints %q, %v", line, err)
	}
	s.host = link[1]
	at := "127.0.0.1" + s.host[strings.LastIndex(s.host, ":"):]
	s.client = &http.Client{
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 64,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, at)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := s.client.Do(s.request(context.Background(), link[2], ""))
	if err != nil {
		l.t.Fatal(err)
	}
	answer.Body.Close()
	for _, c := range answer.Cookies() {
		s.cookie = c.Value
	}
	return s
}

func (s *pageServer) request(ctx context.Context, address, since string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.host+address, nil)
	if err != nil {
		s.l.t.Fatal(err)
	}
	r.Header.Set("Cookie", "tercet="+s.cookie)
	if since != "" {
		r.Header.Set("Tercet-Since", since)
	}
	return r
}

// get gives a page.
func (s *pageServer) get(address, since string) []byte {
	answer, err := s.client.Do(s.request(context.Background(), address, since))
	if err != nil {
		s.l.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.l.t.Fatalf("%s gives %d, %v: %.300s", address, answer.StatusCode, err, body)
	}
	return body
}

// listen hears the stream of changes.
func (s *pageServer) listen(ctx context.Context) <-chan struct{} {
	//nolint:bodyclose // the goroutine closes it
	answer, err := s.client.Do(s.request(ctx, "/live", ""))
	if err != nil {
		s.l.t.Fatal(err)
	}
	news := make(chan struct{}, 64)
	go func() {
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event: change") {
				news <- struct{}{}
			}
		}
	}()
	return news
}

// tab is a tab that shows a run: it asks for what has changed, at most twenty times a second, as
// the script of the page does.
func (s *pageServer) tab(
	ctx context.Context, address string, news <-chan struct{}, seen *sightings,
) {
	since := "0"
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
		answer, err := s.client.Do(s.request(ctx, address, since))
		if err != nil {
			return
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return
		}
		since = answer.Header.Get("Tercet-Since")
		seen.take(body)
		<-pause.C
	}
}

// sightings is when the row of a step was first seen with its outcome.
type sightings struct {
	mu sync.Mutex
	at map[string]time.Time
}

var finishedRow = regexp.MustCompile(`href="[^"]*\?step=([^"#]*)#pane"[^>]*><span class="state good"`)

func (s *sightings) take(body []byte) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range finishedRow.FindAllSubmatch(body, -1) {
		step := string(m[1])
		if _, ok := s.at[step]; !ok {
			s.at[step] = now
		}
	}
}

// delays are the times from the journal lines of steps that ended to when they were seen, sorted.
func (s *sightings) delays(l *lab, name string) []time.Duration {
	data, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []time.Duration
	for line := range bytes.Lines(data) {
		var entry struct {
			Type string
			Time time.Time
			Step string `json:"step_path"`
		}
		if json.Unmarshal(line, &entry) != nil || entry.Type != "step_finished" {
			continue
		}
		at, ok := s.at[url.QueryEscape(entry.Step)]
		if ok {
			out = append(out, at.Sub(entry.Time))
		}
	}
	if len(out) < 50 {
		l.t.Fatalf("%d steps were seen of %d rows, want over 50", len(out), len(s.at))
	}
	slices.Sort(out)
	return out
}

// used is the processor time of the server so far, which the system counts in hundredths of a
// second.
func (s *pageServer) used() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.l.t.Fatal(err)
	}
	const userTime = 11 // behind the name, which ends with the last parenthesis
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	ticks := 0
	for _, text := range fields[userTime : userTime+2] {
		n, err := strconv.Atoi(text)
		if err != nil {
			s.l.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// settled waits until what the server does at its start is over, and gives what that took.
func (s *pageServer) settled() time.Duration {
	last := s.used()
	for {
		time.Sleep(2 * time.Second)
		now := s.used()
		if now == last {
			return now
		}
		last = now
	}
}

// peak is the most memory that the server had, in bytes.
func (s *pageServer) peak() int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(data)
	if err != nil || m == nil {
		s.l.t.Fatalf("no peak of the server: %v", err)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		s.l.t.Fatal(err)
	}
	return kib << 10
}

// end ends the server.
func (s *pageServer) end() {
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.l.t.Fatal(err)
	}
	s.cmd.Wait() // a signal ended it
}
