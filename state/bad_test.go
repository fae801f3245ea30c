package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state"
	"tercet/state/statefile"
)

// place marks in a bad piece where it is expected to be found bad.
const place = "¦"

// badJSON lists pieces that are no JSON, each with the place where it is wrong: a number or a word
// as a whole, a character of a string, the comma that is too many, the token that is not expected.
func badJSON() []string {
	var out []string
	for word := range strings.FieldsSeq(`+1 - -a -x1 01 -01 00 1. 1.e1 .5 -.5 1e 1e+ 1E-x 1_000 0x1F 0b1 0o7 NaN Infinity -Infinity -NaN 1f 10n 2.-3
		1e1.5 000 1..2 --1 +-1 1+2 1e1e1 1.2.3 1-1 0.e1 -e1 1E 1E+ .e1 . -. +.1 $1 1L 1u 0x 0X1 1e٣ ٣ １ ∞
		True tru trux nul None undefined False yes no on off nil NULL truefalse nulll a abc a.b _ $x fn Date eval`) {
		out = append(out, place+word, "["+place+word+"]", `{"k": `+place+word+"}")
	}

	out = append(out,
		"1¦$", "[1¦٣]", "[1¦$]",
		// strings
		"¦'a'", "\"a¦\n\"", "\"a¦\t\"", "\"¦\x00\"", "\"ab¦\x1f\"", `"¦\x41"`, `"¦\u12g4"`, `"¦\u"`,
		`"¦\u00"`, `"¦\U0041"`, `"¦\'"`, `"¦\a"`, `"ab¦\0"`, `"¦\u{41}"`, `"¦\ "`, `"¦\v"`, `"¦\e"`,
		`"a" ¦"b"`, `"a"¦"b"`, `"a"¦b`, "¦`a`", "¦“a”", `"a" ¦+ "b"`, "\"¦\r\n\"",
		// half characters
		`"¦\ud800"`, `"¦\udc00"`, `"¦\ud800\ud800"`, `"¦\udfff\ud800"`, `"¦\ud83dx"`,
		`"a¦\ud83d\n"`, `"\ud83d\ude00¦\ud83d"`, `"¦\ud83d\u0041"`, `{"¦\ud800": 1}`,
		// bytes that are no UTF-8
		"\"¦\xff\"", "\"¦\xc0\x80\"", "\"¦\xc1\xbf\"", "\"¦\xe0\x80\x80\"", "\"¦\xed\xa0\x80\"",
		"\"¦\xf4\x90\x80\x80\"", "\"¦\x80\"", "\"é¦\xc3\"", "\"¦\xf0\x9f\x98\"", "\"¦\xfe\"",
		"\"¦\xf8\x88\x80\x80\x80\"", "¦\xff", "¦\xa0\x31", "\"¦\xe2\x28\xa1\"",
		"\"¦\xf0\x28\x8c\xbc\"", "\"ab¦\xc3\x28\"", "{\"¦\xff\": 1}",
		// arrays
		"[1 ¦2]", "[1¦,]", "[¦,1]", "[1,¦,2]", "[¦,]", "[1¦;2]", "[1¦:2]", "[¦}", "[1¦}", "[1]¦]",
		`["a" ¦"b"]`, "[¦*]", "¦(1)", "[1\n¦2]", "[¦...]", "[[1]¦[2]]", "[1, ¦# two\n2]",
		"[1 ¦// one\n]",
		"[1 ¦/* one */]", "[[1, 2]¦, ]", "[1, 2, [3¦,]]", "[{}¦{}]", "[1¦=2]", "[1¦|2]", "[1 ¦\\]",
		// objects
		"{¦a: 1}", "{¦'a': 1}", "{¦1: 1}", "{¦null: 1}", `{"a"¦}`, `{"a" ¦1}`, `{"a":¦}`,
		`{"a":¦,}`, `{"a": 1¦,}`, "{¦,}", `{"a": 1 ¦"b": 2}`, `{"a": 1,¦, "b": 2}`, `{"a" ¦= 1}`,
		`{"a":¦: 1}`, `{"a": 1¦; "b": 2}`,
		"{¦[1]: 2}", "{¦{}: 2}", `{"a": 1¦]`, `{"a"¦, "b"}`, `{"a": 1 ¦/* c */}`, "{¦// c\n}",
		`{"a":1,¦,}`, "{¦...x}", `{"a": "b" ¦: 1}`, `{"a": 1¦: 2}`, `{"a" ¦=> 1}`, "{¦`a`: 1}",
		"{¦true}", `{"a": [1¦}]`,
		`{"a": {"b": 1¦,}}`, `{"a"¦;1}`,
		// space that is none in JSON
		"[¦\u00a01]", "[1¦\u2028]", "[¦\v1]", "[¦\f1]", "[¦\ufeff1]", "[¦\x001]", "[¦\u30001]",
		"[1,¦\u200b2]", "[¦\x7f]", "[¦\b]", "[¦\x1a]", "[¦\u00ad]", "{¦\u00a0}",
		// other languages
		"¦<a/>", "¦!!map {}", "¦&a", "¦@", "¦%", "¦~", `¦\`, `¦\u0031`, "¦#", "¦//", "¦/**/1",
		"¦*a", "¦|", "¦>", "¦=1",
		// names twice
		`{"a": 1, ¦"a": 2}`, `{"": 1, ¦"": 2}`, `{"é": 1, ¦"é": 2}`,
		`{"x y": 1, "z": 2, ¦"x y": 2}`, `{"a": 1, ¦"\u0061": 2}`, `{"a": {"b": 1, ¦"b": 2}}`,
		`[{"k": 1, "l": 2, ¦"k": 3}]`, `{"\ud83d\ude00": 1, ¦"😀": 2}`,
	)
	return out
}

// unended lists pieces that begin JSON and end too early; all are found at the end of the file.
func unended() []string {
	return []string{
		"", " ", "\n", "[", "[1", "[1,", `["a"`, `["a",`, "{", `{"a"`, `{"a":`, `{"a": 1`,
		`{"a": 1,`, `{"a": [1, {"b": `, `[[[[[[[[`, `{"a": {"b": {"c":`, `[{}`, `[{},`, "[1 ", "{ ",
		`[null`, `{"a": null`,
	}
}

// goodJSON lists pieces that are JSON, of which every byte stays.
func goodJSON() []string {
	return []string{
		"0",
		"-0",
		"1",
		"-1",
		"10",
		"1.0",
		"1.10",
		"0.1",
		"-0.0",
		"1e1",
		"1E1",
		"1e+1",
		"1e-1",
		"1E400",
		"1e-400",
		"123e65",
		"0e1",
		"0e+1",
		"9007199254740993",
		"-9007199254740993",
		"18446744073709551616",
		"12345678901234567890123",
		"1.7976931348623157e309",
		"3.141592653589793238462643383279",
		"0.00000000000000000000000000001",
		"1e0000000000001",
		"1234.5678E-0009",
		"true",
		"false",
		"null",
		`""`,
		`"a"`,
		`" "`,
		`"\""`,
		`"\\"`,
		`"\/"`,
		`"/"`,
		`"\b\f\n\r\t"`,
		`"\u0041"`,
		`"\u00e9"`,
		`"é"`,
		`"\ud83d\ude00"`,
		`"😀"`,
		`"\u0000"`,
		`"\u2028"`,
		"\"\u2028\u2029\"",
		`"\uFFFF"`,
		"\"\uffff\"",
		"\"\U0010ffff\"",
		"\"\x7f\"",
		"\"\u00a0\u200b\ufeff\"",
		`"\u005C"`,
		`"\uD834\uDD1E"`,
		`"<<<<<<< HEAD"`,
		`"=======\n>>>>>>> b"`,
		`"// no comment"`,
		`"/* */"`,
		`"a,b]}"`,
		`"<script>&amp;"`,
		`"\\u0041"`,
		`"\\\\n"`,
		"[]",
		"[ ]",
		"[1]",
		"[1,2]",
		"[ 1 , 2 ]",
		"[\n1\n,\n2\n]",
		"[[]]",
		"[{}]",
		"[null, true, 1, \"a\", [], {}]",
		"[1,1,1]",
		"[[[[[[[[[[]]]]]]]]]]",
		"[\t1\t]",
		"[\r\n1\r\n]",
		`["", "", ""]`,
		"{}",
		"{ }",
		`{"a":1}`,
		`{"a": 1, "b": 2}`,
		`{"b": 1, "a": 2}`,
		`{"": 0}`,
		`{"a": {"a": {"a": 1}}}`,
		`{"a": 1, "A": 2}`,
		`{"\u0061": 1}`,
		`{"a b": 1}`,
		`{"é": 1, "e\u0301": 2}`,
		`{"1": 1, "01": 2}`,
		`{"__proto__": 1, "constructor": 2}`,
		`{"a":[{"b":[{"c":1}]}]}`,
		"{\n}",
		`{"null": null, "true": true}`,
		`{"tasks": 1}`,
		`{"number": "x"}`,
		strings.Repeat("[", 62) + strings.Repeat("]", 62),
		strings.Repeat(`{"a":`, 61) + "1" + strings.Repeat("}", 61),
	}
}

const (
	before = "{\n  \"version\": \"1\",\n  \"lineage\": \"l\",\n  \"serial\": 4,\n" +
		"  \"next_number\": 9,\n  \"x\": "
	behind = ",\n  \"tasks\": [{\"number\": 1, \"title\": \"a\", \"status\": \"not_started\"}]\n}\n"
)

// bad is a state file with the place where it is wrong.
type bad struct {
	name string
	src  string
	at   int
}

// marked makes a bad file of text that has the mark.
func marked(name, text string) bad {
	at := strings.Index(text, place)
	return bad{name, strings.Replace(text, place, "", 1), at}
}

// badFiles lists files that are no state.
func badFiles() []bad {
	var out []bad
	for _, piece := range badJSON() {
		out = append(
			out,
			marked("inside "+piece, before+piece+behind),
			marked("alone "+piece, piece),
		)
	}

	for _, piece := range unended() {
		out = append(
			out,
			marked("unended "+piece, before+piece+place),
			marked("alone, unended "+piece, piece+place),
		)
	}

	whole := before + "1" + behind
	for cut := 1; cut < len(whole)-2; cut += 7 { // what a write in place leaves of a file
		out = append(out, bad{fmt.Sprint("cut at ", cut), whole[:cut], -1})
	}
	task := func(members string) string {
		return before + "1,\n  \"tasks\": [" + members + "]\n}\n"
	}
	const one = `{"number": 1, "title": "a", "status": "planned"}`
	return append(
		out,
		marked("second document", whole+place+"{}"),
		marked("the same twice", whole+place+whole),
		marked("text behind", whole+place+"end"),
		marked("zeros behind", whole+place+"\x00\x00"),
		bad{"zeros", strings.Repeat("\x00", 100), 0},
		bad{"zeros at the end", whole[:60] + strings.Repeat("\x00", 100), 60},
		marked("two byte order marks", "\xef\xbb\xbf"+place+"\xef\xbb\xbf"+whole),
		bad{"UTF-16", "\xff\xfe{\x00}\x00", 0},
		bad{"UTF-16, big", "\xfe\xff\x00{\x00}", 0},
		bad{"UTF-32", "\xff\xfe\x00\x00{\x00\x00\x00", 0},
		marked(
			"markers",
			before+"1,\n"+place+"<<<<<<< HEAD\n  \"y\": 1,\n=======\n  \"y\": 2,\n>>>>>>> other\n"+
				behind[2:],
		),
		marked(
			"markers of three",
			before+"1,\n"+place+
				"<<<<<<< HEAD\n  \"y\": 1,\n||||||| base\n=======\n  \"y\": 2,\n>>>>>>> other\n"+
				behind[2:],
		),
		marked(
			"markers in tasks",
			task("\n"+place+"<<<<<<< ours\n"+one+"\n=======\n"+one+"\n>>>>>>> theirs\n"),
		),
		marked("markers around all", place+"<<<<<<< HEAD\n"+whole+"=======\n"+whole+">>>>>>> b\n"),
		marked("markers, windows", strings.ReplaceAll(
			before+"1,\n"+place+"<<<<<<< HEAD\n  \"y\": 1,\n=======\n>>>>>>> other\n"+
				behind[2:],
			"\n",
			"\r\n",
		)),
		marked(
			"too deep",
			before+strings.Repeat("[", 63)+place+strings.Repeat("[", 40)+strings.Repeat(
				"]", 103,
			)+behind,
		),
		marked(
			"too deep objects",
			before+strings.Repeat(`{"a":`, 63)+place+strings.Repeat(`{"a":`, 40)+"1"+
				strings.Repeat("}", 103)+behind,
		),
		marked("very deep", strings.Repeat("[", 64)+place+strings.Repeat("[", 100000)),
		marked("serial twice", strings.Replace(whole, `"x"`, place+`"serial"`, 1)),
		marked("tasks twice", strings.Replace(whole, "}]\n", "}],\n  "+place+"\"tasks\": []\n", 1)),
		marked(
			"title twice",
			task(`{"number": 1, "title": "a", `+place+`"title": "b", "status": "planned"}`),
		),
		marked("lineage in other words", strings.Replace(whole, `"x"`, place+`"line\u0061ge"`, 1)),
		marked("number twice", task(one+", "+place+one)),
		marked(
			"number as 1e0",
			task(`{"number": `+place+`1e0, "title": "a", "status": "planned"}`),
		),
		marked(
			"number as 1.0",
			task(`{"number": `+place+`1.0, "title": "a", "status": "planned"}`),
		),
		marked(
			"big number",
			task(`{"number": `+place+`9007199254740993, "title": "a", "status": "planned"}`),
		),
		marked(
			"huge number",
			task(`{"number": `+place+`1e400, "title": "a", "status": "planned"}`),
		),
		marked(
			"number below zero",
			task(`{"number": `+place+`-1, "title": "a", "status": "planned"}`),
		),
		marked("big serial", strings.Replace(whole, "4", place+"9007199254740993", 1)),
		marked("serial as 4.0", strings.Replace(whole, "4", place+"4.0", 1)),
		marked("serial as text", strings.Replace(whole, "4", place+`"4"`, 1)),
		marked("next number null", strings.Replace(whole, "9", place+"null", 1)),
		marked("key in capitals", strings.Replace(whole, `"x"`, place+`"TASKS"`, 1)),
		marked(
			"task key in capitals",
			task(`{"number": 1, "title": "a", "status": "planned", `+place+`"Number": 2}`),
		),
		marked(
			"tasks an object",
			strings.Replace(strings.Replace(whole, "[{", place+"{", 1), "}]", "}", 1),
		),
		marked("task null", task(place+"null")),
		marked("task a number", task(one+", "+place+"7")),
		marked(
			"title not UTF-8",
			task("{\"number\": 1, \"title\": \"a"+place+"\xff\", \"status\": \"planned\"}"),
		),
		marked(
			"title half a character",
			task(`{"number": 1, "title": "`+place+`\ud83d", "status": "planned"}`),
		),
		marked("key not UTF-8", task("{\"number\": 1, \""+place+"\xff\": 1}")),
		marked(
			"status of nobody",
			task(`{"number": 1, "title": "a", "status": `+place+`"Planned!"}`),
		),
		marked("array", place+"[]"),
		marked("text", place+`"state"`),
		marked("number", place+"1"),
		marked("null", place+"null"),
		marked("empty object", place+"{}"),
	)
}

// TestBadFiles: what is no state is refused with its place and left as it is.
func TestBadFiles(t *testing.T) {
	t.Parallel()

	all := badFiles()
	if len(all) < 350 {
		t.Errorf("%d files, want at least 350", len(all))
	}

	for part := range 8 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			w := quickWorkspace(t)
			w.add("kept")

			for i := part; i < len(all); i += 8 {
				w.refuses(all[i])
			}
		})
	}
}

func (w *workspace) refuses(b bad) {
	w.t.Helper()
	w.write("state.json", b.src)
	at := fmt.Sprintf(".tercet/state.json:%s: ", where(b.src, b.at))
	if b.at < 0 {
		at = ".tercet/state.json:"
	}

	_, reading := w.r.Doc(w.t.Context())
	_, writing := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})

	for _, err := range []error{reading, writing} {
		_, ok := errors.AsType[*statefile.SyntaxError](err)
		if !ok || formats.CodeOf(err) != formats.CodeInvalidState ||
			!strings.HasPrefix(err.Error(), at) {
			w.t.Errorf("%q:\n%.300q\nerror %.200v, want one at %s", b.name, b.src, err, at)
			break
		}
	}

	if got := w.read("state.json"); got != b.src {
		w.t.Errorf("%q: the file was changed to %.300q", b.name, got)
	}

	// the copies would be compared with each other
	if err := os.RemoveAll(w.path("backups")); err != nil {
		w.t.Fatal(err)
	}
}

// where gives the place of an offset as messages do.
func where(src string, at int) string {
	if at < 0 {
		return ""
	}
	head := src[:at]
	return fmt.Sprintf("%d:%d", 1+strings.Count(head, "\n"), at-strings.LastIndexByte(head, '\n'))
}

// TestGoodFiles: what is JSON is taken, and stays byte for byte when something else is written.
func TestGoodFiles(t *testing.T) {
	t.Parallel()

	w := quickWorkspace(t)
	pieces := goodJSON()
	if len(pieces) < 95 {
		t.Errorf("%d pieces, want at least 95", len(pieces))
	}

	for _, piece := range pieces {
		for _, form := range []func(string) string{
			func(s string) string { return s },
			func(s string) string { return "\xef\xbb\xbf" + s },
			func(s string) string {
				return strings.ReplaceAll(s, "\n", "\r\n")
			},
		} {
			src := form(before + piece + behind)
			w.write("state.json", src)

			if err := errors.Join(
				os.RemoveAll(w.path("audit.jsonl")),
				os.RemoveAll(w.path("backups")),
			); err != nil {
				t.Fatal(err)
			}

			res, err := w.try(state.UpdateMetadata{Task: 1, Fields: map[string]any{"title": "b"}})
			if err != nil {
				t.Errorf("%.300q: %v", src, err)
				continue
			}

			got := w.read("state.json")
			want := strings.Replace(
				strings.Replace(
					strings.TrimPrefix(src, "\xef\xbb\xbf"),
					`"serial": 4`,
					`"serial": 5`,
					1,
				),
				`"title": "a"`,
				`"title": "b"`,
				1,
			)

			// behind that the task has members that were added
			i := strings.LastIndex(got, `"tasks"`)
			if !strings.HasPrefix(want, got[:i]) || res.Serial != 5 {
				t.Errorf("%.300q became %.300q", src, got)
			}

			bom := strings.HasPrefix(src, "\xef\xbb\xbf")
			if bom != slices.ContainsFunc(res.Warnings, func(s string) bool {
				return strings.Contains(s, "byte order mark")
			}) {
				t.Errorf("%.60q: warnings %q", src, res.Warnings)
			}
		}
	}
}

// FuzzBadFile: whatever state.json holds, reading and writing end with an answer, and what is
// refused is not touched.
func FuzzBadFile(f *testing.F) {
	for i, b := range badFiles() {
		if i%9 == 0 && len(b.src) < 1000 {
			f.Add([]byte(b.src))
		}
	}

	for _, piece := range goodJSON() {
		f.Add([]byte(before + piece + behind))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		w := quickWorkspace(t)

		w.write("state.json", string(src))
		if err := os.RemoveAll(w.path("audit.jsonl")); err != nil {
			t.Fatal(err)
		}

		_, reading := w.r.Doc(t.Context())
		_, writing := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})
		got := []byte(w.read("state.json"))

		switch {
		case reading != nil && (writing == nil || !bytes.Equal(got, src)):
			t.Errorf("%q cannot be read, and writing it gives %v and %q", src, writing, got)
		case writing != nil && !bytes.Equal(got, src):
			t.Errorf("%q was refused with %v and changed to %q", src, writing, got)
		case writing == nil:
			if _, err := w.r.Doc(t.Context()); err != nil {
				t.Errorf("%q became %q, which cannot be read: %v", src, got, err)
			}
		}
	})
}
