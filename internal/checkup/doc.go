// Package checkup checks an installation and a workspace: what works, what is missing, and what to
// do about it.
//
// Promise: in a project without trust it starts no process and writes nothing. It asks installed
// programs for their versions in parallel, each for a bounded time.
//
// It will not repair anything, print, or decide which processes may start.
//
// Concurrency: a Workspace and a Programs belong to one goroutine each.
package checkup
