package formats

// FindingSecret is the code of a line or a name that looks like a secret.
const FindingSecret = "E466"

// FindingTemplate is the code of an unknown placeholder in a template.
const FindingTemplate = "E471"

// FindingConsent is the code of a line of an auto-approve file that tercet, or the command, does
// not know.
const FindingConsent = "E060"

// Findings collects the findings of one file.
type Findings struct {
	File string
	List []Diagnostic
}

// Add adds a finding.
func (f *Findings) Add(code string, at Pos, help, format string, args ...any) {
	d := Found(code, at, help, format, args...)
	d.File = f.File
	f.List = append(f.List, d)
}

// Diagnostics returns the findings in order, with the text of their file; nil without findings.
func (f *Findings) Diagnostics(src []byte) *Diagnostics {
	if len(f.List) == 0 {
		return nil
	}
	d := &Diagnostics{List: f.List, Of: CodeValidationFailed}
	if src != nil {
		d.Sources = map[string][]byte{f.File: src}
	}
	d.Sort()
	return d
}
