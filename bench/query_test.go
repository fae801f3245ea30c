package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"

	"tercet/internal/query"
)

func (l *lab) ask(filter, file string) subject {
	return subject{name: "tercet", argv: []string{l.tercet, "query", "-c", filter, file}}
}

func (l *lab) askJQ(filter, file string) subject {
	return subject{name: l.jq.name, argv: []string{l.jq.path, "-c", filter, file}}
}

// both compares a filter with jq, after a look at whether the answers are the same.
func (l *lab) both(goal, what, filter, file string, want float64) {
	ours, theirs := l.ask(filter, file), l.askJQ(filter, file)
	if a, b := ours.output(l.t), theirs.output(l.t); a != b {
		l.t.Errorf("%s: tercet gives\n%.300s\njq gives\n%.300s", filter, a, b)
	}
	l.compare(goal, what, ours, theirs, want, true)
}

const byNumber = ".tasks[] | select(.number == %d)"

// lookup is a row of a lookup, which reads all of the file.
func (l *lab) lookup(goal string, n int, layout string, want float64) (filter, file string) {
	file, filter = writeState(l.t, l.dir, layout, n), fmt.Sprintf(byNumber, n/10*7)
	l.both(goal, fmt.Sprintf("lookup by number, %d tasks, %s", n, layout), filter, file, want)
	return filter, file
}

func (l *lab) lookups() {
	for _, layout := range []string{pretty, lines} {
		filter, file := l.lookup("P1", 10_000, layout, 8)
		l.orient("the first, beside gojq", filter, file)
	}
	l.sqlite()
}

// orient is a row beside gojq, which no goal speaks of.
func (l *lab) orient(what, filter, file string) {
	if l.gojq.path == "" {
		l.missing("", what, l.gojq.name)
		return
	}
	l.compare("", what, l.ask(filter, file), subject{name: l.gojq.name, argv: []string{l.gojq.path, "-c", filter, file}}, 0, true)
}

// sqlite is a row for orientation: an index answers whatever the size.
func (l *lab) sqlite() {
	if l.sqlite3.path == "" {
		l.missing("", "the same", l.sqlite3.name)
		return
	}
	db, script := l.dir+"/tasks.db", "create table t(number integer primary key, body text);\nbegin;\n"
	for i := 1; i <= 10_000; i++ {
		script += fmt.Sprintf("insert into t values(%d, '%s');\n", i, makeTask(i).Title)
	}
	if err := os.WriteFile(l.dir+"/tasks.sql", []byte(script+"commit;\n"), 0o644); err != nil {
		l.t.Fatal(err)
	}
	subject{argv: []string{"sh", "-c", l.sqlite3.path + " " + db + " < " + l.dir + "/tasks.sql"}}.output(l.t)
	l.compare("", "the same beside an index", l.ask(fmt.Sprintf(byNumber, 7000), l.dir+"/lines-10000.json"),
		subject{name: l.sqlite3.name, argv: []string{l.sqlite3.path, db, "select body from t where number = 7000"}}, 0, true)
}

func (l *lab) largeLookups() {
	for _, layout := range []string{pretty, lines} {
		l.lookup("P1", 100_000, layout, 12)
	}
	if !*large {
		l.missing("G2", "lookup by number, 1M", "only with -large")
		return
	}
	file := writeState(l.t, l.dir, lines, 1_000_000)
	l.both("G2", "lookup by number, 1M, lines", fmt.Sprintf(byNumber, 700_000), file, 30)
	l.addPeak("a lookup, 1M", l.peakOf(l.ask(fmt.Sprintf(byNumber, 700_000), file)), l.peakOf(subject{argv: []string{l.tercet, "version"}}))
}

func (l *lab) small() {
	file := writeState(l.t, l.dir, pretty, 1000)
	filter := fmt.Sprintf(byNumber, 700)
	l.compare("P1", "lookup by number, 1k", l.ask(filter, file), l.askJQ(filter, file), 0.6, false)
	for _, g := range []struct {
		n    int
		want float64
	}{{1000, 1.3}, {10_000, 1}} {
		file, todo := writeState(l.t, l.dir, pretty, g.n), writeMarkdown(l.t, l.dir, g.n)
		number := g.n / 10 * 7
		grep := fmt.Sprintf(`grep -A 4 '^### %d\.' %s | sed -n 's/^- \*\*Status\*\*: //p'`, number, todo)
		l.compare("G3", fmt.Sprintf("status of a task, %d", g.n), l.ask(fmt.Sprintf(byNumber+" | .status", number), file), subject{name: "grep and sed on markdown", argv: []string{"sh", "-c", grep}}, g.want, false)
	}
}

