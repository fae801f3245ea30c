package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tercet/internal/md"
	"tercet/internal/order"
)

// Pos is a place in a file. Line and Col start at 1, and Col counts bytes; the zero value is an
// unknown place.
type Pos = md.Pos

// Severity says whether a diagnostic stops the work.
type Severity string

// The severities: an error refuses the file, a warning does not.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Diagnostic is one finding in a file. Message has no file, position or final period; Help says
// what to do next and may be empty. End is zero if only the start is known; Fix is nil unless
// exactly one change would fix it.
type Diagnostic struct { //nolint:errname // a finding; it is an error only for its one-line form
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Pos      Pos      `json:"pos"`
	End      Pos      `json:"end"`
	Message  string   `json:"message"`
	Help     string   `json:"help,omitempty"`
	Fix      *Fix     `json:"fix,omitempty"`
	// the subagent that a note about an agent's file is about; empty: none
	Subject string `json:"-"`
}

// Found makes a finding without a file. A code that begins with W makes a warning.
func Found(code string, pos Pos, help, format string, args ...any) Diagnostic {
	d := Diagnostic{
		Code:     code,
		Severity: SeverityError,
		Pos:      pos,
		Message:  fmt.Sprintf(format, args...),
		Help:     help,
	}
	if strings.HasPrefix(code, "W") {
		d.Severity = SeverityWarning
	}
	return d
}

// Error returns the one-line form file:line:col: CODE: message.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File)
		if !d.Pos.IsZero() {
			fmt.Fprintf(&b, ":%d:%d", d.Pos.Line, d.Pos.Col)
		}
		b.WriteString(": ")
	}

	switch {
	case d.Code == "":
		b.WriteString(d.Message)
	case IsDiagnosticCode(d.Code):
		b.WriteString(d.Code + ": " + d.Message)
	default: // a code of a return comes after the sentence
		b.WriteString(d.Message + " (" + d.Code + ")")
	}
	return b.String()
}

// Diagnostics is a list of findings; it is an error if one of them is. Sources holds the text of
// each file, for excerpts, and may be nil. Callers match it to print findings, or to join those of
// several files.
type Diagnostics struct { //nolint:errname // a list of findings, an error only if one of them is
	List    []Diagnostic
	Sources map[string][]byte
	// Of is the code of the failure; empty means INVALID_COMMAND.
	Of Code
}

// AboutFile makes a finding about a whole file.
func AboutFile(code, name, text, help string) Diagnostic {
	return Diagnostic{
		Code:     code,
		Severity: SeverityError,
		File:     name,
		Pos:      Pos{Line: 1, Col: 1},
		Message:  text,
		Help:     help,
	}
}

// Records returns the findings as data for JSON.
func (d *Diagnostics) Records() []map[string]any {
	out := []map[string]any{}
	for _, one := range d.List {
		row := map[string]any{
			"code":     one.Code,
			"severity": one.Severity,
			"file":     one.File,
			"line":     one.Pos.Line,
			"col":      one.Pos.Col,
			"end_col":  one.End.Col,
			"message":  one.Message,
			"help":     one.Help,
		}
		if one.End.Line > one.Pos.Line {
			row["end_line"] = one.End.Line
		}
		if f := one.Fix; f != nil {
			row["fix"] = map[string]any{
				"line":     f.Start.Line,
				"col":      f.Start.Col,
				"end_line": f.End.Line,
				"end_col":  f.End.Col,
				"text":     f.Text,
			}
		}
		out = append(out, row)
	}

	return out
}

// Error lists the findings, one a line.
func (d *Diagnostics) Error() string {
	lines := make([]string, len(d.List))
	for i, one := range d.List {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Help is the advice of the first finding that has one.
func (d *Diagnostics) Help() string {
	for _, one := range d.List {
		if one.Help != "" {
			return one.Help
		}
	}
	return ""
}

// ErrorCode names the failure in the table of codes.
func (d *Diagnostics) ErrorCode() Code {
	if d.Of == "" {
		return CodeInvalidCommand
	}
	return d.Of
}

// HasErrors reports whether one of the findings is an error; a nil list has none.
func (d *Diagnostics) HasErrors() bool {
	return d != nil &&
		slices.ContainsFunc(d.List, func(one Diagnostic) bool {
			return one.Severity != SeverityWarning
		})
}

// Sort orders the findings by file and place and drops exact repeats. Where Sources has the file,
// it adds the end and the fix.
func (d *Diagnostics) Sort() {
	d.addEndsAndFixes()
	order.Stable(d.List, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Code, b.Code),
		)
	})
	d.List = slices.CompactFunc(d.List, func(a, b Diagnostic) bool {
		// derived from the other members
		a.Fix = nil
		b.Fix = nil
		return a == b
	})
}

func (d *Diagnostics) addEndsAndFixes() {
	lines := map[string][][]byte{}
	for i := range d.List {
		one := &d.List[i]
		src, ok := d.Sources[one.File]
		if !ok {
			continue
		}
		if lines[one.File] == nil {
			lines[one.File] = bytes.Split(src, []byte{'\n'})
		}
		one.addEndAndFix(lines[one.File])
	}
}

// IsDiagnosticCode reports whether a text has the form of a code such as E001 or W012, which
// 'tercet explain' has a page about.
func IsDiagnosticCode(text string) bool {
	if len(text) != len("E001") || text[0] != 'E' && text[0] != 'W' {
		return false
	}
	for _, digit := range []byte(text[1:]) {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	return true
}
