package classify

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/formats"
)

// MaxSource bounds a command in bytes.
const MaxSource = 256 << 10

// Category is a kind of risk.
type Category string

// The categories there are.
const (
	DestructiveFS       Category = "destructive_fs"
	ProdDB              Category = "prod_db"
	PrivilegeEscalation Category = "privilege_escalation"
	SecretAccess        Category = "secret_access"
	ExternalNet         Category = "external_net"
)

// String returns the category as it is written in reports.
func (c Category) String() string { return string(c) }

// Tier says how much a sandbox is needed.
type Tier string

// The tiers, from the lowest.
const (
	Optional    Tier = "optional"
	Recommended Tier = "recommended"
	Required    Tier = "required"
)

// String returns the tier as it is written in reports.
func (t Tier) String() string { return string(t) }

func (t Tier) rank() int {
	switch t {
	case Required:
		return 2
	case Recommended:
		return 1
	case Optional:
	}
	return 0
}

// Max gives the higher of two tiers.
func Max(a, b Tier) Tier {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Place is where a command would run. Paths are absolute; an empty one is not known.
type Place struct {
	Root string // project root
	Dir  string // working folder; empty means Root
	Home string
}

// Finding is one risk.
type Finding struct {
	Category Category    `json:"category"`
	Tier     Tier        `json:"tier"`
	Pos      formats.Pos `json:"pos"`
	Command  string      `json:"command"`          // name of the program or word of the shell
	Target   string      `json:"target,omitempty"` // what it is done to; "?" stands for a part that is not known
	Reason   string      `json:"reason"`
}

// Unknown is code that only a run would show.
type Unknown struct {
	Pos    formats.Pos `json:"pos"`
	Reason string      `json:"reason"`
}

// Report is what was found, in the order of the text.
type Report struct {
	Tier     Tier      `json:"tier"` // the highest of the findings; unknown code is at least recommended
	Findings []Finding `json:"findings"`
	Unknown  []Unknown `json:"unknown"`
}

// Has tells whether there is a finding of the category at the tier or above.
func (r Report) Has(c Category, t Tier) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Category == c && f.Tier.rank() >= t.rank() })
}

// Command classifies a shell command. The error is a *SyntaxError or a *SizeError.
func Command(src string, p Place) (Report, error) {
	if len(src) > MaxSource {
		return Report{}, &SizeError{Size: len(src)}
	}
	file, err := parse(src)
	if err != nil {
		return Report{}, syntaxError(err)
	}
	s := &scan{place: p, out: &findings{}, vars: map[string]binding{}, calls: new(int), fetched: map[string]bool{}, here: formats.Pos{Line: 1, Col: 1}}
	if s.place.Dir == "" {
		s.place.Dir = p.Root
	}
	s.dir, s.dirKnown = s.place.Dir, s.place.Dir != ""
	s.stmts(file.Stmts)
	return s.out.report(), nil
}

// Argv classifies a program with its arguments, which no shell sees.
func Argv(argv []string, p Place) (Report, error) {
	line, err := Line(argv)
	if err != nil {
		return Report{}, err
	}
	return Command(line, p)
}

// Line quotes words so that a shell reads exactly them.
func Line(argv []string) (string, error) {
	words := make([]string, len(argv))
	for i, a := range argv {
		q, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			return "", &SyntaxError{Pos: formats.Pos{Line: 1, Col: 1}, Message: err.Error()}
		}
		words[i] = q
	}
	return strings.Join(words, " "), nil
}

func parse(src string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
}

func syntaxError(err error) error {
	if p, ok := errors.AsType[syntax.ParseError](err); ok {
		return &SyntaxError{Pos: formats.Pos{Line: int(p.Pos.Line()), Col: int(p.Pos.Col())}, Message: p.Text}
	}
	if p, ok := errors.AsType[syntax.LangError](err); ok {
		return &SyntaxError{Pos: formats.Pos{Line: int(p.Pos.Line()), Col: int(p.Pos.Col())}, Message: p.Feature + " is not a word of this shell"}
	}
	return &SyntaxError{Pos: formats.Pos{Line: 1, Col: 1}, Message: err.Error()}
}

// findings collects what one text and the texts in it show.
type findings struct {
	list    []found
	unknown []Unknown
}

// found is a finding with what pipelines are judged by.
type found struct {
	Finding
	fetches bool // brings data in from elsewhere
	sends   bool // may carry data out
	names   bool // a secret is only named, not read
}

func (f *findings) report() Report {
	r := Report{Tier: Optional, Findings: []Finding{}, Unknown: slices.Clone(f.unknown)}
	for _, one := range f.list {
		if slices.Contains(r.Findings, one.Finding) {
			continue
		}
		r.Findings = append(r.Findings, one.Finding)
		r.Tier = Max(r.Tier, one.Tier)
	}
	if len(r.Unknown) > 0 {
		r.Tier = Max(r.Tier, Recommended)
	} else {
		r.Unknown = []Unknown{}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return r
}
