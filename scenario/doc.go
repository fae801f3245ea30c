// Package scenario tests workflows. A test file has a line, what each worker of its run answers, and what has to come
// of it.
//
// Promise: a file is read whole or refused with every place that is wrong; a worker without a scripted answer is never
// started; answers are given in their order, and the last one repeats; what was expected and did not come is told, all
// of it. A recording has what real workers answered, and plays as it was recorded.
//
// It will not run a line, make a workspace or start a process: its caller does that, with the engine that runs every
// other line. It writes no file outside of the folders that a worker is given.
//
// Concurrency: a Cast is safe for concurrent use; everything else is used by one goroutine.
package scenario
