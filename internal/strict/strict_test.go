package strict_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/md"
	"tercet/internal/strict"
)

// TestMap: one pass tells everything that is wrong, each finding with its code and place, and gives
// what is right.
func TestMap(t *testing.T) {
	t.Parallel()
	const src = `name: x
nane: y
zzz: 1

color: red
on:
"off": off
name: twice
count: 0
list: [a, 1]
time: soon
`
	n, _ := md.ParseYAML([]byte(src), md.Pos{})
	var got []string
	d := strict.Decoder{
		Value:  "V",
		Key:    "K",
		Absent: "A",
		All:    "the keys are ",
		Report: func(f strict.Finding) {
			got = append(
				got,
				fmt.Sprintf("%s-%s %s: %s; %s", f.Pos, f.End, f.Code, f.Message, f.Help),
			)
		},
	}
	form := strict.Form{
		Unknown: "unknown key '%s' in a test",
		Keys:    []string{"name", "on", "off", "count", "list", "time"},
		Foreign: []string{"color"},
	}
	for key, v := range d.Map(n, "a map", form) {
		switch key.Value {
		case "name", "off":
			got = append(got, key.Value+" = "+v.Value)
		case "count":
			strict.As(&d, v, "a whole number above 0", strict.Positive)
		case "list":
			for _, item := range d.Items(v, "a list") {
				strict.As(&d, item, "a or b", strict.Word("a", "b"))
			}
		case "time":
			strict.As(&d, v, "a duration", strict.Duration)
		}
	}

	want := []string{
		"name = x",
		"2:1-2:5 K: unknown key 'nane' in a test; did you mean 'name'?",
		"3:1-3:4 K: unknown key 'zzz' in a test; the keys are name, on, off, count, list, time",
		"6:1-6:3 A: key 'on' has no value; write a value, or remove the key",
		"off = off",
		"9:8-9:9 V: expected a whole number above 0, got 0; ",
		"10:11-10:12 V: expected a or b, got 1; ",
		`11:7-11:11 V: expected a duration, got "soon"; `,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestWrongKinds: a value that is no map or no list is told once and yields nothing.
func TestWrongKinds(t *testing.T) {
	t.Parallel()
	var got []string
	d := strict.Decoder{Report: func(f strict.Finding) {
		got = append(got, f.Message)
	}}
	list, _ := md.ParseYAML([]byte("[a]"), md.Pos{})
	table, _ := md.ParseYAML([]byte("{a: ~, b: }"), md.Pos{})
	for range d.Free(list, "a map of names") {
		t.Error("a list has entries")
	}

	if items := d.Items(table, "names"); items != nil {
		t.Errorf("a map has items: %v", items)
	}
	if items := d.Items(table.Get("a"), "names"); len(items) != 1 {
		t.Errorf("a value alone is %v", items)
	}
	strict.As(&d, table.Get("a"), "a number", strict.Number)
	strict.As(&d, table.Get("b"), "a number", strict.Number)
	keys := 0
	for range d.Free(table, "a map") { // without a code for it, a key without a value is not there
		keys++
	}

	want := []string{
		"expected a map of names, got a list", "expected names, got a map",
		"expected a number, got null", "expected a number, got nothing",
	}
	if diff := cmp.Diff(want, got); diff != "" || keys != 1 {
		t.Errorf("%d keys, findings (-want +got):\n%s", keys, diff)
	}
}

func TestReaders(t *testing.T) {
	t.Parallel()
	n, _ := md.ParseYAML([]byte(`{i: 3, f: 1.5, t: true, d: 90s, s: text, l: [a, true]}`), md.Pos{})
	if v, ok := strict.Number(n.Get("i")); v != 3 || !ok {
		t.Error("Number(3)", v, ok)
	}
	if v, ok := strict.Number(n.Get("f")); v != 1.5 || !ok {
		t.Error("Number(1.5)", v, ok)
	}
	if v, ok := strict.Int(n.Get("f")); ok {
		t.Error("Int(1.5)", v)
	}
	if v, ok := strict.Bool(n.Get("t")); !v || !ok {
		t.Error("Bool(true)", v, ok)
	}
	if v, ok := strict.Duration(n.Get("d")); v != 90*time.Second || !ok {
		t.Error("Duration(90s)", v, ok)
	}
	v, ok := strict.Text(func(s string) bool { return s == "text" })(n.Get("s"))
	if v != "text" || !ok {
		t.Error("Text(text)", v, ok)
	}
}
