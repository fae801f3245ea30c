// Package sandbox classifies the risks of commands, and runs programs in a sandbox in which they can write only where
// they work.
//
// It promises to offer a tier only after a probe ran a program in it and saw a write outside fail. It refuses a command
// that needs more than the best working tier, and it reports the tier used. Everything that the program starts inherits
// the sandbox. With an image it uses a container of docker or podman. The container has only the folders of the bounds
// and is always removed at the end.
//
// It classifies a shell command by the words that a shell would see, never by text patterns. It looks through quotes,
// braces, `cd` and wrappers such as env, xargs, sudo or `sh -c`. What only execution would show (a variable as a
// command, a text from a pipe) is reported as unknown, never as harmless. Classifying runs and expands nothing and
// follows no link or script. It knows programs by name: the classification is advice, and the sandbox enforces.
//
// It will not make or fetch images. Only containers limit reading. landlock limits only TCP ports of the network, and
// cannot protect a folder inside a writable one. Off Linux there are only docker, podman and advisory_only.
//
// Everything is safe for concurrent use. Enter replaces the process, or returns the reason if it cannot.
package sandbox
