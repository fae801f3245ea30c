// Package interp runs a compiled command. It promises: the same program with the same answers takes
// the same decisions in the same order. Every decision is in the journal before its effect. Each
// limit is counted. A task that an unfinished run put in progress goes back to its prior status.
// All effects are fields of Config: it starts no process, opens no file and writes nothing itself.
// A Runner serves one run; one goroutine owns the run.
package interp
