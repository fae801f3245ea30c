package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func (l *lab) start() {
	dir := l.workspace("route", 0)
	for _, argv := range [][]string{
		{"which", "--route", "/plan 196"},
		{"version"},
		{"__complete", "task", ""},
	} {
		a, b := measurePairs(l.t, 4*l.n, subject{
			name: "tercet",
			argv: append([]string{l.tercet}, argv...),
			in:   dir,
		}, subject{name: "Go hello", argv: []string{l.hello}})
		l.add(row{
			goal:    "P6",
			what:    strings.TrimSpace(strings.Join(argv, " ")),
			ours:    a,
			theirs:  b,
			peer:    "Go hello",
			want:    6,
			cpuOnly: true,
		})
	}

	plan := subject{
		name: "tercet",
		argv: []string{l.tercet, "__complete", "/plan", ""},
		in:   l.crowded(),
	}
	if out := plan.output(l.t); strings.Count(out, "\n") < 200 {
		l.t.Fatalf("completion of /plan gives %d lines, want 200", strings.Count(out, "\n"))
	}
	l.addLimit("P6", "completion of `/plan <Tab>`, 1,000 tasks and 200 commands", plan, 50)
	var totals []float64
	most := 0.0
	whose := ""
	for i := range 4*l.n + 1 {
		total, longest, name := l.inits()
		totals = append(totals, total)
		if i == 0 || longest < most {
			most = longest
			whose = name
		}
	}

	slices.Sort(totals)
	total := totals[len(totals)/2]
	l.add(row{
		goal: "P6",
		what: fmt.Sprintf("init of all packages (median of %d; longest: %s, %.2f ms)",
			len(totals), filepath.Base(whose), most),
		figure: fmt.Sprintf("%.2f ms", total),
		limit:  "<= 4 ms",
		met:    total <= 4,
	})
}

// inits gives what the initialisation of all packages takes, and the longest of one package, in
// milliseconds.
func (l *lab) inits() (total, most float64, whose string) {
	cmd := exec.Command(l.tercet, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.Lines(string(trace)) {
		words := strings.Fields(line)
		if len(words) < 6 || words[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(words[4], 64)
		if err != nil {
			l.t.Fatal(err)
		}
		total += ms
		if ms > most {
			most = ms
			whose = words[1]
		}
	}
	return total, most, whose
}

func (l *lab) footprint() {
	info, err := os.Stat(l.tercet)
	if err != nil {
		l.t.Fatal(err)
	}
	l.add(row{
		goal:   "P12",
		what:   "binary, stripped",
		figure: fmt.Sprintf("%.1f MB", float64(info.Size())/1e6),
		limit:  "<= 28 MB",
		met:    info.Size() <= 28e6,
	})
	l.addPeak(
		"route",
		subject{
			argv: []string{l.tercet, "which", "--route", "/plan 196"},
			in:   l.workspace("footprint", 0),
		},
		14,
	)
	file := writeState(l.t, l.dir, pretty, 100_000)
	for _, q := range []struct{ what, filter string }{
		{"a lookup", fmt.Sprintf(byNumber, 70_000)},
		{"counts by status", `[.tasks[].status] | group_by(.) | map([.[0], length])`},
		{"counts by status, of tasks", `.tasks | group_by(.status) | map([.[0].status, length])`},
		{"counts by status, reduce", `reduce .tasks[] as $t ({}; .[$t.status] += 1)`},
		{"all numbers, states and titles", `.tasks[] | "\(.number) \(.status) \(.title)"`},
		{"ready", "ready | .number"},
	} {
		l.addPeak(q.what+", 100k", l.ask(q.filter, file), 64)
	}
}

// addPeak is a row of what a run takes of memory at most.
func (l *lab) addPeak(what string, s subject, limit int) {
	peak := l.peakOf(s)
	l.add(row{
		goal:   "P12",
		what:   "peak of " + what,
		figure: mb(peak),
		limit:  fmt.Sprintf("<= %d MB", limit),
		met:    peak <= limit<<20,
	})
}

func mb(bytes int) string {
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}

// peakOf gives the peak of resident memory of a run, in bytes: the median of five.
func (l *lab) peakOf(s subject) int {
	var list []int
	for range 5 {
		list = append(list, l.peakOnce(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// peakOnce is that of one run.
func (l *lab) peakOnce(s subject) int {
	s.argv = append([]string{l.peak}, s.argv...)
	kib, err := strconv.Atoi(strings.TrimSpace(s.output(l.t)))
	if err != nil {
		l.t.Fatal(err)
	}
	return kib << 10
}

// commands runs the benchmarks of the package commands.
func (l *lab) commands() {
	binary := filepath.Join(l.dir, "commands.test")
	subject{
		name: "commands.test",
		argv: []string{"go", "test", "-c", "-o", binary, "./commands"},
		in:   "../..",
	}.output(l.t)
	times := map[string][]float64{}
	for range l.n {
		s := subject{
			name: "commands.test",
			argv: []string{
				binary, "-test.run=^$", "-test.bench=^Benchmark(Check|Listing)$",
				"-test.benchtime=200ms",
			},
			in: "../../commands",
		}
		for line := range strings.Lines(s.output(l.t)) {
			words := strings.Fields(line)
			if len(words) < 4 || words[3] != "ns/op" {
				continue
			}
			ns, err := strconv.ParseFloat(words[2], 64)
			if err != nil {
				l.t.Fatal(err)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(words[0], "Benchmark"), "-")
			times[name] = append(times[name], ns/1e6)
		}
	}

	for _, g := range []struct {
		name, what string
		limit      float64
	}{
		{"Check", "check of a command file of 10 KB, in process", 10},
		{"Listing", "list of 200 commands, cold, in process", 150},
	} {
		if len(times[g.name]) == 0 {
			l.t.Fatalf("no benchmark %s in ./commands", g.name)
		}
		slices.Sort(times[g.name])
		ms := times[g.name][len(times[g.name])/2]
		l.add(row{
			goal:   "P7",
			what:   g.what,
			figure: fmt.Sprintf("%.1f ms", ms),
			limit:  fmt.Sprintf("<= %.0f ms", g.limit),
			met:    ms <= g.limit,
		})
	}
}
