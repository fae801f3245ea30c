package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func (l *lab) ask(filter, file string, flags ...string) subject {
	return subject{
		name: "tercet",
		argv: append([]string{l.tercet, "query", "-c", filter, file}, flags...),
	}
}

func (l *lab) askJQ(filter, file string, flags ...string) subject {
	return subject{name: l.jq.name, argv: append([]string{l.jq.path, "-c", filter, file}, flags...)}
}

// compareWithJQ compares a filter with jq, after a look at whether the answers are the same.
func (l *lab) compareWithJQ(goal, what, filter, file string, want float64) {
	ours := l.ask(filter, file)
	theirs := l.askJQ(filter, file)
	if a, b := ours.output(l.t), theirs.output(l.t); a != b {
		l.t.Errorf("%s: tercet gives\n%.300s\njq gives\n%.300s", filter, a, b)
	}
	a, b := measurePairs(l.t, l.n, ours, theirs)
	l.add(row{
		goal:    goal,
		what:    what,
		ours:    a,
		theirs:  b,
		peer:    l.jq.name,
		want:    want,
		atLeast: true,
		cpuOnly: true,
	})
}

const byNumber = ".tasks[] | select(.number == %d)"

func (l *lab) lookups() {
	for _, g := range []struct {
		n    int
		want float64
	}{{10_000, 8}, {100_000, 12}} {
		for _, layout := range []string{pretty, lines} {
			file := writeState(l.t, l.dir, layout, g.n)
			l.compareWithJQ(
				"P1",
				fmt.Sprintf("lookup by number, %d tasks, %s", g.n, layout),
				fmt.Sprintf(byNumber, g.n/10*7),
				file,
				g.want,
			)
		}
	}

	for _, layout := range []string{pretty, lines} {
		file := writeState(l.t, l.dir, layout, 1000)
		filter := fmt.Sprintf(byNumber, 700)
		l.compare(
			"P1",
			"lookup by number, 1000 tasks, "+layout,
			l.ask(filter, file),
			l.askJQ(filter, file),
			0.6,
			false,
		)
	}

	l.compareWithJQ(
		"P1",
		"by one field's equality, 10000 tasks",
		`.tasks[] | select(.slug == "task_number_7000") | .title`,
		writeState(l.t, l.dir, pretty, 10_000),
		8,
	)
	l.sqlite()
}

// sqlite is a row for orientation: an index answers whatever the size.
func (l *lab) sqlite() {
	if l.sqlite3.path == "" {
		l.missing("", "the same", l.sqlite3.name)
		return
	}

	db := l.dir + "/tasks.db"
	script := "create table t(number integer primary key, body text);\nbegin;\n"
	for i := 1; i <= 10_000; i++ {
		script += fmt.Sprintf("insert into t values(%d, '%s');\n", i, makeTask(i).Title)
	}

	if err := os.WriteFile(l.dir+"/tasks.sql", []byte(script+"commit;\n"), 0o644); err != nil {
		l.t.Fatal(err)
	}
	subject{argv: []string{
		"sh", "-c",
		l.sqlite3.path + " " + db + " < " + l.dir + "/tasks.sql",
	}}.output(l.t)
	l.compare(
		"",
		"the first beside an index",
		l.ask(fmt.Sprintf(byNumber, 7000), l.dir+"/pretty-10000.json"),
		subject{
			name: l.sqlite3.name,
			argv: []string{l.sqlite3.path, db, "select body from t where number = 7000"},
		},
		0,
		true,
	)
}

func (l *lab) counts() {
	file := writeState(l.t, l.dir, pretty, 10_000)
	for _, f := range []struct{ what, filter string }{
		{"count of one status", `[.tasks[] | select(.status == "completed")] | length`},
		{"counts by status, group_by", `[.tasks[].status] | group_by(.) | map([.[0], length])`},
		{"counts by status, of tasks", `.tasks | group_by(.status) | map([.[0].status, length])`},
		{
			"counts by status, reduce",
			`reduce .tasks[] as $t ({}; .[$t.status] += 1) | to_entries | sort_by(.key) | map([.key, .value])`,
		},
	} {
		l.compareWithJQ("P2", f.what+", 10k", f.filter, file, 4)
	}
}

