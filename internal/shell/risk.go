package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/formats"
	"tercet/internal/order"
)

// MaxSource bounds a command, in bytes.
const MaxSource = 256 << 10

// Category is a kind of risk.
type Category string

// The categories.
const (
	DestructiveFS       Category = "destructive_fs"
	ProdDB              Category = "prod_db"
	PrivilegeEscalation Category = "privilege_escalation"
	SecretAccess        Category = "secret_access"
	ExternalNet         Category = "external_net"
)

// String is the category in reports.
func (c Category) String() string {
	return string(c)
}

// Level is how much a risk needs a sandbox.
type Level int

// The levels, from the lowest.
const (
	Optional Level = iota
	Recommended
	Required
)

// String is the level in reports.
func (l Level) String() string {
	return [...]string{"optional", "recommended", "required"}[l]
}

// MarshalText writes String.
func (l Level) MarshalText() ([]byte, error) {
	return []byte(l.String()), nil
}

// Place is where a command would run. Paths are absolute; empty ones are unknown.
type Place struct {
	Root string // project root
	Dir  string // working folder; empty means Root
	Home string
}

// Finding is one risk.
type Finding struct {
	Category Category    `json:"category"`
	Level    Level       `json:"tier"`
	Pos      formats.Pos `json:"pos"`
	Command  string      `json:"command"`          // name of the program or shell word
	Target   string      `json:"target,omitempty"` // its target; "?" replaces an unknown part
	Reason   string      `json:"reason"`
}

// Unknown is code that only execution would show.
type Unknown struct {
	Pos    formats.Pos `json:"pos"`
	Reason string      `json:"reason"`
}

// String names the place and the reason.
func (u Unknown) String() string {
	return fmt.Sprintf("line %d: %s", u.Pos.Line, u.Reason)
}

// Report is the classification, in text order.
type Report struct {
	Level    Level     `json:"tier"` // the highest level; with unknown code at least recommended
	Findings []Finding `json:"findings"`
	Unknown  []Unknown `json:"unknown"`
}

// Risks lists the findings as lines, unknown code last.
func (r Report) Risks() []string {
	out := []string{}
	for _, f := range r.Findings {
		out = append(out, f.Level.String()+" "+f.Category.String()+": "+f.Command+": "+f.Reason)
	}
	for _, u := range r.Unknown {
		out = append(out, "recommended unknown: "+u.Reason)
	}
	return out
}

// Classify finds the risks of a shell command.
func Classify(src string, p Place) (Report, error) {
	if len(src) > MaxSource {
		return Report{}, formats.Fail(formats.CodeLimit,
			"put the commands into a file and review that file",
			"expected a command of at most %d bytes, got %d", MaxSource, len(src))
	}

	file, err := parse(src)
	if err != nil {
		return Report{}, parseFailure(err)
	}

	p.Dir = cmp.Or(p.Dir, p.Root)
	s := &scan{
		place:    p,
		dir:      p.Dir,
		dirKnown: p.Dir != "",
		out:      &findings{},
		vars:     map[string]string{},
		calls:    new(int),
		fetched:  map[string]bool{},
		here:     formats.Pos{Line: 1, Col: 1},
	}

	s.scanStmts(file.Stmts, nil)
	return s.out.report(), nil
}

// ClassifyArgv finds the risks of a program with arguments, without a shell.
func ClassifyArgv(argv []string, p Place) (Report, error) {
	line, err := Quote(argv)
	if err != nil {
		return Report{}, err
	}
	return Classify(line, p)
}

// Quote quotes words for a shell.
func Quote(argv []string) (string, error) {
	words := make([]string, len(argv))
	for i, a := range argv {
		q, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			return "", parseFailure(err)
		}
		words[i] = q
	}
	return strings.Join(words, " "), nil
}

func parse(src string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
}

// parseFailure tells where a text is no command.
func parseFailure(err error) error {
	at := formats.Pos{Line: 1, Col: 1}
	text := err.Error()
	if p, ok := errors.AsType[syntax.ParseError](err); ok {
		at = formats.Pos{Line: int(p.Pos.Line()), Col: int(p.Pos.Col())}
		text = p.Text
	} else if p, ok := errors.AsType[syntax.LangError](err); ok {
		at = formats.Pos{Line: int(p.Pos.Line()), Col: int(p.Pos.Col())}
		text = p.Feature + " is not a word of this shell"
	}

	return &formats.Failure{
		Code:    formats.CodeUsage,
		File:    "command",
		Pos:     at,
		Message: text,
		Help:    "put quotes around the command, so that it arrives as you mean it",
	}
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
	r := Report{Findings: []Finding{}, Unknown: append([]Unknown{}, f.unknown...)}
	if len(r.Unknown) > 0 {
		r.Level = Recommended
	}

	for _, one := range f.list {
		if !slices.Contains(r.Findings, one.Finding) {
			r.Findings = append(r.Findings, one.Finding)
			r.Level = max(r.Level, one.Level)
		}
	}
	order.Stable(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return r
}
