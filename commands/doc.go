// Package commands is the entry to layer 2: it loads, checks and runs a routed command. It promises
// to parse, compile and bind a command file before anything happens; a line with wrong arguments
// has no effect. It imports neither the state nor the subagents: small interfaces supply tasks,
// files and contracts. A Library is safe for concurrent use.
package commands
