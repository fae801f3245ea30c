package git

// The parsers and the tables, for the tests.
var (
	ParseLog       = parseLog
	ParseStatus    = parseStatus
	ParseNumstat   = parseNumstat
	ParseWorktrees = parseWorktrees
	Neutral        = neutralize
	Place          = parseAddress
	ReadIssue      = parseIssue
)
