package bench_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	goals = flag.Bool("goals", false, "measure and print the table of the performance goals")
	count = flag.Int("pairs", 9, "how many pairs of runs for each figure")
	peers = flag.String("peers", "", "the `folder` of the peers that peers.sh made")
	only  = flag.String("only", "", "goals to measure, such as P1,P4; all if empty")
	into  = flag.String(
		"into", "",
		"write the table into this `file` as well, with the notes behind it",
	)
)

// lab is what the measurements have in common.
type lab struct {
	*report

	dir    string // of the files that are made
	tercet string
	hello  string
	peak   string
	values int // what the writers of the contention have written so far

	jq, sqlite3, make tool
}

// tool is a peer: its path, empty if it is not there, and what it says of itself, or that it is
// missing.
type tool struct{ path, name string }

// find looks for a peer among those that peers.sh made, then among those that are installed.
func find(name, binary string, ask ...string) tool {
	for _, path := range []string{filepath.Join(*peers, "bin", binary), binary} {
		found, err := exec.LookPath(path)
		if err != nil {
			continue
		}
		out, err := exec.Command(found, ask...).Output()
		if err != nil {
			continue
		}
		says, _, _ := strings.Cut(string(out), "\n")
		fields := strings.FieldsFunc(says, func(r rune) bool {
			return r == ' ' || r == '-' || r == 'v'
		})
		i := slices.IndexFunc(fields, func(w string) bool {
			return w[0] >= '0' && w[0] <= '9'
		})
		if i >= 0 {
			return tool{found, name + " " + fields[i]}
		}
	}
	return tool{name: name + " is missing"}
}

// TestGoals prints the table of the performance goals.
func TestGoals(t *testing.T) { //nolint:paralleltest // two measurements at once would measure each other
	if !*goals {
		t.Skip("only with -goals")
	}
	var table bytes.Buffer
	dir := t.TempDir()
	l := &lab{
		report: &report{
			t:   t,
			out: io.MultiWriter(os.Stdout, &table),
			n:   max(*count, 1),
		},
		dir:     dir,
		jq:      find("jq", "jq", "--version"),
		sqlite3: find("sqlite3", "sqlite3", "--version"),
		make:    find("make", "make", "--version"),
	}
	l.tercet = build(t, dir, "tercet", "./cmd/tercet")
	l.hello = program(t, dir, "hello", "package main\n\nfunc main() { println() }\n")
	l.peak = program(t, dir, "peak", peakSource)
	if l.jq.path == "" {
		t.Fatal("no jq here: nothing can be compared; see internal/bench/peers.sh")
	}
	l.head()
	for _, g := range []struct {
		name string
		run  func(*lab)
	}{
		{"P1", (*lab).lookups},
		{"P2", (*lab).counts},
		{"P3", (*lab).corpus},
		{"P4", (*lab).updates},
		{"P5", (*lab).contention},
		{"P6", (*lab).start},
		{"P7", (*lab).commands},
		{"P8", (*lab).delegations},
		{"P9", (*lab).runs},
		{"P10", (*lab).prompt},
		{"P11", (*lab).quality},
		{"P12", (*lab).footprint},
		{"P13", (*lab).row},
		{"P14", (*lab).page},
	} {
		if *only == "" || slices.Contains(strings.Split(*only, ","), g.name) {
			g.run(l)
		}
	}

	fmt.Fprintf(l.out, "\nLoad of the machine at the end: %s.\n", load())
	if *into != "" {
		l.write(*into, table.Bytes())
	}
}

// head says of what the table is.
func (l *lab) head() {
	commit := strings.TrimSpace(version("git", "rev-parse", "--short", "HEAD"))
	fmt.Fprintf(l.out, "Measured %s on %s, %s/%s, %d processors, %s; commit %s.\n",
		time.Now().UTC().Format("2006-01-02 15:04 MST"), processor(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version(), commit)
	fmt.Fprintf(l.out,
		"Load of the machine at the start: %s. One append with fdatasync: %s (median of 200).\n",
		load(), show(l.floor(200)))
	var names []string
	for _, p := range []tool{l.jq, l.sqlite3, l.make} {
		names = append(names, p.name)
	}
	fmt.Fprintf(l.out, "Peers: %s.\n", strings.Join(names, ", "))
	fmt.Fprintf(l.out,
		"\nMedians of %d interleaved pairs, wall / processor time; one time is wall time.\n\n", l.n)
	fmt.Fprintln(
		l.out,
		"| goal | what | tercet | peer | ratio | asked for | |\n|---|---|---|---|---|---|---|",
	)
}

// write makes the page: the table with what surrounds it.
func (l *lab) write(name string, table []byte) {
	notes, err := os.ReadFile("notes.md")
	if err != nil {
		l.t.Fatal(err)
	}
	page := "# Performance\n\nAfter this page you know how fast tercet is beside jq, sqlite3 and " +
		"make, and which goals it misses. `make bench` makes this page. Other processes used\n" +
		"the machine too, so trust the ratios of interleaved runs and not the times; we promise " +
		"no time.\n\n" + string(table) + "\n" + string(notes)
	if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// processor gives the model, as Linux tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": ")
		}
	}
	return "unknown processor"
}

// peakSource starts a program and prints its peak of resident memory in KiB. It is small, because a
// child begins with the footprint of its parent.
const peakSource = `package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	p, err := os.StartProcess(os.Args[1], os.Args[1:], &os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, null, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	st, err := p.Wait()
	if err != nil || !st.Success() {
		os.Exit(1)
	}
	fmt.Println(st.SysUsage().(*syscall.Rusage).Maxrss)
}
`