const readyInJQ = `(.tasks | map({key: (.number | tostring), value: .status}) | from_entries) as $s | .tasks[]
	| select(.status == "not_started" or .status == "researched" or .status == "planned" or .status == "revised" or .status == "partial")
	| select(all(.dependencies[]; $s[tostring] as $d | $d == null or $d == "completed")) | .number`

// corpus runs every filter of the corpus that jq answers with the same bytes: once beside jq at
// each size, and in pairs where that one run was close. INDEX stands for what is quadratic in gojq
// itself.
func (l *lab) corpus() {
	text, err := os.ReadFile("../query/testdata/corpus.txt")
	if err != nil {
		l.t.Fatal(err)
	}
	args := []string{
		"--argjson", "n", "3", "--arg", "s", "completed", "--argjson", "f", "3.0", "--argjson", "o",
		`{"number":3}`, "--argjson", "none", "null",
	}
	filters := []string{readyInJQ, `INDEX(.tasks[]; .number) | length`}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.Contains(line, "[ready] ") {
			filters = append(filters, line)
		}
	}

	steep := 0
	var worst float64
	var curve string
	for _, n := range []int{1000, 10_000} {
		file := writeState(l.t, l.dir, pretty, n)
		twice := writeState(l.t, l.dir, pretty, 2*n)
		asked := 0
		var slower []string
		for i, filter := range filters {
			if l.n < 9 && i > 1 && i%6 != 0 { // a quick run takes a sixth of the corpus
				continue
			}
			ours := l.ask(filter, file, args...)
			theirs := l.askJQ(filter, file, args...)
			if filter == readyInJQ {
				ours = l.ask("ready | .number", file)
			}
			if !same(ours, theirs) {
				continue
			}
			asked++
			a, b := measurePairs(l.t, 1, ours, theirs)
			if a.cpu > b.cpu*4/5 {
				a, b = measurePairs(l.t, l.n, ours, theirs)
			}
			if a.cpu > b.cpu {
				slower = append(
					slower,
					fmt.Sprintf("`%s` %.2f",
						strings.ReplaceAll(filter, "|", `\|`), float64(a.cpu)/float64(b.cpu)),
				)
			}
			if n < 10_000 {
				continue
			}
			double := ours
			double.argv = append([]string{}, ours.argv...)
			double.argv[4] = twice
			c, d := measurePairs(l.t, 1, double, ours)
			if r := float64(c.cpu) / float64(d.cpu); r > 2.3 {
				c, d = measurePairs(l.t, l.n, double, ours)
			}
			r := float64(c.cpu) / float64(d.cpu)
			if r > worst {
				worst = r
				curve = filter
			}
			if r > 2.3 {
				steep++
			}
		}
		l.add(row{
			goal:   "P3",
			what:   fmt.Sprintf("%d filters of the corpus, %d tasks: slower than jq", asked, n),
			figure: fmt.Sprint(len(slower)),
			peer:   l.jq.name,
			ratio:  strings.Join(slower, ", "),
			limit:  "none, in processor time",
			met:    len(slower) == 0,
		})
	}

	l.add(row{
		goal:   "P3",
		what:   "20k beside 10k: filters above 2.3",
		figure: fmt.Sprint(steep),
		ratio:  fmt.Sprintf("%.2f at most, of `%s`", worst, strings.ReplaceAll(curve, "|", `\|`)),
		limit:  "none",
		met:    steep == 0,
	})
}

// same tells whether both answer, and alike.
func same(a, b subject) bool {
	x, xerr := exec.Command(a.argv[0], a.argv[1:]...).Output()
	y, yerr := exec.Command(b.argv[0], b.argv[1:]...).Output()
	return xerr == nil && yerr == nil && bytes.Equal(x, y)
}
