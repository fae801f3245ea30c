package bench_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/internal/query"
)

var (
	writer = flag.String("writer", "", "write the state in this `folder` until the time is over; for the processes of the contention")
	number = flag.Int("writer-task", 0, "the task that -writer changes")
	first  = flag.Int("writer-first", 0, "the first value that -writer writes")
	span   = flag.Duration("writer-time", time.Second, "how long -writer writes")
)

// outcome is what one writer did: how long each of its writes took.
type outcome struct{ Writes []time.Duration }

// TestWriter is the program of the processes that write at the same time. It begins when its standard input ends.
func TestWriter(t *testing.T) { //nolint:paralleltest // it is alone in its process
	if *writer == "" {
		t.Skip("only with -writer")
	}
	m := open(t, *writer)
	fmt.Println("ready") // for the parent
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	var o outcome
	for end, i := time.Now().Add(*span), *first; time.Now().Before(end); i++ {
		begin := time.Now()
		if err := setEffort(m, *number, i); err != nil {
			t.Fatal(err)
		}
		o.Writes = append(o.Writes, time.Since(begin))
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		t.Fatal(err)
	}
}

// contenders are processes that write to one state.
type contenders struct {
	commands []*exec.Cmd
	outs     []*bufio.Reader
	starts   []io.WriteCloser
}

