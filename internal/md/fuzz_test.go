package md_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tercet/internal/md"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
		f.Add(bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n")))
	}

	for _, s := range hostile() {
		f.Add([]byte(s + s + s))
	}
	f.Add([]byte(
		"\ufeff\n<!-- x\n-->\n---\na: |\n  ---\n...\n- [ ] x\n  > ```a\n  > b\n<b>\n```\n",
	))
	f.Add([]byte("* \n\t#"))
	f.Add([]byte(">\t >0>"))
	f.Add([]byte("* a\n\n\t```\n\t```\n"))
	f.Add([]byte(">\t> x\n1.\t- - -\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		d, problems := md.Parse(src)
		for _, p := range problems {
			if p.Pos.IsZero() || p.Pos.Line > max(d.LineCount(), 1) && p.Code != md.CodeBadText ||
				p.Help == "" || p.Msg == "" || p.End.Before(p.Pos) {
				t.Errorf("problem without place or text: %#v", p)
			}
		}
		last := md.Pos{Line: d.BodyLine, Col: 1}
		for _, b := range d.Blocks {
			if b.Pos.Before(last) {
				t.Errorf("%s at %s stands after %s", b.Kind, b.Pos, last)
			}
			last = b.Pos
			if b.End.Before(b.Pos) || b.End.Line > d.LineCount() {
				t.Errorf("%s from %s to %s of %d lines", b.Kind, b.Pos, b.End, d.LineCount())
			}
			if line := d.Line(b.Pos.Line); b.Pos.Col > len(line)+1 {
				t.Errorf("%s at %s of %q", b.Kind, b.Pos, line)
			}
			b.Plain()
		}
		if len(problems) == 0 {
			checkSpans(t, d.Front, d.Line)
		}
	})
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb: [x, {c: 'd''e'}]\n", "a: |2-\n   x\n\n  y\nb: >+\n z\n", "? a\n: b\n",
		"a: \"\\u00e9\\\n  x\"\n", "{a, b: , c: [d: e]}", "- \n- - x\n  - y\n", "&a [*a, !b c]\n",
		"a: {x: $y[0], z: \"q\"}\n", "a:\n- b\n-\n  c: é\n", "a: b # c\n# d\n",
		"'a': b\n\"c\": d\n", "a: b\n  c\n\n  d\n", "a: \"b\n\n  c\"\n", "[]", "{}", "~",
		"- |\n a\n- >-\n\n  b\n   c\n",
	} {
		f.Add([]byte(s))
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		n, problems := md.ParseYAML(src, md.Pos{})
		text := bytes.TrimPrefix(src, []byte("\ufeff"))
		lines := bytes.Split(text, []byte("\n"))
		line := func(i int) string {
			if i < 1 || i > len(lines) {
				return ""
			}
			return string(lines[i-1])
		}
		for _, p := range problems {
			if p.Pos.IsZero() || p.Pos.Line > len(lines) || p.Help == "" || p.End.Before(p.Pos) {
				t.Errorf("problem without place or text: %#v", p)
			}
		}
		if len(problems) == 0 {
			checkSpans(t, n, line)
		}
		n.Any()
	})
}

// checkSpans holds that nodes nest, stand in order and lie inside the file, that a plain or literal
// scalar is what stands at its place, and that ValuePos stays inside the node.
func checkSpans(t *testing.T, n *md.Node, line func(int) string) {
	t.Helper()
	if n == nil {
		return
	}

	inside := func(p md.Pos) bool {
		return !p.IsZero() && p.Col <= len(line(p.Line))+1
	}
	if !inside(n.Pos) || !inside(n.End) || n.End.Before(n.Pos) {
		t.Errorf("%s %q from %s to %s", n.Kind, n.Value, n.Pos, n.End)
		return
	}

	last := n.Pos
	child := func(c *md.Node) {
		if c.Pos.Before(last) || n.End.Before(c.End) {
			t.Errorf("%s %q from %s to %s in a %s from %s to %s after %s",
				c.Kind, c.Value, c.Pos, c.End, n.Kind, n.Pos, n.End, last)
		}
		last = c.End
		checkSpans(t, c, line)
	}
	for _, e := range n.Entries {
		child(e.Key)
		child(e.Value)
	}

	for _, it := range n.Items {
		child(it)
	}
	if n.Kind != md.Scalar {
		return
	}
	if n.Style == md.Plain && n.Pos.Line == n.End.Line &&
		line(n.Pos.Line)[n.Pos.Col-1:n.End.Col-1] != n.Value {
		t.Errorf("plain %q at %s in %q", n.Value, n.Pos, line(n.Pos.Line))
	}
	for _, off := range []int{0, len(n.Value) / 2, len(n.Value)} {
		if p := n.ValuePos(off); p.Before(n.Pos) {
			t.Errorf("ValuePos(%d) of %q = %s, before %s", off, n.Value, p, n.Pos)
		}
	}
}

// FuzzRepeatedMap: the text keeps its length and its lines, and what was read once is a list.
func FuzzRepeatedMap(f *testing.F) {
	for _, s := range []string{
		"---\narguments:\n  name: a\n  type: b\n  name: c\n---\n",
		"---\narguments:\n  - name: a\n---\n",
		"---\narguments:\n  type: b\n  name: a\n  name: c\n---\n", "---\narguments:\n",
		"---\n---\narguments:\n",
		"---\narguments:\n    name: a\n    values:\n      - x\n\n    name: b\nd: e\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, at := md.RepeatedMap(src, "arguments")
		if len(out) != len(src) ||
			bytes.Count(out, []byte("\n")) != bytes.Count(src, []byte("\n")) {
			t.Fatalf("RepeatedMap changes places: %q", out)
		}
		if at == 0 && !bytes.Equal(out, src) {
			t.Fatalf("RepeatedMap changes what it does not read: %q", out)
		}
		if _, again := md.RepeatedMap(out, "arguments"); at > 0 && again > 0 {
			t.Fatalf("a list is read again: %q", out)
		}
	})
}
