package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVerbsAlone: a verb that is made alone says of itself what it says among all of them.
func TestVerbsAlone(t *testing.T) {
	t.Parallel()

	help := func(t *testing.T, name string, line ...string) string {
		t.Helper()

		var b bytes.Buffer
		a := newApp(stdio{out: &b}, func(string) string { return "" })
		root := a.root(line...)

		found, _, err := root.Find([]string{name})
		if err != nil || found == root || found.Name() != name {
			t.Fatalf("root(%q).Find(%q) = %v, %v, want the verb", line, name, found, err)
		}

		if err := found.Help(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}

	for _, v := range verbs() {
		t.Run(v.name(), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(help(t, v.name()), help(t, v.name(), v.name())); diff != "" {
				t.Errorf("the help of %s alone differs (-among all +alone):\n%s", v.name(), diff)
			}
		})
	}
}

// TestVerbsOfALine: what a line does not begin with is not made.
func TestVerbsOfALine(t *testing.T) {
	t.Parallel()

	const every = -1

	for _, c := range []struct {
		line []string
		want int
	}{
		{[]string{"query", "."}, 1},
		{[]string{"/plan", "196"}, 0},
		{[]string{"-C", "."}, every},
		{[]string{"help", "query"}, every},
		{nil, every},
	} {
		a := newApp(stdio{}, func(string) string { return "" })
		if c.want == every {
			c.want = len(verbs()) + 1 // completion, which cobra makes
		}
		if got := len(a.root(c.line...).Commands()); got != c.want {
			var names []string
			for _, one := range a.root(c.line...).Commands() {
				names = append(names, one.Name())
			}
			t.Errorf("root(%q) has %d verbs, want %d: %q", c.line, got, c.want, names)
		}
	}
}
