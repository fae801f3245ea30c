package md

import "fmt"

// Pos is a place in a file. Line and Col start at 1, and Col counts bytes. A byte order mark and
// the carriage return of a line end have no column. The zero value is an unknown place.
type Pos struct {
	Line int `json:"line"`
	Col  int `json:"col"`
}

// IsZero reports whether no place is known.
func (p Pos) IsZero() bool {
	return p == Pos{}
}

// String returns line:col.
func (p Pos) String() string {
	return fmt.Sprintf("%d:%d", p.Line, p.Col)
}

// Before reports whether p stands before q in the file.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}

// Span is a piece of a file; End is the place after its last byte.
type Span struct{ Start, End Pos }

// Code is a kind of problem.
type Code = string

// The codes of this package. E0xx is about the front matter and the whole file, E2xx about markdown
// and YAML blocks.
const (
	CodeFrontUnclosed Code = "E001" // the block opened by --- has no end
	CodeTooLarge      Code = "E002" // more bytes than the limit
	CodeBadText       Code = "E003" // not UTF-8, or a control character
	CodeFrontNotMap   Code = "E004" // the front matter is not a map of keys
	CodeLineEnds      Code = "E005" // lines end with a bare carriage return
	// nested lists and quotes above the limit, at one line or in total
	CodeTooDeep Code = "E201"
	// a fence without an end, or one that swallows the start of another
	CodeFenceOpen    Code = "E202"
	CodeFenceInHTML  Code = "E203" // an HTML tag without a blank line after it swallows a fence
	CodeFlowTrap     Code = "E205" // an unquoted value in {...} that YAML splits or rejects
	CodeSyntax       Code = "E220" // invalid YAML
	CodeDuplicateKey Code = "E221" // a key occurs twice in one map
	CodeAnchor       Code = "E222" // &name
	CodeAlias        Code = "E223" // *name
	CodeMergeKey     Code = "E224" // <<
	CodeTag          Code = "E225" // !name
	CodeDocuments    Code = "E226" // a document marker (--- or ...) inside a block
	CodeTab          Code = "E227" // a tab as indentation
	CodeComplexKey   Code = "E228" // a key that is not text
	CodeYAMLDepth    Code = "E229" // maps and lists nested above the limit
)

// Problem is a defect of a file. Msg states it, Help says what to do.
type Problem struct {
	Code     Code
	Pos, End Pos
	Msg      string
	Help     string
}

// String returns "line:col: CODE: message"; the caller knows the file.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s: %s", p.Pos, p.Code, p.Msg)
}
