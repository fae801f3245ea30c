package returns

// The codes of findings in returns and result blocks: E4xx is an error, W4xx a warning.
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
)
