// Package cassette keeps what subagents answered, and plays it back without them.
//
// It promises that a recorded call is found by its place in the run and given back only for the prompt that it was made
// with; that a prompt which differs is refused with the difference; that what a call wrote, into the folder for
// documents and into the tree it worked on, is written again; and that nothing is started for a call that is played.
//
// It will not keep what a call did outside those two folders, nor files over a bound; it follows no link.
//
// A Recorder and a Player are safe for concurrent use as long as their fields are not changed: each call has a file of
// its own.
package cassette
