// Package cassette stores the answers of subagents and replays them.
//
// It promises to find a recorded call by its place in the run, and to replay it only for the same
// prompt. Another prompt is an error with the difference. A replay writes again what the call wrote
// into the documents folder and the working tree. It starts no process.
//
// It will not store what a call did outside those two folders, nor files above a limit; it follows
// no link.
//
// A Recorder and a Player are safe for concurrent use as long as their fields do not change. Each
// call has a file of its own.
package cassette
