package formats

// ParseOptions says how a return is read.
type ParseOptions struct {
	Strict bool   // refuse what would have to be repaired
	File   string // name for messages; empty: "return"
	Agent  string // an agent that the return names must be this one; empty: not asked
	Nonce  string // a nonce that the return echoes must be this one; empty: not asked
}

// ParseReturn reads the JSON form of a return. Repairs are listed in Warnings. The error is a *ReturnSyntaxError with
// everything that is wrong.
func ParseReturn(data []byte, opt ParseOptions) (Return, error) { return Return{}, nil }
