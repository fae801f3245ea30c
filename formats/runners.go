package formats

// AgentCLIs are the names of the runners that are agent CLIs, in the order of `auto`. Their drivers
// are in subagents/agentcli.
func AgentCLIs() []string {
	return []string{"claude", "codex", "opencode", "gemini", "copilot"}
}
