// Package builtin holds the subagents that are Go. StatusSync writes tasks, TaskCreator reads them
// out of a text, and GitWorkflow keeps the worktree of a run. Gatekeeper runs checks, SandboxRunner
// one command within bounds. Diagnostics groups errors.json, and Reference answers /help.
//
// It promises that every effect of a command on tasks and branches goes through one of these. Wrong
// input is a failed return which names what was expected and what came. Failures of the state keep
// their code.
//
// It will not call a model, decide what happens next, or write a document.
//
// All are safe for concurrent use if their fields are; none starts a goroutine.
package builtin
