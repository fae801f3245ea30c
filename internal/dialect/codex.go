package dialect

import (
	"slices"
	"strings"
)

// Codex: nothing is run and no file is put in.

// dollarMark is $$, a dollar sign.
func dollarMark(s *scan) (Part, int) {
	if !strings.HasPrefix(s.rest(), "$$") {
		return Part{}, 0
	}
	return Part{Kind: Variable, Name: "$"}, 2
}

func digitMark(s *scan) (Part, int) {
	p, width := numberMark(s)
	if width != 2 || p.Index == 0 {
		return Part{}, 0
	}
	p.Index--
	return p, width
}

// upperMark is $NAME. Names that every shell has are left alone: they stand in examples.
func upperMark(s *scan) (Part, int) {
	rest := s.rest()
	end := 1
	for end < len(rest) &&
		(rest[end] >= 'A' && rest[end] <= 'Z' || rest[end] == '_' || end > 1 && rest[end] >= '0' && rest[end] <= '9') {
		end++
	}
	name := rest[1:end]
	if rest[0] != '$' || s.before() == '\\' || name == "" || name[0] == '_' || end < len(rest) && wordByte(rest[end]) {
		return Part{}, 0
	}
	shells := []string{
		"HOME", "PATH", "USER", "PWD", "OLDPWD", "SHELL", "TERM", "TMPDIR", "EDITOR", "LANG", "CI",
		"ARGUMENTS",
	}
	if slices.Contains(shells, name) {
		return Part{}, 0
	}
	return Part{Kind: Named, Name: name}, end
}
