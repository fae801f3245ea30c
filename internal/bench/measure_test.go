package bench_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cost is what one run takes.
type cost struct{ wall, cpu time.Duration }

// subject is something that is measured: a command, or a function of this process.
type subject struct {
	name string
	argv []string
	in   string       // folder
	env  []string     // beside that of this process
	call func() error // instead of argv

	times int // how often argv runs in one measurement; 0: once
}

// run runs a subject once, or as often as it says.
func (s subject) run() (cost, error) {
	var sum cost
	for range max(s.times, 1) {
		one, err := s.runOnce()
		if err != nil {
			return cost{}, err
		}
		sum.wall += one.wall
		sum.cpu += one.cpu
	}
	return sum, nil
}

// runOnce runs a subject. Processes are started without pipes, so that nothing but their own work
// is measured.
func (s subject) runOnce() (cost, error) {
	begin := time.Now()
	if s.call != nil {
		err := s.call()
		return cost{wall: time.Since(begin)}, err
	}

	path, err := exec.LookPath(s.argv[0])
	if err != nil {
		return cost{}, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return cost{}, err
	}
	defer null.Close()
	begin = time.Now()
	p, err := os.StartProcess(path, s.argv, &os.ProcAttr{
		Dir:   s.in,
		Env:   append(os.Environ(), s.env...),
		Files: []*os.File{null, null, null},
	})
	if err != nil {
		return cost{}, err
	}

	st, err := p.Wait()
	if err != nil {
		return cost{}, err
	}
	if !st.Success() {
		return cost{}, fmt.Errorf("%s: %s", strings.Join(s.argv, " "), st)
	}
	return cost{wall: time.Since(begin), cpu: st.UserTime() + st.SystemTime()}, nil
}

// output gives what a command prints.
func (s subject) output(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Dir = s.in
	cmd.Env = append(os.Environ(), s.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.name, err, stderr.String())
	}
	return string(out)
}

// measurePairs runs two subjects in turns and gives the medians.
func measurePairs(t *testing.T, n int, a, b subject) (cost, cost) {
	t.Helper()
	var as, bs []cost
	for i := range n + 1 {
		for j, s := range []subject{a, b} {
			c, err := s.run()
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if i == 0 {
				continue // the first of each warms the caches
			}
			if j == 0 {
				as = append(as, c)
			} else {
				bs = append(bs, c)
			}
		}
	}
	return median(as), median(bs)
}

func median(list []cost) cost {
	var wall, cpu []time.Duration
	for _, c := range list {
		wall = append(wall, c.wall)
		cpu = append(cpu, c.cpu)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return cost{wall[len(wall)/2], cpu[len(cpu)/2]}
}

// row is a line of the table.
type row struct {
	goal, what           string
	ours, theirs         cost
	peer                 string
	want                 float64 // the ratio that the goal asks for
	atLeast              bool    // theirs/ours has to be at least want; else ours/theirs at most
	wallOnly             bool
	cpuOnly              bool   // the goal speaks of processor time
	figure, ratio, limit string // instead of times
	met                  bool
}

// report prints the rows.
type report struct {
	t   *testing.T
	out io.Writer
	n   int
}

func (r *report) add(w row) {
	fmt.Fprintln(r.out, w.line())
}

// compareEach is compare of processes that are different ones each time; a goal of at most want, in
// processor time. It gives the median of ours.
func (r *report) compareEach(
	goal, what string,
	next func() (ours, theirs subject),
	want float64,
) cost {
	r.t.Helper()
	var as, bs []cost
	ours, theirs := next()
	for i := range r.n + 1 {
		a, aerr := ours.run()
		b, berr := theirs.run()
		if err := errors.Join(aerr, berr); err != nil {
			r.t.Fatal(err)
		}
		if i > 0 {
			as = append(as, a)
			bs = append(bs, b)
		}
		ours, theirs = next()
	}
	r.add(row{
		goal:    goal,
		what:    what,
		ours:    median(as),
		theirs:  median(bs),
		peer:    theirs.name,
		want:    want,
		cpuOnly: true,
	})
	return median(as)
}

// compare measures a pair and adds its row.
func (r *report) compare(goal, what string, ours, theirs subject, want float64, atLeast bool) {
	r.t.Helper()
	a, b := measurePairs(r.t, r.n, ours, theirs)
	r.add(row{
		goal:     goal,
		what:     what,
		ours:     a,
		theirs:   b,
		peer:     theirs.name,
		want:     want,
		atLeast:  atLeast,
		wallOnly: ours.call != nil || theirs.call != nil,
	})
}

func (r *report) missing(goal, what, why string) {
	fmt.Fprintf(r.out, "| %s | %s | | | | | not measured: %s |\n", goal, what, why)
}

func (w row) ratios() (wall, cpu float64) {
	a := w.theirs
	b := w.ours
	if !w.atLeast {
		a = w.ours
		b = w.theirs
	}
	return float64(a.wall) / float64(max(b.wall, 1)), float64(a.cpu) / float64(max(b.cpu, 1))
}

func (w row) line() string {
	if w.figure != "" {
		verdict := ""
		if w.limit != "" {
			verdict = yes(w.met)
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |",
			w.goal, w.what, w.figure, w.peer, w.ratio, w.limit, verdict)
	}

	wall, cpu := w.ratios()
	sign := "<="
	ok := func(v float64) bool { return v <= w.want }
	if w.atLeast {
		sign = ">="
		ok = func(v float64) bool { return v >= w.want }
	}
	ours := show(w.ours.wall)
	theirs := show(w.theirs.wall)
	ratio := digits(wall)
	verdict := yes(ok(wall))
	if !w.wallOnly {
		ours += " / " + show(w.ours.cpu)
		theirs += " / " + show(w.theirs.cpu)
		ratio += " / " + digits(cpu)
		switch {
		case w.cpuOnly:
			verdict = yes(ok(cpu))
		case ok(wall) != ok(cpu):
			verdict = map[bool]string{
				true:  "met in wall time, not in processor time",
				false: "met in processor time, not in wall time",
			}[ok(wall)]
		}
	}
	limit := fmt.Sprintf("%s %.3g", sign, w.want)
	if w.want == 0 {
		limit = ""
		verdict = ""
	}
	return fmt.Sprintf("| %s | %s | %s | %s: %s | %s | %s | %s |",
		w.goal, w.what, ours, w.peer, theirs, ratio, limit, verdict)
}

// digits shows a ratio with three digits that count.
func digits(v float64) string {
	return strconv.FormatFloat(
		v, 'f',
		max(0, 2-max(0, int(math.Floor(math.Log10(max(v, 1e-9)))))),
		64,
	)
}

func yes(ok bool) string {
	if ok {
		return "met"
	}
	return "not met"
}

func show(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f us", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// build compiles a program into dir, as make build does.
func build(t *testing.T, dir, name, pkg string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	cmd := exec.Command(
		"go", "build", "-trimpath", "-tags=nethttpomithttp2", "-ldflags=-s", "-o", out, pkg,
	)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, msg)
	}
	return out
}

// program writes a Go program into dir and compiles it.
func program(t *testing.T, dir, name, source string) string {
	t.Helper()
	file := filepath.Join(dir, name+".go")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return build(t, dir, name, file)
}

// version gives the first line of what a program says of itself.
func version(argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil && len(out) == 0 {
		return "missing"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