// contend starts n processes and lets them begin at once.
func (l *lab) contend(dir string, n, first int, d time.Duration) *contenders {
	c := &contenders{}
	for i := range n {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriter$", "-writer", dir, "-writer-task", fmt.Sprint(i+1), "-writer-first", fmt.Sprint(first), "-writer-time", d.String())
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			l.t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			l.t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			l.t.Fatal(err)
		}
		c.commands, c.outs, c.starts = append(c.commands, cmd), append(c.outs, bufio.NewReader(out)), append(c.starts, in)
	}
	for _, out := range c.outs {
		for line := ""; line != "ready\n"; {
			var err error
			if line, err = out.ReadString('\n'); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	for _, in := range c.starts {
		in.Close()
	}
	return c
}

// wait gives what each of the processes did.
func (c *contenders) wait(t *testing.T) []outcome {
	t.Helper()
	all := make([]outcome, len(c.commands))
	for i, out := range c.outs {
		text, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			rest, rerr := io.ReadAll(out)
			t.Fatal(err, rerr, text+string(rest))
		}
		if err := c.commands[i].Wait(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// efforts reads the member that is written, of all tasks.
func (l *lab) efforts(dir string) map[int]string {
	text, err := os.ReadFile(filepath.Join(dir, ".tercet", "state.json"))
	if err != nil {
		l.t.Fatal(err)
	}
	var doc struct{ Tasks []task }
	if err := json.Unmarshal(text, &doc); err != nil {
		l.t.Fatalf("the state is torn: %v", err)
	}
	efforts := map[int]string{}
	for _, k := range doc.Tasks {
		efforts[k.Number] = k.Effort
	}
	return efforts
}

// race lets n processes write for a while and gives what they did. It is an error if a write was lost.
func (l *lab) race(dir string, n int, d time.Duration) (counts []int, all []time.Duration) {
	before := l.efforts(dir)
	l.values += 1_000_000
	for i, o := range l.contend(dir, n, l.values, d).wait(l.t) {
		counts, all = append(counts, len(o.Writes)), append(all, o.Writes...)
		if len(o.Writes) > 0 {
			before[i+1] = fmt.Sprintf("%dh", l.values+len(o.Writes)-1)
		}
	}
	after := l.efforts(dir)
	for k, want := range before {
		if after[k] != want {
			l.t.Errorf("task %d has effort %s after %d processes wrote, want %s: a write was lost", k, after[k], n, want)
		}
	}
	return counts, all
}

// jain is the index of fairness: 1 if all have the same.
func jain(counts []int) float64 {
	sum, squares := 0.0, 0.0
	for _, c := range counts {
		sum, squares = sum+float64(c), squares+float64(c)*float64(c)
	}
	return sum * sum / (float64(len(counts)) * max(squares, 1))
}

// contention are rounds of one, 16 and 64 processes in turns, of which the median counts.
func (l *lab) contention() {
	dir := l.workspace("contention", 1000)
	span := func(n int) time.Duration { return 2*time.Second + time.Duration(n)*50*time.Millisecond }
	type round struct {
		rate, fair, least float64
		p99               time.Duration
	}
	var solo []time.Duration
	var alone []float64
	rounds := map[int][]round{}
	for range max(l.n/3, 1) {
		counts, all := l.race(dir, 1, span(1))
		rate := float64(counts[0]) / span(1).Seconds()
		solo, alone = append(solo, all...), append(alone, rate)
		for _, n := range []int{16, 64} {
			counts, all := l.race(dir, n, span(n))
			rounds[n] = append(rounds[n], round{float64(len(all)) / span(n).Seconds(), jain(counts), float64(slices.Min(counts)), percentile(all, 99)})
		}
	}
	mid := func(n int, f func(round) float64) float64 {
		var list []float64
		for _, r := range rounds[n] {
			list = append(list, f(r))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	slices.Sort(alone)
	base, p50 := alone[len(alone)/2], percentile(solo, 50)
	for _, g := range []struct {
		goal       string
		n          int
		want, fair float64
	}{{"G8", 16, 1.3, 0.95}, {"G9", 64, 1, 0.9}} {
		rate, fair := mid(g.n, func(r round) float64 { return r.rate }), mid(g.n, func(r round) float64 { return r.fair })
		least := mid(g.n, func(r round) float64 { return r.least })
		what := fmt.Sprintf("%d processes, 1k", g.n)
		l.add(row{
			goal: g.goal, what: what + ": writes a second", figure: fmt.Sprintf("%.0f", rate), peer: fmt.Sprintf("one process: %.0f", base),
			ratio: digits(rate / base), limit: fmt.Sprintf(">= %.3g", g.want), met: rate/base >= g.want,
		})
		l.add(row{goal: g.goal, what: what + ": Jain's index; fewest writes of a process", figure: fmt.Sprintf("%.3f; %.0f", fair, least), limit: fmt.Sprintf(">= %.3g; >= 1", g.fair), met: fair >= g.fair && least >= 1})
		p99 := time.Duration(mid(g.n, func(r round) float64 { return float64(r.p99) }))
		if g.n == 16 {
			l.add(row{
				goal: g.goal, what: what + ": 99 % of the writes within", figure: show(p99), peer: "median of one process: " + show(p50), ratio: digits(float64(p99) / float64(p50)),
				limit: "<= 64", met: p99 <= 64*p50,
			})
		}
	}
}

// readers reads while nobody writes and while 16 processes do, in turns. A reader checks all of what it reads.
func (l *lab) readers() {
	dir := l.workspace("readers", 1000)
	file := filepath.Join(dir, ".tercet", "state.json")
	filter := fmt.Sprintf(byNumber, 500)
	read := func() time.Duration {
		begin := time.Now()
		f, err := os.Open(file)
		if err != nil {
			l.t.Fatal(err)
		}
		defer f.Close()
		var out strings.Builder
		exit, err := query.Host{}.Run(context.Background(), query.CLIRequest{Filter: filter, Compact: true, Timeout: time.Minute, Out: &out, Inputs: []query.Input{{Name: file, File: f}}})
		if exit != 0 || err != nil || !strings.HasPrefix(out.String(), `{"number":500,`) {
			l.t.Fatalf("a reader got %d, %v: %s", exit, err, out.String())
		}
		return time.Since(begin)
	}
	var idle, busy []time.Duration
	read()
	reads := 0
	for range max(l.n/3, 1) {
		for range 100 {
			idle = append(idle, read())
		}
		l.values += 1_000_000
		c, done := l.contend(dir, 16, l.values, 2*time.Second), make(chan []outcome, 1)
		go func() { done <- c.wait(l.t) }()
		for running := true; running; reads++ {
			busy = append(busy, read())
			select {
			case <-done:
				running = false
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	a, b := percentile(busy, 50), percentile(idle, 50)
	l.add(row{goal: "G17", what: fmt.Sprintf("a read while 16 processes write, 1k (%d reads, none torn)", reads), figure: show(a), peer: "while none writes: " + show(b), ratio: digits(float64(a) / float64(b)), limit: "<= 1.5", met: 2*a <= 3*b})
	a, b = percentile(busy, 95), percentile(idle, 95)
	l.add(row{goal: "", what: "the same, 95 % within", figure: show(a), peer: "while none writes: " + show(b), ratio: digits(float64(a) / float64(b))})
}
