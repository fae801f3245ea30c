package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/creack/pty"
)

// crowded makes a workspace of 1,000 tasks and 200 commands.
func (l *lab) crowded() string {
	dir := l.workspace("crowded", 1000)
	for i := range 200 {
		text := fmt.Sprintf(
			"---\ncommand: number%d\ndescription: Does the work of number %d\narguments:\n"+
				"  - {name: task_number, type: task}\n---\n\n## Workflow Execution\n\n"+
				"### Step 1: Look\n\n```yaml step\nid: look\ncheck: 1 == 1\n```\n",
			i,
			i,
		)
		err := os.WriteFile(
			filepath.Join(dir, fmt.Sprintf(".tercet/commands/number%d.md", i)),
			[]byte(text),
			0o600,
		)
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return dir
}

// prompt measures what a person waits for between a key and what it changes on the screen.
func (l *lab) prompt() {
	cmd := exec.Command(l.tercet)
	cmd.Dir = l.crowded()
	cmd.Env = append(
		os.Environ(),
		"TERM=xterm-256color",
		"TERCET_TRUST=1",
		"HOME="+l.t.TempDir(),
		"XDG_STATE_HOME=",
		"XDG_CONFIG_HOME=",
	)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		l.missing("P10", "key to screen at the prompt", err.Error())
		return
	}
	defer tty.Close()
	news := make(chan []byte, 64)
	go func() {
		defer close(news)
		for {
			part := make([]byte, 1<<16)
			n, err := tty.Read(part)
			if err != nil {
				return
			}
			news <- part[:n]
		}
	}()
	// drawn waits until nothing more comes, and gives the time of the last that came and all of it.
	drawn := func(quiet, most time.Duration) (last time.Time, text []byte) {
		limit := time.After(most)
		for {
			rest := most
			if !last.IsZero() {
				rest = quiet
			}
			select {
			case part, ok := <-news:
				if !ok {
					l.t.Fatalf("the prompt ended: %s", text)
				}
				last = time.Now()
				text = append(text, part...)
			case <-time.After(rest):
				return last, text
			case <-limit:
				return last, text
			}
		}
	}
	if _, text := drawn(time.Second, 10*time.Second); !bytes.Contains(text, []byte("tercet")) {
		l.t.Fatalf("no prompt: %q", text)
	}
	var all []time.Duration
	silent := 0
	for i := range 12 {
		line := fmt.Sprintf(
			"/number%d %d\x1b[D\x1b[D\x7f\x05\x15/plan %d\t\x15/task some words %d\x15",
			i*17, i*83, i*7, i,
		)
		for len(line) > 0 {
			n := 1
			if strings.HasPrefix(line, "\x1b") {
				n = 3
			}
			begin := time.Now()
			if _, err := tty.WriteString(line[:n]); err != nil {
				l.t.Fatal(err)
			}
			if last, _ := drawn(20*time.Millisecond, 500*time.Millisecond); last.IsZero() {
				silent++
			} else {
				all = append(all, last.Sub(begin))
			}
			line = line[n:]
		}
	}

	if _, err := tty.WriteString("\x15\x04"); err != nil {
		l.t.Fatal(err)
	}
	for range news { // until it has ended
	}
	if err := cmd.Wait(); err != nil {
		l.t.Fatal(err)
	}
	slices.Sort(all)
	p95 := all[len(all)*95/100]
	l.add(row{
		goal: "P10",
		what: fmt.Sprintf(
			"key to screen at the prompt, 1,000 tasks and 200 commands, %d keys (median %s, "+
				"longest %s; %d changed nothing)",
			len(all)+silent, show(all[len(all)/2]), show(all[len(all)-1]), silent,
		),
		figure: show(p95),
		limit:  "95 % within 16 ms",
		met:    p95 <= 16*time.Millisecond,
	})
}