func (l *lab) counts() {
	file := writeState(l.t, l.dir, pretty, 10_000)
	for _, f := range []struct{ what, filter string }{
		{"count of one status", `[.tasks[] | select(.status == "completed")] | length`},
		{"counts by status, group_by", `[.tasks[].status] | group_by(.) | map([.[0], length])`},
		{"counts by status, of tasks", `.tasks | group_by(.status) | map([.[0].status, length])`},
		{"counts by status, reduce", `reduce .tasks[] as $t ({}; .[$t.status] += 1) | to_entries | sort_by(.key) | map([.key, .value])`},
	} {
		l.both("P2", f.what+", 10k", f.filter, file, 4)
	}
	file = writeState(l.t, l.dir, pretty, 100_000)
	l.both("P2", "counts by status, 100k", `[.tasks[].status] | group_by(.) | map([.[0], length])`, file, 4)
}

// fields compares with the standard decoder and gojq in this process: the same bytes, the time and the allocation.
func (l *lab) fields() {
	src, err := os.ReadFile(writeState(l.t, l.dir, pretty, 10_000))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, filter := range []string{
		`.tasks[] | {number, title}`, `.tasks[] | select(.status == "planned") | "\(.number) \(.title)"`, `.tasks | sort_by(.created, .number) | .[-5:] | map(.title)`,
		`[.tasks[] | .dependencies | length] | add`, `.tasks[] | select(.artifacts | length > 0) | .artifacts[-1].path`, `.tasks | map(select(.title | test("99"))) | length`,
	} {
		var ours, theirs string
		a := subject{name: "tercet", call: func() (err error) { ours, err = pushed(filter, src); return err }}
		b := subject{name: "encoding/json + gojq", call: func() (err error) { theirs, err = plain(filter, src); return err }}
		l.compare("G5", "`"+strings.ReplaceAll(filter, "|", `\|`)+"`, 10k, in process", a, b, 3, true)
		if ours != theirs {
			l.t.Errorf("%s: tercet gives\n%.300s\ngojq gives\n%.300s", filter, ours, theirs)
		}
		ratio := float64(allocated(l.t, a)) / float64(allocated(l.t, b))
		l.add(row{goal: "G5", what: "its allocation", figure: fmt.Sprintf("%.2f of the peer's", ratio), limit: "<= 0.5", met: ratio <= 0.5, peer: "encoding/json + gojq"})
	}
}

func pushed(filter string, src []byte) (string, error) {
	var out bytes.Buffer
	_, err := query.Host{}.Run(context.Background(), query.CLIRequest{Filter: filter, Compact: true, Timeout: time.Minute, Out: &out, Inputs: []query.Input{{Data: src}}})
	return out.String(), err
}

func plain(filter string, src []byte) (string, error) {
	q, err := gojq.Parse(filter)
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return "", err
	}
	var out bytes.Buffer
	for it := q.Run(doc); ; {
		v, ok := it.Next()
		if !ok {
			return out.String(), nil
		}
		if err, bad := v.(error); bad {
			return "", err
		}
		text, err := gojq.Marshal(v)
		if err != nil {
			return "", err
		}
		out.Write(append(text, '\n'))
	}
}

func allocated(t *testing.T, s subject) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.run(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

const readyInJQ = `(.tasks | map({key: (.number | tostring), value: .status}) | from_entries) as $s | .tasks[]
	| select(.status == "not_started" or .status == "researched" or .status == "planned" or .status == "revised" or .status == "partial")
	| select(all(.dependencies[]; $s[tostring] as $d | $d == null or $d == "completed")) | .number`

func (l *lab) ready() {
	file, twice := writeState(l.t, l.dir, pretty, 10_000), writeState(l.t, l.dir, pretty, 20_000)
	ours, theirs := l.ask("ready | .number", file), l.askJQ(readyInJQ, file)
	if a, b := ours.output(l.t), theirs.output(l.t); a != b {
		l.t.Errorf("ready: tercet gives\n%.300s\njq gives\n%.300s", a, b)
	}
	l.compare("G6", "ready, 10k", ours, theirs, 8, true)
	l.compare("G6", "ready, 20k beside 10k", l.ask("ready | .number", twice), subject{name: "10k", argv: ours.argv}, 2.3, false)
	index := `INDEX(.tasks[]; .number) | length`
	l.both("G6", "INDEX, 10k", index, file, 1)
	l.compare("G6", "INDEX, 20k beside 10k", l.ask(index, twice), subject{name: "10k", argv: l.ask(index, file).argv}, 2.3, false)
}
