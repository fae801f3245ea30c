// Package builtin holds the subagents that are Go: StatusSync writes tasks, TaskCreator reads them out of a text,
// GitWorkflow keeps the worktree of a run, Gatekeeper runs checks, Diagnostics groups errors.json, Reference answers
// /help, SandboxRunner runs one command within bounds.
//
// It promises that every effect of a command on tasks and branches goes through one of these, that wrong input is a
// failed return which names what was expected and what came, and that failures of the state keep their code.
//
// It will not call a model, decide what happens next, or write a document.
//
// All are safe for concurrent use if their fields are; none starts a goroutine.
package builtin
