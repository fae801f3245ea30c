package compile

import "tercet/commands/syntax"

// The codes of what a file may get wrong past its syntax. Those that package syntax has too mean the same.
const (
	CodeUnknownKey  = syntax.CodeKey
	CodeAllow       = "E015"
	CodeLimitValue  = "E016"
	CodeCompanion   = syntax.CodeCompanion
	CodeStep        = "E120"
	CodeStepTwice   = "E121"
	CodeAction      = syntax.CodeAction
	CodeNoTask      = "E123"
	CodeNotYetRun   = "E124"
	CodeMember      = "E125"
	CodeRedo        = "E126"
	CodeUnreachable = "E127"
	CodeTier        = "E128"
	CodeOutcome     = "E129"
	CodeBareMerge   = "E130"
	CodeNoChildren  = "E131"
	CodeStatus      = "E132"
	CodeTransition  = "E133"
	CodeProfile     = "E134"
	CodeName        = "E135"
	CodeExit        = "E136"
	CodeArtifact    = "E137"
	CodeRetries     = "E138"
	CodeSentence    = "E139"
	CodeErrors      = "E140"
	CodeGate        = "E141"
	CodeAroundStep  = "E142"
	CodeSchema      = "E143"
	CodeSchemaFile  = "E144"
	CodeUnmade      = "E145"
	CodeInput       = "E160"
	CodeTalks       = "E162"
	CodeMayNot      = "E163"
	CodeAgent       = "E164"
	CodeUnsupported = syntax.CodeUnsupported
	CodeExpression  = "E300"
	CodeVariable    = "E301"
	CodeArgument    = "E302"
	CodeField       = "E303"
	CodeOrElse      = "W310"
)

// Codes gives the meaning of each diagnostic that only this package has, by its code.
func Codes() map[string]string {
	return map[string]string{
		CodeAllow:       "allow names a status from which the command's during is not legal",
		CodeLimitValue:  "a limit outside its range",
		CodeStep:        "no step has this id",
		CodeStepTwice:   "two steps have the same id",
		CodeNoTask:      "a task is used but no argument binds one",
		CodeNotYetRun:   "the result of a step that cannot have run yet",
		CodeMember:      "a member that the value does not have",
		CodeRedo:        "redo, rollback or goto names a step that stands behind, or inside a loop that this step is not in",
		CodeUnreachable: "no path leads to this step",
		CodeTier:        "not a tier of the file, or nothing gives $tier",
		CodeOutcome:     "an outcome that the step cannot have",
		CodeBareMerge:   "a bare all or any, which holds for any children, or a quorum that they cannot have",
		CodeNoChildren:  "parallel without children",
		CodeStatus:      "not a task status, or not one that may stand here",
		CodeTransition:  "a change of status that the transition table does not have",
		CodeProfile:     "no such document profile",
		CodeName:        "a name that is the engine's",
		CodeExit:        "not a code of the table of exit codes",
		CodeArtifact:    "not an artifact type",
		CodeRetries:     "more retries than the limit allows",
		CodeSentence:    "a plain sentence that has nothing to refer to",
		CodeErrors:      "a step of Error Handling without always, or one that asks, returns or fails",
		CodeGate:        "a gate with rules, or without choices",
		CodeAroundStep:  "a step of Between Steps that runs around no step",
		CodeSchema:      "a JSON Schema that is wrong itself, or asks for what tercet does not check",
		CodeSchemaFile:  "a file with a JSON Schema that cannot be read",
		CodeUnmade:      "a status that asks for an artifact which no subagent of the file returns",
		CodeInput:       "an input that the subagent does not take, or a required one that is missing",
		CodeTalks:       "a subagent with steps that asks a person, publishes, or has keys of a command",
		CodeMayNot:      "a subagent with steps that calls one which it may not",
		CodeAgent:       "no such subagent",
		CodeExpression:  "jq that does not compile",
		CodeVariable:    "an unknown variable",
		CodeArgument:    "an argument that is not declared",
		CodeField:       "a field that the subagent's contract does not emit",
		CodeOrElse:      "// on a boolean replaces false too",
	}
}
