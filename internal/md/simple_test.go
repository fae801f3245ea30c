package md_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/md"
)

// yamlBlocks gives the front matter and every block of YAML of the files of this repository.
func yamlBlocks(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, pattern := range []string{"testdata/*.md", "../../commands/library/*.md", "../../subagents/library/*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			d, _ := md.Parse(src)
			if d.HasFront {
				out = append(out, string(d.FrontText))
			}
			for i := range d.Blocks {
				if b := &d.Blocks[i]; b.Kind == md.Fence && strings.HasPrefix(b.Info, "yaml") {
					out = append(out, string(b.Body))
				}
			}
		}
	}
	if len(out) < 50 {
		tb.Fatalf("only %d blocks", len(out))
	}
	return out
}

// sameNodes holds the fast reader against the parser; it tells whether the text is simple.
func sameNodes(t *testing.T, src string, at md.Pos) bool {
	t.Helper()
	got, ok := md.ReadSimple([]byte(src), at)
	if !ok {
		return false
	}
	want, problems := md.ReadWithParser([]byte(src), at)
	if len(problems) > 0 {
		t.Errorf("fast reader accepts %q: %+v", src, problems)
		return true
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(md.Node{})); diff != "" {
		t.Errorf("%q (-parser +fast):\n%s", src, diff)
	}
	return true
}

// TestSimpleSame: the fast reader gives the nodes of the parser for every block of the repository, for a
// sample of its beginnings, and for a sample with one character left out, doubled or put in; and it reads nearly all of the blocks.
func TestSimpleSame(t *testing.T) {
	t.Parallel()
	blocks, simple := yamlBlocks(t), 0
	for n, src := range blocks {
		if sameNodes(t, src, md.Pos{Line: 7, Col: 1}) {
			simple++
		} else {
			t.Logf("not simple: %q", src)
		}
		for i := n % 41; i < len(src); i += 41 {
			sameNodes(t, src[:i], md.Pos{Line: 1, Col: 1})
			sameNodes(t, src[:i]+src[i+1:], md.Pos{Line: 1, Col: 1})
			sameNodes(t, src[:i]+src[i:i+1]+src[i:], md.Pos{Line: 1, Col: 1})
			sameNodes(t, src[:i]+" "+src[i:], md.Pos{Line: 3, Col: 5})
			sameNodes(t, src[:i]+"\n"+src[i:], md.Pos{Line: 1, Col: 1})
		}
	}
	t.Logf("%d of %d are simple", simple, len(blocks))
	if simple*10 < len(blocks)*9 {
		t.Errorf("only %d of %d blocks are simple", simple, len(blocks))
	}
}

func FuzzYAMLSame(f *testing.F) {
	for _, s := range yamlBlocks(f) {
		f.Add(s)
	}
	for _, s := range []string{
		"a: |\n  b\n\n   c\nd: >-\n  e\n  f\n", "a:\n- b: c\n  d: {e: 'f''g', h: [i, -1, \"j\\\"k\"]}\n- l\n", "a:\nb:\n  c:\n", "- - a\n- b: c\n", "a: b:c # d\n", "é: ü\nß: {ä: [ö]}\n",
		"a: {b: c,\n    d: e}\n", "a: -1\nb: -\nc: ~\nd: <<\n", "a: |-\n   b\n  c\n", "a: \"b\\n\" \nc: 'd' e\n", "- |\n  a\n- >\n  b\n", "a?: b\nc d: e\n", "a : b\n", "<<: a\n", "  a: b\n  c: d\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		sameNodes(t, src, md.Pos{Line: 2, Col: 3})
	})
}

// TestReader: one memory for all the blocks of a document gives what ParseYAML gives for each of them.
func TestReader(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	src.WriteString("é\n\n")
	for _, block := range yamlBlocks(t) {
		if !strings.Contains(block, "```") {
			src.WriteString("````yaml\n" + strings.TrimSuffix(block, "\n") + "\n````\n\n> ```yaml\n> a: [b, {c: d}]\n> ```\n\n")
		}
	}
	d, _ := md.Parse([]byte(src.String()))
	var reader md.Reader
	read := 0
	for i := range d.Blocks {
		b := &d.Blocks[i]
		if b.Kind != md.Fence {
			continue
		}
		read++
		want, wantProblems := md.ParseYAML(b.Body, b.BodyPos)
		got, problems := reader.Block(d, b)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(md.Node{})); diff != "" {
			t.Errorf("%q (-ParseYAML +Reader):\n%s", b.Body, diff)
		}
		if diff := cmp.Diff(wantProblems, problems); diff != "" {
			t.Errorf("problems of %q (-ParseYAML +Reader):\n%s", b.Body, diff)
		}
	}
	if read < 100 {
		t.Errorf("read %d blocks", read)
	}
}
