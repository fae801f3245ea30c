// Package shell says what a shell command would do, from its parsed words and never by a text
// pattern.
//
// Classify finds the risks of a command. It looks through quotes, braces, `cd` and wrappers such as
// env, xargs, sudo or `sh -c`. It reads simple commands, pipelines and lists. What only a run would
// show is reported as unknown, never as harmless: a variable as a command, a text from a pipe,
// conditionals, loops, functions and substitutions, in whose commands it looks for risks as well.
// Classify runs and expands nothing and follows no link or script. It knows programs by name: the
// classification is advice, and package sandbox enforces.
//
// Refusal says why a script may not run with arguments that came from outside: a program could take
// one for a program, an option or the name of one of these. It knows where a listed program takes a
// value, and refuses what it cannot follow.
//
// Everything is safe for concurrent use.
package shell
