// Package sandbox tells what a command may do that a person would want to know of, and keeps a program within bounds:
// it may write where it works and nowhere else.
//
// It promises that a tier is offered only after a probe really ran a program in it and saw a write outside fail; that a
// command which needs more than the best tier that works is refused and not run with less; and that the tier which was
// used is told. Bounds are inherited by everything that the program starts. A container of docker or podman is used
// where an image is named, has the folders of the bounds and no others, and is removed when the run has ended, however
// it ended.
//
// The risks of a shell command are told from the words that a shell would see, after quotes, braces, `cd` and wrappers
// such as env, xargs, sudo or `sh -c`, never from a pattern over the text. What only a run would show (a variable as a
// command, a text from a pipe) is reported as unknown and never taken for harmless. Nothing is run, expanded or looked
// at for that, and no link or script is followed. Programs are known by their names: this is advice, and the tiers are
// the wall.
//
// It will not make or fetch images; it limits what can be read in a container alone; with landlock the network is
// limited to ports of TCP, and a folder inside a writable one cannot be taken out again. Off Linux docker, podman and
// advisory_only are left.
//
// Everything is safe for concurrent use. Enter replaces the process, or returns why it could not.
package sandbox
