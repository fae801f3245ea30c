// Package demo makes the repository of the worked example, shows what happened in it, and removes
// it again.
//
// Promise: a fixture is one txtar, and no Go code knows its defect. A folder counts as a demo's
// only if it is no link and holds a mark with its own path; a copy is not removed. The demo shows
// real files: the plan's commands, git's diff, the output of the module's test.
//
// It will not run a command of tercet, decide what the demo runs, or look for git and go.
//
// Concurrency: one goroutine uses a Repo and a Scene.
package demo
