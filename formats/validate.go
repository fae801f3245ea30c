package formats

// Validate gives every rule of returns and of the subagent's contract that r breaks, one sentence each; nil if none.
func (r Return) Validate(info AgentInfo) []string { return nil }
