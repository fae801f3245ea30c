package query_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"tercet/internal/query"
)

// numbered is a state of many tasks whose numbers rise, with gaps.
func numbered(layout string) string {
	var b strings.Builder
	sep := map[string]string{"pretty": "\n    ", "lines": "\n", "compact": ""}[layout]
	b.WriteString(`{"version": "1",` + sep + `"tasks": [`)
	for i := range 300 {
		if i > 0 {
			b.WriteByte(',')
		}
		member := strings.ReplaceAll(sep, "    ", "      ")
		if layout != "pretty" {
			member = ""
		}
		fmt.Fprintf(&b, `%s{"number": %d,%s"status": "%s",%s"title": "n \"%d\" ]},{",%s"dependencies": [%d]}`, sep, 2+i*3, member, []string{"planned", "completed"}[i%2], member, i, member, i)
	}
	b.WriteString(sep + "], \"next_number\": 902}\n")
	return b.String()
}

// marksOf reads a file and gives what was kept of it.
func marksOf(tb testing.TB, filter, src string) (query.Ready, []byte) {
	tb.Helper()
	r, _, err := query.NewReady(query.CLIRequest{Filter: filter, Compact: true, Args: corpusArgs(), Statuses: corpusStatuses()})
	if err != nil {
		return r, nil // the corpus has filters that are wrong
	}
	var marks []byte
	if _, _, _, err := r.Run(tb.Context(), query.Fast, query.Input{File: strings.NewReader(src), Keep: func(m []byte) { marks = bytes.Clone(m) }}); err != nil && marks != nil {
		tb.Errorf("%s: %v, and marks were kept", filter, err)
	}
	return r, marks
}

// TestMarks: with marks every query gives what it gives without.
func TestMarks(t *testing.T) {
	t.Parallel()
	filters := []string{".tasks[] | select(.number == 5 and (.status | error))", ".tasks[] | select(.number == 5) | error", ".tasks[] | select((.title | error) and .number == 5)"}
	for _, n := range []int{-1, 0, 1, 2, 3, 5, 191, 192, 193, 194, 195, 197, 386, 896, 899, 900, 1 << 40} {
		filters = append(filters, fmt.Sprintf(".tasks[] | select(.number == %d)", n), fmt.Sprintf(`.tasks[] | select(%d == .number and .status == "planned") | .title, .dependencies`, n))
	}
	for _, f := range corpus(t) {
		filters = append(filters, f.src)
	}
	states := []string{numbered("pretty"), numbered("lines"), numbered("compact"), "\xef\xbb\xbf" + numbered("lines")}
	used := 0
	for i, filter := range filters {
		src := states[i%len(states)]
		r, marks := marksOf(t, filter, src)
		if marks == nil {
			continue
		}
		used++
		in := query.Input{File: strings.NewReader(src)}
		var want, got answer
		var err error
		want.out, want.exit, _, err = r.Run(t.Context(), query.Slow, in)
		want.err = fmt.Sprint(err)
		in.Marks = marks
		var fast bool
		got.out, got.exit, fast, err = r.Run(t.Context(), query.Fast, in)
		if got.err = fmt.Sprint(err); got != want {
			t.Errorf("%s with marks gives %v\nwant %v", filter, got, want)
		}
		if !fast && err == nil {
			t.Errorf("%s with marks was answered the slow way", filter)
		}
	}
	if used < 40 {
		t.Errorf("%d of %d filters kept marks, want at least 40", used, len(filters))
	}
}

// TestMarksNotKept: what is broken, not in order, or not one document has no marks.
func TestMarksNotKept(t *testing.T) {
	t.Parallel()
	const filter = ".tasks[] | select(.number == 5)"
	good := numbered("lines")
	if _, marks := marksOf(t, filter, good); marks == nil {
		t.Fatal("no marks of a good state")
	}
	for name, src := range map[string]string{
		"two documents": good + good, "rest": good + "x", "cut": good[:len(good)-4], "twice": strings.Replace(good, `"number": 8`, `"number": 5`, 1), "falls": strings.Replace(good, `"number": 500`, `"number": 5`, 1),
		"text": strings.Replace(good, `"number": 500`, `"number": "500"`, 1), "fraction": strings.Replace(good, `"number": 500`, `"number": 500.0`, 1), "none": strings.Replace(good, `"number": 500,`, ``, 1),
		"no object": strings.Replace(good, `[`+"\n", `[ 7,`, 1), "few": `{"tasks":[{"number":5}]}`, "two keys": strings.Replace(good, `"version"`, `"tasks": [{"number": 1}], "version"`, 1),
	} {
		if _, marks := marksOf(t, filter, src); marks != nil {
			t.Errorf("%s: marks were kept", name)
		}
	}
}

// TestMarksOfOther: marks of another query, and of another place of a file, are found out.
func TestMarksOfOther(t *testing.T) {
	t.Parallel()
	src := numbered("lines")
	_, marks := marksOf(t, ".tasks[] | select(.number == 500)", src)
	if marks == nil {
		t.Fatal("no marks")
	}
	for filter, text := range map[string]string{
		".tasks[] | select(.next_number == 500)": src, ".others[] | select(.number == 500)": src,
		".tasks[] | select(.number == 500)": " " + src, ".tasks[] | select(.number == 500) ": strings.Replace(src, `"number": 386`, `"number": 387`, 1),
	} {
		r, _ := marksOf(t, filter, text)
		in := query.Input{File: strings.NewReader(text)}
		want, wantExit, _, wantErr := r.Run(t.Context(), query.Slow, in)
		in.Marks = marks
		got, exit, _, err := r.Run(t.Context(), query.Fast, in)
		if got != want || exit != wantExit || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s with marks of other: %q, %d, %v, want %q, %d, %v", filter, got, exit, err, want, wantExit, wantErr)
		}
	}
}

// FuzzMarks: bytes that are no marks do no harm, also with the right sum.
func FuzzMarks(f *testing.F) {
	src := numbered("lines")
	r, marks := marksOf(f, ".tasks[] | select(.number == 500)", src)
	f.Add(marks[:len(marks)-4])
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := query.Input{File: strings.NewReader(src), Marks: binary.LittleEndian.AppendUint32(bytes.Clone(data), crc32.ChecksumIEEE(data))}
		out, exit, _, err := r.Run(t.Context(), query.Fast, in)
		if exit != 0 || err != nil || out != "" && !strings.HasPrefix(out, `{"number":500,`) {
			t.Errorf("with marks %q: %q, %d, %v", data, out, exit, err)
		}
	})
}
