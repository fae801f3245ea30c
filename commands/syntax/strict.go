package syntax

import "tercet/formats"

// Sugar lists the plain sentences that stand where a block could, as findings. They are right for a person; a file that is
// checked strictly has none.
func Sugar(f *File) []formats.Diagnostic {
	var out []formats.Diagnostic
	Walk(f, func(node any) bool {
		if say, ok := node.(*Sentence); ok {
			out = append(out, formats.Diagnostic{
				Code: CodeSugar, Severity: formats.SeverityWarning, File: f.Name, Pos: say.Pos,
				Message: "plain sentence where a block could stand", Help: "run 'tercet fmt --expand'",
			})
		}
		return true
	})
	return out
}
