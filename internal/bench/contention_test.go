package bench_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var (
	writer = flag.String(
		"writer",
		"",
		"write the state in this `folder` until the time is over; for the processes of the "+
			"contention",
	)
	number = flag.Int("writer-task", 0, "the task that -writer changes")
	first  = flag.Int("writer-first", 0, "the first value that -writer writes")
	span   = flag.Duration("writer-time", time.Second, "how long -writer writes")
)

// outcome is what one writer did: how long each of its writes took.
type outcome struct{ Writes []time.Duration }

// TestWriter is the program of the processes that write at the same time. It begins when its
// standard input ends.
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
		cmd := exec.Command(
			os.Args[0],
			"-test.run=^TestWriter$",
			"-writer",
			dir,
			"-writer-task",
			fmt.Sprint(i+1),
			"-writer-first",
			fmt.Sprint(first),
			"-writer-time",
			d.String(),
		)
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
		c.commands = append(c.commands, cmd)
		c.outs = append(c.outs, bufio.NewReader(out))
		c.starts = append(c.starts, in)
	}

	for _, out := range c.outs {
		for line := ""; line != "ready\n"; {
			var err error
			line, err = out.ReadString('\n')
			if err != nil {
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

// race lets n processes write for a while and gives what they did. It is an error if a write was
// lost.
func (l *lab) race(dir string, n int, d time.Duration) (counts []int, all []time.Duration) {
	before := l.efforts(dir)
	l.values += 1_000_000
	for i, o := range l.contend(dir, n, l.values, d).wait(l.t) {
		counts = append(counts, len(o.Writes))
		all = append(all, o.Writes...)
		if len(o.Writes) > 0 {
			before[i+1] = fmt.Sprintf("%dh", l.values+len(o.Writes)-1)
		}
	}
	after := l.efforts(dir)
	for k, want := range before {
		if after[k] != want {
			l.t.Errorf("task %d has effort %s after %d processes wrote, want %s: a write was lost",
				k, after[k], n, want)
		}
	}
	return counts, all
}

// contention are rounds of 16 and 64 processes that write for five seconds, of which the median
// counts.
func (l *lab) contention() {
	const span = 5 * time.Second
	dir := l.workspace("contention", 1000)
	counts, solo := l.race(dir, 1, span)
	for _, n := range []int{16, 64} {
		var least []int
		var late []time.Duration
		var rate []float64
		for range max(l.n/3, 1) {
			counts, all := l.race(dir, n, span)
			least = append(least, slices.Min(counts))
			late = append(late, percentile(all, 99))
			rate = append(rate, float64(len(all))/span.Seconds())
		}
		slices.Sort(rate)
		slices.Sort(least)
		what := fmt.Sprintf("%d processes write for 5 s, 1k: ", n)
		p99 := percentile(late, 50)
		l.add(row{
			goal:   "P5",
			what:   what + "fewest writes of a process, none lost",
			figure: fmt.Sprint(least[len(least)/2]),
			limit:  ">= 1",
			met:    least[len(least)/2] >= 1,
		})
		l.add(row{
			goal:   "P5",
			what:   what + "writes a second",
			figure: fmt.Sprintf("%.0f", rate[len(rate)/2]),
			peer:   fmt.Sprintf("one process: %.0f", float64(counts[0])/span.Seconds()),
		})
		w := row{
			goal:   "P5",
			what:   what + "99 % within",
			figure: show(p99),
			peer:   "median of one process: " + show(percentile(solo, 50)),
		}
		if n == 16 {
			w.limit = "<= 1 s"
			w.met = p99 <= time.Second
		}
		l.add(w)
	}
}
