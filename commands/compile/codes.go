package compile

// The codes of what a file may get wrong past its syntax.
const (
	CodeUnknownKey  = "E010"
	CodeAllow       = "E015"
	CodeLimitValue  = "E016"
	CodeStep        = "E120"
	CodeStepTwice   = "E121"
	CodeAction      = "E122"
	CodeNoTask      = "E123"
	CodeNotYetRun   = "E124"
	CodeMember      = "E125"
	CodeRedo        = "E126"
	CodeUnreachable = "E127"
	CodeOutcome     = "E129"
	CodeStatus      = "E132"
	CodeTransition  = "E133"
	CodeProfile     = "E134"
	CodeName        = "E135"
	CodeExit        = "E136"
	CodeArtifact    = "E137"
	CodeRetries     = "E138"
	CodeSentence    = "E139"
	CodeInput       = "E160"
	CodeAgent       = "E164"
	CodeUnsupported = "E199"
	CodeExpression  = "E300"
	CodeVariable    = "E301"
	CodeArgument    = "E302"
	CodeField       = "E303"
)

// Code is one diagnostic of this package with what it means.
type Code struct{ Name, Meaning string }

// Codes lists the diagnostics of this package in the order of their numbers.
func Codes() []Code {
	return []Code{
		{CodeUnknownKey, "a key that the format does not have"},
		{CodeAllow, "allow names a status from which the command's during is not legal"},
		{CodeLimitValue, "a limit outside its range"},
		{CodeStep, "no step has this id"},
		{CodeStepTwice, "two steps have the same id"},
		{CodeAction, "a step without an action, or with more than one"},
		{CodeNoTask, "a task is used but no argument binds one"},
		{CodeNotYetRun, "the result of a step that cannot have run yet"},
		{CodeMember, "a member that the value does not have"},
		{CodeRedo, "redo names a step that stands behind, or inside a loop that this step is not in"},
		{CodeUnreachable, "no path leads to this step"},
		{CodeOutcome, "an outcome that the step cannot have"},
		{CodeStatus, "not a task status, or not one that may stand here"},
		{CodeTransition, "a change of status that the transition table does not have"},
		{CodeProfile, "no such document profile"},
		{CodeName, "a name that is the engine's"},
		{CodeExit, "not a code of the table of exit codes"},
		{CodeArtifact, "not an artifact type"},
		{CodeRetries, "more retries than the limit allows"},
		{CodeSentence, "a plain sentence that has nothing to refer to"},
		{CodeInput, "an input that the subagent does not take, or a required one that is missing"},
		{CodeAgent, "no such subagent"},
		{CodeUnsupported, "a word of the grammar that this version does not run yet"},
		{CodeExpression, "jq that does not compile"},
		{CodeVariable, "an unknown variable"},
		{CodeArgument, "an argument that is not declared"},
		{CodeField, "a field that the subagent's contract does not emit"},
	}
}
