package formats

// The codes of findings in returns, result blocks and documents: E4xx refuses, W4xx does not.
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
)

// FindingSecret is the code of a line or a name that looks like a secret.
const FindingSecret = "E462"

// Finding is a row of the table of findings.
type Finding struct {
	Code    string
	Meaning string
}

// Findings is the table of the codes that this package's parsers use, with one line of meaning each.
func Findings() []Finding {
	return []Finding{
		{codeReturnSyntax, "the return is not JSON"},
		{codeReturnMember, "a member of the return is missing or has a wrong value"},
		{codeReturnRepair, "the return would have to be repaired, which strict mode refuses"},
		{codeReturnClaim, "the return names another agent, or another nonce than its delegation's"},
		{codeReturnRule, "the return breaks a rule of returns, or the contract of its subagent"},
		{codeNoResult, "no_agent_result: the text has no AGENT_RESULT block"},
		{codeNoStatus, "the block has no STATUS"},
		{codeUnknownStatus, "the STATUS of the block is not in the table"},
		{codeTemplateEcho, "template_echo: the block repeats the template instead of filling it in"},
		{codeNoName, "the block does not name its agent"},
		{codeNearMiss, "a line looks like the marker AGENT_RESULT but is not it"},
		{codeRepeatedKey, "a key stands twice; the last one counts"},
		{codeElided, "the block was shortened with ..."},
		{codeSkipped, "a line inside a fenced block is no field and was skipped"},
		{codeUnreadable, "the document is empty, too large or not UTF-8"},
		{codeNoTitle, "the document has no level-1 heading"},
		{codeFrontMatter, "the front matter of the document cannot be read; it means nothing here"},
		{codeNoHeading, "a task has no heading that would be its title"},
		{codeNoField, "a metadata bullet is missing"},
		{codeEmptyField, "a metadata bullet says nothing"},
		{codeNoSection, "a section is missing"},
		{codeEmptySection, "a section says nothing"},
		{codeTwice, "a section stands twice"},
		{codeOpenFence, "a code fence is not closed"},
		{codeNoPhase, "the plan has no phase"},
		{codePhaseHeading, "a heading among the phases is not that of a phase"},
		{codePhaseNumber, "a phase's number is not above the one before it"},
		{codePhaseStatus, "a phase has no status, or one outside the set"},
		{codePhasePart, "a phase has no goal, tasks or timing"},
		{codeDependsOn, "a phase depends on one that does not stand before it"},
		{codeNotRun, "a fence in a phase is not marked sh and is not run"},
		{codeUnknownFormat, "there is no profile of that name"},
		{codeRecord, "errors.json breaks its format"},
		{FindingSecret, "a line or the name of the file looks like a secret"},
	}
}

// findings collects what is wrong in one file.
type findings struct {
	file string
	list []Diagnostic
}

func (f *findings) add(code string, at Pos, help, format string, args ...any) {
	d := Found(code, at, help, format, args...)
	d.File = f.file
	f.list = append(f.list, d)
}

// refused is the failure of a return that cannot be read, nil if nothing was found.
func (f *findings) refused() error {
	if d := f.result(nil); d != nil {
		d.Of = CodeInvalidReturn
		return d
	}
	return nil
}

func (f *findings) result(src []byte) *Diagnostics {
	if len(f.list) == 0 {
		return nil
	}
	d := &Diagnostics{List: f.list, Of: CodeValidationFailed}
	if src != nil {
		d.Sources = map[string][]byte{f.file: src}
	}
	d.Sort()
	return d
}
