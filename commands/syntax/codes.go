package syntax

import "tercet/internal/md"

// The codes of what a file may get wrong in its form. Those of package md keep their own.
const (
	CodeTooMany      = "E006"
	CodeKey          = "E010"
	CodeMissing      = "E011"
	CodeFrontValue   = "E012"
	CodeFileName     = "E013"
	CodeNoFront      = "E017"
	CodeSection      = "E100"
	CodeSectionTwice = "E101"
	CodeStepHeading  = "E102"
	CodeStepFence    = "E104"
	CodeFencePlace   = "E105"
	CodeFenceInfo    = "E106"
	CodeBlock        = "E107"
	CodeStepKey      = "E108"
	CodeValue        = "E109"
	CodeCompanion    = "E111"
	CodeRepeated     = "E112"
	CodeWord         = "E113"
	CodeTarget       = "E114"
	CodeBody         = "E115"
	CodeNumber       = "E116"
	CodeAround       = "E117"
	CodeID           = "E118"
	CodeAction       = "E122"
	CodeUnsupported  = "E199"
	CodeFenceIndent  = "E204"
	CodeAbsent       = "E206"
	CodeTemplate     = "E207"
	CodeStray        = "E208"
	CodeSentence     = "E210"
	CodeTag          = "W210"
	CodeSugar        = "W211"
	CodeIndent       = "W212"
	CodeExpands      = "W240"
	CodeUnsaid       = "W241"
)

// Codes gives the meaning of each diagnostic that Parse gives, those of package md included, by its code.
func Codes() map[string]string {
	return map[string]string{
		md.CodeFrontUnclosed: "the frontmatter has no end",
		md.CodeTooLarge:      "the file is larger than 256 KiB",
		md.CodeBadText:       "the file is not UTF-8 text",
		md.CodeFrontNotMap:   "the frontmatter is not a map of keys",
		md.CodeLineEnds:      "lines end with a bare carriage return",
		CodeTooMany:          "more expressions than a file or a text may have",
		CodeKey:              "a key that the format does not have",
		CodeMissing:          "a key that the frontmatter must have",
		CodeFrontValue:       "a frontmatter value of the wrong form",
		CodeFileName:         "the file is not named after its command",
		CodeNoFront:          "the file has no frontmatter",
		CodeSection:          "the file has no section 'Workflow Execution', or one without steps",
		CodeSectionTwice:     "a section stands twice",
		CodeStepHeading:      "a heading that is not 'Step <n>: <title>' but has a block, or almost is one",
		CodeStepFence:        "a step with more than one block",
		CodeFencePlace:       "a block that stands outside its section or step",
		CodeFenceInfo:        "the words after the backticks of a block are almost right",
		CodeBlock:            "a block that is not a map of keys",
		CodeStepKey:          "a key that blocks do not have at this place",
		CodeValue:            "a value of the wrong type or form",
		CodeCompanion:        "a key without the key that it belongs to",
		CodeRepeated:         "the same requirement twice in a row",
		CodeWord:             "a word outside its closed list",
		CodeTarget:           "not a target of a transition",
		CodeBody:             "deeper steps below a step that can have none",
		CodeNumber:           "two steps have the same number",
		CodeAround:           "a step of Between Steps that does not say around which steps it runs",
		CodeID:               "an id that expressions could not name",
		CodeAction:           "a step without an action, or with more than one",
		CodeUnsupported:      "a word of the grammar that this version does not run yet",
		md.CodeTooDeep:       "lists and quotes nested too deeply",
		md.CodeFenceOpen:     "a fence that is not closed",
		md.CodeFenceInHTML:   "a fence directly after an HTML tag",
		CodeFenceIndent:      "a block that does not stand in the left margin",
		md.CodeFlowTrap:      "an unquoted value inside {...} that YAML cuts or refuses",
		CodeAbsent:           "a key without a value",
		CodeTemplate:         "a '${{' without '}}', or nothing between them",
		CodeStray:            "a quote or bracket at the end of a value without its partner",
		CodeSentence:         "a plain step that is not in the list of sentences",
		md.CodeSyntax:        "YAML that cannot be read",
		md.CodeDuplicateKey:  "a key that stands twice in one map",
		md.CodeAnchor:        "a YAML anchor",
		md.CodeAlias:         "a YAML alias",
		md.CodeMergeKey:      "a YAML merge key",
		md.CodeTag:           "a YAML tag",
		md.CodeDocuments:     "more than one YAML document in a block",
		md.CodeTab:           "a tab in the indentation",
		md.CodeComplexKey:    "a YAML key that is not text",
		md.CodeYAMLDepth:     "YAML nested too deeply",
		CodeTag:              "a tag line without its partner in the section",
		CodeSugar:            "a plain sentence where a block could stand; only a strict check says so",
		CodeIndent:           "an odd indentation, which is easily a slip",
		CodeExpands:          "text that other agent CLIs would expand",
		CodeUnsaid:           "a block that concerns other steps without words that say so",
	}
}
