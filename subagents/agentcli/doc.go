// Package agentcli runs subagents that are programs. Exec is the runner `exec`: an executable that gets the request as JSON
// on its standard input and gives a return as JSON.
//
// It promises that a program which does not come with tercet is started only after a person agreed to it as it is now; that
// only the private file of the delegation, or a standard output that is one JSON object as a whole, counts as a return; that
// the exit code alone is never believed; and that no process of the program is left when Run returns.
//
// It will not check a return against the contract, look for artifacts, ask again or retry: the Dispatcher and the command
// do. It builds no shell string.
//
// An Exec is safe for concurrent use as long as its fields are not changed; it starts no goroutine of its own.
package agentcli
