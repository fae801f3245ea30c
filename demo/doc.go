// Package demo makes the repository of the worked example, tells what happened in it, and removes it again.
//
// Promise: a fixture is one txtar, and nothing in Go knows what defect it holds. A folder is taken for one of a demo
// only if it is a folder itself, no link, and has a mark inside that names it; a copy of one is not removed. What is
// shown is what lies in the folder: the plan's own commands, git's own diff, the words of the module's own test.
//
// It will not run a command of tercet, decide what the demo runs, or look for git and go.
//
// Concurrency: one goroutine uses a Repo and a Scene.
package demo
