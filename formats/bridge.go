package formats

// Return gives the return that the block amounts to.
func (a AgentResult) Return() (Return, error) { return Return{}, nil }
