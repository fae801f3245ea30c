package git

// The parsers and the tables, for the tests.
var (
	ParseLog       = parseLog
	ParseStatus    = parseStatus
	ParseNumstat   = parseNumstat
	ParseWorktrees = parseWorktrees
	Neutral        = neutral
	Place          = place
	ReadIssue      = readIssue
)
