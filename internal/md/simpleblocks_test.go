package md_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/md"
)

// sameBlocks holds the fast reader of blocks against the parser; it tells whether the body is simple.
func sameBlocks(t *testing.T, src string) bool {
	t.Helper()
	d, _ := md.Parse([]byte(src))
	if d.Text == nil {
		return false
	}
	got, ok := md.SimpleBlocks(d)
	if !ok {
		return false
	}
	want, problems := md.ParserBlocks(d)
	if len(problems) > 0 {
		t.Errorf("fast reader accepts %q: %+v", src, problems)
		return true
	}
	if len(got) == 0 && len(want) == 0 {
		return true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q (-parser +fast):\n%s", src, diff)
	}
	return true
}

func blockSeeds() []string {
	return []string{
		"# a\n\nb\nc\n\n```yaml step\nd: e\n```\n## f `g`\n", "a\n===\n", "a\n- b\n", "```\n```\n", "~~~x\n```\n~~~\n", "a\n```\nb\n```\nc", "*a* b\n**c**\n***\n", "1. a\n", "12 a\n", "#a\n", "# a #\n", "#\n", "# \n",
		"a \nb\n", "a\\\nb\n", "<!-- a -->\n", "```a`b\n```\n", "````\n```\n````\n", "```\n a\n\tb\n```", "[a]: b\n\nc\n", "a | b\n--|--\nc | d\n", "&amp; é\n\u00a0x\n", "---\na: b\n---\n\n# c\n", "_a_\n__b__ c\n",
		"`a` b\n``c``\n", "# `a` *b*\n", "\n\n", "", "a", "# a\n# b\nc\n# d", "```a b  \nc\n```", "a:\n: b\n", "~x\n", "!a\n", "$a\n", "===\n", "\\# a\n", "a\n\n\nb\n", "```yaml \\step\nx\n```\n", "```&amp;\nx\n```\n",
	}
}

// TestSimpleBlocksSame: the fast reader gives the blocks of the parser for every file of the repository and for a sample of
// its mutations; and it reads the commands of the library.
func TestSimpleBlocksSame(t *testing.T) {
	t.Parallel()
	seeds, simple := blockSeeds(), 0
	for _, pattern := range []string{"testdata/*.md", "../../commands/library/*.md", "../../subagents/library/*.md", "../../docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, string(src))
			if sameBlocks(t, string(src)) && strings.Contains(name, "commands/library") {
				simple++
			}
		}
	}
	cuts := 40
	if testing.Short() {
		cuts = 8
	}
	for n, src := range seeds {
		step := max(1, len(src)/cuts)
		for i := n % step; i < len(src); i += step {
			sameBlocks(t, src[:i])
			sameBlocks(t, src[:i]+src[i+1:])
			sameBlocks(t, src[:i]+src[i:i+1]+src[i:])
			for _, put := range []string{" ", "\n", "#", "`", "```\n", "\n- ", "*", "\n>", "\n    x"} {
				sameBlocks(t, src[:i]+put+src[i:])
			}
		}
	}
	if simple < 8 {
		t.Errorf("only %d commands are simple", simple)
	}
}

// FuzzBlocksSame: whatever the fast reader of blocks takes, the parser takes with the same result.
func FuzzBlocksSame(f *testing.F) {
	for _, s := range blockSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { sameBlocks(t, src) })
}

// TestTabbedBlocks: the place of a block that a tab indents inside a list or a quote is that of its first character.
func TestTabbedBlocks(t *testing.T) {
	t.Parallel()
	kinds := map[string]md.BlockKind{"#": md.Heading, "## a": md.Heading, "***": md.Rule, "> x": md.Quote, "```sh\n\tx\n\t```": md.Fence, "~~~": md.Fence, "+ x": md.Item}
	for _, before := range []string{"* \n\t", "* a\n\n\t", ">\t", "1.\ta\n\n\t", " *\n\t"} {
		for text, kind := range kinds {
			src := before + text + "\n"
			d, _ := md.Parse([]byte(src))
			first := md.Pos{Line: strings.Count(before, "\n") + 1, Col: len(before) - strings.LastIndexByte(before, '\n')}
			found := false
			for _, b := range d.Blocks {
				found = found || b.Kind == kind && b.Pos == first
			}
			if !found {
				t.Errorf("no %s at %s of %q: %+v", kind, first, src, d.Blocks)
			}
		}
	}
}
