// Package agentcli runs subagents in other processes. Exec is the runner `exec`: an executable that
// gets the request as JSON on its standard input and gives a return as JSON. CLI is an agent CLI or
// an ACP agent; a Driver holds its arguments, environment, configuration files and output format.
// Chain and Chosen choose between runners.
//
// It promises that every process starts through its Starter, which checks trust. A return counts
// only from the delegation's private file, an answer that obeys the schema, or a final message with
// the nonce. For exec it may be a standard output that is one JSON object. It never believes the
// exit code alone. It reads the use from an agent CLI's events, never from a return. An ACP agent
// gets only the permissions of `tools`. No process is left when Run returns.
//
// It will not check a return against the contract, look for artifacts, repair or retry: the
// Dispatcher and the command do. It disables the agent CLIs' own retries. It builds no shell
// string; a prompt is never an argument.
//
// Exec, CLI, Chain and Chosen are safe for concurrent use as long as their fields are not changed;
// a Driver is data. None starts a goroutine of its own.
package agentcli
