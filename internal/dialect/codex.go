package dialect

import (
	"slices"
	"strings"

	"tercet/internal/lazy"
)

// Codex prompts run no commands and include no files.
var (
	dollarMark = markRule{form: lazy.Regexp(`^\$\$`), piece: Part{Kind: Variable, Name: "$"}}
	digitMark  = markRule{
		form: lazy.Regexp(`^\$([1-9])`),
		not:  `\$`,
		read: func(s *scan, found []string) (Part, bool) {
			p, ok := numberMark.read(s, found)
			p.Index--
			return p, ok
		},
	}
	// upperMark is $NAME. Names that every shell has are left alone, because examples use them.
	upperMark = markRule{
		form: lazy.Regexp(`^\$([A-Z][A-Z0-9_]*)\b`),
		not:  `\`,
		read: func(_ *scan, found []string) (Part, bool) {
			const shells = "HOME PATH USER PWD OLDPWD SHELL TERM TMPDIR EDITOR LANG CI ARGUMENTS"
			return Part{
				Kind: Named,
				Name: found[1],
			}, !slices.Contains(strings.Fields(shells), found[1])
		},
	}
)
