// Package classify tells what a shell command may do that a person would want to know of before it runs.
//
// It promises to look at the words that a shell would see, after quotes, braces, `cd` and wrappers such as env, xargs, sudo or
// `sh -c`, and never at a pattern over the text, so that the name of a command in an argument is no alarm; and to name for every
// finding the category, how much a sandbox is needed, the place in the text and the target as far as it can be known. Code
// that only a run would show (a variable as a command, a text from a pipe) is reported as unknown and never taken for harmless.
//
// It will not run or expand anything, look at a file, follow a symbolic link or a script that the command starts, and it will
// not decide: what becomes of a risk is the matter of the package above. It knows programs by their names and is no wall:
// who wants to deceive it can, which is why the tiers of package sandbox are walls of the system.
//
// Everything here is a pure function and safe for concurrent use.
package classify
