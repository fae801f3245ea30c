// Package agentcli runs subagents that are programs. Exec is the runner `exec`: an executable that gets the request as
// JSON on its standard input and gives a return as JSON. CLI is an agent CLI, of which a Driver knows what is its own:
// arguments, environment, configuration files and what its output means. ACP is a program that speaks the Agent Client
// Protocol. Chain and Chosen choose between runners.
//
// It promises that a program is started only through its Starter, which knows what the person trusts; that only the
// private file of the delegation, an answer that obeys the schema, a standard output that is one JSON object as a whole
// (exec), or a final message with the nonce counts as a return; that the exit code alone is never believed; that what a
// program used is read from its own events and never from a return; that an ACP agent is given leave for what `tools`
// grants and nothing else; and that no process of it is left when Run returns.
//
// It will not check a return against the contract, look for artifacts, ask again or retry: the Dispatcher and the
// command do, and the programs' own retries are turned down. It builds no shell string; a prompt is never an argument.
//
// Exec, CLI, ACP, Chain and Chosen are safe for concurrent use as long as their fields are not changed; a Driver is
// data. None starts a goroutine of its own.
package agentcli
