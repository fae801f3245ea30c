// Package mcp serves a project to agents by the Model Context Protocol: they list commands, start
// runs, follow them and read what came of them.
//
// Promise: no tool decides what the prompt would not. A tool that starts something returns at once;
// all that a later call needs is in the journal of the run, so any process can serve that call. A
// question stays open unless a person answers it: a decline, a cancel, silence and a client that
// cannot ask are no answers.
//
// It will not run a step, and it keeps nothing between two calls.
//
// Concurrency: a Server serves any number of sessions at once.
package mcp
