package main

import (
	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/internal/journal"
	"tercet/internal/trace"
	"tercet/project"
	"tercet/router"
	"tercet/state"
	"tercet/state/files"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/builtin"
	"tercet/subagents/offline"
	"tercet/templates/meta"
)

// The seams: that imports are absent does not prove that the sides fit; these lines do, when the
// package is compiled.
var (
	_ router.Runner    = (*commands.Library)(nil)
	_ interp.Delegator = (*subagents.Dispatcher)(nil)
	_ interp.Reader    = (*state.Reader)(nil)
	_ commands.Tasks   = (*state.Reader)(nil)
	_ interp.Docs      = (*files.Docs)(nil)
	_ commands.Docs    = (*files.Docs)(nil)
	_ interp.Problems  = (*state.Errors)(nil)
	_ interp.Journal   = (*journal.Ledger)(nil)
	_ interp.Clock     = clock{}
	_ subagents.Clock  = clock{}
	_ state.Clock      = clock{}
	_ compile.Env      = (*subagents.Set)(nil)
	_ builtin.Catalog  = (*commands.Catalog)(nil)
	_ trace.Sink       = (*project.Session)(nil)

	_ subagents.Agent = builtin.StatusSync{}
	_ subagents.Agent = builtin.TaskCreator{}
	_ subagents.Agent = builtin.GitWorkflow{}
	_ subagents.Agent = (*commands.Workflow)(nil)
	_ subagents.Agent = builtin.Gatekeeper{}
	_ subagents.Agent = builtin.Diagnostics{}
	_ subagents.Agent = builtin.Reference{}
	_ subagents.Agent = offline.Researcher{}
	_ subagents.Agent = offline.Planner{}
	_ subagents.Agent = offline.Implementer{}
	_ subagents.Agent = offline.Reviewer{}
	_ subagents.Agent = offline.Reviser{}
	_ subagents.Agent = (*agentcli.Exec)(nil)

	_ subagents.Metered = (*agentcli.CLI)(nil)
	_ subagents.Metered = (*agentcli.Chain)(nil)
	_ subagents.Metered = (*agentcli.Chosen)(nil)

	_ subagents.Agent = (*meta.Builder)(nil)
)
