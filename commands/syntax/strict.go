package syntax

import (
	"slices"

	"tercet/formats"
)

// Sugar lists what is right for a person and that a file which is checked strictly has not: plain sentences that stand
// where a block could, and defaults without a sentence before them.
func Sugar(f *File) []formats.Diagnostic {
	out := slices.Clone(f.Strict)
	Walk(f, func(node any) bool {
		if say, ok := node.(*Sentence); ok {
			found := formats.Found(CodeSugar, say.Pos, "run 'tercet fmt --expand'", "plain sentence where a block could stand")
			found.File = f.Name
			out = append(out, found)
		}
		return true
	})
	return out
}
