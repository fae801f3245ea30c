package subagents

// The codes of diagnostics about subagent files. Findings of internal/md keep their codes (E001 to
// E005, E2xx).
const (
	codeUnknownKey = "E010" // a key that subagent files do not have
	codeNoRunner   = "E161" // a subagent with steps has no runner, model, tools or facets
	codeCommandKey = "E162" // a subagent with steps has keys of a command
	codeContract   = "E410" // the contract under returns contradicts itself or the role
	codeMissing    = "E601" // a key that must be there
	codeValue      = "E602" // a value of the wrong type or outside its set
	codeName       = "E603" // the name is not that of the file
	codeRunner     = "E604" // runner and argv do not fit together
	codeSection    = "E605" // a section that subagent files do not have
	codeTwice      = "E606" // a section or a word that stands twice
	codeBuiltin    = "E607" // a file of the project that says it is built in
	warnRunner     = "W604" // a runner that is probably misspelt
	warnOther      = "W606" // what another system wrote, which is read or ignored
	warnFloating   = "W605" // an MCP server whose package has no version
)
