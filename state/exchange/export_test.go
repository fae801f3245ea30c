package exchange

// For the tests of this folder.
var (
	IsForeign  = isForeign
	TodoTitles = todoTitles
)
