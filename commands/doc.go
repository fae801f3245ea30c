// Package commands is the façade of layer 2: it finds what a routed command needs, from its file to its run. It
// promises that a command file is parsed, compiled and bound before anything happens, and that a line whose arguments
// do not fit leaves no trace. It imports neither the state nor the subagents: what it may know of tasks, files and
// agents comes in through small interfaces. A Library is safe for concurrent use.
package commands
