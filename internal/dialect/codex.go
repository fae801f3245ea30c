package dialect

import (
	"regexp"
	"slices"
	"strings"
)

// Codex: nothing is run and no file is put in.
var (
	dollarMark = fixedMark(`^\$\$`, "", Part{Kind: Variable, Name: "$"})
	digitMark  = mark{numberMark.form, numberMark.not, func(s *scan, found []string) (Part, bool) {
		p, ok := numberMark.read(s, found)
		p.Index--
		return p, ok && len(found[1]) == 1 && p.Index >= 0
	}}
	// upperMark is $NAME. Names that every shell has are left alone: they stand in examples.
	upperMark = mark{regexp.MustCompile(`^\$([A-Z][A-Z0-9_]*)\b`), `\`, func(_ *scan, found []string) (Part, bool) {
		const shells = "HOME PATH USER PWD OLDPWD SHELL TERM TMPDIR EDITOR LANG CI ARGUMENTS"
		return Part{Kind: Named, Name: found[1]}, !slices.Contains(strings.Fields(shells), found[1])
	}}
)
