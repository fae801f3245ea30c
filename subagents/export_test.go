package subagents

// InPieces is how a large file is looked through, for its test.
var InPieces = eachPiece
