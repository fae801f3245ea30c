package compile

import "tercet/commands/syntax"

// The codes of mistakes beyond syntax. A code that package syntax also has means the same.
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
	CodeUsedUp      = "W146"
	CodeInput       = "E160"
	CodeTalks       = "E162"
	CodeMayNot      = "E163"
	CodeAgent       = "E164"
	CodeExpression  = "E300"
	CodeVariable    = "E301"
	CodeArgument    = "E302"
	CodeField       = "E303"
	CodePlainVar    = "E304"
	CodeOrElse      = "W310"
	CodePlainText   = "W311"
)
