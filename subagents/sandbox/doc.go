// Package sandbox runs programs in a sandbox in which they can write only where they work. Package
// shell names the risks of a command.
//
// It promises to offer a tier only after a probe ran a program in it and saw a write outside fail.
// It refuses a command that needs more than the best working tier, and it reports the tier used.
// Everything that the program starts inherits the sandbox. With an image it uses a container of
// docker or podman. The container has only the folders of the bounds and is always removed at the
// end.
//
// It will not make or fetch images. Only containers limit reading. landlock limits only TCP ports
// of the network, and cannot protect a folder inside a writable one. Off Linux there are only
// docker, podman and advisory_only.
//
// Everything is safe for concurrent use. Ruleset belongs to the supervisor of proc, which starts
// every program of a Box.
package sandbox
