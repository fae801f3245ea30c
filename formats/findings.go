package formats

// The codes of findings in returns, result blocks and documents: E4xx is an error, W4xx a warning.
const (
	codeReturnSyntax = "E401"
	codeReturnMember = "E402"
	codeReturnRepair = "E403"
	codeReturnClaim  = "E404"
	codeReturnRule   = "E405"

	codeNoResult      = "E420"
	codeNoStatus      = "E421"
	codeUnknownStatus = "E422"
	codeTemplateEcho  = "E423"
	codeNoName        = "E424"
	codeNearMiss      = "W425"
	codeRepeatedKey   = "W426"
	codeElided        = "W427"
	codeSkipped       = "W428"

	codeUnreadable    = "E440"
	codeNoTitle       = "W441"
	codeFrontMatter   = "W448"
	codeNoHeading     = "E449"
	codeNoField       = "E442"
	codeEmptyField    = "E443"
	codeNoSection     = "E444"
	codeEmptySection  = "E445"
	codeTwice         = "E446"
	codeOpenFence     = "E447"
	codeNoPhase       = "E450"
	codePhaseHeading  = "E451"
	codePhaseNumber   = "E452"
	codePhaseStatus   = "E453"
	codePhasePart     = "E454"
	codeDependsOn     = "E455"
	codeNotRun        = "W456"
	codeUnknownFormat = "E460"
	codeRecord        = "E461"
	codeValue         = "E462"
	codeSpelling      = "W462"
	codeContradiction = "E463"
	codeOtherKind     = "E464"
	codeTwoNames      = "W465"
	codeAsksAlways    = "W467"
)

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
