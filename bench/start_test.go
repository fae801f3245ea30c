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
	route := subject{name: "tercet", argv: []string{l.tercet, "route", "/plan 196"}, in: l.workspace("route", 0)}
	a, b := pairs(l.t, 4*l.n, route, subject{name: "Go hello", argv: []string{l.hello}})
	l.add(row{goal: "G12", what: "route, in processor time", ours: a, theirs: b, peer: "Go hello", want: 3.2, cpuOnly: true})
	for _, p := range []struct {
		tool tool
		argv []string
		want float64
	}{{l.node, []string{"-e", ""}, 1.0 / 15}, {l.python, []string{"-c", ""}, 1.0 / 3}} {
		if p.tool.path == "" {
			l.missing("G12", "route", p.tool.name)
			continue
		}
		l.compare("G12", "route", route, subject{name: p.tool.name, argv: append([]string{p.tool.path}, p.argv...)}, p.want, false)
	}
}

// inits gives what the initialisation of all packages takes, and the longest of one package, in milliseconds.
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
			most, whose = ms, words[1]
		}
	}
	return total, most, whose
}

func (l *lab) footprint() {
	var totals []float64
	most, whose := 0.0, ""
	for i := range 4*l.n + 1 {
		total, longest, name := l.inits()
		if totals = append(totals, total); i == 0 || longest < most {
			most, whose = longest, name
		}
	}
	slices.Sort(totals)
	total := totals[len(totals)/2]
	l.add(row{goal: "G13", what: fmt.Sprintf("init of all packages (median of %d; least %.2f ms)", len(totals), totals[0]), figure: fmt.Sprintf("%.2f ms", total), limit: "<= 1.5 ms", met: total <= 1.5})
	l.add(row{goal: "G13", what: "the longest init of one package: " + filepath.Base(whose), figure: fmt.Sprintf("%.2f ms", most), limit: "<= 1 ms", met: most <= 1})
	info, err := os.Stat(l.tercet)
	if err != nil {
		l.t.Fatal(err)
	}
	l.add(row{goal: "G13", what: "binary", figure: fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), limit: "<= 25 MB", met: info.Size() <= 25e6})
	dir := l.workspace("footprint", 0)
	route := l.peakOf(subject{argv: []string{l.tercet, "route", "/plan 196"}, in: dir})
	l.add(row{goal: "G13", what: "peak of route", figure: mb(route), limit: "<= 12 MB", met: route <= 12<<20})
	bare := l.peakOf(subject{argv: []string{l.tercet, "version"}, in: dir})
	file := writeState(l.t, l.dir, pretty, 100_000)
	for _, q := range []struct{ what, filter string }{
		{"a lookup", fmt.Sprintf(byNumber, 70_000)},
		{"counts by status", `[.tasks[].status] | group_by(.) | map([.[0], length])`},
		{"counts by status, of tasks", `.tasks | group_by(.status) | map([.[0].status, length])`},
		{"counts by status, reduce", `reduce .tasks[] as $t ({}; .[$t.status] += 1)`},
		{"ready", "ready | .number"},
	} {
		l.addPeak(q.what+", 100k", l.peakOf(l.ask(q.filter, file)), bare)
	}
}

// addPeak is a row of a query: what it takes beyond the program itself, most of which is the binary, mapped.
func (l *lab) addPeak(what string, peak, bare int) {
	l.add(row{
		goal: "G13", what: "peak of " + what, figure: mb(peak) + ", " + mb(max(peak-bare, 0)) + " of it beyond `tercet version`", limit: "<= 16 MB of heap and result", met: peak-bare <= 16<<20,
	})
}

func mb(bytes int) string { return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20)) }

// peakOf gives the peak of resident memory of a run, in bytes: the median of five.
func (l *lab) peakOf(s subject) int {
	s.argv = append([]string{l.peak}, s.argv...)
	var list []int
	for range 5 {
		kib, err := strconv.Atoi(strings.TrimSpace(s.output(l.t)))
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, kib<<10)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// commands runs the benchmarks of the package commands, which have their yardsticks beside them.
func (l *lab) commands() {
	binary := filepath.Join(l.dir, "commands.test")
	compiled := subject{name: "commands.test", argv: []string{"go", "test", "-c", "-o", binary, "./commands"}, in: ".."}
	compiled.output(l.t)
	times := map[string][]float64{}
	for range l.n {
		s := subject{name: "commands.test", argv: []string{binary, "-test.run=^$", "-test.bench=^Benchmark(Bare|Check)$", "-test.benchtime=100ms"}, in: "../commands"}
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
			times[name] = append(times[name], ns)
		}
	}
	at := func(name string) float64 {
		slices.Sort(times[name])
		if len(times[name]) == 0 {
			l.t.Fatalf("no benchmark %s in ./commands", name)
		}
		return times[name][len(times[name])/2]
	}
	for _, g := range []struct {
		what, ours, theirs, peer string
		want                     float64
	}{
		{"parse and check a command of 10 KB", "Check", "Bare", "frontmatter and a markdown tree alone", 1.5},
	} {
		a, b := at(g.ours), at(g.theirs)
		l.add(row{goal: "G14", what: g.what, figure: fmt.Sprintf("%.0f us", a/1e3), peer: fmt.Sprintf("%s: %.0f us", g.peer, b/1e3), ratio: digits(a / b), limit: fmt.Sprintf("<= %.3g", g.want), met: a/b <= g.want})
	}
}
