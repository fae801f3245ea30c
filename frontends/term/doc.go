// Package term is the terminal as a frontend: it prints, asks, draws runs while they go on, and
// reads the lines of the prompt.
//
// Promise: answers go to standard output and everything else to standard error. No control
// character of a stranger reaches the terminal, and no known secret of the project is shown on it.
// The terminal is left as it was, also by a signal.
//
// It will not decide what runs, what is trusted, or which command a line names: project does.
//
// Concurrency: the methods of a Terminal may be called by several goroutines, but its settings
// change between two lines only. A Prompt belongs to one goroutine.
package term
