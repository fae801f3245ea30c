// Package interp runs a compiled command. It promises that the same program with the same answers of agents, gates and
// state takes the same decisions in the same order, that every decision is in the journal before its effect, that each
// limit is counted, and that a task which a run put in progress is put back when the run does not finish. All effects
// are fields of Config: it starts no process, opens no file and writes nothing itself. A Runner serves one run; one
// goroutine owns the run.
package interp
